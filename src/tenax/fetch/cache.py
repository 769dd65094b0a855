"""Whether a stored copy is recent enough to be used without a request."""

from __future__ import annotations

from tenax.config import CacheConfig
from tenax.model import CanonicalCopy, PageKind, StoredCopy, Task, Unchanged


def cached_outcome(
    task: Task, stored_copy: StoredCopy | None, cache: CacheConfig, now: float, canonical: CanonicalCopy | None = None
) -> Unchanged | None:
    """The outcome if a stored copy is used, of this URL or of a page that names it as canonical; None if a request is
    needed."""
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
    """By the maximum age of its kind, else of all pages, else by `prefer_cache`."""
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
