"""The first step: whether this URL is requested at all."""

from __future__ import annotations

from tenax.config import CacheConfig
from tenax.fetch.cache import is_usable_copy
from tenax.model import Refused, StoredCopy, Task
from tenax.urls.normalize import NormalizeOptions, normalize

_MISSING_STATUSES = frozenset({404, 410})


def request_refusal(
    task: Task, stored_copy: StoredCopy | None, cache: CacheConfig, options: NormalizeOptions, now: float
) -> Refused | None:
    """Why it is not requested, or None. The database has already ensured that it is new and in scope."""
    target = normalize(task.url, None, options)
    if target is None:
        return Refused("url: not a URL that can be asked for")
    if target.origin != task.origin:
        return Refused("url: it does not belong to the host it is filed under")
    if (
        stored_copy is not None
        and stored_copy.status in _MISSING_STATUSES
        and not task.is_unconditional
        and is_usable_copy(stored_copy, cache, now)
    ):
        return Refused(f"known: it answered HTTP {stored_copy.status} a short while ago")
    return None
