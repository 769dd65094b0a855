"""Text as Markdown: what CommonMark would take for a mark is escaped, so that a reader sees what the page shows."""

from __future__ import annotations

import re
from typing import Final

from tenax.extract.metadata.images import MAX_HREF_CHARS
from tenax.extract.text.visible import inert

_CONTROLS = re.compile(r"[\0-\x08\x0e-\x1b\x7f\x9b]")
_MAY_MARK: Final = bytes((*b"\\`*_[]<&~", *range(0x09), *range(0x0E, 0x1C), 0x7F))
# A tag or an entity may go on in the text after this one; an underscore within a word marks nothing.
_MARKS = re.compile(r"[\\`*\[\]~]|<(?=[a-zA-Z/!?]|$)|&(?=[a-zA-Z#]|$)|(?<![^\W_])_|_(?![^\W_])")
# The same text for each, for there may be millions.
_ESCAPES: Final = {mark: f"\\{mark}" for mark in "\\`*[]~<&_"}
_MAY_BEGIN = frozenset("#>+-=:|0123456789")
_BEGINS = re.compile(r"(?=#{1,6}(?:\s|$)|>|[-+](?:\s|$)|=+\s*$|[-:|][-:|\s]*$)|(\d{1,9})(?=[.)](?:\s|$))")
_CLOSING_HASHES = re.compile(r"(?:^|(?<=\s))(?=#+$)")
_TICKS = re.compile("`+")
_LONGEST_CHARS = 2 * MAX_HREF_CHARS
_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

_NOWHERE = re.compile(r"(?:javascript|vbscript|data|file|blob|about):", re.IGNORECASE)
_UNSAFE_IN_ADDRESS = re.compile(r"[\\()\s<>`|\"\0-\x1f\x7f\x9b]|&(?=[a-zA-Z0-9#]{1,40};)")


def escaped(text: str) -> str:
    """The text such that nothing within it is a mark; what matters only where a line begins is `begun`'s."""
    # By bytes, as `inert` does: most texts have no such character, and that is to be known quickly.
    encoded = text.encode("utf-8", "replace")
    if len(encoded.translate(None, _MAY_MARK)) == len(encoded) and "\x9b" not in text:
        return text
    if _CONTROLS.search(text) is not None:
        text = " ".join(inert(text).split())
    return _MARKS.sub(lambda mark: _ESCAPES[mark[0]], text)


def begun(line: str) -> str:
    """An escaped line such that it begins no heading, quote, item, rule or table."""
    begins = _BEGINS.match(line) if line[:1] in _MAY_BEGIN else None
    return line if begins is None else f"{line[: begins.end()]}\\{line[begins.end() :]}"


def heading(level: int, line: str) -> str:
    if line.endswith("#"):
        line = _CLOSING_HASHES.sub(r"\\", line)
    return f"{'#' * level} {line}"


def code_span(text: str) -> str:
    text = " ".join(inert(text).split())
    if not text:
        return ""
    fence = "`" * (_longest_ticks(text) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def fenced(code: str, language: str) -> str:
    """Code with its lines as written."""
    fence = "`" * max(3, _longest_ticks(code) + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def _longest_ticks(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0) if "`" in text else 0


def may_wrap(before: str, text: str, after: str) -> bool:
    """Whether `*` around a text would mark it, by the rules of flanking; `before` and `after` are characters or empty.

    Stricter than CommonMark: of what is neither a letter nor a digit, only ASCII is known to all versions of it.
    """
    return (text[0].isalnum() or before in ("", " ") or before in _PUNCTUATION) and (
        text[-1].isalnum() or after in ("", " ") or after in _PUNCTUATION
    )


def address(href: str) -> str:
    """The destination of a link, fit to stand between parentheses; empty if it leads nowhere."""
    href = href.strip()
    if len(href) > _LONGEST_CHARS:
        return ""
    is_safe = _UNSAFE_IN_ADDRESS.search(href) is None
    if not is_safe:
        href = inert(href.replace("\t", "").replace("\n", "").replace("\r", ""))
    if not href or len(href) > MAX_HREF_CHARS or (not href.startswith("http") and _NOWHERE.match(href)):
        return ""
    return href if is_safe else _UNSAFE_IN_ADDRESS.sub(_safe, href)


def _safe(found: re.Match[str]) -> str:
    char = found[0]
    return f"\\{char}" if char in "\\()&" else "".join(f"%{byte:02X}" for byte in char.encode())
