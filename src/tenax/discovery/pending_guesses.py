"""Pending guesses that have evidence but are held back by a limit. They stay in the host record, so that a run with a
higher limit makes them.

Evidence is a list that shows page numbers, or an archive pattern that has worked. Common paths without evidence are
tried within the budget, but never count as held back, because there would always be one more.
"""

from __future__ import annotations

from tenax.discovery.archives import archive_pattern, fill_pattern, next_period, rule_to_guess
from tenax.discovery.guess_budget import GuessBudget, remaining_guess_budget
from tenax.discovery.guesses import GuessLimits
from tenax.discovery.paged_urls import parse_paged_url, to_relative_url
from tenax.discovery.pagination import guess_prospect, has_max_guesses, is_unnumbered_list
from tenax.model import GuessState, PendingGuess, Value

BUDGET, LIST_PAGES = "guesses", "pages_guessed"
"""The names of the limits, as they are counted with the page."""


class LimitedGuess(Value, frozen=True):
    """A pending guess that a limit holds back."""

    relative_url: str
    """Path and query."""
    limit: str
    """The limit that holds it back."""
    is_archive: bool = False
    depth: int = 1


def limited_guesses(guess_state: GuessState, now: float, limits: GuessLimits) -> dict[str, LimitedGuess]:
    """Every pending guess with evidence, by pattern, whether or not the budget has room for it."""
    if not limits.is_enabled:
        return {}
    found = (
        (pattern, _limited_guess(guess_state, pattern, pending_guess, now, limits))
        for pattern, pending_guess in guess_state.pending.items()
    )
    return {pattern: one for pattern, one in found if one is not None}


def count_limited_guesses(
    before: GuessState, after: GuessState, url: str, now: float, limits: GuessLimits
) -> dict[str, int]:
    """How many guesses that the page of this visit suggested were not made, by limit."""
    if not limits.is_enabled or not after.pending:
        return {}
    own = _pending_patterns(after, url)
    patterns = [pattern for pattern in after.pending if pattern in own or pattern not in before.pending]
    budget = remaining_guess_budget(after, limits.ratio, limits.min_guesses) if patterns else None
    counts: dict[str, int] = {}
    for pattern in patterns:
        one = _limited_guess(after, pattern, after.pending[pattern], now, limits)
        if one is not None and budget is not None and (one.limit != BUDGET or not _has_budget(after, pattern, budget)):
            counts[one.limit] = counts.get(one.limit, 0) + 1
    return counts


def is_pending_guess(guess_state: GuessState, url: str) -> bool:
    """Whether this URL is a pending guess: a page of a list, or of an archive that has worked."""
    if not guess_state.pending:
        return False
    own = parse_paged_url(url)
    pending_guess = guess_state.pending.get(own.pattern) if own is not None else None
    if own is not None and pending_guess is not None:
        return pending_guess.last_known + pending_guess.step == own.number
    pattern, period = archive_pattern(url, guess_state.archives)
    rule = guess_state.archives.get(pattern) if pattern in guess_state.pending else None
    return (
        rule is not None
        and period is not None
        and rule.earliest_period is not None
        and period == rule.earliest_period - 1
    )


def _pending_patterns(guess_state: GuessState, url: str) -> set[str]:
    own, relative_url = parse_paged_url(url), to_relative_url(url)
    of_list = {
        pattern
        for pattern, pending_guess in guess_state.pending.items()
        if pending_guess.relative_url and pending_guess.relative_url == relative_url
    }
    return of_list | {archive_pattern(url, guess_state.archives)[0]} | ({own.pattern} if own is not None else set())


def _limited_guess(
    guess_state: GuessState, pattern: str, pending: PendingGuess, now: float, limits: GuessLimits
) -> LimitedGuess | None:
    if "{n}" in pattern:
        return _limited_page_guess(guess_state, pattern, pending, now, limits) if limits.with_lists else None
    rule = guess_state.archives.get(pattern)
    if not limits.with_archives or rule is None or not rule.worked or rule_to_guess(pattern, rule, now) is None:
        return None
    period = next_period(pattern, rule, now, guess_state.signs.newest)
    return LimitedGuess(fill_pattern(pattern, period), BUDGET, is_archive=True) if period is not None else None


def _limited_page_guess(
    guess_state: GuessState, pattern: str, pending: PendingGuess, now: float, limits: GuessLimits
) -> LimitedGuess | None:
    rule = guess_state.lists.get(pattern)
    if is_unnumbered_list(pending, rule) or (rule is not None and rule.guessed_number is not None):
        return None
    if guess_prospect(guess_state, pattern, pending, now, limits.ratio) == "hopeless":
        return None
    limit = LIST_PAGES if has_max_guesses(rule, limits.lists.max_pages) else BUDGET
    return LimitedGuess(pattern.replace("{n}", str(pending.last_known + pending.step)), limit, depth=pending.depth)


def _has_budget(guess_state: GuessState, pattern: str, budget: GuessBudget) -> bool:
    if "{n}" not in pattern:
        return budget.max_archives > 0
    rule = guess_state.lists.get(pattern)
    return (budget.max_lists if rule is not None and rule.state == "valid" else budget.lists) > 0
