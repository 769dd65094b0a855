"""Headers of requests and responses, and how they delimit a body."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal, TypeAlias, TypeVar, overload

from tenax.config import FetchConfig, SiteConfig, sent_user_agent
from tenax.errors import ConfigError
from tenax.hosts.robots import OUR_NAMES, product_token
from tenax.model import Failed, FailureKind, StoredCopy, Value
from tenax.urls.normalize import MAX_HREF_CHARS

_Default = TypeVar("_Default")
HeaderPairs: TypeAlias = tuple[tuple[str, str], ...]
Profile: TypeAlias = Literal["honest", "browser"]
"""How we identify ourselves: by our own name or as a browser."""

ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_LANGUAGE: Final = "en,*;q=0.5"
ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
"""What `tenax.fetch.bodies` can decode."""

BROWSER_VERSION: Final = 120
"""The Chrome version of the browser headers; a transport that can imitate its handshake should."""
# In the order in which that version of Chrome sends them.
_BROWSER_HEADERS: Final[HeaderPairs] = (
    ("Cache-Control", "no-cache"),
    (
        "User-Agent",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
        f"Chrome/{BROWSER_VERSION}.0.0.0 Safari/537.36",
    ),
    ("Accept", ACCEPT),
    ("Sec-Fetch-Site", "none"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-User", "?1"),
    ("Sec-Fetch-Dest", "document"),
    ("Accept-Encoding", "gzip, deflate, br"),
    ("Accept-Language", "en-US,en;q=0.9"),
)

_MAX_VALIDATOR_CHARS: Final = 1024
MAX_CONTENT_TYPE_CHARS: Final = 1000
"""Maximum stored length of a Content-Type, as of any other header."""
MAX_VALUE_CHARS: Final = 8192
"""Maximum length of a value in a response. Longer values are cut. Servers rarely send or accept more in one line."""
_LOCATION_NAME: Final = "location"
_COMMON_NAMES: Final = {
    spelling.encode(): name.lower()
    for name in (
        *("Accept-Ranges", "Age", "Alt-Svc", "Cache-Control", "Connection", "Content-Encoding", "Content-Language"),
        *("Content-Length", "Content-Security-Policy", "Content-Type", "Date", "ETag", "Expires", "Keep-Alive"),
        *("Last-Modified", "Link", "Location", "Pragma", "Server", "Set-Cookie", "Strict-Transport-Security"),
        *("Transfer-Encoding", "Vary", "Via", "X-Cache", "X-Content-Type-Options", "X-Frame-Options", "X-Powered-By"),
    )
    for spelling in (name, name.lower())
}
"""Names as most servers write them. A look-up is faster than decoding."""


def default_headers(fetch: FetchConfig) -> HeaderPairs:
    """The headers of every request. Raises `ConfigError` if a configured text cannot be sent in a header."""
    for setting, text in (("fetch.contact", fetch.contact), ("fetch.user_agent", fetch.user_agent)):
        if not _is_sendable(text):
            raise ConfigError(f"bad value {text!r} for `{setting}`: only printable ASCII can be sent in a header")
    if fetch.profile == "browser":
        own = fetch.user_agent
        return tuple((name, own if own and name == "User-Agent" else value) for name, value in _BROWSER_HEADERS)
    return (
        ("User-Agent", sent_user_agent(fetch.user_agent, fetch.contact)),
        ("Accept", ACCEPT),
        ("Accept-Language", ACCEPT_LANGUAGE),
        ("Accept-Encoding", ACCEPT_ENCODING),
    )


class SiteHeaders:
    """The headers of sites that have settings of their own."""

    def __init__(self, default_site: SiteConfig) -> None:
        self._default_site = default_site
        self._headers: dict[int, HeaderPairs] = {}

    def get(self, site: SiteConfig) -> HeaderPairs:
        """The headers of this site; empty if those of the crawl apply."""
        if site is self._default_site:
            return ()
        headers = self._headers.get(id(site))
        if headers is None:
            headers = self._headers[id(site)] = default_headers(site.fetch)
        return headers


def robot_names(fetch: FetchConfig) -> frozenset[str]:
    """The names by which a robots.txt, or the robots rules of a page, may address us: the name that we send, and our
    own."""
    return _robot_names(fetch.profile, fetch.user_agent, fetch.contact)


@lru_cache(maxsize=1024)
def _robot_names(profile: Profile, user_agent: str, contact: str) -> frozenset[str]:
    is_browser = profile == "browser" and not user_agent
    sent = _BROWSER_HEADERS[1][1] if is_browser else sent_user_agent(user_agent, contact)
    return OUR_NAMES | ({product_token(sent)} - {""})


def conditional_headers(stored_copy: StoredCopy | None) -> HeaderPairs:
    """Headers that request the page only if it differs from the stored copy.

    The site wrote these values. A value that does not fit into a header is not sent.
    """
    if stored_copy is None:
        return ()
    validators = (("If-None-Match", stored_copy.etag), ("If-Modified-Since", stored_copy.last_modified))
    return tuple((name, value) for name, value in validators if value and _is_usable_validator(value))


def usable_validator(value: str | None) -> str | None:
    """An ETag or a date if it can be sent back, else None."""
    return value if value and _is_usable_validator(value) else None


def _is_usable_validator(value: str) -> bool:
    return len(value) <= _MAX_VALIDATOR_CHARS and _is_sendable(value)


def _is_sendable(text: str) -> bool:
    return text.isascii() and text.isprintable()


class Headers(Mapping[str, str]):
    """The headers of a response, with look-ups that ignore case.

    Bytes that are not UTF-8 become surrogates, as in file names, so nothing is lost and nothing fails. A value is cut
    at `MAX_VALUE_CHARS`. A Location may be as long as the longest URL of a crawl, and is cut after that.
    """

    __slots__ = ("_values",)

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]] = ()) -> None:
        values: dict[str, list[str]] = {}
        for raw_name, value in pairs:
            name = _COMMON_NAMES.get(raw_name) or raw_name.lower().decode("latin-1")
            text = value.strip().decode("utf-8", "surrogateescape")
            if len(text) > MAX_VALUE_CHARS:
                text = text[: MAX_HREF_CHARS + 1 if name == _LOCATION_NAME else MAX_VALUE_CHARS]
            if name in values:
                values[name].append(text)
            else:
                values[name] = [text]
        self._values = values

    def __getitem__(self, name: str) -> str:
        """The first value, if a name occurs several times."""
        return self._values[name.lower()][0]

    @overload
    def get(self, name: str, default: None = None, /) -> str | None: ...
    @overload
    def get(self, name: str, default: _Default, /) -> str | _Default: ...
    def get(self, name: str, default: object = None, /) -> object:
        values = self._values.get(name.lower())
        return default if values is None else values[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def content_type(self) -> str:
        """The Content-Type as sent, cut at the maximum length. Invalid bytes are replaced, because it is stored."""
        return _clean_content_type(self.get("Content-Type", ""))

    def lists(self) -> Iterable[tuple[str, list[str]]]:
        """Every name in lower case, in order, with its values."""
        return self._values.items()

    def single_values(self) -> dict[str, str] | None:
        """Every name in lower case with its value, in order; None if a name occurs several times."""
        if max(map(len, self._values.values()), default=1) > 1:
            return None
        return {name: values[0] for name, values in self._values.items()}

    def get_all(self, name: str) -> tuple[str, ...]:
        """Every value of a name, in order."""
        return tuple(self._values.get(name.lower(), ()))

    def get_joined(self, name: str) -> str:
        """Every value of a name in lower case, in order, joined as one list; empty if there is none."""
        values = self._values.get(name)
        return "" if values is None else values[0] if len(values) == 1 else ", ".join(values)


@lru_cache(64)
def _clean_content_type(text: str) -> str:
    text = text[:MAX_CONTENT_TYPE_CHARS]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class Framing(Value, frozen=True):
    """The length of the body, and its encoding."""

    content_coding: str
    """All codings in the order in which they were applied, for `tenax.fetch.bodies`."""
    length: int | None = None
    """The announced bytes on the wire; None if a zero-length chunk, or the end of the connection, ends the body."""
    is_ended_by_close: bool = False


def parse_framing(headers: Headers) -> Framing | Failed:
    """The framing of a response with a body. Several headers with one name are one list, as the RFC says."""
    content_coding = headers.get_joined("content-encoding")
    transfer = headers.get_joined("transfer-encoding")
    if transfer:
        return _parse_transfer_encoding(content_coding, [coding.strip().lower() for coding in transfer.split(",")])
    length = headers.get_joined("content-length")
    if not length:
        return Framing(content_coding, is_ended_by_close=True)
    if "," in length:
        different = {one.strip() for one in length.split(",")}
        if len(different) > 1:
            return _framing_failure("it has different Content-Length headers")
        length = different.pop()
    if not (length.isascii() and length.isdecimal()):
        return _framing_failure("its Content-Length is not a number")
    return Framing(content_coding, int(length[:20]))  # more digits are too many bytes in any case


def _parse_transfer_encoding(content_coding: str, codings: list[str]) -> Framing | Failed:
    """The framing by Transfer-Encoding. Only `chunked` is accepted. It delimits the body, so it must be the last
    coding, and occur once."""
    is_chunked = codings[-1] == "chunked"
    others = codings[: len(codings) - is_chunked]
    if "chunked" in others:
        return _framing_failure("its Transfer-Encoding has `chunked` before its end")
    unsupported = next((coding for coding in others if coding != "identity"), None)
    if unsupported is not None:
        return _framing_failure(f"its Transfer-Encoding is {unsupported[:40]!r}, which was not requested")
    return Framing(content_coding, is_ended_by_close=not is_chunked)


def merge_content_lengths(answer: bytes) -> bytes | None:
    """The beginning of a response with repeated equal Content-Length headers merged into one.

    Unchanged if there is nothing to merge: the lengths differ, or there are none. None if the head is incomplete.
    """
    answer = answer.lstrip(b"\r\n")
    start, end = 0, _head_end(answer, 0)
    while end > 0 and answer[start : start + 10].partition(b" ")[2][:1] == b"1":  # an interim response comes before it
        start, end = end, _head_end(answer, end)
    if end < 0:
        return None
    length, lines, is_length = b"", [], False
    for line in answer[start:end].split(b"\n"):
        if is_length and line[:1] in (b" ", b"\t"):
            return answer  # folded headers are left alone
        name, _, value = line.partition(b":")
        is_length = name.strip().lower() == b"content-length"
        if is_length:
            values = {each.strip() for each in value.split(b",")} | ({length} if length else set())
            if len(values) > 1 or not value.strip():
                return answer
            if length:
                continue
            length = values.pop()
            line = b"Content-Length: " + length + b"\r"
        lines.append(line)
    return answer[:start] + b"\n".join(lines) + answer[end:]


def _head_end(answer: bytes, start: int) -> int:
    """Where the head that begins here ends; -1 if it is incomplete."""
    ends = [(answer.find(mark, start), len(mark)) for mark in (b"\n\r\n", b"\n\n")]
    return min((at + length for at, length in ends if at >= 0), default=-1)


def _framing_failure(why: str) -> Failed:
    return Failed(why, FailureKind.BAD_RESPONSE)
