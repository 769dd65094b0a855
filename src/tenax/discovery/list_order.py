"""Pages that a list links to itself, in their order: the second one says whether there is a third.

Pagers link further than their lists go. So the pages are asked for one after the other until one of them has shown
something, and none that comes after an empty one.
"""

from __future__ import annotations

from tenax.discovery.page_numbers import Paged, paged, place_of
from tenax.model import Finds


def why_past_end(finds: Finds, url: str, via: str | None) -> str | None:
    """Why a linked page of a list is not worth a request: only the list leads there, and it is over before."""
    own = of_own_list(url, via) if finds.lists else None
    rule = finds.lists.get(own.pattern) if own is not None else None
    if own is None or rule is None or not rule.empty_at or own.number <= rule.empty_at:
        return None
    return f"{rule.empty_at} of {own.pattern} showed nothing that the pages before it had not"


def of_own_list(url: str, via: str | None) -> Paged | None:
    """The page of a list that this surely is, if it was found on another page of the same list."""
    own = paged(url) if via is not None else None
    if own is None or via is None or not own.is_sure:
        return None
    before, place = paged(via), place_of(via)
    is_found_there = before is not None and before.pattern == own.pattern
    return own if is_found_there or place.rstrip("/") == own.first.rstrip("/") else None


def is_unproven(finds: Finds, pattern: str) -> bool:
    """Whether no page of a list but its first is known to show anything."""
    rule = finds.lists.get(pattern)
    return rule is None or rule.known <= 1


def is_beyond_next(finds: Finds, page: Paged) -> bool:
    """Whether there is a page between this one and the last that was read of its list."""
    rule = finds.lists.get(page.pattern)
    return rule is not None and rule.step > 0 and page.number > rule.known + rule.step
