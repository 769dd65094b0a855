"""The stored copy: whether it is young enough to serve without asking."""

from __future__ import annotations

from tenax.config import CacheConfig
from tenax.model import Held, PageKind, Task, Unchanged


def copy_that_serves(task: Task, held: Held | None, cache: CacheConfig, now: float) -> Unchanged | None:
    """The outcome when what we hold serves; None when the site must be asked."""
    if held is None or held.kind is None or task.is_unconditional or not is_young(held, cache, now):
        return None
    return Unchanged(why=f"the stored copy is {_age(now - held.fetched_at)} old, young enough to serve")


def is_young(held: Held, cache: CacheConfig, now: float) -> bool:
    """By the age set for its kind, else by the age set for all, else by preference."""
    max_age = max_age_seconds(held.kind, cache)
    if max_age >= 0:
        return now - held.fetched_at <= max_age
    return cache.prefer_cache


def max_age_seconds(kind: PageKind | None, cache: CacheConfig) -> float:
    """How old a copy of this kind may be; -1 when no age is set."""
    own = -1.0
    if kind is PageKind.ARTICLE:
        own = cache.max_age_article_seconds
    elif kind is not None:
        own = cache.max_age_hub_seconds
    return own if own >= 0 else cache.max_age_seconds


def _age(seconds: float) -> str:
    for size, unit in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"
