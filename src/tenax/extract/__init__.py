"""Reading a document: bytes in, one DOM, everything a page yields out.

Everything here is pure and bounded. `read_document` judges what the body is (`html.media_type`), decodes it by the
WHATWG order (`html.charset`), parses once (`html.parser`), and takes title, description, canonical URL, language,
robots hints, visible text and links from that one DOM. It never raises, whatever the bytes are: a page that would cost
too much CPU time or memory (`budget`) is not read, and says why.

Names are loaded when they are first used: the ledger compares fingerprints, and needs no parser for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenax.extract.document import Document, read_document
    from tenax.extract.html.links import Link

_HOMES = {
    "Document": "tenax.extract.document",
    "Link": "tenax.extract.html.links",
    "read_document": "tenax.extract.document",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tenax.extract' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


__all__ = ["Document", "Link", "read_document"]
