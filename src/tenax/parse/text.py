"""The visible text of a page: one line per block, single spaces within."""

from __future__ import annotations

import re
from typing import Final

from tenax.parse.html import BREAK, Dom, Node, Walk

MAX_TEXT_CHARS: Final = 2_000_000
"""Text kept of one page at most."""

# A page's text ends in terminals and logs too: no escape may survive. Tabs and line breaks are handled elsewhere.
_CONTROLS = bytes([*range(0x09), *range(0x0E, 0x20), 0x7F])
_SPACES = re.compile("  +")


def page_text(dom: Dom, max_chars: int = MAX_TEXT_CHARS) -> str:
    """What a reader sees of the page, in document order, NULs never included."""
    return _shown(dom.walk, max_chars)


def visible_text(root: Node, max_chars: int = MAX_TEXT_CHARS) -> str:
    """The same of what is below one node."""
    return _shown(Walk(root), max_chars)


def plain_text(text: str, max_chars: int = MAX_TEXT_CHARS) -> str:
    """A text/plain body as a page's text: its own lines, one kind of line break, nothing that steers a terminal."""
    return inert(text[:max_chars].replace("\r\n", "\n").replace("\r", "\n")).strip()


def inert(text: str) -> str:
    """The text without control characters other than white space."""
    # By bytes: in UTF-8 these controls are single bytes and part of nothing else. No regular expression is as quick.
    encoded = text.encode("utf-8", "replace")
    kept = encoded.translate(None, _CONTROLS)
    if len(kept) != len(encoded):
        text = kept.decode("utf-8")
    return text.replace("\x9b", "") if "\x9b" in text else text


def _shown(walked: Walk, max_chars: int) -> str:
    return inert(_tidy("".join(walked.fragments)))[:max_chars]


def _tidy(raw: str) -> str:
    """Drop empty lines and collapse white space within the others, by whole-string passes."""
    raw = BREAK.join(filter(None, map(str.strip, raw.split(BREAK))))
    for blank in "\n\t\r\f\v\xa0":
        if blank in raw:
            raw = raw.replace(blank, " ")
    # Looked for from the end, because Python does that a third quicker; many pages have none.
    if raw.rfind("  ") >= 0:
        raw = _SPACES.sub(" ", raw)
    return raw.replace(BREAK, "\n")
