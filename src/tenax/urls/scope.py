"""What this crawl may touch: the seeds' hosts, their domains, their paths, or anything.

A host is meant as a person means it: `www.` in front and the difference between http and https do not matter,
another port does.
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
    """The limits of one crawl; only the set that `name` speaks of is filled."""

    name: ScopeName
    hosts: frozenset[str] = frozenset()
    """`host` or `host:port`, as `site_key` writes them."""
    domains: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    """A site and a path without its last slash; what lies there and below is inside."""


def build_scope(seeds: Iterable[WebUrl], name: ScopeName) -> Scope:
    # Each by itself and then all at once: a scope that grows by one copies itself, and there may be 100,000 seeds.
    scopes = [widen_scope(Scope(name), seed) for seed in seeds]
    return Scope(
        name,
        hosts=frozenset().union(*(scope.hosts for scope in scopes)),
        domains=frozenset().union(*(scope.domains for scope in scopes)),
        prefixes=frozenset().union(*(scope.prefixes for scope in scopes)),
    )


def widen_scope(scope: Scope, url: WebUrl) -> Scope:
    """The scope with this URL's host, domain or prefix in it: a seed, or where a seed was redirected to."""
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
    """The host without `www.`, with its port when that is not the scheme's own."""
    return _origin_site_key(url.origin)


@lru_cache(maxsize=10_000)
def _origin_site_key(origin: str) -> str:
    site = origin.partition("//")[2]
    return site[4:] if site.startswith("www.") and "." in site[4:] else site  # `www.com` stays whole


@lru_cache(maxsize=10_000)
def registered_domain(host: str) -> str:
    """The part that somebody registered: `bbc.co.uk` of `news.bbc.co.uk`. An address or a lone name is its own.

    The first call reads the public suffix list that comes with its package (tens of milliseconds).
    """
    if is_address(host) or "." not in host:
        return host
    return _suffix_list().privatesuffix(host) or host


def is_address(host: str) -> bool:
    """An IP address; the URL standard makes every host with a number as its last part an IPv4 address."""
    return host[:1] == "[" or host.rpartition(".")[2].isdigit()


@lru_cache(maxsize=1)
def _suffix_list() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # slow to load, and most crawls never ask

    return PublicSuffixList()


def _prefix_directory(path: str) -> str:
    """`/docs` of `/docs`, `/docs/` and `/docs/intro.html`: what a person means by "this and below"."""
    head, _, last = path.rpartition("/")
    return head if not last or _FILE_NAME.search(last) else path


def _is_under_prefix(site_path: str, prefixes: frozenset[str]) -> bool:
    end = len(site_path)
    while end > 0:
        if site_path[:end] in prefixes:
            return True
        end = site_path.rfind("/", 0, end)
    return False
