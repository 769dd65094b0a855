"""Which URLs to guess after a visit: further pages of lists, and archives, within the host's budget.

`update_guesses` is the entry point. It learns from the visit, and then makes pending guesses as far as the budget
(`guess_budget`) allows. The others remain pending until more pages are visited. Pure: time is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import islice
from typing import Literal, NamedTuple

from msgspec.structs import replace

from tenax.discovery.archives import (
    NO_PAGE,
    NOTHING_NEW,
    REDIRECTED,
    Listing,
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
    update_from_linked_archive,
    update_months,
)
from tenax.discovery.guess_budget import GuessBudget, count_guess, count_section, count_success, remaining_guess_budget
from tenax.discovery.paged_urls import Numbering, parse_paged_url, to_relative_url
from tenax.discovery.pagination import (
    HASH_CHARS,
    GuessedPage,
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
from tenax.model import ArchiveRule, GuessState, PendingGuess, RuleState, Source, Value

MAX_PENDING_CHECKED = 16
"""How many pending guesses are checked at a time. Those that cannot be made yet move to the end."""
CHECK_EVERY_VISITS = 8
"""Visits between two checks of pending guesses while nothing changes."""

_TO_SLASH = f"{REDIRECTED} to add a slash"
_FOLLOWED_WITHIN_SECONDS = 60.0
"""How long an archive that was redirected to add a slash counts as unanswered."""
_GUESS_SOURCES = (Source.ARCHIVE, Source.PAGINATION)


class VisitResult(StrEnum):
    """How a visit ended, as far as it matters for guesses."""

    PAGE = "page"
    NO_PAGE = "no_page"
    """The response is 404 or 410, or another sign that there is no page."""
    REDIRECTED = "redirected"
    OTHER = "other"
    """Nothing was learned: a timeout, a refusal, a server error."""


class VisitFacts(Value, frozen=True):
    """What guesses depend on in a visit."""

    url: str
    source: Source
    result: VisitResult
    listing: Listing | None = None
    """Given for a list page, and for every guessed page; None for all others."""
    content_hash: str = ""
    fingerprint: bytes = b""
    new_urls: int = 0
    """URLs on the page that were not known before, as far as known."""
    depth: int = 0
    """The number of links from a seed."""
    is_hub: bool = False
    """The page is a list by its content, not only by its URL."""
    words: int = 0
    is_to_slash: bool = False
    """Whether the URL was redirected to the same URL with a slash at the end."""
    was_requested: bool = True
    waiting_high: int | None = None
    """The host's high-priority tasks that wait, including those of this page; None: unknown."""
    waiting: int = 0
    """All tasks of this host that come before any guess, as far as is known."""


class GuessLimits(Value, frozen=True):
    """Limits of guessing."""

    is_enabled: bool = True
    """False: nothing is guessed, but Tenax still learns from visits."""
    ratio: float = 0.03
    min_guesses: int = 7
    """How many misses of each kind a host may have; a small host may have fewer."""
    with_lists: bool = True
    with_archives: bool = True
    archives_below: int = 10
    """Archives are tried when fewer high-priority tasks than this wait."""
    archives_every_seconds: float = 86_400.0
    """Archives are also tried when this time has passed since they were last tried for this reason."""
    archives_at_a_time: int = 2
    """Maximum archives without a result, because results decide what to try next."""
    archives_a_day: int = 5
    """The same, when archives are tried only because `archives_every_seconds` has passed."""
    lists: ListLimits = ListLimits()


class Guess(Value, frozen=True):
    """A URL that nothing links to, proposed as a candidate."""

    url: str
    source: Literal[Source.ARCHIVE, Source.PAGINATION]
    why: str
    depth: int = 1
    """The depth of a list page is the depth of its list."""


def discard_guesses(guess_state: GuessState, guesses: Iterable[Guess]) -> GuessState:
    """Take back guesses that were not admitted, because they cost no request."""
    archives = sum(guess.source is Source.ARCHIVE for guess in guesses)
    lists = sum(guess.source is Source.PAGINATION for guess in guesses)
    return replace(
        guess_state,
        guesses_made=max(guess_state.guesses_succeeded, guess_state.guesses_made - archives - lists),
        archives_made=max(guess_state.archives_succeeded, guess_state.archives_made - archives),
    )


