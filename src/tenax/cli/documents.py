"""What the asking verbs share: values as JSON, and the rules a crawl was started with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tenax.errors import LedgerUnusable
from tenax.logs import inert_json

if TYPE_CHECKING:
    from tenax.ledger import Ledger
    from tenax.urls.admit import Rules


def as_json(value: object, *, indent: int = 2) -> str:
    """A value as JSON, indented for people or on one line (`indent=0`); inert on a terminal, exact for a program."""
    document = msgspec.json.encode(value)
    return inert_json((msgspec.json.format(document, indent=indent) if indent else document).decode())


async def rules_of_crawl(ledger: Ledger) -> Rules | None:
    """The rules of the last run; None when none was kept."""
    from tenax.urls.admit import Rules

    stored = await ledger.recall("rules")
    if stored is None:
        return None
    try:
        return msgspec.json.decode(stored, type=Rules)
    except msgspec.DecodeError as error:
        raise LedgerUnusable(
            f"the rules kept with this crawl cannot be read ({error}); run `tenax crawl` again"
        ) from None
