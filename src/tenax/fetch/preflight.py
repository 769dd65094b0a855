"""Before a request: whether the URL is requested at all, whether a stored copy is enough, and whether the host may be
requested now."""

from __future__ import annotations

from typing import TypeAlias

from tenax.config import CacheConfig
from tenax.hosts.robots import robots_rules
from tenax.hosts.rules import should_probe
from tenax.model import (
    CanonicalCopy,
    Deferred,
    HostRecord,
    PageKind,
    Refused,
    RobotsVerdict,
    StoredCopy,
    Task,
    Unchanged,
    Value,
)
from tenax.urls.normalize import NormalizeOptions, normalize


class FetchRobots(Value, frozen=True):
    """The robots.txt of the host is unknown or too old."""


class ProbeHost(Value, frozen=True):
    """The host was down. A probe must show that it is up before any page is requested."""


PolicyStep: TypeAlias = FetchRobots | ProbeHost | Deferred | Refused


def next_policy_step(task: Task, host: HostRecord, now: float, names: frozenset[str]) -> PolicyStep | None:
    """The step before the page; None if the page may be requested. `names`: see `robot_names`."""
    if host.backoff_reason and host.next_at > now:
        return Deferred(host.next_at, host.backoff_reason)  # another visit began a backoff since this one was claimed
    robots = host.robots
    if should_probe(host):
        # While robots.txt is unreachable nothing else may be requested. That request also shows whether the host is up.
        return FetchRobots() if robots is not None and robots.verdict is RobotsVerdict.UNREACHABLE else ProbeHost()
    if robots is None or robots.expires_at <= now:
        return FetchRobots()
    if robots.verdict is RobotsVerdict.UNREACHABLE:
        return Deferred(robots.expires_at, f"robots.txt unreachable: {robots.why}")
    if not robots_rules(robots, names).can_fetch(task.url):
        return Refused(f"robots: {task.origin}/robots.txt does not allow it")
    return None


def cached_outcome(
    task: Task, stored_copy: StoredCopy | None, cache: CacheConfig, now: float, canonical: CanonicalCopy | None = None
) -> Unchanged | None:
    """The outcome if a stored copy is used; None if a request is needed.

    The copy is that of this URL, or of a page that names this URL as its canonical URL.
    """
    if task.is_unconditional:
        return None
    if stored_copy is not None and stored_copy.kind is not None:
        age = _format_age(now - stored_copy.fetched_at)
        is_served = is_usable_copy(stored_copy, cache, now)
        return Unchanged(why=f"the stored copy is {age} old, recent enough to use") if is_served else None
    if canonical is None or canonical.stored_copy.kind is None or not is_usable_copy(canonical.stored_copy, cache, now):
        return None
    age = _format_age(now - canonical.stored_copy.fetched_at)
    return Unchanged(
        why=f"the stored copy of {canonical.url}, which names this as its canonical URL, is {age} old, recent enough "
        "to use"
    )


def may_use_canonical_copy(task: Task, stored_copy: StoredCopy | None, cache: CacheConfig) -> bool:
    """Whether a copy under another URL may be used: if copies are used at all, and this URL has none."""
    max_age = max(cache.max_age_seconds, cache.max_age_article_seconds, cache.max_age_hub_seconds)
    can_serve = cache.prefer_cache or max_age >= 0
    return (
        can_serve
        and not task.is_unconditional
        and not task.is_url_list
        and (stored_copy is None or stored_copy.kind is None)
    )


def is_usable_copy(stored_copy: StoredCopy, cache: CacheConfig, now: float) -> bool:
    """Whether the copy may be used: by the maximum age of its kind, else of all pages, else by `prefer_cache`."""
    max_age = max_age_seconds(stored_copy.kind, cache)
    if max_age >= 0:
        return now - stored_copy.fetched_at <= max_age
    return cache.prefer_cache


def max_age_seconds(kind: PageKind | None, cache: CacheConfig) -> float:
    """Maximum age of a copy of this kind; -1 if none is set."""
    own = -1.0
    if kind is PageKind.ARTICLE:
        own = cache.max_age_article_seconds
    elif kind is not None:
        own = cache.max_age_hub_seconds
    return own if own >= 0 else cache.max_age_seconds


def _format_age(seconds: float) -> str:
    for size, unit in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"


_MISSING_STATUSES = frozenset({404, 410})


def request_refusal(
    task: Task, stored_copy: StoredCopy | None, cache: CacheConfig, options: NormalizeOptions, now: float
) -> Refused | None:
    """Why the URL is not requested, or None. The database has already ensured that the URL is new and in scope."""
    target = normalize(task.url, None, options)
    if target is None:
        return Refused("url: not a URL that can be requested")
    if target.origin != task.origin:
        return Refused("url: its host is not that of its task")
    if (
        stored_copy is not None
        and stored_copy.status in _MISSING_STATUSES
        and not task.is_unconditional
        and is_usable_copy(stored_copy, cache, now)
    ):
        return Refused(f"known: it returned HTTP {stored_copy.status} recently")
    return None
