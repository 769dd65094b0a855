"""How many guesses a host gets: archives and pages of lists each have their own, so neither uses up the other's.

What counts is misses: guesses that led to nothing new, or have no answer yet. Every host gets a few, which cover the
likely archives and a page of each of its lists; a larger site gets more; successes earn more, failures use them up.
What has worked is gone on with whatever the misses are.
"""

from __future__ import annotations

import msgspec

from tenax.model import GuessState, Value

MAX_GUESS_RATIO = 0.25
"""However well they go, no larger part of a host's requests are guesses: whoever invents pages pays with real ones."""
REQUESTS_PER_GUESS = 8
"""A host with fewer pages than that for each guess gets fewer guesses."""
REQUESTS_PER_ARCHIVE = 80
"""The same for archives where a sitemap was read: it names what is there, and few archives show more."""
SUCCESSES_PER_EXTRA_MISS = 4
DEFAULT_MIN_GUESSES = 7
"""`discovery.min_guesses` as it comes. What somebody sets above it is given to small hosts too."""


class GuessBudget(Value, frozen=True):
    """How many guesses of each kind may be made now."""

    archives: int = 0
    """In places and by patterns that have not worked here."""
    lists: int = 0
    max_archives: int = 0
    """With those that go on with what has worked: they end by themselves, where the answers do."""
    max_lists: int = 0
    has_ratio_budget: bool = False
    """The share of a large site has room for archives, whatever the least is: places of little hope may be tried."""

    @property
    def is_empty(self) -> bool:
        return not self.max_archives and not self.max_lists


def remaining_guess_budget(guess_state: GuessState, ratio: float, min_guesses: int, waiting: int = 0) -> GuessBudget:
    """Of a host's requests `ratio` may be misses, half of them for each kind, but the `min_guesses` of each kind in any case.

    Tasks that are `waiting` are requests already, as guesses come after them.
    """
    requests = guess_state.requests + waiting
    made, succeeded = guess_state.archives_made, guess_state.archives_succeeded
    misses = max(0, made - succeeded - _working_pattern_misses(guess_state))
    per_archive = REQUESTS_PER_ARCHIVE if guess_state.signs.has_sitemap else REQUESTS_PER_GUESS
    archives, archives_at_all = _remaining_guesses(
        made, misses, succeeded, requests, ratio / 2, min_guesses, per_archive
    )
    lists_made, lists_succeeded = guess_state.guesses_made - made, guess_state.guesses_succeeded - succeeded
    lists, lists_at_all = _remaining_guesses(
        lists_made, lists_made - lists_succeeded, lists_succeeded, requests, ratio / 2, min_guesses, REQUESTS_PER_GUESS
    )
    has_share = misses < int(ratio / 2 * requests)
    return GuessBudget(archives, lists, archives_at_all, lists_at_all, has_share)


def count_guess(guess_state: GuessState, is_archive: bool) -> GuessState:
    """One more guess was made."""
    return msgspec.structs.replace(
        guess_state, guesses_made=guess_state.guesses_made + 1, archives_made=guess_state.archives_made + is_archive
    )


def count_success(guess_state: GuessState, is_archive: bool) -> GuessState:
    """One more guess led to something new."""
    return msgspec.structs.replace(
        guess_state,
        guesses_succeeded=guess_state.guesses_succeeded + 1,
        archives_succeeded=guess_state.archives_succeeded + is_archive,
    )


def _working_pattern_misses(guess_state: GuessState) -> int:
    """Guesses by date patterns that have worked: unanswered, or missed at the far end.

    They are the cost of what was found, and leave the budget to places that have not been tried. Else it would depend
    on the order of answers whether those are ever asked for.
    """
    working = (rule for rule in guess_state.archives.values() if rule.worked)
    return sum(rule.missed + (rule.guessed_period is not None) for rule in working)


def _remaining_guesses(
    made: int, misses: int, succeeded: int, requests: int, ratio: float, min_guesses: int, per_guess: int
) -> tuple[int, int]:
    in_any_case = min(min_guesses, 1 + requests // per_guess + max(0, min_guesses - DEFAULT_MIN_GUESSES))
    allowed = max(in_any_case, int(ratio * requests)) + succeeded // SUCCESSES_PER_EXTRA_MISS
    at_all = max(0, min_guesses + int(MAX_GUESS_RATIO * requests) - made)
    return max(0, min(allowed - misses, at_all)), at_all