def update_guesses(
    guess_state: GuessState, facts: VisitFacts, now: float, limits: GuessLimits, similarity: SimilarityFunction
) -> tuple[GuessState, tuple[Guess, ...]]:
    """The guess state after this visit, and the URLs to guess now."""
    before = guess_state
    if facts.was_requested:
        guess_state = replace(guess_state, requests=guess_state.requests + 1)
    if facts.result is not VisitResult.OTHER and (
        facts.listing is not None or facts.result is not VisitResult.PAGE or facts.source in _GUESS_SOURCES
    ):
        guess_state = _learn_from_visit(guess_state, facts, now, limits, similarity)
    if not limits.is_enabled:
        return guess_state, ()
    budget = remaining_guess_budget(guess_state, limits.ratio, limits.min_guesses, facts.waiting)
    if limits.with_archives:
        guess_state = _add_pending_archives(guess_state, facts.waiting_high, now, limits, budget)
    if not guess_state.pending or budget.is_empty:
        return guess_state, ()
    # Pending guesses wait for a result or for budget. They are checked when either may have changed.
    has_changed = guess_state.pending is not before.pending or guess_state.styles is not before.styles
    if has_changed or not facts.waiting or guess_state.requests % CHECK_EVERY_VISITS == 0:
        is_low = facts.waiting_high is not None and facts.waiting_high < limits.archives_below
        backlog = _Backlog(facts.waiting, is_running_out=is_low)
        return _make_guesses(guess_state, facts.url, now, limits, budget, backlog=backlog)
    return guess_state, ()


def due_guesses(guess_state: GuessState, home: str, now: float, limits: GuessLimits) -> tuple[Guess, ...]:
    """Guesses for a host that gets no further visits, after its limits were raised.

    Nothing is counted until the results arrive, so a second call returns the same guesses.
    """
    budget = remaining_guess_budget(guess_state, limits.ratio, limits.min_guesses)
    if not limits.is_enabled or budget.is_empty:
        return ()
    guess_state = _add_pending_archives(guess_state, 0, now, limits, budget) if limits.with_archives else guess_state
    return _make_guesses(guess_state, home, now, limits, budget, backlog=_Backlog(0, is_running_out=True))[1]


def _learn_from_visit(
    guess_state: GuessState, facts: VisitFacts, now: float, limits: GuessLimits, similarity: SimilarityFunction
) -> GuessState:
    """Learn from this visit. A guessed URL counts as a guess even if it was linked in the meantime."""
    guess_state = _adopt_guess(guess_state, facts, now) if facts.source in _GUESS_SOURCES else guess_state
    answered = _apply_list_result(guess_state, facts, now, limits, similarity)
    if answered is not None:
        return answered
    pattern, period = archive_pattern(facts.url, guess_state.archives)
    archive = guess_state.archives.get(pattern)
    if archive is not None and archive.guessed_period == (period or 0):
        guess_state = _apply_archive_result(guess_state, facts, pattern, archive, now)
        if guess_state.archives[pattern].missed:
            return guess_state
    if facts.listing is None or facts.result is not VisitResult.PAGE:
        return guess_state
    if facts.source is Source.PAGINATION and not facts.new_urls:
        return guess_state  # its rule was removed, so there is no page to compare with
    return _apply_list(guess_state, facts, facts.listing, now, limits)


def _adopt_guess(guess_state: GuessState, facts: VisitFacts, now: float) -> GuessState:
    """Count a guess that was made outside of a visit when its result arrives."""
    if facts.source is Source.ARCHIVE:
        pattern, period = archive_pattern(facts.url, guess_state.archives)
        rule = guess_state.archives.get(pattern)
        if rule is not None and (
            rule.guessed_period is not None or period is None or period >= (rule.earliest_period or period + 1)
        ):
            return guess_state  # already counted when it was made
        rule = rule or ArchiveRule(at=now)
        guessed = replace(rule, earliest_period=period, guessed_period=period or 0)
        return count_guess(store_archive_rule(remove_pending(guess_state, pattern), pattern, guessed), is_archive=True)
    own = parse_paged_url(facts.url)
    pending_guess = guess_state.pending.get(own.pattern) if own is not None else None
    if own is None or pending_guess is None or pending_guess.last_known + pending_guess.step != own.number:
        return guess_state
    return count_guess(
        record_list_guess(remove_pending(guess_state, own.pattern), own.pattern, pending_guess, now), is_archive=False
    )


