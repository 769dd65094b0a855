"""The first step: is this URL one to ask for at all?"""

from __future__ import annotations

from tenax.config import CacheConfig
from tenax.fetch.cache import is_young
from tenax.model import Held, Refused, Task
from tenax.urls.normalize import Spelling, normalize

_NOT_THERE = frozenset({404, 410})


def decision(task: Task, held: Held | None, cache: CacheConfig, spelling: Spelling, now: float) -> Refused | None:
    """Why it is not asked for, or None. That it is new, and within the crawl's scope, the ledger has made sure of."""
    target = normalize(task.url, None, spelling)
    if target is None:
        return Refused("url: not a URL that can be asked for")
    if target.origin != task.origin:
        return Refused("url: it does not belong to the host it is filed under")
    if held is not None and held.status in _NOT_THERE and not task.is_unconditional and is_young(held, cache, now):
        return Refused(f"known: it answered HTTP {held.status} a short while ago")
    return None
