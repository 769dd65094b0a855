"""Guesses that something on the site speaks for, and that a limit keeps from being made.

They stay owed in the host's record, so a run with a higher limit makes them. Only guesses with evidence count: the next
page of a list that shows page numbers, an archive pattern that has worked. Usual places that nothing points to are
tried as far as the budget goes, and none of them is owed: there is always one more that could be tried.
"""

from __future__ import annotations

from tenax.discovery.archives import archive_at, next_period, place_at, rule_to_ask
from tenax.discovery.guess_budget import GuessRoom, guess_room
from tenax.discovery.guesses import GuessLimits
from tenax.discovery.page_numbers import paged, place_of
from tenax.discovery.pagination import is_blank, is_full, prospect_of
from tenax.model import Finds, Owed, Value

BUDGET, PAGES_OF_LIST = "guesses", "pages_guessed"
"""The names of the limits, as they are counted with the page."""


class PendingGuess(Value, frozen=True):
    """A guess that is owed."""

    place: str
    """Path and query."""
    limit: str
    """What keeps it from being made."""
    is_archive: bool = False
    depth: int = 1


def pending_guesses(finds: Finds, now: float, limits: GuessLimits) -> dict[str, PendingGuess]:
    """Every guess that is owed and has evidence, by its pattern, whether there is room for it or not."""
    if not limits.is_on:
        return {}
    found = ((pattern, _pending(finds, pattern, owed, now, limits)) for pattern, owed in finds.owed.items())
    return {pattern: one for pattern, one in found if one is not None}


def held_back_by(before: Finds, after: Finds, url: str, now: float, limits: GuessLimits) -> dict[str, int]:
    """How many guesses that the page of this visit speaks for were not made, by the limit that kept them back."""
    if not limits.is_on or not after.owed:
        return {}
    own = _owed_by(after, url)
    patterns = [pattern for pattern in after.owed if pattern in own or pattern not in before.owed]
    room = guess_room(after, limits.share, limits.least) if patterns else None
    counts: dict[str, int] = {}
    for pattern in patterns:
        one = _pending(after, pattern, after.owed[pattern], now, limits)
        if one is not None and room is not None and (one.limit != BUDGET or not _has_room(after, pattern, room)):
            counts[one.limit] = counts.get(one.limit, 0) + 1
    return counts


def is_owed(finds: Finds, url: str) -> bool:
    """Whether this very page of a list, or of an archive that has worked, is owed."""
    if not finds.owed:
        return False
    own = paged(url)
    owed = finds.owed.get(own.pattern) if own is not None else None
    if own is not None and owed is not None:
        return owed.known + owed.step == own.number
    pattern, period = archive_at(url, finds.archives)
    rule = finds.archives.get(pattern) if pattern in finds.owed else None
    return rule is not None and period is not None and rule.reached is not None and period == rule.reached - 1


def _owed_by(finds: Finds, url: str) -> set[str]:
    own, place = paged(url), place_of(url)
    of_place = {pattern for pattern, owed in finds.owed.items() if owed.place and owed.place == place}
    return of_place | {archive_at(url, finds.archives)[0]} | ({own.pattern} if own is not None else set())


def _pending(finds: Finds, pattern: str, owed: Owed, now: float, limits: GuessLimits) -> PendingGuess | None:
    if "{n}" in pattern:
        return _pending_page(finds, pattern, owed, now, limits) if limits.with_lists else None
    rule = finds.archives.get(pattern)
    if not limits.with_archives or rule is None or not rule.worked or rule_to_ask(pattern, rule, now) is None:
        return None
    period = next_period(pattern, rule, now, finds.signs.newest)
    return PendingGuess(place_at(pattern, period), BUDGET, is_archive=True) if period is not None else None


def _pending_page(finds: Finds, pattern: str, owed: Owed, now: float, limits: GuessLimits) -> PendingGuess | None:
    rule = finds.lists.get(pattern)
    if is_blank(owed, rule) or (rule is not None and rule.asked is not None):
        return None
    if prospect_of(finds, pattern, owed, now, limits.share) == "hopeless":
        return None
    limit = PAGES_OF_LIST if is_full(rule, limits.lists.pages) else BUDGET
    return PendingGuess(pattern.replace("{n}", str(owed.known + owed.step)), limit, depth=owed.depth)


def _has_room(finds: Finds, pattern: str, room: GuessRoom) -> bool:
    if "{n}" not in pattern:
        return room.archives_at_all > 0
    rule = finds.lists.get(pattern)
    return (room.lists_at_all if rule is not None and rule.state == "valid" else room.lists) > 0
