"""Escapes text for Markdown, so that CommonMark shows it as the page does."""

from __future__ import annotations

import re
from typing import Final

from tenax.extract.html.dom import strip_controls
from tenax.extract.metadata.images import MAX_HREF_CHARS

_CONTROLS = re.compile(r"[\0-\x08\x0e-\x1b\x7f\x9b]")
_SPECIAL_BYTES: Final = bytes((*b"\\`*_[]<&~", *range(0x09), *range(0x0E, 0x1C), 0x7F))
# A tag or an entity may continue in the next text. An underscore inside of a word has no effect.
_SPECIAL_CHARS = re.compile(r"[\\`*\[\]~]|<(?=[a-zA-Z/!?]|$)|&(?=[a-zA-Z#]|$)|(?<![^\W_])_|_(?![^\W_])")
# The strings are shared, because there may be millions of them.
_ESCAPES: Final = {char: f"\\{char}" for char in "\\`*[]~<&_"}
_LINE_START_CHARS = frozenset("#>+-=:|0123456789")
_MAX_HEADING_HASHES: Final = 6
_MAX_ITEM_DIGITS: Final = 9
_LINE_START = re.compile(
    rf"(?=#{{1,{_MAX_HEADING_HASHES}}}(?:\s|$)|>|[-+](?:\s|$)|=+\s*$|[-:|][-:|\s]*$)"
    rf"|(\d{{1,{_MAX_ITEM_DIGITS}}})(?=[.)](?:\s|$))"
)
_CLOSING_HASHES = re.compile(r"(?:^|(?<=\s))(?=#+$)")
_BACKTICKS = re.compile("`+")
_MIN_FENCE: Final = 3
_MAX_RAW_HREF_CHARS = 2 * MAX_HREF_CHARS
_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

_UNLINKED_SCHEMES = re.compile(r"(?:javascript|vbscript|data|file|blob|about):", re.IGNORECASE)
_UNSAFE_IN_HREF = re.compile(r"[\\()\s<>`|\"\0-\x1f\x7f\x9b]|&(?=[a-zA-Z0-9#]{1,40};)")


def escape_text(text: str) -> str:
    """The text with all special characters escaped. Characters that are special only at the start of a line are handled
    by `escape_line_start`."""
    # A quick check on bytes, as in `strip_controls`, because most texts have no such character.
    encoded = text.encode("utf-8", "replace")
    if len(encoded.translate(None, _SPECIAL_BYTES)) == len(encoded) and "\x9b" not in text:
        return text
    if _CONTROLS.search(text) is not None:
        text = " ".join(strip_controls(text).split())
    return _SPECIAL_CHARS.sub(lambda mark: _ESCAPES[mark[0]], text)


def escape_line_start(line: str) -> str:
    """An escaped line that does not begin a heading, quote, item, rule or table."""
    begins = _LINE_START.match(line) if line[:1] in _LINE_START_CHARS else None
    return line if begins is None else f"{line[: begins.end()]}\\{line[begins.end() :]}"


def format_heading(level: int, line: str) -> str:
    if line.endswith("#"):
        line = _CLOSING_HASHES.sub(r"\\", line)
    return f"{'#' * level} {line}"


def format_code_span(text: str) -> str:
    text = " ".join(strip_controls(text).split())
    if not text:
        return ""
    fence = "`" * (_longest_backticks(text) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def format_code_block(code: str, language: str) -> str:
    """Code with its lines as written."""
    fence = "`" * max(_MIN_FENCE, _longest_backticks(code) + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def _longest_backticks(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0) if "`" in text else 0


def can_emphasize(before: str, text: str, after: str) -> bool:
    """Whether `*` around a text emphasizes it, by the flanking rules. `before` and `after` are characters, or empty.

    Stricter than CommonMark: of the characters that are neither letters nor digits, only those of ASCII are treated
    alike by all its versions.
    """
    return (text[0].isalnum() or before in ("", " ") or before in _PUNCTUATION) and (
        text[-1].isalnum() or after in ("", " ") or after in _PUNCTUATION
    )


def format_href(href: str) -> str:
    """A link destination that can be written between parentheses; empty if the href cannot be used."""
    href = href.strip()
    if len(href) > _MAX_RAW_HREF_CHARS:
        return ""
    is_safe = _UNSAFE_IN_HREF.search(href) is None
    if not is_safe:
        href = strip_controls(href.replace("\t", "").replace("\n", "").replace("\r", ""))
    if not href or len(href) > MAX_HREF_CHARS or (not href.startswith("http") and _UNLINKED_SCHEMES.match(href)):
        return ""
    return href if is_safe else _UNSAFE_IN_HREF.sub(_escape_href_char, href)


def _escape_href_char(found: re.Match[str]) -> str:
    char = found[0]
    return f"\\{char}" if char in "\\()&" else "".join(f"%{byte:02X}" for byte in char.encode())
