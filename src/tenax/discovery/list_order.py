"""Pages that a list links to itself, in their order: the second one says whether there is a third.

Pagers link further than their lists go. So the pages are asked for one after the other until one of them has shown
something, and none that comes after an empty one.
"""

from __future__ import annotations

from tenax.discovery.page_numbers import PagedUrl, parse_paged_url, to_relative_url
from tenax.model import GuessState


def past_end_reason(guess_state: GuessState, url: str, via: str | None) -> str | None:
    """Why a linked page of a list is not worth a request: only the list leads there, and it is over before."""
    own = own_list_page(url, via) if guess_state.lists else None
    rule = guess_state.lists.get(own.pattern) if own is not None else None
    if own is None or rule is None or not rule.empty_at or own.number <= rule.empty_at:
        return None
    return f"{rule.empty_at} of {own.pattern} showed nothing that the pages before it had not"


def own_list_page(url: str, via: str | None) -> PagedUrl | None:
    """The page of a list that this surely is, if it was found on another page of the same list."""
    own = parse_paged_url(url) if via is not None else None
    if own is None or via is None or not own.is_sure:
        return None
    before, place = parse_paged_url(via), to_relative_url(via)
    is_found_there = before is not None and before.pattern == own.pattern
    return own if is_found_there or place.rstrip("/") == own.first_page.rstrip("/") else None


def is_unproven(guess_state: GuessState, pattern: str) -> bool:
    """Whether no page of a list but its first is known to show anything."""
    rule = guess_state.lists.get(pattern)
    return rule is None or rule.last_known <= 1


def is_beyond_next(guess_state: GuessState, page: PagedUrl) -> bool:
    """Whether there is a page between this one and the last that was read of its list."""
    rule = guess_state.lists.get(page.pattern)
    return rule is not None and rule.step > 0 and page.number > rule.last_known + rule.step
