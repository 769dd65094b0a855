"""Guesses the next page of a list after the last known one. Each result decides whether to continue.

Only the page after the last known page of a list is guessed, one at a time. A list ends at a missing page, at a
redirect, at a page with nothing new compared with the page before, and after several pages in a row without new URLs.
If a style of numbering has failed on lists of a host, it is not tried on its other lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from tenax.discovery.paged_urls import (
    LINKED,
    Numbering,
    count_new_links,
    count_style_result,
    guess_pattern,
    guess_start,
    has_numbered_lists,
    numbering_style,
    style_key,
)
from tenax.model import GuessState, GuessStats, ListRule, PendingGuess, Value

MAX_RULES = 64
MAX_FINGERPRINTS = 16
"""Maximum rules that keep the fingerprints of their last page, the most recent rules. The fingerprints are most of a
rule's size."""
MAX_OPEN_LISTS = 56
"""Maximum lists with a guess that has no response yet, so that no rule is removed before its response."""
MAX_PENDING = 192
"""A large site has many lists, and all are read before the budget allows a guess for each of them."""
RETRY_AFTER_SECONDS = 30 * 86_400.0
MAX_PATTERN_CHARS = 200
"""Longer patterns are not stored in the host record. They do not belong to ordinary lists."""
MAX_FAILED_LISTS = 3
"""A numbering style that failed on this many lists and worked on none is not tried on others."""
SMALL_HOST = 200
"""On a host with fewer requests, one failed list less is enough."""
LEAST_ITEMS = 5
FEW_WORDS = 60
"""A list page has no entries left if it has fewer words than this, and at least `LEAST_ITEMS` links fewer than the page
before."""
MIN_NEW_LINKS = 2
"""Fewer new links do not count: one may lead back to this page, for example by way of the login."""
MAX_PAGINATED_LINKS = 150
"""A page with more links shows the whole list."""
HASH_CHARS = 16

Prospect: TypeAlias = Literal["good", "open", "hopeless"]
"""A guess is worth a request, is worth one if pending results are good, or is not worth one."""
SimilarityFunction: TypeAlias = Callable[[bytes, bytes], float]
"""Similarity of two pages by their fingerprints, 0 to 1."""

_NO_NEW_LINKS = "empty: no new links compared with the page before"


class ListPage(Value, frozen=True):
    """A page of a list, as it is compared with other pages."""

    content_hash: str = ""
    fingerprint: bytes = b""
    link_fingerprint: bytes = b""
    """Fingerprint of its links; empty if they were not read."""
    new_urls: int = 0
    """URLs on the page that were not known before."""
    depth: int = 0
    links: int = 0
    """The number of links to its own host, except those to other pages of the list."""
    words: int = 0
    is_hub: bool = False
    """The page is a list by its content, not only by its URL."""


class ListLimits(Value, frozen=True):
    """Limits of guessing on one list."""

    max_pages: int = 200
    """Maximum guesses on a list, however successful."""
    max_empty_pages: int = 3
    """Maximum guessed pages in a row that have no new URLs."""
    min_similarity: float = 0.9
    """Pages that are this similar are the same page with another number."""


def record_list_page(
    guess_state: GuessState, relative_url: str, numbering: Numbering | None, page: ListPage, now: float
) -> GuessState:
    """Update the list after one of its pages was read. After the last known page, the next one becomes a pending
    guess."""
    if numbering is None:
        pattern = guess_pattern(relative_url, guess_state)
        number, step = guess_start(pattern, guess_state)
    else:
        if numbering.last_known > numbering.number:
            return _record_continued_page(guess_state, numbering, page, now)
        pattern, number, step = numbering.pattern, numbering.number, numbering.step
    if pattern is None or len(pattern) > MAX_PATTERN_CHARS or not any(page.link_fingerprint):
        return guess_state
    rule = guess_state.lists.get(pattern)
    if rule is not None and numbering is not None and _has_nothing_new(rule, numbering, page):
        return _end_list(guess_state, rule, numbering, page, now)
    step = step or (rule.step if rule is not None else 0)
    if not step or not _may_be_pending(rule, number, now):
        return guess_state
    rule = ListRule(
        number, step, at=now, is_unnumbered=numbering is None, guesses=rule.guesses if rule is not None else 0
    )
    guess_state = store_list_rule(guess_state, pattern, _set_last_page(rule, page))
    is_blank = numbering is None
    return add_pending(
        guess_state, pattern, PendingGuess(number, step, is_blank, page.depth, relative_url if is_blank else "")
    )


