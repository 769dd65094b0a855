"""How many guesses a host gets. Archives and list pages have separate budgets.

Only misses count: guesses that led to nothing new or have no result yet. Every host gets a few, enough for the likely
archives and one page of each list; a larger site gets more; successes add to the budget. Patterns that worked continue
regardless of misses.
"""

from __future__ import annotations

import msgspec

from tenax.model import GuessState, Value

MAX_GUESS_RATIO = 0.25
"""Maximum share of guesses among a host's requests, however successful: a site that generates pages would take them
all."""
REQUESTS_PER_GUESS = 8
"""A host with fewer requests than this per guess gets fewer guesses."""
REQUESTS_PER_ARCHIVE = 80
"""The same for archives if a sitemap was read: few archives list more than it does."""
SUCCESSES_PER_EXTRA_MISS = 4
DEFAULT_MIN_GUESSES = 7
"""The default of `discovery.min_guesses`. Guesses configured above it are given to small hosts too."""


class GuessBudget(Value, frozen=True):
    """How many guesses of each kind may be made now."""

    archives: int = 0
    """Guesses with patterns that have not worked here."""
    lists: int = 0
    max_archives: int = 0
    """Including those with patterns that worked: these end by themselves."""
    max_lists: int = 0
    has_ratio_budget: bool = False
    """Whether `ratio`, not only the minimum, leaves room for archives: unlikely patterns may be tried."""

    @property
    def is_empty(self) -> bool:
        return not self.max_archives and not self.max_lists


def remaining_guess_budget(guess_state: GuessState, ratio: float, min_guesses: int, waiting: int = 0) -> GuessBudget:
    """`ratio` of a host's requests may be misses, half of them for each kind, or `min_guesses` of each kind if that is
    more.

    A small host gets fewer than `min_guesses`: one, and one more for every 8 requests (for archives, every 80 if a
    sitemap was read). `waiting` tasks count as requests, because guesses come after them.
    """
    requests = guess_state.requests + waiting
    made, succeeded = guess_state.archives_made, guess_state.archives_succeeded
    misses = max(0, made - succeeded - _working_pattern_misses(guess_state))
    per_archive = REQUESTS_PER_ARCHIVE if guess_state.signs.has_sitemap else REQUESTS_PER_GUESS
    archives, max_archives = _remaining_guesses(made, misses, succeeded, requests, ratio / 2, min_guesses, per_archive)
    lists_made, lists_succeeded = guess_state.guesses_made - made, guess_state.guesses_succeeded - succeeded
    lists, max_lists = _remaining_guesses(
        lists_made, lists_made - lists_succeeded, lists_succeeded, requests, ratio / 2, min_guesses, REQUESTS_PER_GUESS
    )
    has_ratio_budget = misses < int(ratio / 2 * requests)
    return GuessBudget(archives, lists, max_archives, max_lists, has_ratio_budget)


def count_guess(guess_state: GuessState, is_archive: bool) -> GuessState:
    """Count one more guess."""
    return msgspec.structs.replace(
        guess_state, guesses_made=guess_state.guesses_made + 1, archives_made=guess_state.archives_made + is_archive
    )


def count_success(guess_state: GuessState, is_archive: bool) -> GuessState:
    """Count one more guess that led to something new."""
    return msgspec.structs.replace(
        guess_state,
        guesses_succeeded=guess_state.guesses_succeeded + 1,
        archives_succeeded=guess_state.archives_succeeded + is_archive,
    )


def _working_pattern_misses(guess_state: GuessState) -> int:
    """Misses of date patterns that have worked: unanswered, or past the earliest period.

    They do not use up the budget for untried patterns. Otherwise the order of responses would decide whether those are
    tried.
    """
    working = (rule for rule in guess_state.archives.values() if rule.worked)
    return sum(rule.missed + (rule.guessed_period is not None) for rule in working)


def _remaining_guesses(
    made: int, misses: int, succeeded: int, requests: int, ratio: float, min_guesses: int, per_guess: int
) -> tuple[int, int]:
    minimum = min(min_guesses, 1 + requests // per_guess + max(0, min_guesses - DEFAULT_MIN_GUESSES))
    allowed = max(minimum, int(ratio * requests)) + succeeded // SUCCESSES_PER_EXTRA_MISS
    hard_limit = max(0, min_guesses + int(MAX_GUESS_RATIO * requests) - made)
    return max(0, min(allowed - misses, hard_limit)), hard_limit
