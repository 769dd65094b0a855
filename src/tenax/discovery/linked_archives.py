"""Learns the archive patterns of a host from linked archive pages and archive indexes."""

from __future__ import annotations

import msgspec

from tenax.discovery.archives import archive_pattern, is_usual_path, is_worth_trying, month_pattern, store_archive_rule
from tenax.discovery.guess_budget import count_success
from tenax.discovery.listing import Listing
from tenax.discovery.paged_urls import to_relative_url
from tenax.discovery.pagination import add_pending
from tenax.model import ArchiveRule, GuessState, PendingGuess

REDIRECTED = "redirected"
"""How the failure reason of a redirected guess begins."""


def update_from_linked_archive(
    guess_state: GuessState, url: str, listing: Listing, new_urls: int, now: float
) -> GuessState:
    """Learn from a linked archive page; the period before the earliest linked one becomes a pending guess."""
    relative_url = to_relative_url(url)
    for linked, earliest in listing.earliest_periods.items():
        if linked in guess_state.archives:
            guess_state = _extend_to_period(guess_state, linked, earliest)
    pattern, period = archive_pattern(url, guess_state.archives)
    if period is None:
        return (
            _update_common_path(guess_state, relative_url.removesuffix("/"), new_urls, listing, now)
            if is_usual_path(relative_url)
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
    """Add a pending guess for the last month of a year that was found, unless the year links its months."""
    months = month_pattern(pattern, listing.earliest_periods if listing is not None else ())
    rule = guess_state.archives.get(months) if months is not None else None
    # A missing month of a later year, which has no page either, says nothing about this year.
    is_missing_later = (
        rule is not None and rule.state == "invalid" and not rule.worked and (rule.earliest_period or 0) // 12 > year
    )
    if months is None or (rule is not None and not is_missing_later):
        return guess_state
    return add_pending(
        store_archive_rule(guess_state, months, ArchiveRule(earliest_period=12 * (year + 1))), months, PendingGuess()
    )


def _extend_to_period(guess_state: GuessState, pattern: str, period: int) -> GuessState:
    """Move the earliest known period back to a linked one: linked periods are not guessed."""
    rule = guess_state.archives[pattern]
    if rule.earliest_period is not None and rule.earliest_period <= period:
        return guess_state
    return store_archive_rule(guess_state, pattern, msgspec.structs.replace(rule, earliest_period=period))


def _update_common_path(guess_state: GuessState, path: str, new_urls: int, listing: Listing, now: float) -> GuessState:
    """Learn from a linked index: neither it nor the dates it links to need a guess. It may be the target of a guess
    that was redirected, for example to add a slash."""
    for pattern, earliest in listing.earliest_periods.items():
        if pattern not in guess_state.archives:
            complete = ArchiveRule("invalid", "all linked by an index", now, earliest, worked=1)
            guess_state = store_archive_rule(guess_state, pattern, complete)
    rule = guess_state.archives.get(path)
    is_redirect_target = (
        rule is not None and rule.state == "invalid" and rule.why.startswith(REDIRECTED) and new_urls > 0
    )
    if rule is not None and not is_redirect_target:
        return guess_state
    guess_state = count_success(guess_state, is_archive=True) if is_redirect_target else guess_state
    return store_archive_rule(guess_state, path, ArchiveRule("valid", at=now, worked=1))