def _apply_list_result(
    guess_state: GuessState, facts: VisitFacts, now: float, limits: GuessLimits, similarity: SimilarityFunction
) -> GuessState | None:
    """The state after a guessed page of a list was visited; None for any other page."""
    own = parse_paged_url(facts.url) if guess_state.lists else None
    rule = guess_state.lists.get(own.pattern) if own is not None else None
    if own is None or rule is None or rule.guessed_number != own.number:
        return None
    numbering = facts.listing.numbering if facts.listing is not None else None
    if numbering is None or numbering.pattern != own.pattern:
        numbering = Numbering(own.pattern, own.number, own.number, rule.step)
    page = _to_list_page(facts)
    failure_reason = _missing_page_reason(facts) or list_end_reason(rule, page, limits.lists, similarity)
    if not failure_reason and page.new_urls:
        guess_state = count_success(guess_state, is_archive=False)
    return record_guess_result(guess_state, rule, GuessedPage(numbering, page, failure_reason), now, limits.lists)


def _apply_archive_result(
    guess_state: GuessState, facts: VisitFacts, pattern: str, rule: ArchiveRule, now: float
) -> GuessState:
    hash_prefix = facts.content_hash[:HASH_CHARS]
    failure_reason = _missing_page_reason(facts)
    if not failure_reason and hash_prefix and hash_prefix == guess_state.archive_hash:
        failure_reason = "the same as another guess"
    elif not failure_reason and not facts.new_urls:
        failure_reason = NOTHING_NEW
    if facts.result is VisitResult.PAGE:
        guess_state = replace(guess_state, archive_hash=hash_prefix)
    if not failure_reason:
        guess_state = count_success(guess_state, is_archive=True)
    rule = record_archive_result(rule, failure_reason, now, is_year="{m" not in pattern)
    guess_state = store_archive_rule(guess_state, pattern, rule)
    if failure_reason or rule.earliest_period is None:
        is_continued = rule.state == "valid" and rule.earliest_period is not None
        return add_pending(guess_state, pattern, PendingGuess()) if is_continued else guess_state
    linked = facts.listing.earliest_periods if facts.listing is not None else {}
    if is_first_year(pattern, rule.earliest_period, linked, guess_state.archives):
        ended = replace(rule, state="invalid", why="archive begins in this year")
        return store_archive_rule(guess_state, pattern, ended)
    guess_state = update_months(guess_state, pattern, rule.earliest_period, facts.listing)
    return add_pending(guess_state, pattern, PendingGuess())


def _apply_list(
    guess_state: GuessState, facts: VisitFacts, listing: Listing, now: float, limits: GuessLimits
) -> GuessState:
    relative_url = to_relative_url(facts.url)
    guess_state = count_section(guess_state, relative_url)
    if limits.with_archives:
        guess_state = update_from_linked_archive(guess_state, facts.url, listing, facts.new_urls, now)
    # A month's list that has no page numbers of its own continues with the month before.
    if limits.with_lists and (
        listing.numbering is not None or archive_pattern(facts.url, guess_state.archives)[1] is None
    ):
        guess_state = record_list_page(guess_state, relative_url, listing.numbering, _to_list_page(facts), now)
    return guess_state


def _add_pending_archives(
    guess_state: GuessState, waiting_high: int | None, now: float, limits: GuessLimits, budget: GuessBudget
) -> GuessState:
    if not guess_state.archives_at:
        guess_state = replace(guess_state, archives_at=now)  # the interval begins with the first visit
    if not should_try_archives(guess_state, now, waiting_high, limits.archives_below, limits.archives_every_seconds):
        return guess_state
    at_a_time = limits.archives_at_a_time if budget.has_ratio_budget else 1
    if now >= guess_state.archives_at + limits.archives_every_seconds:
        guess_state, at_a_time = replace(guess_state, archives_at=now), limits.archives_a_day
    unanswered = sum(_is_unanswered(rule, now) for rule in guess_state.archives.values())
    most = min(budget.archives, at_a_time - unanswered)
    if most <= 0:
        return guess_state
    for pattern in archives_to_try(guess_state, now, most, with_further=budget.has_ratio_budget):
        if pattern not in guess_state.pending:
            guess_state = add_pending(guess_state, pattern, PendingGuess())
    return guess_state


