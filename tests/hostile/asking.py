"""What a person is told about a crawl that came to its end."""

from __future__ import annotations

from pathlib import Path

from tenax.cli.commands.explain import explanation_of
from tenax.cli.views.tables import Ink
from tenax.cli.views.timeline import told
from tenax.model import Outcome
from tests.hostile.crawling import Crawled, ledger_in


async def explained(out: Path, url: str) -> str:
    """What `tenax explain` says, in one line."""
    async with ledger_in(out) as ledger:
        lines = told(await explanation_of(ledger, url), Ink())
    return " ".join(" ".join(lines).split())


async def outcome_of(done: Crawled, url: str) -> Outcome:
    """How the last visit of this URL ended."""
    return (await done.life(url)).visits[-1].outcome
