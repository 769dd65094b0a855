"""The options of a crawl run and of its output."""

from __future__ import annotations

from tenax.crawl.location import Location
from tenax.model import Value


class CrawlOptions(Value, frozen=True):
    """What to crawl, and what to print about it."""

    seeds: tuple[str, ...]
    location: Location
    is_restart: bool = False
    is_recrawl: bool = False
    is_quiet: bool = False
    program: str = "tenax"
    """How a person calls this program."""
    resume_command: str = ""
    """The command that resumes this crawl; empty when it cannot be resumed."""
    examples: tuple[tuple[str, str], ...] = ()
    """URLs worth explaining, each with a short description."""
    notices: tuple[str, ...] = ()
    """Printed at the start, before the notices of the crawl itself."""
    settings: bytes | None = None
    """Stored with the crawl for the next command; None: nothing."""
    has_typed_seeds: bool = True
    """A person typed the seeds, now or for an earlier run: private addresses are allowed for them."""
    opening_notices: tuple[str, ...] = ()
    """Printed at the start instead of all other notices."""
