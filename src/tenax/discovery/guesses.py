"""What to guess after a visit: further pages of lists and archives, within what the host's budget allows.

`update_guesses` is the one door. It first learns from the visit, then makes the guesses that are owed, as far as there is
room (`guess_budget`); the others stay owed until more was visited. All of it follows from what it is given, the time
included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from itertools import islice
from typing import Literal

import msgspec

from tenax.discovery.archives import (
    NO_PAGE,
    NOTHING_NEW,
    archive_pattern,
    archives_to_try,
    fill_pattern,
    is_first_year,
    is_worth_trying,
    next_period,
    record_archive_result,
    rule_to_guess,
    should_try_archives,
    store_archive_rule,
)
from tenax.discovery.guess_budget import GuessBudget, count_guess, count_success, remaining_guess_budget
from tenax.discovery.linked_archives import REDIRECTED, update_from_linked_archive, update_months
from tenax.discovery.listing import Listing
from tenax.discovery.page_numbers import Numbering, PagedUrl, parse_paged_url, to_relative_url
from tenax.discovery.pagination import (
    HASH_CHARS,
    ListLimits,
    ListPage,
    SimilarityFunction,
    add_pending,
    adopt_host_style,
    guess_prospect,
    list_end_reason,
    pending_lists,
    record_guess_result,
    record_list_guess,
    record_list_page,
    remove_pending,
)
from tenax.model import ArchiveRule, GuessState, ListRule, PendingGuess, RuleState, Source, Value

MAX_SECTIONS = 16
MAX_PENDING_CHECKED = 16
"""Owed guesses at a time; those that cannot be made yet go to the end."""
CHECK_EVERY_VISITS = 8
"""Visits between two looks at what is owed, where nothing happened that could change it."""

_TO_SLASH = f"{REDIRECTED} to its slash"
_FOLLOWED_WITHIN_SECONDS = 60.0
"""So long an archive that was redirected to its slash is waited for, before another one is asked for."""
_GUESS_SOURCES = (Source.ARCHIVE, Source.PAGINATION)
_SECTION = re.compile(r"/([A-Za-z%][A-Za-z%0-9_-]{1,40})(?=/|$)")


class VisitResult(StrEnum):
    """How a visit ended, as far as guesses are concerned."""

    PAGE = "page"
    NO_PAGE = "no_page"
    """404, 410, or whatever says that nothing is there."""
    REDIRECTED = "redirected"
    OTHER = "other"
    """Nothing was learned: a timeout, a refusal, a server in trouble."""


class VisitFacts(Value, frozen=True):
    """What guessing needs to know of a visit."""

    url: str
    source: Source
    result: VisitResult
    listing: Listing | None = None
    """Of a page that is a list, and of every guessed page; None for all others."""
    content_hash: str = ""
    fingerprint: bytes = b""
    new_urls: int = 0
    """How many URLs it led to that nobody had, as far as is known."""
    depth: int = 0
    """Links from a seed."""
    is_hub: bool = False
    """Its page is a list by what it shows, not only by how it is numbered."""
    words: int = 0
    is_to_slash: bool = False
    """It was redirected, to the same address with a slash at its end."""
    was_requested: bool = True
    waiting_high: int | None = None
    """Tasks of high priority that wait for this host, those of this page included; None: not known."""
    waiting: int = 0
    """All tasks that wait for this host and come before any guess, as far as is known."""


class GuessLimits(Value, frozen=True):
    """How much may be guessed."""

    is_enabled: bool = True
    """False: nothing is guessed, but the visit is learned from, for guesses may be made later."""
    ratio: float = 0.03
    min_guesses: int = 7
    """Misses of each kind that a host gets in any case."""
    with_lists: bool = True
    with_archives: bool = True
    archives_below: int = 10
    """Archives are looked for when fewer tasks of high priority wait,"""
    archives_every_seconds: float = 86_400.0
    """and after this time whatever waits."""
    archives_at_a_time: int = 2
    """Archives without an answer, at most: the answers say which to try next."""
    archives_a_day: int = 5
    """The same where so much waits that they are only looked for because a day is over."""
    lists: ListLimits = ListLimits()


class Guess(Value, frozen=True):
    """A URL that nobody named, to be offered if it is allowed and not known."""

    url: str
    source: Literal[Source.ARCHIVE, Source.PAGINATION]
    why: str
    depth: int = 1
    """Of a page of a list, that of the list."""


def discard_guesses(guess_state: GuessState, guesses: Iterable[Guess]) -> GuessState:
    """These guesses were not let into the crawl after all, and cost no request."""
    archives = sum(guess.source is Source.ARCHIVE for guess in guesses)
    lists = sum(guess.source is Source.PAGINATION for guess in guesses)
    return msgspec.structs.replace(
        guess_state,
        guesses_made=max(guess_state.guesses_succeeded, guess_state.guesses_made - archives - lists),
        archives_made=max(guess_state.archives_succeeded, guess_state.archives_made - archives),
    )


def update_guesses(
    guess_state: GuessState, facts: VisitFacts, now: float, limits: GuessLimits, similarity: SimilarityFunction
) -> tuple[GuessState, tuple[Guess, ...]]:
    """What is known of the host after this visit, and what to ask it for besides what its pages name."""
    before = guess_state
    guess_state = (
        msgspec.structs.replace(guess_state, requests=guess_state.requests + 1) if facts.was_requested else guess_state
    )
    if facts.result is not VisitResult.OTHER and (
        facts.listing is not None or facts.result is not VisitResult.PAGE or facts.source in _GUESS_SOURCES
    ):
        guess_state = _learn_from_visit(guess_state, facts, now, limits, similarity)
    if not limits.is_enabled:
        return guess_state, ()
    room = remaining_guess_budget(guess_state, limits.ratio, limits.min_guesses, facts.waiting)
    guess_state = (
        _add_pending_archives(guess_state, facts.waiting_high, now, limits, room)
        if limits.with_archives
        else guess_state
    )
    if not guess_state.pending or room.is_empty:
        return guess_state, ()
    # What is owed and was not guessed waits for an answer, or for more room: looked at when either may have come.
    is_news = guess_state.pending is not before.pending or guess_state.styles is not before.styles
    if is_news or not facts.waiting or guess_state.requests % CHECK_EVERY_VISITS == 0:
        is_dry = facts.waiting_high is not None and facts.waiting_high < limits.archives_below
        return _make_guesses(guess_state, facts.url, now, limits, facts.waiting, room, is_dry)
    return guess_state, ()


def due_guesses(guess_state: GuessState, home: str, now: float, limits: GuessLimits) -> tuple[Guess, ...]:
    """What to ask a host for where no visit is left to guess after: its limits were raised.

    Nothing is counted until the answers come, so to ask twice is to ask for the same.
    """
    room = remaining_guess_budget(guess_state, limits.ratio, limits.min_guesses)
    if not limits.is_enabled or room.is_empty:
        return ()
    guess_state = _add_pending_archives(guess_state, 0, now, limits, room) if limits.with_archives else guess_state
    return _make_guesses(guess_state, home, now, limits, 0, room, is_running_out=True)[1]


def _learn_from_visit(
    guess_state: GuessState, facts: VisitFacts, now: float, limits: GuessLimits, similarity: SimilarityFunction
) -> GuessState:
    """An answer to a guess is one however its URL came to us: it may have been linked meanwhile."""
    guess_state = _adopt_guess(guess_state, facts, now) if facts.source in _GUESS_SOURCES else guess_state
    own = parse_paged_url(facts.url) if guess_state.lists else None
    rule = guess_state.lists.get(own.pattern) if own is not None else None
    if own is not None and rule is not None and rule.guessed_number == own.number:
        return _apply_list_result(guess_state, facts, own, rule, now, limits, similarity)
    pattern, period = archive_pattern(facts.url, guess_state.archives)
    archive = guess_state.archives.get(pattern)
    if archive is not None and archive.guessed_period == (period or 0):
        guess_state = _apply_archive_result(guess_state, facts, pattern, archive, now)
        if guess_state.archives[pattern].missed:
            return guess_state
    if facts.listing is None or facts.result is not VisitResult.PAGE:
        return guess_state
    if facts.source is Source.PAGINATION and not facts.new_urls:
        return guess_state  # the rule it was guessed by is forgotten: no other page to compare it with
    return _apply_list(guess_state, facts, facts.listing, now, limits)


def _adopt_guess(guess_state: GuessState, facts: VisitFacts, now: float) -> GuessState:
    """A guess that was made outside of a visit is counted with its answer."""
    if facts.source is Source.ARCHIVE:
        pattern, period = archive_pattern(facts.url, guess_state.archives)
        rule = guess_state.archives.get(pattern)
        if rule is not None and (
            rule.guessed_period is not None or period is None or period >= (rule.earliest_period or period + 1)
        ):
            return guess_state  # it was counted when it was made
        rule = rule or ArchiveRule(at=now)
        asked = msgspec.structs.replace(rule, earliest_period=period, guessed_period=period or 0)
        return count_guess(store_archive_rule(remove_pending(guess_state, pattern), pattern, asked), is_archive=True)
    own = parse_paged_url(facts.url)
    pending_guess = guess_state.pending.get(own.pattern) if own is not None else None
    if own is None or pending_guess is None or pending_guess.last_known + pending_guess.step != own.number:
        return guess_state
    return count_guess(
        record_list_guess(remove_pending(guess_state, own.pattern), own.pattern, pending_guess, now), is_archive=False
    )


def _apply_list_result(
    guess_state: GuessState,
    facts: VisitFacts,
    own: PagedUrl,
    rule: ListRule,
    now: float,
    limits: GuessLimits,
    similarity: SimilarityFunction,
) -> GuessState:
    told = facts.listing.numbering if facts.listing is not None else None
    if told is None or told.pattern != own.pattern:
        told = Numbering(own.pattern, own.number, own.number, rule.step)
    page = _to_list_page(facts)
    why_not = _missing_page_reason(facts) or list_end_reason(rule, page, limits.lists, similarity)
    if not why_not and page.new_urls:
        guess_state = count_success(guess_state, is_archive=False)
    return record_guess_result(guess_state, rule, told, page, why_not, now, limits.lists)


def _apply_archive_result(
    guess_state: GuessState, facts: VisitFacts, pattern: str, rule: ArchiveRule, now: float
) -> GuessState:
    seen = facts.content_hash[:HASH_CHARS]
    why_not = _missing_page_reason(facts)
    if not why_not and seen and seen == guess_state.archive_hash:
        why_not = "the same as another guess"
    elif not why_not and not facts.new_urls:
        why_not = NOTHING_NEW
    if facts.result is VisitResult.PAGE:
        guess_state = msgspec.structs.replace(guess_state, archive_hash=seen)
    if not why_not:
        guess_state = count_success(guess_state, is_archive=True)
    rule = record_archive_result(rule, why_not, now, is_year="{m" not in pattern)
    guess_state = store_archive_rule(guess_state, pattern, rule)
    if why_not or rule.earliest_period is None:
        return (
            add_pending(guess_state, pattern, PendingGuess())
            if rule.state == "valid" and rule.earliest_period is not None
            else guess_state
        )
    if is_first_year(
        pattern,
        rule.earliest_period,
        facts.listing.earliest_periods if facts.listing is not None else {},
        guess_state.archives,
    ):
        ended = msgspec.structs.replace(rule, state="invalid", why="it begins within this year")
        return store_archive_rule(guess_state, pattern, ended)
    return add_pending(
        update_months(guess_state, pattern, rule.earliest_period, facts.listing), pattern, PendingGuess()
    )


def _apply_list(
    guess_state: GuessState, facts: VisitFacts, listing: Listing, now: float, limits: GuessLimits
) -> GuessState:
    place = to_relative_url(facts.url)
    guess_state = _count_section(guess_state, place)
    if limits.with_archives:
        guess_state = update_from_linked_archive(guess_state, facts.url, listing, facts.new_urls, now)
    # The list of a month goes on with the month before it, unless it says otherwise.
    if limits.with_lists and (
        listing.numbering is not None or archive_pattern(facts.url, guess_state.archives)[1] is None
    ):
        guess_state = record_list_page(guess_state, place, listing.numbering, _to_list_page(facts), now)
    return guess_state


def _add_pending_archives(
    guess_state: GuessState, waiting_high: int | None, now: float, limits: GuessLimits, budget: GuessBudget
) -> GuessState:
    if not guess_state.archives_at:
        guess_state = msgspec.structs.replace(guess_state, archives_at=now)  # the first day begins
    if not should_try_archives(guess_state, now, waiting_high, limits.archives_below, limits.archives_every_seconds):
        return guess_state
    at_a_time = limits.archives_at_a_time if budget.has_ratio_budget else 1
    if now >= guess_state.archives_at + limits.archives_every_seconds:
        guess_state, at_a_time = msgspec.structs.replace(guess_state, archives_at=now), limits.archives_a_day
    unanswered = sum(_is_unanswered(rule, now) for rule in guess_state.archives.values())
    most = min(budget.archives, at_a_time - unanswered)
    if most <= 0:
        return guess_state
    for pattern in archives_to_try(guess_state, now, most, with_further=budget.has_ratio_budget):
        guess_state = (
            add_pending(guess_state, pattern, PendingGuess()) if pattern not in guess_state.pending else guess_state
        )
    return guess_state


def _is_unanswered(rule: ArchiveRule, now: float) -> bool:
    is_led_on = rule.why == _TO_SLASH and now < rule.at + _FOLLOWED_WITHIN_SECONDS
    return is_led_on or (rule.guessed_period is not None and not is_worth_trying(rule, now))


def _make_guesses(
    guess_state: GuessState,
    url: str,
    now: float,
    limits: GuessLimits,
    waiting: int,
    budget: GuessBudget,
    is_running_out: bool,
) -> tuple[GuessState, tuple[Guess, ...]]:
    """As many of the owed guesses as there is room for; a few of each kind are looked at each time.

    Lists that show no further page wait until the host runs dry: guesses come last anyway, and by then the host has
    shown how it numbers its lists.
    """
    origin = url[: len(url) - len(to_relative_url(url))]
    guesses: list[Guess] = []
    kept: dict[str, PendingGuess] = {}
    archives = [*islice((pattern for pattern in guess_state.pending if "{n}" not in pattern), MAX_PENDING_CHECKED)]
    for pattern in archives:
        rule = guess_state.archives.get(pattern)
        if len(guesses) >= (budget.max_archives if rule is not None and rule.worked else budget.archives):
            continue
        guess_state, guess = _make_archive_guess(remove_pending(guess_state, pattern), origin, pattern, now)
        guesses += () if guess is None else (guess,)
    made = len(guesses)
    for pattern, pending_guess in pending_lists(
        guess_state, is_running_out, limits.lists.max_pages, MAX_PENDING_CHECKED
    ):
        kept_rule = guess_state.lists.get(pattern)
        is_going_on = kept_rule is not None and kept_rule.state == "valid"
        if len(guesses) - made >= (budget.max_lists if is_going_on else budget.lists):
            continue
        guess_state, pattern, pending_guess = adopt_host_style(
            remove_pending(guess_state, pattern), pattern, pending_guess
        )
        prospect = guess_prospect(guess_state, pattern, pending_guess, now, limits.ratio, waiting)
        if prospect == "open":
            kept[pattern] = pending_guess
        elif prospect == "good":
            guess_state, one = _make_list_guess(guess_state, origin, pattern, pending_guess, now)
            guesses.append(one)
    guess_state = msgspec.structs.replace(
        guess_state,
        guesses_made=guess_state.guesses_made + len(guesses),
        archives_made=guess_state.archives_made + made,
        pending={**guess_state.pending, **kept},
    )
    return guess_state, tuple(guesses)


def _make_list_guess(
    guess_state: GuessState, origin: str, pattern: str, pending: PendingGuess, now: float
) -> tuple[GuessState, Guess]:
    url = origin + pattern.replace("{n}", str(pending.last_known + pending.step))
    why = "no further page is linked" if pending.is_unnumbered else f"{pending.last_known} is the last one known"
    guess = Guess(url, Source.PAGINATION, f"{pattern}: {why}", pending.depth)
    return record_list_guess(guess_state, pattern, pending, now), guess


def _make_archive_guess(
    guess_state: GuessState, origin: str, pattern: str, now: float
) -> tuple[GuessState, Guess | None]:
    rule = rule_to_guess(pattern, guess_state.archives.get(pattern), now)
    if rule is None:
        return guess_state, None
    period = next_period(pattern, rule, now, guess_state.signs.newest)
    if period is None and "{" in pattern:
        return guess_state, None
    why = f"{pattern} has worked" if rule.worked else "a usual place"
    state: RuleState = "valid" if rule.worked else "tried"
    asked = msgspec.structs.replace(rule, state=state, earliest_period=period, guessed_period=period or 0, at=now)
    return store_archive_rule(guess_state, pattern, asked), Guess(
        origin + fill_pattern(pattern, period), Source.ARCHIVE, why
    )


def _count_section(guess_state: GuessState, relative_url: str) -> GuessState:
    found = _SECTION.match(relative_url.partition("?")[0])
    if found is None:
        return guess_state
    counts = dict(guess_state.sections)
    counts[found[1]] = counts.get(found[1], 0) + 1
    if len(counts) > MAX_SECTIONS:
        del counts[min(counts, key=lambda name: (counts[name], name == found[1], name))]
    return msgspec.structs.replace(guess_state, sections=counts)


def _to_list_page(facts: VisitFacts) -> ListPage:
    trace = facts.listing.link_fingerprint if facts.listing is not None else b""
    links = facts.listing.links if facts.listing is not None else 0
    return ListPage(
        facts.content_hash, facts.fingerprint, trace, facts.new_urls, facts.depth, links, facts.words, facts.is_hub
    )


def _missing_page_reason(facts: VisitFacts) -> str:
    if facts.result is VisitResult.NO_PAGE:
        return NO_PAGE
    if facts.result is not VisitResult.REDIRECTED:
        return ""
    return _TO_SLASH if facts.is_to_slash else REDIRECTED
