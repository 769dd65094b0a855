"""What a crawl may visit: the seeds' hosts, their domains, their paths, or anything.

Hosts are compared as a person would: `www.` in front and http or https make no difference, another port does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from tenax.config import ScopeName
from tenax.model import Value
from tenax.urls.normalize import WebUrl

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

_FILE_NAME = re.compile(r"\.[a-z][a-z0-9]{1,4}$", re.IGNORECASE)


class Scope(Value, frozen=True):
    """The scope of one crawl; only the set for `name` is filled."""

    name: ScopeName
    hosts: frozenset[str] = frozenset()
    """`host` or `host:port`, as written by `site_key`."""
    domains: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    """A site and a path without its last slash; that path and everything below is in scope."""


def build_scope(seeds: Iterable[WebUrl], name: ScopeName) -> Scope:
    # Each by itself and then all at once: widening a scope copies it, and there may be 100,000 seeds.
    scopes = [widen_scope(Scope(name), seed) for seed in seeds]
    return Scope(
        name,
        hosts=frozenset().union(*(scope.hosts for scope in scopes)),
        domains=frozenset().union(*(scope.domains for scope in scopes)),
        prefixes=frozenset().union(*(scope.prefixes for scope in scopes)),
    )


def widen_scope(scope: Scope, url: WebUrl) -> Scope:
    """The scope with this URL's host, domain or prefix added: a seed, or the redirect target of a seed."""
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
    """The host without `www.`, with its port if that is not the scheme's default."""
    return _origin_site_key(url.origin)


@lru_cache(maxsize=10_000)
def _origin_site_key(origin: str) -> str:
    site = origin.partition("//")[2]
    return site[4:] if site.startswith("www.") and "." in site[4:] else site  # `www.com` stays whole


@lru_cache(maxsize=10_000)
def registered_domain(host: str) -> str:
    """The registered domain: `bbc.co.uk` for `news.bbc.co.uk`. An address or a single label is its own.

    The first call reads the public suffix list of its package (tens of milliseconds).
    """
    if is_address(host) or "." not in host:
        return host
    return _suffix_list().privatesuffix(host) or host


def is_address(host: str) -> bool:
    """Whether it is an IP address; by the URL standard every host whose last part is a number is an IPv4 address."""
    return host[:1] == "[" or host.rpartition(".")[2].isdigit()


@lru_cache(maxsize=1)
def _suffix_list() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # slow to load, and most crawls do not need it

    return PublicSuffixList()


def _prefix_directory(path: str) -> str:
    """`/docs` for `/docs`, `/docs/` and `/docs/intro.html`: what a person means by "this and below"."""
    head, _, last = path.rpartition("/")
    return head if not last or _FILE_NAME.search(last) else path


def _is_under_prefix(site_path: str, prefixes: frozenset[str]) -> bool:
    end = len(site_path)
    while end > 0:
        if site_path[:end] in prefixes:
            return True
        end = site_path.rfind("/", 0, end)
    return False
