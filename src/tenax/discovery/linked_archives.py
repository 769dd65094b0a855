"""What linked lists of dates, and indexes of them, say about the archives of a host."""

from __future__ import annotations

import msgspec

from tenax.discovery.archives import archive_at, is_usual, is_worth, months_below, with_archive
from tenax.discovery.guess_budget import with_success
from tenax.discovery.listing import Listing
from tenax.discovery.page_numbers import place_of
from tenax.discovery.pagination import owing
from tenax.model import ArchiveRule, Finds, Owed

REDIRECTED = "redirected"
"""Why a guess was no archive: how the words for it begin."""


def after_linked(finds: Finds, url: str, listing: Listing, new_urls: int, now: float) -> Finds:
    """A date's list that was linked shows how this host writes its archives: one before the earliest is owed."""
    place = place_of(url)
    for linked, earliest in listing.dated.items():
        if linked in finds.archives:
            finds = _reaching(finds, linked, earliest)
    pattern, period = archive_at(url, finds.archives)
    if period is None:
        return _with_usual(finds, place.removesuffix("/"), new_urls, listing, now) if is_usual(place) else finds
    rule = finds.archives.get(pattern, ArchiveRule())
    if not rule.worked:
        rule = msgspec.structs.replace(rule, state="valid", why="", at=now, worked=1)
        finds = with_months(with_archive(finds, pattern, rule), pattern, period, listing)
    finds = _reaching(finds, pattern, min(period, listing.dated.get(pattern, period)))
    rule = finds.archives[pattern]
    return owing(finds, pattern, Owed()) if rule.reached == period and is_worth(rule, now) else finds


def with_months(finds: Finds, pattern: str, year: int, listing: Listing | None) -> Finds:
    """Below a year that was found its months may show more, unless the year links them: the last one is owed."""
    months = months_below(pattern, listing.dated if listing is not None else ())
    rule = finds.archives.get(months) if months is not None else None
    # That nothing is at a month of a later year, which has no page either, says nothing of this one.
    is_of_later = rule is not None and rule.state == "invalid" and not rule.worked and (rule.reached or 0) // 12 > year
    if months is None or (rule is not None and not is_of_later):
        return finds
    return owing(with_archive(finds, months, ArchiveRule(reached=12 * (year + 1))), months, Owed())


def _reaching(finds: Finds, pattern: str, period: int) -> Finds:
    """Nothing is guessed that is linked: going back begins before the earliest that is."""
    rule = finds.archives[pattern]
    if rule.reached is not None and rule.reached <= period:
        return finds
    return with_archive(finds, pattern, msgspec.structs.replace(rule, reached=period))


def _with_usual(finds: Finds, place: str, new_urls: int, listing: Listing, now: float) -> Finds:
    """What is linked need not be guessed, nor the dates that an archive links to. A guess that was redirected, to its
    slash say, led here."""
    for pattern, earliest in listing.dated.items():
        if pattern not in finds.archives:
            whole = ArchiveRule("invalid", "an index links them all", now, earliest, worked=1)
            finds = with_archive(finds, pattern, whole)
    rule = finds.archives.get(place)
    is_led_to = rule is not None and rule.state == "invalid" and rule.why.startswith(REDIRECTED) and new_urls > 0
    if rule is not None and not is_led_to:
        return finds
    finds = with_success(finds, is_archive=True) if is_led_to else finds
    return with_archive(finds, place, ArchiveRule("valid", at=now, worked=1))
