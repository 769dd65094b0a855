"""Reading a document: bytes in, one DOM, everything a page yields out.

Everything here is pure and bounded. `read_document` judges what the body is (`sniff`), decodes it by the WHATWG order
(`charset`), tames what would cost too much (`bounds`), parses once (`html`), and takes title, description, canonical
URL, language, robots hints, visible text and links from that one DOM. It never raises, whatever the bytes are.
"""

from __future__ import annotations

from tenax.parse.document import Document, read_document
from tenax.parse.links import Link

__all__ = ["Document", "Link", "read_document"]
