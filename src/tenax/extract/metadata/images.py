"""The image of a page: the one its metadata name for sharing, or the first large image beside its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from tenax.extract.html.dom import Dom

MAX_HREF_CHARS: Final = 4_096
MAX_CANDIDATES: Final = 30
SMALL_PIXELS: Final = 150
"""An image declared smaller than this on either side is an icon or a portrait."""
_MAX_SIZE_DIGITS: Final = 9

_SOURCE_ATTRIBUTES: Final = ("src", "data-src", "data-lazy-src", "data-original", "data-url")
_DECORATION = re.compile(
    r"logo|icon|avatar|sprite|pixel|blank|spacer|placeholder|gravatar|badge|button|emoji|loading|1x1|banner|/ads?/"
)
"""Matched against lower-case text: faster than ignoring case."""
_TEXT_CONTAINERS: Final = "article, main, [role=main], figure"


def choose_image(hrefs: Iterable[str], dom: Dom) -> str:
    """The href as written; empty when there is none. `hrefs` come from the metadata, most trusted first."""
    for href in hrefs:
        if is_image_href(href := href.strip()) and not _DECORATION.search(href.rpartition("/")[2].lower()):
            return href
    return _find_large_image(dom)


def is_image_href(href: str) -> bool:
    return 0 < len(href) <= MAX_HREF_CHARS and href.startswith(("http://", "https://", "/", "./", "../"))


def _find_large_image(dom: Dom) -> str:
    beside_text = (node for node, is_inside in dom.select_with_ancestor("img", _TEXT_CONTAINERS) if is_inside)
    return next(filter(None, (content_image_href(node.attributes) for node in islice(beside_text, MAX_CANDIDATES))), "")


def content_image_href(attributes: Mapping[str, str | None]) -> str:
    """The href of an <img> as written; empty for icons, portraits and placeholders."""
    href = _image_href(attributes)
    return "" if not href or _is_small(attributes) or _DECORATION.search(href.lower()) else href


def _image_href(attributes: Mapping[str, str | None]) -> str:
    for source in _SOURCE_ATTRIBUTES:
        href = (attributes.get(source) or "").strip()
        # Lazy-loaded images have a small data: URL as placeholder.
        if href and not href.startswith("data:") and len(href) <= MAX_HREF_CHARS:
            return href
    return ""


def _is_small(attributes: Mapping[str, str | None]) -> bool:
    for side in ("width", "height"):
        size = (attributes.get(side) or "").strip().removesuffix("px")
        if size.isdecimal() and int(size[:_MAX_SIZE_DIGITS]) < SMALL_PIXELS:
            return True
    return False