def _is_unanswered(rule: ArchiveRule, now: float) -> bool:
    is_redirect_pending = rule.why == _TO_SLASH and now < rule.at + _FOLLOWED_WITHIN_SECONDS
    return is_redirect_pending or (rule.guessed_period is not None and not is_worth_trying(rule, now))


class _Backlog(NamedTuple):
    """The work of the host that comes before any guess."""

    waiting: int
    is_running_out: bool
    """Few tasks of high priority wait."""


def _make_guesses(
    guess_state: GuessState, url: str, now: float, limits: GuessLimits, budget: GuessBudget, backlog: _Backlog
) -> tuple[GuessState, tuple[Guess, ...]]:
    """Make as many pending guesses as the budget allows, checking a limited number of each kind.

    Lists without any sign of further pages wait until the host runs out of tasks. By then it has shown how it numbers
    its lists.
    """
    origin = url[: len(url) - len(to_relative_url(url))]
    guesses: list[Guess] = []
    still_pending: dict[str, PendingGuess] = {}
    archives = [*islice((pattern for pattern in guess_state.pending if "{n}" not in pattern), MAX_PENDING_CHECKED)]
    for pattern in archives:
        rule = guess_state.archives.get(pattern)
        if len(guesses) >= (budget.max_archives if rule is not None and rule.worked else budget.archives):
            continue
        guess_state, guess = _make_archive_guess(remove_pending(guess_state, pattern), origin, pattern, now)
        guesses += () if guess is None else (guess,)
    made = len(guesses)
    for pattern, pending_guess in pending_lists(
        guess_state, backlog.is_running_out, limits.lists.max_pages, MAX_PENDING_CHECKED
    ):
        list_rule = guess_state.lists.get(pattern)
        is_continued = list_rule is not None and list_rule.state == "valid"
        if len(guesses) - made >= (budget.max_lists if is_continued else budget.lists):
            continue
        guess_state, pattern, pending_guess = adopt_host_style(
            remove_pending(guess_state, pattern), pattern, pending_guess
        )
        prospect = guess_prospect(guess_state, pattern, pending_guess, now, limits.ratio, waiting=backlog.waiting)
        if prospect == "open":
            still_pending[pattern] = pending_guess
        elif prospect == "good":
            guess_state, one = _make_list_guess(guess_state, origin, pattern, pending_guess, now)
            guesses.append(one)
    guess_state = replace(
        guess_state,
        guesses_made=guess_state.guesses_made + len(guesses),
        archives_made=guess_state.archives_made + made,
        pending={**guess_state.pending, **still_pending},
    )
    return guess_state, tuple(guesses)


def _make_list_guess(
    guess_state: GuessState, origin: str, pattern: str, pending: PendingGuess, now: float
) -> tuple[GuessState, Guess]:
    url = origin + pattern.replace("{n}", str(pending.last_known + pending.step))
    why = "no further page is linked" if pending.is_unnumbered else f"page {pending.last_known} is the last known one"
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
    why = f"{pattern} has worked" if rule.worked else "common path"
    state: RuleState = "valid" if rule.worked else "tried"
    guessed = replace(rule, state=state, earliest_period=period, guessed_period=period or 0, at=now)
    guess = Guess(origin + fill_pattern(pattern, period), Source.ARCHIVE, why)
    return store_archive_rule(guess_state, pattern, guessed), guess


def _to_list_page(facts: VisitFacts) -> ListPage:
    link_fingerprint = facts.listing.link_fingerprint if facts.listing is not None else b""
    links = facts.listing.links if facts.listing is not None else 0
    return ListPage(
        facts.content_hash, facts.fingerprint, link_fingerprint, new_urls=facts.new_urls, depth=facts.depth,
        links=links, words=facts.words, is_hub=facts.is_hub,
    )  # fmt: skip


def _missing_page_reason(facts: VisitFacts) -> str:
    if facts.result is VisitResult.NO_PAGE:
        return NO_PAGE
    if facts.result is not VisitResult.REDIRECTED:
        return ""
    return _TO_SLASH if facts.is_to_slash else REDIRECTED
