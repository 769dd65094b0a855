"""Lists that go on: the page after the last one known is guessed, and the answer says whether to go further.

A page is guessed only from the last one of its list that is known, and one at a time. A list ends where there is no
page, a redirect, or nothing that the page before had not; and when several pages in a row lead to nothing new, whatever
they say. How a way of numbering fared on the lists of a host decides whether it is tried on others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from tenax.discovery.page_numbers import Numbering, count_new_links, parse_paged_url
from tenax.model import GuessState, GuessStats, ListRule, PendingGuess, Value

MAX_RULES = 64
MAX_FINGERPRINTS = 16
"""So many rules keep what their last page looked like, the last touched ones: it is most of what a rule weighs."""
MAX_OPEN_LISTS = 56
"""Lists with a guess that has no answer yet: no rule that waits for one is forgotten for others."""
MAX_PENDING = 192
"""A large site has many lists, and all are read before the share has room for a guess at each."""
MAX_STYLES = 16
RETRY_AFTER_SECONDS = 30 * 86_400.0
MAX_PATTERN_CHARS = 200
"""Chars; it is kept in the host's record, and what is longer is no plain list."""
MAX_FAILED_LISTS = 3
"""A way of numbering that failed on so many lists, and worked on none, is not tried on others."""
SMALL_HOST = 200
"""Requests; on a host with fewer, one list less is enough."""
LEAST_ITEMS = 5
FEW_WORDS = 60
"""A page of a list with fewer words, and with so many links less than the one before, has nothing to list any more."""
MIN_NEW_LINKS = 2
"""One may be the way back to this very page, by way of the login."""
MAX_PAGINATED_LINKS = 150
"""Who shows more links on a page shows them all."""
HASH_CHARS = 16

Prospect: TypeAlias = Literal["good", "open", "hopeless"]
"""Worth a guess; worth one if those that wait for an answer go well; not worth one."""
SimilarityFunction: TypeAlias = Callable[[bytes, bytes], float]
"""How alike two pages are by their fingerprints, 0 to 1."""

_LINKED = "linked "
_NO_FRESH_LINKS = "empty: no links that the page before had not"
_STYLE = re.compile(
    r"[?&](?P<param>[^=&?]++=\{n\})"
    r"|(?P<path>/(?:page|paged|seite|pagina|p%C3%A1gina|pagine|strona|sida|sivu|sayfa|stranka)[/_-]?\{n\}/?)(?:\?|$)"
)


class ListPage(Value, frozen=True):
    """A page of a list, as far as it is compared with others."""

    content_hash: str = ""
    fingerprint: bytes = b""
    link_fingerprint: bytes = b""
    """Of its links; empty when they were not looked at."""
    new_urls: int = 0
    """How many URLs it led to that nobody had."""
    depth: int = 0
    links: int = 0
    """How many it has to its own host, those to other pages of its list left out."""
    words: int = 0
    is_hub: bool = False
    """It is a list by what it shows, not only by how it is numbered."""


class ListLimits(Value, frozen=True):
    """How far guessing may go on one list."""

    max_pages: int = 200
    """Guesses at most, however well they go."""
    max_empty_pages: int = 3
    """Guessed pages in a row that lead to nothing new."""
    min_similarity: float = 0.9
    """Pages as alike as this are the same page with another number on it."""


def record_list_page(
    guess_state: GuessState, relative_url: str, numbering: Numbering | None, page: ListPage, now: float
) -> GuessState:
    """After a page of a list was read: its next page is owed, if this is the last one known."""
    if numbering is None:
        pattern = guess_pattern(relative_url, guess_state)
        number, step = _guess_start(pattern, guess_state)
    else:
        if numbering.last_known > numbering.number:
            return _going_on(guess_state, numbering, page, now)
        pattern, number, step = numbering.pattern, numbering.number, numbering.step
    if pattern is None or len(pattern) > MAX_PATTERN_CHARS or not any(page.link_fingerprint):
        return guess_state
    rule = guess_state.lists.get(pattern)
    if rule is not None and numbering is not None and _is_empty(rule, numbering, page):
        return _ended(guess_state, rule, numbering, page, now)
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


