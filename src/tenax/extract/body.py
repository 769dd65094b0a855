"""The body of a page: its text, its article as text and Markdown, its links."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tenax.extract.html.links import Links
from tenax.model import PageKind, Value

ResolveUrl: TypeAlias = Callable[[str], str]
"""Makes a URL of the page absolute."""


class PageBody(Value, frozen=True):
    text: str
    """All visible text."""
    links: Links
    kind: PageKind = PageKind.OTHER
    article: str = ""
    markdown: str = ""
    abstract: str = ""
    """The first kept paragraph with real content."""
    words: int = 0
    fingerprint: bytes = b""
    truncated_at_block: int | None = None
    """How many blocks were scored, if not all."""
