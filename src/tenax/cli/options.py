"""What a person asked for: the crawl to run, and the words to tell of it."""

from __future__ import annotations

from tenax.crawl.location import Location
from tenax.model import Value


class CrawlOptions(Value, frozen=True):
    """What to crawl, and how to speak of it."""

    seeds: tuple[str, ...]
    location: Location
    is_restart: bool = False
    is_recrawl: bool = False
    is_quiet: bool = False
    program: str = "tenax"
    """How a person calls us."""
    resume_command: str = ""
    """The command that goes on with this crawl; empty when it cannot be resumed."""
    examples: tuple[tuple[str, str], ...] = ()
    """URLs worth explaining, each with what one would see."""
    notices: tuple[str, ...] = ()
    """What to say at the start, before what the crawl itself says."""
    settings: bytes | None = None
    """What is kept with the crawl for the next command; None: nothing."""
    has_typed_seeds: bool = True
    """A person typed the seeds, now or for an earlier run: private ones are allowed."""
    opening_notices: tuple[str, ...] = ()
    """What to say at the start instead of what the crawl would."""
