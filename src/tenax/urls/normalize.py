"""One spelling for each URL, so that a page is never visited under two names; and the base of a document's links.

The WHATWG parser does what every browser does: it resolves against the base, lower-cases scheme and host, writes names
in punycode and other characters as UTF-8 escapes, and drops default ports and dot segments. `normalize` also removes
the fragment, user and password (credentials must not be stored), a dot after the host, and tracking and session
parameters. It sorts the parameters and decodes needless escapes. It is idempotent.

A base is written once, but multiplied by every link: 2,000 characters times 50,000 links are 100 MB from a page of 1
MB. So a base is ignored if it is longer than any URL that is followed, and relative links are resolved up to a total of
`MAX_RESOLVED_CHARS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from urllib.parse import unquote

from can_ada import URL, parse

from tenax.config import UrlsConfig
from tenax.model import Value
from tenax.text.sanitize import MASK

MAX_HREF_CHARS = 65_536
"""The largest `max_length` that can be set; longer hrefs are refused without parsing."""

MAX_HOST_CHARS = 253
"""Maximum length of a DNS name."""
_LONG_QUERY_CHARS = 1024
"""The parameter names of a longer query are not cached."""

# An escape that is needless or in lower case: of an unreserved character (RFC 3986, 2.3), or with an `a` to `f` in it.
# A `%` after another stray `%` or `%4` is left alone, because decoding it would create a new escape.
_ESCAPE = re.compile(
    r"(?<!%)(?<!%[0-9A-Fa-f])%"
    r"(2[DdEe]|3[0-9]|4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9AaEe]|[0-9A-Fa-f][a-f]|[a-f][0-9A-F])"
)
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# A base that can be split without the parser. All URLs with the same origin and directory have the same result.
_PLAIN_BASE = re.compile(r"(https?://[a-z0-9.-]++(?::[0-9]++)?+)(/(?:[A-Za-z0-9._~-]*+/)*+)[A-Za-z0-9._~-]*+")
_NORMALIZED_ESCAPES = {
    pair: chr(int(pair, 16)) if int(pair, 16) in _UNRESERVED else f"%{pair.upper()}"
    for pair in (high + low for high in "0123456789ABCDEFabcdef" for low in "0123456789ABCDEFabcdef")
}


class ParamNames(Value, frozen=True):
    """Parameter names in lower case: whole names, and prefixes of names."""

    exact: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        if "%" in name:
            name = unquote(name)
        name = name.lower()
        return name in self.exact or name.startswith(self.prefixes)


class NormalizeOptions(Value, frozen=True, cache_hash=True):
    """The configurable parts of normalization."""

    tracking_params: ParamNames = ParamNames()
    session_params: ParamNames = ParamNames()
    strip_trailing_slash: bool = False


class WebUrl(Value, frozen=True):
    """A normalized http(s) URL and its parts."""

    url: str
    origin: str
    """`scheme://host`, with the port if it is not the scheme's default."""
    scheme: str
    host: str
    """Without the port; IPv6 addresses in brackets."""
    port: int
    path: str
    query: str
    """Without the `?`; empty if there is none."""


@lru_cache(maxsize=16)
def normalize_options(config: UrlsConfig) -> NormalizeOptions:
    return NormalizeOptions(
        tracking_params=_parse_param_names(config.tracking_params),
        session_params=_parse_param_names(config.session_params),
        strip_trailing_slash=config.strip_trailing_slash,
    )


def normalize(href: str, base: str | None, options: NormalizeOptions) -> WebUrl | None:
    """The normalized link; None if it cannot be parsed or is not http(s). Never raises."""
    if len(href) > MAX_HREF_CHARS:
        href = href.partition("#")[0]
        if len(href) > MAX_HREF_CHARS:
            return None
    try:
        parsed = parse(href) if base is None else _parse_base(base) + href
    except (ValueError, TypeError):  # TypeError: a lone surrogate, which UTF-8 cannot encode
        return None
    protocol = parsed.protocol
    if protocol not in ("https:", "http:"):
        return None
    host = parsed.hostname
    if host[-1] == ".":
        host = host[:-1]
        if not host or host[-1] == ".":
            return None
    if len(host) > MAX_HOST_CHARS:
        return None
    path = parsed.pathname
    if "%" in path or ";" in path or "^" in path or options.strip_trailing_slash:
        path = _normalize_path(path, options)
    search = parsed.search
    query = _normalize_query(search[1:], options) if search else ""
    port = parsed.port
    origin = f"{protocol}//{host}:{port}" if port else f"{protocol}//{host}"
    number = int(port) if port else 443 if protocol == "https:" else 80
    url = f"{origin}{path}?{query}" if query else origin + path
    return WebUrl(url, origin, protocol[:-1], host=host, port=number, path=path, query=query)


def parse_exact_url(href: str) -> WebUrl | None:
    """The URL as a browser would request it: escaped, without fragment, user and password, otherwise unchanged.

    For URLs that must keep their spelling. None in the same cases as `normalize`.
    """
    url = normalize(href, None, _UNCHANGED_OPTIONS)
    if url is None:
        return None
    parsed = parse(href.partition("#")[0])
    path, search = parsed.pathname, parsed.search
    return WebUrl(
        url.origin + path + search, url.origin, url.scheme, host=url.host, port=url.port, path=path, query=search[1:]
    )


