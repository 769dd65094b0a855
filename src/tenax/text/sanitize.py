"""Text from others, made safe to show and to store: control characters are escaped, secrets are masked.

**Escaping**, for line-based output, terminals and shells, loses nothing: a program can read the original back. For
people, `tenax.logs.sanitize_text` removes what is unsafe instead.

**Masking** depends on what the text is. A text that is meant to be a URL is treated as a whole, even if it is
malformed: a password with a space or a slash in it must not be shown because the URL is invalid. In running text, such
as a log line, a URL ends where words do. In doubt, more is masked.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

UNSAFE: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls
    "\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, or reverse text
    "\U000e0000-\U000e007f"  # tag characters: invisible copies of ASCII
)
"""Characters that control a terminal, are invisible, or end a line for some readers; written for a regex character
class."""


PIECE_BYTES: Final = 16_384
"""How much is escaped at a time, because escaping takes far more memory than its result."""


def escape_json(document: bytes) -> bytes:
    """Equivalent JSON in UTF-8, with escapes for everything in `UNSAFE`. One line stays one line for every reader."""
    return b"".join(escape_pieces(document)) if _has_unsafe(document) else document


def escape_pieces(document: bytes) -> Iterator[bytes]:
    """The same, in pieces of whole characters, for streaming."""
    start, end = 0, len(document)
    while start < end:
        stop = start + PIECE_BYTES
        while stop < end and 0x80 <= document[stop] < 0xC0:  # inside a character
            stop -= 1
        piece = document[start:stop]
        yield piece.decode().translate(_escape_table()).encode() if _has_unsafe(piece) else piece
        start = stop


def _has_unsafe(document: bytes) -> bool:
    if document.isascii() and b"\x7f" not in document:
        return False  # other controls are invalid in JSON
    return _unsafe_bytes_pattern().search(document.translate(None, _HARMLESS)) is not None


@cache
def _escape_table() -> dict[int, str]:
    """The escape of each unsafe character."""
    spans = re.findall("(.)(?:-(.))?", UNSAFE, re.DOTALL)
    codes = (code for first, last in spans for code in range(ord(first), ord(last or first) + 1))
    return {code: json.dumps(chr(code))[1:-1] for code in codes}


# In UTF-8. The search is faster if most of a text is skipped first: bytes that begin no unsafe character. What remains
# are bytes that follow such a byte, after whole characters.
_FIRST_BYTES: Final = frozenset(b"\x7f\xc2\xd8\xe1\xe2\xef\xf3")
_HARMLESS: Final = bytes(byte for byte in range(256) if not 0x80 <= byte < 0xC0 and byte not in _FIRST_BYTES)


@cache
def _unsafe_bytes_pattern() -> Any:
    """`UNSAFE`, for input that has only whole characters, and stray bytes of other characters."""
    import re2  # imported on first use: most commands write no JSON

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(
        rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe1\xa0\x8e|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]"
        rb"|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb]|\xf3\xa0[\x80\x81]",
        options,
    )


def quote_shell_word(word: str) -> str:
    """The word quoted for a shell, on one line and without effect on a terminal: `$'…'` if it has unsafe characters."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escape_shell_char, word)) + "'"


