"""What a crawl may visit: its seeds, the scope around them, and include and exclude patterns.

Hosts are compared as a person would compare them: `www.` in front makes no difference, http or https makes none,
another port does. Patterns run on RE2, which never backtracks, so no pattern can make a URL expensive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tenax.config import ScopeName
from tenax.errors import ConfigError, UsageError
from tenax.model import Value
from tenax.text.sanitize import mask_text, mask_url
from tenax.urls.normalize import NormalizeOptions, WebUrl, normalize

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


_FILE_NAME = re.compile(r"\.[a-z][a-z0-9]{1,4}$", re.IGNORECASE)


class Scope(Value, frozen=True):
    """The scope of one crawl. Only the set that belongs to `name` is filled."""

    name: ScopeName
    hosts: frozenset[str] = frozenset()
    """`host` or `host:port`, as written by `site_key`."""
    domains: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    """A site and a path without its last slash. That path and everything below it is in scope."""


def build_scope(seeds: Iterable[WebUrl], name: ScopeName) -> Scope:
    # Each seed by itself, and then all together: widening a scope copies it, and there may be 100,000 seeds.
    scopes = [widen_scope(Scope(name), seed) for seed in seeds]
    return Scope(
        name,
        hosts=frozenset().union(*(scope.hosts for scope in scopes)),
        domains=frozenset().union(*(scope.domains for scope in scopes)),
        prefixes=frozenset().union(*(scope.prefixes for scope in scopes)),
    )


def widen_scope(scope: Scope, url: WebUrl) -> Scope:
    """The scope with the host, domain or prefix of this URL added. The URL is a seed, or the redirect target of a
    seed."""
    if scope.name == "host":
        return Scope("host", hosts=scope.hosts | {site_key(url)})
    if scope.name == "domain":
        return Scope("domain", domains=scope.domains | {registered_domain(url.host)})
    if scope.name == "prefix":
        return Scope("prefix", prefixes=scope.prefixes | {site_key(url) + _prefix_directory(url.path)})
    return scope


def is_in_scope(scope: Scope, url: WebUrl) -> bool:
    if scope.name == "host":
        return site_key(url) in scope.hosts
    if scope.name == "domain":
        return registered_domain(url.host) in scope.domains
    if scope.name == "prefix":
        return _is_under_prefix(site_key(url) + url.path, scope.prefixes)
    return True


def site_key(url: WebUrl) -> str:
    """The host without `www.`, with its port if that is not the default of the scheme."""
    return _origin_site_key(url.origin)


@lru_cache(maxsize=10_000)
def _origin_site_key(origin: str) -> str:
    site = origin.partition("//")[2]
    return site[4:] if site.startswith("www.") and "." in site[4:] else site  # `www.com` stays whole


@lru_cache(maxsize=10_000)
def registered_domain(host: str) -> str:
    """The registered domain: `bbc.co.uk` for `news.bbc.co.uk`. An address or a single label is its own domain.

    The first call reads the public suffix list of its package, which takes tens of milliseconds.
    """
    if is_address(host) or "." not in host:
        return host
    return _suffix_list().privatesuffix(host) or host


def is_address(host: str) -> bool:
    """Whether the host is an IP address. By the URL standard, every host whose last part is a number is an IPv4
    address."""
    return host[:1] == "[" or host.rpartition(".")[2].isdigit()


@lru_cache(maxsize=1)
def _suffix_list() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # slow to load, and most crawls do not need it

    return PublicSuffixList()


def _prefix_directory(path: str) -> str:
    """`/docs` for `/docs`, `/docs/` and `/docs/intro.html`: what a person means by "this page and everything below"."""
    head, _, last = path.rpartition("/")
    return head if not last or _FILE_NAME.search(last) else path


def _is_under_prefix(site_path: str, prefixes: frozenset[str]) -> bool:
    end = len(site_path)
    while end > 0:
        if site_path[:end] in prefixes:
            return True
        end = site_path.rfind("/", 0, end)
    return False


_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_PORT = re.compile(r"(?:\[[^\]]*\]|[^\s/?#:@\\]+):(\d++)(?=[/?#]|$)")
_MAX_SHOWN_CHARS = 200


def parse_seed(text: str, options: NormalizeOptions) -> WebUrl:
    """The URL for `example.org`, `localhost:8000/a` or a whole URL. Raises `UsageError` for anything else.

    Without a scheme the URL is https. It is http for an address, for localhost and with an explicit port, because such
    servers rarely have a certificate.
    """
    seed = text.strip()
    if seed.startswith("//"):
        seed = seed[2:]
    port = _PORT.match(seed)
    scheme = None if port else _SCHEME.match(seed)
    if scheme is None:
        url = _parse_without_scheme(seed, (port[1].lstrip("0") or "0") if port else None, options)
    elif scheme[1].lower() in ("http", "https"):
        url = normalize(seed, None, options)
    elif mask_url(seed).startswith(scheme[0]):
        raise UsageError(f"`{_format_seed(seed)}`: `{scheme[1]}` is not a supported scheme; give an http or https URL")
    else:
        url = None  # what looks like a scheme is a user name
    if url is None:
        raise UsageError(f"`{_format_seed(seed)}` is not a URL; write it like https://example.org/")
    return url


def _parse_without_scheme(seed: str, port: str | None, options: NormalizeOptions) -> WebUrl | None:
    url = normalize(f"https://{seed}", None, options) if seed[:1] not in ("", "/", "?", "#", "\\") else None
    if url is None:
        return None
    is_local = is_address(url.host) or url.host == "localhost" or url.host.endswith(".localhost")
    if not is_local and port is None and "." not in url.host:
        return None  # a single word: more likely a mistake than a host
    wants_http = port != "443" if port else is_local
    return normalize(f"http://{seed}", None, options) if wants_http else url


def _format_seed(seed: str) -> str:
    """The seed as shown in a message: no password, no control characters, not too long."""
    return "".join(char if char.isprintable() else "?" for char in mask_url(seed)[:_MAX_SHOWN_CHARS])


_WILDCARD = re.compile(r"[*+\[(|^]|\\[a-zA-Z]|\.(?=[*+?{])")
"""Characters that make a regular expression more than a literal text."""


class Patterns:
    """Compiled patterns. When they are pickled, only the texts are stored, and are compiled again."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._compiled = [(text, _compile_pattern(text)) for text in texts]

    def __bool__(self) -> bool:
        return bool(self._compiled)

    def first_match(self, url: str) -> str | None:
        """The text of the first pattern that matches, or None."""
        for text, regex in self._compiled:
            if regex.search(url) is not None:
                return text
        return None


