"""How many guesses a host gets: archives and pages of lists each have their own, so neither uses up the other's.

What counts is misses: guesses that led to nothing new, or have no answer yet. Every host gets a few, which cover the
likely archives and a page of each of its lists; a larger site gets more; successes earn more, failures use them up.
What has worked is gone on with whatever the misses are.
"""

from __future__ import annotations

import msgspec

from tenax.model import Finds, Value

MOST_OF_ALL = 0.25
"""However well they go, no larger part of a host's requests are guesses: whoever invents pages pays with real ones."""
REQUESTS_PER_GUESS = 8
"""A host with fewer pages than that for each guess gets fewer guesses."""
REQUESTS_PER_ARCHIVE = 80
"""The same for archives where a sitemap was read: it names what is there, and few archives show more."""
SUCCESSES_PER_EXTRA_MISS = 4
USUAL_LEAST = 7
"""`discovery.guess_least` as it comes. What somebody sets above it is given to small hosts too."""


class GuessRoom(Value, frozen=True):
    """How many guesses of each kind may be made now."""

    archives: int = 0
    """In places and by patterns that have not worked here."""
    lists: int = 0
    archives_at_all: int = 0
    """With those that go on with what has worked: they end by themselves, where the answers do."""
    lists_at_all: int = 0
    has_share: bool = False
    """The share of a large site has room for archives, whatever the least is: places of little hope may be tried."""

    @property
    def is_empty(self) -> bool:
        return not self.archives_at_all and not self.lists_at_all


def guess_room(finds: Finds, share: float, least: int, waiting: int = 0) -> GuessRoom:
    """Of a host's requests `share` may be misses, half of them for each kind, but the `least` of each kind in any case.

    Tasks that are `waiting` are requests already, as guesses come after them.
    """
    requests = finds.requests + waiting
    made, succeeded = finds.archives_made, finds.archives_succeeded
    misses = max(0, made - succeeded - _ends_of_working(finds))
    per_archive = REQUESTS_PER_ARCHIVE if finds.signs.has_sitemap else REQUESTS_PER_GUESS
    archives, archives_at_all = _room(made, misses, succeeded, requests, share / 2, least, per_archive)
    lists_made, lists_succeeded = finds.made - made, finds.succeeded - succeeded
    lists, lists_at_all = _room(
        lists_made, lists_made - lists_succeeded, lists_succeeded, requests, share / 2, least, REQUESTS_PER_GUESS
    )
    has_share = misses < int(share / 2 * requests)
    return GuessRoom(archives, lists, archives_at_all, lists_at_all, has_share)


def with_made(finds: Finds, is_archive: bool) -> Finds:
    """One more guess was made."""
    return msgspec.structs.replace(finds, made=finds.made + 1, archives_made=finds.archives_made + is_archive)


def with_success(finds: Finds, is_archive: bool) -> Finds:
    """One more guess led to something new."""
    return msgspec.structs.replace(
        finds, succeeded=finds.succeeded + 1, archives_succeeded=finds.archives_succeeded + is_archive
    )


def _ends_of_working(finds: Finds) -> int:
    """Guesses by date patterns that have worked: unanswered, or missed at the far end.

    They are the cost of what was found, and leave the budget to places that have not been tried. Else it would depend
    on the order of answers whether those are ever asked for.
    """
    working = (rule for rule in finds.archives.values() if rule.worked)
    return sum(rule.missed + (rule.asked is not None) for rule in working)


def _room(
    made: int, misses: int, succeeded: int, requests: int, share: float, least: int, per_guess: int
) -> tuple[int, int]:
    in_any_case = min(least, 1 + requests // per_guess + max(0, least - USUAL_LEAST))
    allowed = max(in_any_case, int(share * requests)) + succeeded // SUCCESSES_PER_EXTRA_MISS
    at_all = max(0, least + int(MOST_OF_ALL * requests) - made)
    return max(0, min(allowed - misses, at_all)), at_all