def _going_on(guess_state: GuessState, numbering: Numbering, page: ListPage, now: float) -> GuessState:
    """After a page of a list that links to further ones: what it shows is kept, for comparison with the last one."""
    pattern, number = numbering.pattern, numbering.number
    guess_state = _count_result(guess_state, _LINKED + numbering_style(pattern), now, "worked")
    if number <= 1 and page.links and page.is_hub:
        guess_state = _with_full(guess_state, page.links)
    rule = guess_state.lists.get(pattern)
    if (
        len(pattern) > MAX_PATTERN_CHARS
        or not any(page.link_fingerprint)
        or (rule is not None and rule.last_known >= number)
    ):
        return guess_state
    if rule is not None and _is_empty(rule, numbering, page) and _lists_nothing(rule, page):
        return _ended(guess_state, rule, numbering, page, now)
    if rule is not None and (rule.guessed_number is not None or rule.state != "tried"):
        return guess_state
    return store_list_rule(guess_state, pattern, _set_last_page(ListRule(number, numbering.step, at=now), page))


def _with_full(guess_state: GuessState, links: int) -> GuessState:
    """A page of a list with so many links was followed by another."""
    full = min(links, guess_state.full_list or links)
    return msgspec.structs.replace(guess_state, full_list=full) if full != guess_state.full_list else guess_state


def _lists_nothing(rule: ListRule, page: ListPage) -> bool:
    """Whether a page is a list without entries, unlike the one before. Parts of a story, and pictures with a line each,
    lead nowhere either, and are pages all the same."""
    return page.words < FEW_WORDS and page.links + LEAST_ITEMS <= rule.links


def _ended(guess_state: GuessState, rule: ListRule, numbering: Numbering, page: ListPage, now: float) -> GuessState:
    """It is not guessed at any further; what it links beyond an empty page is not asked for either."""
    empty_at = min(numbering.number, rule.empty_at or numbering.number) if _lists_nothing(rule, page) else rule.empty_at
    ended = msgspec.structs.replace(rule, state="invalid", why=_NO_FRESH_LINKS, at=now, empty_at=empty_at)
    return store_list_rule(
        remove_pending(guess_state, numbering.pattern), numbering.pattern, _set_last_page(ended, ListPage())
    )


def _is_empty(rule: ListRule, numbering: Numbering, page: ListPage) -> bool:
    """Whether a page that was linked shows nothing that an earlier one of its list had not: pagers may link too far."""
    if (
        page.new_urls
        or rule.guessed_number is not None
        or not rule.link_fingerprint
        or rule.last_known >= numbering.number
    ):
        return False
    return count_new_links(rule.link_fingerprint, page.link_fingerprint) < MIN_NEW_LINKS


def list_end_reason(rule: ListRule, page: ListPage, limits: ListLimits, similarity: SimilarityFunction) -> str:
    """Why a guessed page ends its list, in words; empty when it was worth it, or may lead to one that is."""
    if why := same_page_reason(rule, page.content_hash, page.fingerprint, limits, similarity):
        return why
    if rule.link_fingerprint and page.link_fingerprint:
        if count_new_links(rule.link_fingerprint, page.link_fingerprint) < MIN_NEW_LINKS:
            return _NO_FRESH_LINKS
    elif not page.new_urls:
        return "empty: no new links"
    if not page.new_urls and rule.empty_pages + 1 >= limits.max_empty_pages:
        return f"nothing new on {rule.empty_pages + 1} pages in a row"
    return ""


def same_page_reason(
    rule: ListRule, content_hash: str, fingerprint: bytes, limits: ListLimits, similarity: SimilarityFunction
) -> str:
    """Whether a page shows what the last one known of its list shows, in words; empty when it does not."""
    if content_hash and rule.content_hash == content_hash[:HASH_CHARS]:
        return "the same as the page before"
    if rule.fingerprint and fingerprint and similarity(rule.fingerprint, fingerprint) >= limits.min_similarity:
        return "like the page before"
    return ""


