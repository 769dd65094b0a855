"""The answers of `explain` about a finished crawl."""

from __future__ import annotations

from pathlib import Path

from tenax.cli.commands.explain import explain_url
from tenax.cli.output import TextStyle
from tenax.cli.views.timeline import format_timeline
from tenax.model import Outcome
from tests.hostile.crawling import Crawled, database_in


async def explained(out: Path, url: str) -> str:
    """What `tenax explain` says, in one line."""
    async with database_in(out) as database:
        lines = format_timeline(await explain_url(database, url), TextStyle())
    return " ".join(" ".join(lines).split())


async def outcome_of(done: Crawled, url: str) -> Outcome:
    """How the last visit of this URL ended."""
    return (await done.history(url)).visits[-1].outcome