def _record_continued_page(guess_state: GuessState, numbering: Numbering, page: ListPage, now: float) -> GuessState:
    """Update the list after a page that links to further ones. Fingerprints are kept for the last page."""
    pattern, number = numbering.pattern, numbering.number
    guess_state = count_style_result(guess_state, LINKED + numbering_style(pattern), now, "worked")
    if number <= 1 and page.links and page.is_hub:
        guess_state = _record_full_page(guess_state, page.links)
    rule = guess_state.lists.get(pattern)
    if (
        len(pattern) > MAX_PATTERN_CHARS
        or not any(page.link_fingerprint)
        or (rule is not None and rule.last_known >= number)
    ):
        return guess_state
    if rule is not None and _has_nothing_new(rule, numbering, page) and _has_no_entries(rule, page):
        return _end_list(guess_state, rule, numbering, page, now)
    if rule is not None and (rule.guessed_number is not None or rule.state != "tried"):
        return guess_state
    return store_list_rule(guess_state, pattern, _set_last_page(ListRule(number, numbering.step, at=now), page))


def _record_full_page(guess_state: GuessState, links: int) -> GuessState:
    """Record that a list page with this many links has a next page."""
    full = min(links, guess_state.full_list or links)
    return msgspec.structs.replace(guess_state, full_list=full) if full != guess_state.full_list else guess_state


def _has_no_entries(rule: ListRule, page: ListPage) -> bool:
    """Whether a page is a list without entries, unlike the page before.

    Parts of a story, and pictures with captions, have no links either, but are pages.
    """
    return page.words < FEW_WORDS and page.links + LEAST_ITEMS <= rule.links


def _end_list(guess_state: GuessState, rule: ListRule, numbering: Numbering, page: ListPage, now: float) -> GuessState:
    """End the list: no further guesses, and no requests for linked pages after an empty one."""
    empty_at = (
        min(numbering.number, rule.empty_at or numbering.number) if _has_no_entries(rule, page) else rule.empty_at
    )
    ended = msgspec.structs.replace(rule, state="invalid", why=_NO_NEW_LINKS, at=now, empty_at=empty_at)
    return store_list_rule(
        remove_pending(guess_state, numbering.pattern), numbering.pattern, _set_last_page(ended, ListPage())
    )


def _has_nothing_new(rule: ListRule, numbering: Numbering, page: ListPage) -> bool:
    """Whether a linked page has nothing new compared with an earlier page of its list: a list may link to pages beyond
    its end."""
    if (
        page.new_urls
        or rule.guessed_number is not None
        or not rule.link_fingerprint
        or rule.last_known >= numbering.number
    ):
        return False
    return count_new_links(rule.link_fingerprint, page.link_fingerprint) < MIN_NEW_LINKS


def list_end_reason(rule: ListRule, page: ListPage, limits: ListLimits, similarity: SimilarityFunction) -> str:
    """Why a guessed page ends its list; empty if it had new URLs, or if the next page may still have some."""
    if why := same_page_reason(rule, page.content_hash, page.fingerprint, limits, similarity):
        return why
    if rule.link_fingerprint and page.link_fingerprint:
        if count_new_links(rule.link_fingerprint, page.link_fingerprint) < MIN_NEW_LINKS:
            return _NO_NEW_LINKS
    elif not page.new_urls:
        return "empty: no new links"
    if not page.new_urls and rule.empty_pages + 1 >= limits.max_empty_pages:
        return f"nothing new on {rule.empty_pages + 1} pages in a row"
    return ""


def same_page_reason(
    rule: ListRule, content_hash: str, fingerprint: bytes, limits: ListLimits, similarity: SimilarityFunction
) -> str:
    """Why a page counts as the same as the last known page of its list; empty if it does not."""
    if content_hash and rule.content_hash == content_hash[:HASH_CHARS]:
        return "the same as the page before"
    if rule.fingerprint and fingerprint and similarity(rule.fingerprint, fingerprint) >= limits.min_similarity:
        return "like the page before"
    return ""


class GuessedPage(Value, frozen=True):
    """A guessed page of a list, after its visit."""

    numbering: Numbering
    page: ListPage
    end_reason: str = ""
    """Why the list ends with it; empty if it continues."""


