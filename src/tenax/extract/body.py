"""The body of a page: its text, the clean part of it as text and Markdown, its links."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tenax.extract.html.links import Link
from tenax.model import PageKind, Value

ResolveUrl: TypeAlias = Callable[[str], str]
"""Makes an address of the page absolute."""


class PageBody(Value, frozen=True):
    text: str
    """Everything that is seen."""
    links: tuple[Link, ...]
    kind: PageKind = PageKind.OTHER
    article: str = ""
    markdown: str = ""
    abstract: str = ""
    """The first kept paragraph that says something."""
    words: int = 0
    fingerprint: bytes = b""
    truncated_at_block: int | None = None
    """How many blocks were judged, if not all of them."""
