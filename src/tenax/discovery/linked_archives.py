"""What linked lists of dates, and indexes of them, say about the archives of a host."""

from __future__ import annotations

import msgspec

from tenax.discovery.archives import archive_pattern, is_usual_path, is_worth_trying, month_pattern, store_archive_rule
from tenax.discovery.guess_budget import count_success
from tenax.discovery.listing import Listing
from tenax.discovery.page_numbers import to_relative_url
from tenax.discovery.pagination import add_pending
from tenax.model import ArchiveRule, GuessState, PendingGuess

REDIRECTED = "redirected"
"""Why a guess was no archive: how the words for it begin."""


def update_from_linked_archive(
    guess_state: GuessState, url: str, listing: Listing, new_urls: int, now: float
) -> GuessState:
    """A date's list that was linked shows how this host writes its archives: one before the earliest is owed."""
    place = to_relative_url(url)
    for linked, earliest in listing.earliest_periods.items():
        if linked in guess_state.archives:
            guess_state = _extend_to_period(guess_state, linked, earliest)
    pattern, period = archive_pattern(url, guess_state.archives)
    if period is None:
        return (
            _update_usual_place(guess_state, place.removesuffix("/"), new_urls, listing, now)
            if is_usual_path(place)
            else guess_state
        )
    rule = guess_state.archives.get(pattern, ArchiveRule())
    if not rule.worked:
        rule = msgspec.structs.replace(rule, state="valid", why="", at=now, worked=1)
        guess_state = update_months(store_archive_rule(guess_state, pattern, rule), pattern, period, listing)
    guess_state = _extend_to_period(guess_state, pattern, min(period, listing.earliest_periods.get(pattern, period)))
    rule = guess_state.archives[pattern]
    return (
        add_pending(guess_state, pattern, PendingGuess())
        if rule.earliest_period == period and is_worth_trying(rule, now)
        else guess_state
    )


def update_months(guess_state: GuessState, pattern: str, year: int, listing: Listing | None) -> GuessState:
    """Below a year that was found its months may show more, unless the year links them: the last one is owed."""
    months = month_pattern(pattern, listing.earliest_periods if listing is not None else ())
    rule = guess_state.archives.get(months) if months is not None else None
    # That nothing is at a month of a later year, which has no page either, says nothing of this one.
    is_of_later = (
        rule is not None and rule.state == "invalid" and not rule.worked and (rule.earliest_period or 0) // 12 > year
    )
    if months is None or (rule is not None and not is_of_later):
        return guess_state
    return add_pending(
        store_archive_rule(guess_state, months, ArchiveRule(earliest_period=12 * (year + 1))), months, PendingGuess()
    )


def _extend_to_period(guess_state: GuessState, pattern: str, period: int) -> GuessState:
    """Nothing is guessed that is linked: going back begins before the earliest that is."""
    rule = guess_state.archives[pattern]
    if rule.earliest_period is not None and rule.earliest_period <= period:
        return guess_state
    return store_archive_rule(guess_state, pattern, msgspec.structs.replace(rule, earliest_period=period))


def _update_usual_place(guess_state: GuessState, place: str, new_urls: int, listing: Listing, now: float) -> GuessState:
    """What is linked need not be guessed, nor the dates that an archive links to. A guess that was redirected, to its
    slash say, led here."""
    for pattern, earliest in listing.earliest_periods.items():
        if pattern not in guess_state.archives:
            whole = ArchiveRule("invalid", "an index links them all", now, earliest, worked=1)
            guess_state = store_archive_rule(guess_state, pattern, whole)
    rule = guess_state.archives.get(place)
    is_led_to = rule is not None and rule.state == "invalid" and rule.why.startswith(REDIRECTED) and new_urls > 0
    if rule is not None and not is_led_to:
        return guess_state
    guess_state = count_success(guess_state, is_archive=True) if is_led_to else guess_state
    return store_archive_rule(guess_state, place, ArchiveRule("valid", at=now, worked=1))