def record_guess_result(
    guess_state: GuessState, rule: ListRule, guessed: GuessedPage, now: float, limits: ListLimits
) -> GuessState:
    """Update the list after a guessed page was visited: the list ends, or its next page becomes a pending guess."""
    numbering, page, end_reason = guessed.numbering, guessed.page, guessed.end_reason
    pattern = numbering.pattern
    if rule.state == "tried":
        result: Literal["failed", "worked"] = "failed" if end_reason else "worked"
        guess_state = count_style_result(guess_state, style_key(pattern, rule), now, result)
        guess_state = _record_full_page(guess_state, rule.links) if rule.links and not end_reason else guess_state
    if end_reason:
        ended = msgspec.structs.replace(rule, state="invalid", why=end_reason, at=now, guessed_number=None)
        return store_list_rule(guess_state, pattern, _set_last_page(ended, ListPage()))
    known = max(numbering.last_known, rule.last_known)
    is_over = rule.guesses >= limits.max_pages
    rule = msgspec.structs.replace(
        rule,
        last_known=known,
        # If a page links only to the first page, the step looks larger than it is.
        step=min(numbering.step or rule.step, rule.step),
        state="valid",
        why="as many pages as allowed" if is_over else "",
        at=now,
        guessed_number=None,
        empty_pages=0 if page.new_urls else rule.empty_pages + 1,
    )
    guess_state = store_list_rule(guess_state, pattern, _set_last_page(rule, page))
    if known > numbering.number:
        return guess_state
    # A list that has used up its maximum of pages continues when the limit is raised.
    return add_pending(
        guess_state, pattern, PendingGuess(known, rule.step, rule.is_unnumbered, page.depth), is_first=not is_over
    )


def guess_prospect(
    guess_state: GuessState, pattern: str, pending: PendingGuess, now: float, ratio: float, waiting: int = 0
) -> Prospect:
    """Whether the next page of a list may be guessed, by the results of the same style on other lists of the host.

    Lists that show page numbers may fail more often: about one list in a hundred does not link to its last pages.
    """
    rule = guess_state.lists.get(pattern)
    if rule is not None and rule.state == "valid":
        return "good"
    if sum(kept.guessed_number is not None for kept in guess_state.lists.values()) >= MAX_OPEN_LISTS:
        return "open"
    if pending.is_unnumbered and rule is not None and 0 < rule.links < guess_state.full_list:
        return "hopeless"  # other lists have more entries per page
    stats = guess_state.styles.get(style_key(pattern, pending))
    if stats is None or now >= stats.at + RETRY_AFTER_SECONDS:
        stats = GuessStats()
    extra = 0 if pending.is_unnumbered else int((guess_state.requests + waiting) * ratio / 3)
    # If other lists show page numbers, a list that shows none rarely has further pages.
    is_small = guess_state.requests + waiting < SMALL_HOST
    max_failed = (
        1
        if pending.is_unnumbered and has_numbered_lists(guess_state)
        else MAX_FAILED_LISTS - (pending.is_unnumbered and is_small)
    )
    most = max_failed * (1 + stats.worked) + extra
    if stats.failed >= most:
        return "hopeless"
    return "open" if stats.failed + stats.unanswered >= most else "good"


def record_list_guess(guess_state: GuessState, pattern: str, pending: PendingGuess, now: float) -> GuessState:
    """Record that the next page of a list was guessed. Its rule may have been removed since."""
    rule = guess_state.lists.get(pattern) or ListRule(
        pending.last_known, pending.step, at=now, is_unnumbered=pending.is_unnumbered
    )
    if rule.state == "tried":
        guess_state = count_style_result(guess_state, style_key(pattern, pending), now, "open")
    guessed = msgspec.structs.replace(rule, guessed_number=pending.last_known + pending.step, guesses=rule.guesses + 1)
    return store_list_rule(guess_state, pattern, guessed)


def add_pending(guess_state: GuessState, pattern: str, pending: PendingGuess, is_first: bool = False) -> GuessState:
    """Add a pending guess. `is_first`: before the other pending guesses, for a list on which guesses work."""
    others = {known: kept for known, kept in guess_state.pending.items() if known != pattern}
    if len(others) >= MAX_PENDING:
        if not is_first:
            return guess_state
        others.popitem()
    return msgspec.structs.replace(
        guess_state, pending={pattern: pending, **others} if is_first else {**others, pattern: pending}
    )