def _escape_shell_char(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    # Three octal digits end the escape, whatever follows.
    return f"\\{code:03o}" if code < 0x80 else f"\\U{code:08x}"


MASK: Final = "***"

# Anything before two slashes. Schemes that browsers know also count without slashes.
_SCHEME = re.compile(
    r"[a-z][a-z0-9+.-]*:(?=[/\\])|(?:https?|ftp|wss?|mailto|rediss?|postgres(?:ql)?|socks[45][ah]?):", re.I
)
_SLASHES = "/\\"
_BLANK = "".join(map(chr, range(0x21)))
_AUTHORITY_END = re.compile(r"[/\\?#]")
_HOST = re.compile(r"(?:\[[0-9a-f:.]{2,45}\]|([\w.~%-]{1,253}))(:\d{0,5})?", re.I)
_AT_SIGNS = ("@", "＠", "%40")

# Separators of words. Backticks and angle brackets quote URLs as often as quotation marks do.
_GAPS = re.compile(r"""([\s"'<>`]+)""")
_MAX_URL_WORDS = 8
_CREDENTIALS = re.compile(r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(\s{0,9}[:=]\s{0,9})\S.*")
_SECRET_NAME = re.compile(r"(?i)passw|secret|token|authorization|cookie|api_?key|credential")

_SERVER = re.compile(r"(?i)(?:--[a-z]+=)?(?:postgres(?:ql)?|rediss?)://")
_PASSWORD = re.compile(r"(?i)([?&][a-z_]{0,40}passw[a-z_]{0,40}=)[^&]*")


def mask_url(text: str) -> str:
    """A text that is meant to be one URL, or a host with a user; returned without user and password."""
    start = _authority_start(text)
    return text[:start] + _mask_userinfo(text[start:])


def mask_reference(text: str) -> str:
    """A text that is meant to be a URL or a relative link, such as a Location. A path may contain an `@`."""
    stripped = text.lstrip(_BLANK)
    has_host = _SCHEME.match(stripped) or stripped[:2].replace("\\", "/") == "//"
    is_path = not has_host and (":" not in _before_at(stripped) or stripped[:1] in ("/", "\\", "?", "#", "."))
    return text if is_path else mask_url(text)


def mask_server_url(text: str, *, hides_user: bool = False) -> str:
    """The URL of a server or proxy of ours, with `***` for its password, and for the user of a proxy.

    The user of a server is kept, so that the URL can be typed again; `hides_user` masks the user too. A text that is
    not a URL is masked as a whole, because it may be part of a URL: split at a comma in a password, or without its
    host.
    """
    start = _authority_start(text)
    rest = text[start:]
    masked = _mask_userinfo(rest)
    if _last_at(rest) < 0 and rest and not _HOST.fullmatch(_AUTHORITY_END.split(rest, 1)[0]):
        return text[:start] + MASK
    if masked != rest and _SERVER.match(text) and not hides_user:
        user, colon, _ = _before_at(rest).partition(":")
        masked = f"{user}:{masked}" if colon else rest
    return text[:start] + _PASSWORD.sub(rf"\1{MASK}", masked)


def mask_setting(text: str, *, is_secret: bool, hides_user: bool = False) -> str:
    """A setting as typed. A setting that holds passwords is the URL of a server or proxy."""
    is_url = is_secret or _SERVER.match(text) is not None
    return mask_server_url(text, hides_user=hides_user) if is_url else mask_text(text)


def mask_text(text: str) -> str:
    """Running text without the user and password of URLs, and without the values of Authorization and Cookie."""
    if any(sign in text for sign in _AT_SIGNS):
        text = "".join(_mask_words(_GAPS.split(text)))
    return _CREDENTIALS.sub(rf"\1\2{MASK}", text)


def is_secret_name(name: str) -> bool:
    """Whether a field with this name holds a secret, whatever its value."""
    return _SECRET_NAME.search(name) is not None


# ---- one URL ----------------------------------------------------------------------------------------------


def _authority_start(text: str) -> int:
    """The position where the user begins, or the host: after blanks, scheme and slashes."""
    at = len(text) - len(text.lstrip(_BLANK))
    scheme = _SCHEME.match(text, at)
    if scheme is None and text[at : at + 1] and text[at] in _SLASHES and text[at + 1 : at + 2] not in ("/", "\\"):
        return at  # it is a path
    at = scheme.end() if scheme is not None else at
    rest = text[at:]
    return at + len(rest) - len(rest.lstrip(_SLASHES + _BLANK))


def _mask_userinfo(rest: str) -> str:
    """The part of a URL after the slashes. Everything before its last `@` is masked if it contains a user."""
    end = _last_at(rest)
    if end < 0:
        return rest
    path = _AUTHORITY_END.search(rest)
    authority = rest[: path.start()] if path is not None else rest
    return rest if _is_host(authority) else f"{MASK}@{rest[end:]}"


def _is_host(authority: str) -> bool:
    """Whether this is only a host with an optional port. Then an `@` further on belongs to a path."""
    found = _HOST.fullmatch(authority)
    if found is None:
        return False
    name, port = found[1], found[2]
    # `user:12` is either a host with a port, or a user with part of a password that has a slash in it.
    return name is None or not port or "." in name or name.lower() == "localhost"


def _last_at(text: str) -> int:
    """The position after the last `@`, or -1."""
    return max((at + len(sign) for sign in _AT_SIGNS if (at := text.rfind(sign)) >= 0), default=-1)


def _before_at(text: str) -> str:
    return text[: max(_last_at(text) - 1, 0)]


# ---- running text -----------------------------------------------------------------------------------------


def _mask_words(parts: list[str]) -> list[str]:
    """Words and the gaps between them, with each URL masked. A user or a password may contain gaps."""
    result: list[str] = []
    at = 0
    while at < len(parts):
        word, more = parts[at], 0
        if at % 2 == 0 and not _has_at(word):
            more = _url_part_count(parts, at)
            word = "".join(parts[at : at + more + 1])
        result.append(_mask_word(word) if at % 2 == 0 and _has_at(word) else word)
        at += more + 1
    return result


def _url_part_count(parts: list[str], at: int) -> int:
    """How many further parts belong to the URL that begins with this word, up to its `@`; 0: none."""
    match = _PARTIAL_URL.search(parts[at])
    if match is None:
        return 0
    for end in range(at + 2, min(at + 2 * _MAX_URL_WORDS, len(parts)), 2):
        word, gap = parts[end], parts[end - 1]
        if "\n" in gap or "\r" in gap:
            return 0
        if _has_at(word):
            is_user = not _is_host(match[1]) or ":" in _before_at(word)
            return end - at if is_user and not _AUTHORITY_END.search(_before_at(word)) else 0
        if _AUTHORITY_END.search(word):
            return 0
    return 0


_PARTIAL_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}:[/\\]+([^/\\?#]*)\Z", re.I)
"""A scheme and a host, or the beginning of a user, with nothing after it."""
_URL_START = re.compile(r"[a-z][a-z0-9+.-]{1,20}:[/\\]|//|\\\\", re.I)


def _mask_word(word: str) -> str:
    """Mask a word with an `@`: a URL after other text, a user with a password, or a mail address."""
    match = _URL_START.search(word)
    if match is not None:
        return word[: match.start()] + mask_url(word[match.start() :])
    user = _before_at(word)
    is_user = ":" in user and not _AUTHORITY_END.search(user) and not user.lower().startswith("mailto:")
    return mask_url(word) if is_user else word


def _has_at(word: str) -> bool:
    return any(sign in word for sign in _AT_SIGNS)
