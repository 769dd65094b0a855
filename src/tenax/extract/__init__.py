"""Turns bytes into content: one DOM per page, everything else read from it.

Everything here is pure and bounded. `extract_content` determines the type of the body (`html.media_type`), decodes it
in the WHATWG order (`html.charset`), parses it once (`html.parser`), and reads title, description, canonical URL,
language, robots hints, visible text and links from that DOM. It never raises, whatever the bytes are: a page that would
cost too much CPU time or memory (`budget`) yields no content but the reason.

Names are loaded on first use: few parts of this package need the parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenax.extract.document import Content, extract_content
    from tenax.extract.html.links import Link, Links

_MODULE_BY_NAME = {
    "Content": "tenax.extract.document",
    "Link": "tenax.extract.html.links",
    "Links": "tenax.extract.html.links",
    "extract_content": "tenax.extract.document",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module 'tenax.extract' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULE_BY_NAME[name]), name)


__all__ = ["Content", "Link", "Links", "extract_content"]
