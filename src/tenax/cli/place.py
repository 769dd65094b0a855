"""Which crawl is meant: the directory to read when none is named, and the one to write when none is given."""

from __future__ import annotations

from pathlib import Path

from tenax.errors import LedgerMissing, UsageError
from tenax.files import LEDGER_FILE

_MOST_SHOWN = 8


def of_crawl(out: str | None, url: str | None = None, here: Path | None = None) -> Path:
    """The directory of the crawl a person means; `url` is what they ask about, if anything."""
    if out is not None:
        return Path(out)
    here = here or Path()
    if has_crawl(here):
        return here
    if url is not None and has_crawl(here / of_seed(url)):
        return here / of_seed(url)
    found = sorted(path.parent for path in here.glob(f"*/{LEDGER_FILE}"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise LedgerMissing(
            f"there is no crawl in {here.resolve()}; name its directory with --out, or start one with `tenax crawl URL`"
        )
    names = ", ".join(path.name for path in found[:_MOST_SHOWN]) + (", …" if len(found) > _MOST_SHOWN else "")
    raise UsageError(f"there are {len(found)} crawls here; choose one with --out: {names}")


def has_crawl(directory: Path) -> bool:
    return (directory / LEDGER_FILE).exists()


def of_seed(text: str) -> Path:
    """Where a crawl of this seed is kept when nothing is said: `tenax-example.org`. Raises `UsageError` if no URL."""
    from tenax.crawl import default_directory
    from tenax.urls.normalize import Spelling
    from tenax.urls.seeds import seed_url

    return default_directory(seed_url(text, Spelling()).url)
