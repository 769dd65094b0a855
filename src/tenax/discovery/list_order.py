"""Visits the linked pages of a list in order: whether the second page has content decides about the third.

Pagers may link beyond the end of a list. So the pages are requested one at a time until one beyond the first had
content, and none after an empty one.
"""

from __future__ import annotations

from tenax.discovery.paged_urls import PagedUrl, may_be_sure, parse_paged_url, to_relative_url
from tenax.model import GuessState


def past_end_reason(guess_state: GuessState, url: str, via: str | None) -> str | None:
    """Why a linked page of a list is skipped: only the list links to it, and the list ended before it."""
    page = own_list_page(url, via) if guess_state.lists else None
    rule = guess_state.lists.get(page.pattern) if page is not None else None
    if page is None or rule is None or not rule.empty_at or page.number <= rule.empty_at:
        return None
    return f"page {rule.empty_at} of {page.pattern} had nothing new compared with the pages before it"


def own_list_page(url: str, via: str | None) -> PagedUrl | None:
    """The list page that this URL certainly is, if it was found on another page of the same list."""
    page = parse_paged_url(url) if via is not None and may_be_sure(url) else None
    if page is None or via is None or not page.is_sure:
        return None
    via_page, via_relative = parse_paged_url(via), to_relative_url(via)
    is_same_list = via_page is not None and via_page.pattern == page.pattern
    return page if is_same_list or via_relative.rstrip("/") == page.first_page.rstrip("/") else None


def is_unproven(guess_state: GuessState, pattern: str) -> bool:
    """Whether only the first page of a list is known to have content."""
    rule = guess_state.lists.get(pattern)
    return rule is None or rule.last_known <= 1


def is_beyond_next(guess_state: GuessState, page: PagedUrl) -> bool:
    """Whether there are unread pages between the last known page of the list and this one."""
    rule = guess_state.lists.get(page.pattern)
    return rule is not None and rule.step > 0 and page.number > rule.last_known + rule.step
