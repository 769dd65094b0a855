"""Images of a page: which belong to its content, and which are logos, icons and portraits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MAX_HREF_CHARS: Final = 4_096
SMALL_PIXELS: Final = 150
"""An image that is declared smaller than this on either side is an icon or a portrait."""
_MAX_SIZE_DIGITS: Final = 9

_SOURCE_ATTRIBUTES: Final = ("src", "data-src", "data-lazy-src", "data-original", "data-url")
_DECORATION = re.compile(
    r"logo|icon|avatar|sprite|pixel|blank|spacer|placeholder|gravatar|badge|button|emoji|loading|1x1|banner|/ads?/"
)
"""Matched against lower-case text: faster than ignoring case."""


def is_shared_image(href: str) -> bool:
    """Whether an image that the metadata name is one of the page, not a logo."""
    is_href = len(href) <= MAX_HREF_CHARS and href.startswith(("http://", "https://", "/", "./", "../"))
    return is_href and not _DECORATION.search(href.rpartition("/")[2].lower())


def content_image_href(attributes: Mapping[str, str | None]) -> str:
    """The href of an <img> as written; empty for icons, portraits and placeholders."""
    href = _image_href(attributes)
    return "" if not href or _is_small(attributes) or _DECORATION.search(href.lower()) else href


def _image_href(attributes: Mapping[str, str | None]) -> str:
    for source in _SOURCE_ATTRIBUTES:
        href = (attributes.get(source) or "").strip()
        # Images that are loaded later have a small data: URL as a placeholder.
        if href and not href.startswith("data:") and len(href) <= MAX_HREF_CHARS:
            return href
    return ""


def _is_small(attributes: Mapping[str, str | None]) -> bool:
    for side in ("width", "height"):
        size = (attributes.get(side) or "").strip().removesuffix("px")
        if size.isdecimal() and int(size[:_MAX_SIZE_DIGITS]) < SMALL_PIXELS:
            return True
    return False