def compile_patterns(texts: Sequence[str]) -> Patterns:
    """The compiled patterns. Raises `ConfigError` if one of them is invalid, or could never match."""
    for text in texts:
        if not _is_regex(text) and not text.startswith(("http", "*", "?")):
            shown = _format_pattern(text)
            raise ConfigError(
                f"bad pattern `{shown}`: a glob must match the whole URL, so write it as `{_suggest_glob(shown)}`"
            )
        if _has_password(text):
            raise ConfigError(f"bad pattern `{mask_text(text)}`: URLs are matched without user and password")
    return Patterns(texts)


def _suggest_glob(text: str) -> str:
    """A glob that matches whole URLs, and probably means the same: `tag` is a directory, `.pdf` an ending."""
    first, last = text.partition("/")[0], text.rpartition("/")[2]
    start = "*" if not first or "." in first else "*/"
    if text.endswith("*") or text.startswith("."):
        return start + text
    return start + text + ("/*" if last and "." not in last else "*")


def _compile_pattern(text: str) -> Any:
    import re2  # the import takes 6 ms, and most crawls have no patterns

    options = re2.Options()
    options.log_errors = False  # errors would be printed to stderr
    options.never_capture = True
    wild = {"*": ".*", "?": "."}
    try:
        if _is_regex(text):
            return re2.compile(text[1:-1], options)
        glob = "".join(wild.get(char) or re2.escape(char) for char in text)
        return re2.compile(rf"(?s)\A{glob}\z", options)
    except re2.error as error:
        raise ConfigError(f"bad pattern `{_format_pattern(text)}`: {_error_reason(error)}") from None
    except UnicodeEncodeError:
        raise ConfigError(f"bad pattern `{_format_pattern(text)}`: it is not valid Unicode") from None


def _is_regex(text: str) -> bool:
    return len(text) > 2 and text[0] == "/" and text[-1] == "/"


def _has_password(text: str) -> bool:
    """Whether the pattern contains a password. Such a pattern would match nothing, and would be stored with the rules.

    Wildcards before an `@` are not a password.
    """
    before = text.partition("@")[0]
    is_wild = _WILDCARD.search(before) is not None if _is_regex(text) else "*" in before
    return mask_text(text) != text and not is_wild


def _format_pattern(text: str) -> str:
    return text if text.isprintable() else ascii(text)


def _error_reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "cannot be read"
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