def record_guess_result(
    guess_state: GuessState,
    rule: ListRule,
    numbering: Numbering,
    page: ListPage,
    end_reason: str,
    now: float,
    limits: ListLimits,
) -> GuessState:
    """After a guessed page was answered: its list is over, or its next page is owed."""
    pattern = numbering.pattern
    if rule.state == "tried":
        guess_state = _count_result(guess_state, _style_key(pattern, rule), now, "failed" if end_reason else "worked")
        guess_state = _with_full(guess_state, rule.links) if rule.links and not end_reason else guess_state
    if end_reason:
        ended = msgspec.structs.replace(rule, state="invalid", why=end_reason, at=now, guessed_number=None)
        return store_list_rule(guess_state, pattern, _set_last_page(ended, ListPage()))
    known = max(numbering.last_known, rule.last_known)
    is_over = rule.guesses >= limits.max_pages
    rule = msgspec.structs.replace(
        rule,
        last_known=known,
        # A page of entries that links to the first one only makes the step look longer than it is.
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
    # One that has as many pages as allowed goes on when more are.
    return add_pending(
        guess_state, pattern, PendingGuess(known, rule.step, rule.is_unnumbered, page.depth), is_first=not is_over
    )


def guess_prospect(
    guess_state: GuessState, pattern: str, pending: PendingGuess, now: float, ratio: float, waiting: int = 0
) -> Prospect:
    """Whether the next page of a list may be guessed, as far as this way of guessing fared on others of the host.

    Beyond the end of a list that shows its pages, hope dies slowly: of a hundred honest lists one may hide its tail.
    """
    rule = guess_state.lists.get(pattern)
    if rule is not None and rule.state == "valid":
        return "good"
    if sum(kept.guessed_number is not None for kept in guess_state.lists.values()) >= MAX_OPEN_LISTS:
        return "open"
    if pending.is_unnumbered and rule is not None and 0 < rule.links < guess_state.full_list:
        return "hopeless"  # a page of the other lists has room for more
    tally = guess_state.styles.get(_style_key(pattern, pending))
    if tally is None or now >= tally.at + RETRY_AFTER_SECONDS:
        tally = GuessStats()
    patience = 0 if pending.is_unnumbered else int((guess_state.requests + waiting) * ratio / 3)
    # Where other lists show their numbers, one that shows none rarely has any.
    is_small = guess_state.requests + waiting < SMALL_HOST
    few = (
        1
        if pending.is_unnumbered and has_numbered_lists(guess_state)
        else MAX_FAILED_LISTS - (pending.is_unnumbered and is_small)
    )
    most = few * (1 + tally.worked) + patience
    if tally.failed >= most:
        return "hopeless"
    return "open" if tally.failed + tally.unanswered >= most else "good"


def record_list_guess(guess_state: GuessState, pattern: str, pending: PendingGuess, now: float) -> GuessState:
    """After the next page of a list was guessed; its rule may have been forgotten since it was owed."""
    rule = guess_state.lists.get(pattern) or ListRule(
        pending.last_known, pending.step, at=now, is_unnumbered=pending.is_unnumbered
    )
    if rule.state == "tried":
        guess_state = _count_result(guess_state, _style_key(pattern, pending), now, "open")
    asked = msgspec.structs.replace(rule, guessed_number=pending.last_known + pending.step, guesses=rule.guesses + 1)
    return store_list_rule(guess_state, pattern, asked)


def add_pending(guess_state: GuessState, pattern: str, pending: PendingGuess, is_first: bool = False) -> GuessState:
    """What has just worked comes before what may."""
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
    """Lists of which a page is owed, in their order; `with_unnumbered` also those without a sign of one, longest first.

    Those are left out of which so many `max_pages` were guessed as may be.
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
    """Whether as many pages of a list were guessed as may be."""
    return (rule.guesses if rule is not None else 0) >= max_pages


def is_unnumbered_list(pending: PendingGuess, rule: ListRule | None) -> bool:
    """Whether nothing says so far that the list goes on."""
    return pending.is_unnumbered and (rule is None or rule.state != "valid")


def adopt_host_style(
    guess_state: GuessState, pattern: str, pending: PendingGuess
) -> tuple[GuessState, str, PendingGuess]:
    """A list without a sign of further pages, numbered as the other lists of the host were found to be by now."""
    rule = guess_state.lists.get(pattern)
    style = (
        guess_pattern(pending.relative_url, guess_state)
        if pending.relative_url and is_unnumbered_list(pending, rule)
        else None
    )
    if style is None or style == pattern or style in guess_state.lists:
        return guess_state, pattern, pending
    known, step = _guess_start(style, guess_state)
    if not step:
        return guess_state, pattern, pending
    lists = {other: kept for other, kept in guess_state.lists.items() if other != pattern}
    guess_state = msgspec.structs.replace(guess_state, lists=lists)
    if rule is not None:
        guess_state = store_list_rule(guess_state, style, msgspec.structs.replace(rule, last_known=known, step=step))
    return guess_state, style, msgspec.structs.replace(pending, last_known=known, step=step)


def _link_count(rule: ListRule | None) -> int:
    """About how many links the last page known of a list has: a full page is likelier to be followed by another.

    Nothing for one that has so many that they are all there are.
    """
    links = rule.links if rule is not None else 0
    return links if links <= MAX_PAGINATED_LINKS else 0


def remove_pending(guess_state: GuessState, pattern: str) -> GuessState:
    return msgspec.structs.replace(
        guess_state, pending={known: kept for known, kept in guess_state.pending.items() if known != pattern}
    )


def guess_pattern(relative_url: str, guess_state: GuessState) -> str | None:
    """How a list that shows no further pages may be numbered: as others of its host are, or as most are."""
    path, mark, _ = relative_url.partition("?")
    shown = {way: tally.worked for way, tally in guess_state.styles.items() if way.startswith(_LINKED) and "{n}" in way}
    style = max(shown, key=lambda way: (shown[way], way)).removeprefix(_LINKED) if shown else "?page={n}"
    if mark or "{n}" in path or (path == "/" and not shown):
        return None  # a front page is rarely the first of a list, and who has filters is no plain list
    if style.startswith("?"):
        return path + style
    return None if "." in path.rpartition("/")[2] else path.rstrip("/") + style


def has_numbered_lists(guess_state: GuessState) -> bool:
    """Whether lists of this host link their further pages by number."""
    return any(way.startswith(_LINKED) and tally.worked for way, tally in guess_state.styles.items())


def _guess_start(pattern: str | None, guess_state: GuessState) -> tuple[int, int]:
    """The first number and the step of a list that shows neither; where entries are counted, as another list does."""
    one = parse_paged_url(f"//x{pattern.replace('{n}', '2')}") if pattern is not None else None
    if one is None or pattern is None or not one.is_offset:
        return 1, 1
    style = numbering_style(pattern)
    return 0, next((rule.step for known, rule in guess_state.lists.items() if numbering_style(known) == style), 0)


def numbering_style(pattern: str) -> str:
    """`?page={n}` or `/page/{n}/`; what is seldom seen goes by one name."""
    found = _STYLE.search(pattern)
    if found is None:
        return "other"
    return f"?{found['param']}" if found["param"] else found["path"]


def store_list_rule(guess_state: GuessState, pattern: str, rule: ListRule) -> GuessState:
    """The rule kept as the last touched. Over the bound, those go first that wait for nothing."""
    rules = {known: kept for known, kept in guess_state.lists.items() if known != pattern}
    if len(rules) >= MAX_RULES:
        idle = (known for known, kept in rules.items() if kept.guessed_number is None)
        del rules[next(idle, next(iter(rules)))]
    rules[pattern] = rule
    printed = [known for known, kept in rules.items() if kept.fingerprint or kept.link_fingerprint]
    for known in printed[:-MAX_FINGERPRINTS]:
        rules[known] = msgspec.structs.replace(rules[known], fingerprint=b"", trace=b"")
    return msgspec.structs.replace(guess_state, lists=rules)


def _may_be_pending(rule: ListRule | None, number: int, now: float) -> bool:
    if rule is None or (rule.state != "valid" and now >= rule.at + RETRY_AFTER_SECONDS):
        return True
    return rule.guessed_number is None and number > rule.last_known


def _set_last_page(rule: ListRule, page: ListPage) -> ListRule:
    return msgspec.structs.replace(
        rule, content_hash=page.content_hash[:HASH_CHARS], fingerprint=page.fingerprint, link_fingerprint=page.link_fingerprint,
        links=page.links,
    )  # fmt: skip


def _style_key(pattern: str, rule: ListRule | PendingGuess) -> str:
    return f"{'blank' if rule.is_unnumbered else 'beyond'} {numbering_style(pattern)}"


def _count_result(
    guess_state: GuessState, style_key: str, now: float, what: Literal["open", "worked", "failed"]
) -> GuessState:
    tallies = dict(guess_state.styles)
    old = tallies.pop(style_key, GuessStats())
    if len(tallies) >= MAX_STYLES:
        del tallies[next(iter(tallies))]
    tallies[style_key] = GuessStats(
        worked=old.worked + (what == "worked"),
        failed=old.failed + (what == "failed"),
        unanswered=old.unanswered + 1 if what == "open" else max(0, old.unanswered - 1),
        at=now,
    )
    return msgspec.structs.replace(guess_state, styles=tallies)
