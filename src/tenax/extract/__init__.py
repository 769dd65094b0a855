"""Reading a document: bytes in, one DOM, everything a page yields out.

Everything here is pure and bounded. `extract_content` judges what the body is (`html.media_type`), decodes it by the
WHATWG order (`html.charset`), parses once (`html.parser`), and takes title, description, canonical URL, language,
robots hints, visible text and links from that one DOM. It never raises, whatever the bytes are: a page that would cost
too much CPU time or memory (`budget`) is not read, and says why.

Names are loaded when they are first used: the database compares fingerprints, and needs no parser for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenax.extract.document import Content, extract_content
    from tenax.extract.html.links import Link

_MODULE_BY_NAME = {
    "Content": "tenax.extract.document",
    "Link": "tenax.extract.html.links",
    "extract_content": "tenax.extract.document",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module 'tenax.extract' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULE_BY_NAME[name]), name)


__all__ = ["Content", "Link", "extract_content"]