def mask_userinfo(href: str) -> str:
    """A valid URL, with `***` for its user and password as the parser reads them.

    Texts that are only shown, and may not be URLs, are masked by `tenax.text.sanitize`.
    """
    if "@" not in href:
        return href
    try:
        parsed = parse(href)
    except (ValueError, TypeError):
        return href
    if not parsed.username and not parsed.password:
        return href
    return f"{parsed.protocol}//{MASK}@{parsed.host}{parsed.pathname}{parsed.search}{parsed.hash}"


_UNCHANGED_OPTIONS = NormalizeOptions()


def split_base(base: str) -> tuple[str, str] | None:
    """The origin of a base URL, and its directory with a slash. Links that begin with a slash depend only on the
    origin, other relative links only on the directory."""
    if plain := _PLAIN_BASE.fullmatch(base):
        return plain[1], plain[1] + plain[2]
    try:
        parsed = _parse_base(base)
    except (ValueError, TypeError):
        return None
    origin = parsed.origin
    path = parsed.pathname
    return origin, origin + path[: path.rfind("/") + 1]


@lru_cache(maxsize=64)
def _parse_base(base: str) -> URL:
    return parse(base)


def _parse_param_names(patterns: tuple[str, ...]) -> ParamNames:
    lower = [pattern.lower() for pattern in patterns]
    return ParamNames(
        exact=frozenset(name for name in lower if not name.endswith("*")),
        prefixes=tuple(name[:-1] for name in lower if name.endswith("*")),
    )


def _normalize_path(path: str, options: NormalizeOptions) -> str:
    if "%" in path:
        path = _normalize_escapes(path)
    if "^" in path:  # newer editions of the standard escape `^`, the parser does not yet
        path = path.replace("^", "%5E")
    # Removing a session parameter can expose a slash, and removing a slash a session parameter. So repeat until nothing
    # changes.
    while True:
        before = path
        if options.strip_trailing_slash and len(path) > 1 and path[-1] == "/":
            path = path.rstrip("/") or "/"
        if ";" in path:
            path = _strip_session_params(path, options.session_params)
        if path is before or path == before:
            return path


def _strip_session_params(path: str, names: ParamNames) -> str:
    """Remove `;jsessionid=…` and similar from the last segment."""
    directory, slash, last = path.rpartition("/")
    name, *params = last.split(";")
    kept = [param for param in params if param.partition("=")[0] not in names]
    if len(kept) == len(params) or (not kept and name in (".", "..")):  # a bare `..` would be a step up
        return path
    return directory + slash + ";".join([name, *kept])


def _normalize_query(query: str, options: NormalizeOptions) -> str:
    if "%" in query:
        query = _normalize_escapes(query)
    is_dropped = _is_dropped if len(query) <= _LONG_QUERY_CHARS else _is_dropped.__wrapped__
    if "&" not in query:
        return "" if is_dropped(_param_name(query), options) else query
    kept = [pair for pair in query.split("&") if pair and not is_dropped(_param_name(pair), options)]
    # By name only, and stable, because the order of `a[]=2&a[]=1` may matter to the site.
    if len(kept) > 1:
        kept.sort(key=_param_name)
    return "&".join(kept)


def _param_name(pair: str) -> str:
    return pair.partition("=")[0]


@lru_cache(maxsize=4096)
def _is_dropped(name: str, options: NormalizeOptions) -> bool:
    return name in options.tracking_params or name in options.session_params


def _normalize_escapes(text: str) -> str:
    return _ESCAPE.sub(_normalize_escape, text)


def _normalize_escape(match: re.Match[str]) -> str:
    return _NORMALIZED_ESCAPES[match[1]]


MAX_RESOLVED_CHARS = 4_000_000
"""Maximum total length of the resolved relative links of one document: 80 for each of 50,000 links, the maximum of a
page."""
_ABSOLUTE_PREFIXES = ("http://", "https://")
_PLAIN_OPTIONS = NormalizeOptions()


def resolve_base(base_href: str | None, document_url: str, max_chars: int = UrlsConfig().max_length) -> str:
    """The base of relative links: the `<base href>`, or the document if there is none or it is too long.

    The base is not normalized, because that could remove a slash that matters here.
    """
    if base_href is None:
        return document_url
    base = normalize(base_href, document_url, _PLAIN_OPTIONS)
    return base.url if base is not None and len(base.url) <= max_chars else document_url


def make_link_resolver(base: str) -> Callable[[str], str]:
    """A function that makes the links of one document absolute and changes nothing else.

    Links that are not web URLs, and links beyond the limit, are returned unchanged.
    """
    remaining_chars, base_chars = MAX_RESOLVED_CHARS, len(base)

    def resolve(href: str) -> str:
        nonlocal remaining_chars
        if remaining_chars < 0:
            return href
        # The full length of both, however short the result, because that much is parsed.
        remaining_chars -= base_chars + len(href)
        found = normalize(href, base, _PLAIN_OPTIONS)
        return href if found is None else found.url

    return resolve


def page_link_resolver(
    page_url: str, base_href: str | None, max_chars: int = UrlsConfig().max_length
) -> Callable[[str], str]:
    """The same function for a page at this URL, with this `<base href>`."""
    return make_link_resolver(resolve_base(base_href, page_url, max_chars))


def count_resolvable(hrefs: Iterable[str], base: str) -> int:
    """How many of the links, counted from the first, can be resolved within the limit of a document."""
    _, directory = split_base(base) or ("", "")
    remaining_chars, count = MAX_RESOLVED_CHARS, 0
    for href in hrefs:
        remaining_chars -= 0 if href.startswith(_ABSOLUTE_PREFIXES) else len(directory) + len(href)
        if remaining_chars < 0:
            break
        count += 1
    return count