def pending_lists(
    guess_state: GuessState, with_unnumbered: bool, max_pages: int, limit: int
) -> list[tuple[str, PendingGuess]]:
    """Lists with a pending guess, in order. `with_unnumbered` adds lists without page numbers, the longest first.

    Lists with `max_pages` guesses are left out.
    """
    lists = [
        (pattern, pending_guess, guess_state.lists.get(pattern))
        for pattern, pending_guess in guess_state.pending.items()
        if "{n}" in pattern
    ]
    lists = [one for one in lists if not has_max_guesses(one[2], max_pages)]
    shown = [one for one in lists if not is_unnumbered_list(*one[1:])]
    blank = [one for one in lists if is_unnumbered_list(*one[1:])] if with_unnumbered else []
    return [one[:2] for one in (*shown, *sorted(blank, key=lambda one: -_link_count(one[2])))][:limit]


def has_max_guesses(rule: ListRule | None, max_pages: int) -> bool:
    """Whether the list has used up its maximum of guesses."""
    return (rule.guesses if rule is not None else 0) >= max_pages


def is_unnumbered_list(pending: PendingGuess, rule: ListRule | None) -> bool:
    """Whether nothing shows that the list continues."""
    return pending.is_unnumbered and (rule is None or rule.state != "valid")


def adopt_host_style(
    guess_state: GuessState, pattern: str, pending: PendingGuess
) -> tuple[GuessState, str, PendingGuess]:
    """Renumber a list without page numbers in the style that other lists of the host have shown since then."""
    rule = guess_state.lists.get(pattern)
    style = (
        guess_pattern(pending.relative_url, guess_state)
        if pending.relative_url and is_unnumbered_list(pending, rule)
        else None
    )
    if style is None or style == pattern or style in guess_state.lists:
        return guess_state, pattern, pending
    known, step = guess_start(style, guess_state)
    if not step:
        return guess_state, pattern, pending
    lists = {other: kept for other, kept in guess_state.lists.items() if other != pattern}
    guess_state = msgspec.structs.replace(guess_state, lists=lists)
    if rule is not None:
        guess_state = store_list_rule(guess_state, style, msgspec.structs.replace(rule, last_known=known, step=step))
    return guess_state, style, msgspec.structs.replace(pending, last_known=known, step=step)


def _link_count(rule: ListRule | None) -> int:
    """About how many links the last known page of a list has, because a full page is more likely to have a next one. 0
    if the page has so many links that it shows the whole list."""
    links = rule.links if rule is not None else 0
    return links if links <= MAX_PAGINATED_LINKS else 0


def remove_pending(guess_state: GuessState, pattern: str) -> GuessState:
    return msgspec.structs.replace(
        guess_state, pending={known: kept for known, kept in guess_state.pending.items() if known != pattern}
    )


def store_list_rule(guess_state: GuessState, pattern: str, rule: ListRule) -> GuessState:
    """Store the rule as the most recent one. Above the limit, rules without an open guess are removed first."""
    rules = {known: kept for known, kept in guess_state.lists.items() if known != pattern}
    if len(rules) >= MAX_RULES:
        idle = (known for known, kept in rules.items() if kept.guessed_number is None)
        del rules[next(idle, next(iter(rules)))]
    rules[pattern] = rule
    with_fingerprint = [known for known, kept in rules.items() if kept.fingerprint or kept.link_fingerprint]
    for known in with_fingerprint[:-MAX_FINGERPRINTS]:
        rules[known] = msgspec.structs.replace(rules[known], fingerprint=b"", link_fingerprint=b"")
    return msgspec.structs.replace(guess_state, lists=rules)


def _may_be_pending(rule: ListRule | None, number: int, now: float) -> bool:
    if rule is None or (rule.state != "valid" and now >= rule.at + RETRY_AFTER_SECONDS):
        return True
    return rule.guessed_number is None and number > rule.last_known


def _set_last_page(rule: ListRule, page: ListPage) -> ListRule:
    return msgspec.structs.replace(
        rule,
        content_hash=page.content_hash[:HASH_CHARS],
        fingerprint=page.fingerprint,
        link_fingerprint=page.link_fingerprint,
        links=page.links,
    )
