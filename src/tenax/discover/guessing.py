"""What to guess after a visit: further pages of lists and archives, within a share of the host's requests.

`after_visit` is the one door. It first learns from the visit, then makes the guesses that are owed, as far as the share
allows; the others stay owed until more was visited. All of it follows from what it is given, the time included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from itertools import islice
from typing import Literal

import msgspec

from tenax.discover.archives import (
    after_archive,
    archive_at,
    archives_to_try,
    earliest_linked,
    is_archive_time,
    is_usual,
    is_worth,
    next_period,
    place_at,
    with_archive,
)
from tenax.discover.page_numbers import Numbering, Paged, numbering_among, paged, place_of, stem_of, trace_of
from tenax.discover.pagination import (
    HASH_CHARS,
    Likeness,
    ListLimits,
    ListPage,
    after_guess,
    asked_list,
    owing,
    prospect_of,
    read_list,
    why_not_on,
    without_owed,
)
from tenax.model import ArchiveRule, Finds, ListRule, Owed, Source, Value

MOST_OF_ALL = 0.25
"""However well they go, no larger part of a host's requests are guesses: whoever invents pages pays with real ones."""
MOST_SECTIONS = 16
MOST_DATED = 4
LOOKED_AT = 16
"""Owed guesses at a time; those that cannot be made yet go to the end."""
LOOK_EVERY = 8
"""Visits between two looks at what is owed, where nothing happened that could change it."""
REQUESTS_PER_EXTRA_ARCHIVE = 200
"""A larger site is worth looking for archives in more places at a time."""

_GUESSED = (Source.ARCHIVE, Source.PAGINATION)
_DIGIT = re.compile(r"\d")
_SECTION = re.compile(r"/([A-Za-z%][A-Za-z%0-9_-]{1,40})(?=/|$)")


class Answer(StrEnum):
    """How a visit ended, as far as guesses are concerned."""

    PAGE = "page"
    NO_PAGE = "no_page"
    """404, 410, or whatever says that nothing is there."""
    REDIRECTED = "redirected"
    OTHER = "other"
    """Nothing was learned: a timeout, a refusal, a server in trouble."""


class Listing(Value, frozen=True):
    """What a list says of its other pages and of archives, small enough to travel from where it was read."""

    numbering: Numbering | None = None
    dated: dict[str, int] = {}
    """Date patterns among its links, with their earliest period."""
    trace: bytes = b""


class VisitFacts(Value, frozen=True):
    """What guessing needs to know of a visit."""

    url: str
    source: Source
    answer: Answer
    listing: Listing | None = None
    """Of a page that is a list, and of every guessed page; None for all others."""
    content_hash: str = ""
    fingerprint: bytes = b""
    new_urls: int = 0
    """How many URLs it led to that nobody had, as far as is known."""
    waiting_high: int | None = None
    """Tasks of high priority that wait for this host, those of this page included; None: not known."""
    waiting: int = 0
    """All tasks that wait for this host and come before any guess, as far as is known."""


class GuessLimits(Value, frozen=True):
    """How much may be guessed."""

    share: float = 0.03
    least: int = 3
    """Guesses that a host gets in any case."""
    with_lists: bool = True
    with_archives: bool = True
    archives_below: int = 10
    """Archives are looked for when fewer tasks of high priority wait."""
    archives_every_seconds: float = 86_400.0
    archives_at_a_time: int = 5
    lists: ListLimits = ListLimits()


class Guess(Value, frozen=True):
    """A URL that nobody named, to be offered if it is allowed and not known."""

    url: str
    source: Literal[Source.ARCHIVE, Source.PAGINATION]
    why: str


def guesses_left(finds: Finds, share: float, least: int, waiting: int = 0) -> int:
    """How many guesses may be made now.

    What counts towards the share is guesses that led to nothing, or have no answer yet; one that led to new pages has
    paid for itself. Those that are `waiting` are requests already, as guesses come after them.
    """
    requests = finds.requests + waiting
    misses = max(least, int(share * requests)) - (finds.made - finds.succeeded)
    return max(0, min(misses, max(least, int(MOST_OF_ALL * requests)) - finds.made))


def not_asked(finds: Finds, guesses: int) -> Finds:
    """So many guesses were not let into the crawl after all, and cost no request."""
    return msgspec.structs.replace(finds, made=max(finds.succeeded, finds.made - guesses))


def listing_of(url: str, links: Iterable[str], rel_next: str | None) -> Listing:
    """`links` are all that the page has, known ones too: which are left out would hide where a list goes on."""
    origin = url[: len(url) - len(place_of(url)) + 1]
    own = dict.fromkeys(link for link in links if link.startswith(origin))
    numbered = [link for link in own if _DIGIT.search(link, len(origin))]
    stem = stem_of(url)
    pages = {link: paged(link) for link in numbered if link.startswith(stem)}
    following = paged(rel_next) if rel_next is not None and rel_next.startswith(origin) else None
    dates = dict(sorted(earliest_linked(numbered).items())[:MOST_DATED])
    trace = trace_of(link for link in own if (page := pages.get(link)) is None or not page.is_sure)
    return Listing(numbering_among(url, pages.values(), following), dates, trace)


def after_visit(
    finds: Finds, facts: VisitFacts, now: float, limits: GuessLimits, likeness: Likeness
) -> tuple[Finds, tuple[Guess, ...]]:
    """What is known of the host after this visit, and what to ask it for besides what its pages name."""
    before = finds
    finds = msgspec.structs.replace(finds, requests=finds.requests + 1)
    if facts.answer is not Answer.OTHER and (
        facts.listing is not None or facts.answer is not Answer.PAGE or facts.source in _GUESSED
    ):
        finds = _learned(finds, facts, now, limits, likeness)
    if facts.waiting_high is not None and limits.with_archives:
        finds = _with_archives_owed(finds, facts.waiting_high, now, limits)
    if not finds.owed or not guesses_left(finds, limits.share, limits.least, facts.waiting):
        return finds, ()
    # What is owed and was not guessed waits for an answer, or for more room: looked at when either may have come.
    is_news = finds.owed is not before.owed or finds.styles is not before.styles
    if is_news or finds.requests % LOOK_EVERY == 0:
        return _guessed(finds, facts, now, limits)
    return finds, ()


def _learned(finds: Finds, facts: VisitFacts, now: float, limits: GuessLimits, likeness: Likeness) -> Finds:
    """An answer to a guess is one however its URL came to us: it may have been linked meanwhile."""
    own = paged(facts.url) if finds.lists else None
    rule = finds.lists.get(own.pattern) if own is not None else None
    if own is not None and rule is not None and rule.asked == own.number:
        return _after_list_guess(finds, facts, own, rule, now, limits, likeness)
    pattern, period = archive_at(facts.url, finds.archives)
    archive = finds.archives.get(pattern)
    if archive is not None and archive.asked == (period or 0):
        finds = _after_archive_guess(finds, facts, pattern, archive, now)
        if finds.archives[pattern].missed:
            return finds
    if facts.listing is None or facts.answer is not Answer.PAGE:
        return finds
    if facts.source is Source.PAGINATION and not facts.new_urls:
        return finds  # the rule it was guessed by is forgotten: no other page to compare it with
    return _after_list(finds, facts, facts.listing, now, limits)


def _after_list_guess(
    finds: Finds, facts: VisitFacts, own: Paged, rule: ListRule, now: float, limits: GuessLimits, likeness: Likeness
) -> Finds:
    told = facts.listing.numbering if facts.listing is not None else None
    if told is None or told.pattern != own.pattern:
        told = Numbering(own.pattern, own.number, own.number, rule.step)
    page = _page_of(facts)
    why_not = _why_no_page(facts) or why_not_on(rule, page, limits.lists, likeness)
    if not why_not and page.new_urls:
        finds = msgspec.structs.replace(finds, succeeded=finds.succeeded + 1)
    return after_guess(finds, rule, told, page, why_not, now, limits.lists)


def _after_archive_guess(finds: Finds, facts: VisitFacts, pattern: str, rule: ArchiveRule, now: float) -> Finds:
    seen = facts.content_hash[:HASH_CHARS]
    why_not = _why_no_page(facts)
    if not why_not and seen and seen == finds.archive_hash:
        why_not = "the same as another guess"
    elif not why_not and not facts.new_urls:
        why_not = "nothing new"
    if facts.answer is Answer.PAGE:
        finds = msgspec.structs.replace(finds, archive_hash=seen)
    if not why_not:
        finds = msgspec.structs.replace(finds, succeeded=finds.succeeded + 1)
    rule = after_archive(rule, why_not, now)
    finds = with_archive(finds, pattern, rule)
    return owing(finds, pattern, Owed()) if rule.state == "valid" and rule.reached is not None else finds


def _after_list(finds: Finds, facts: VisitFacts, listing: Listing, now: float, limits: GuessLimits) -> Finds:
    place = place_of(facts.url)
    finds = _with_section(finds, place)
    if limits.with_archives:
        finds = _after_archive(finds, facts.url, place, listing, now)
    # The list of a month goes on with the month before it, unless it says otherwise.
    if limits.with_lists and (listing.numbering is not None or archive_at(facts.url, finds.archives)[1] is None):
        finds = read_list(finds, place, listing.numbering, _page_of(facts), now)
    return finds


def _after_archive(finds: Finds, url: str, place: str, listing: Listing, now: float) -> Finds:
    """A date's list that was linked shows how this host writes its archives: one before the earliest is owed."""
    for linked, earliest in listing.dated.items():
        if linked in finds.archives:
            finds = _reaching(finds, linked, earliest)
    pattern, period = archive_at(url, finds.archives)
    if period is None:
        return _with_usual(finds, place.removesuffix("/"), now) if is_usual(place) else finds
    rule = finds.archives.get(pattern, ArchiveRule())
    if not rule.worked:
        rule = msgspec.structs.replace(rule, state="valid", why="", at=now, worked=1)
        finds = with_archive(finds, pattern, rule)
    finds = _reaching(finds, pattern, min(period, listing.dated.get(pattern, period)))
    rule = finds.archives[pattern]
    return owing(finds, pattern, Owed()) if rule.reached == period and is_worth(rule, now) else finds


def _reaching(finds: Finds, pattern: str, period: int) -> Finds:
    """Nothing is guessed that is linked: going back begins before the earliest that is."""
    rule = finds.archives[pattern]
    if rule.reached is not None and rule.reached <= period:
        return finds
    return with_archive(finds, pattern, msgspec.structs.replace(rule, reached=period))


def _with_usual(finds: Finds, place: str, now: float) -> Finds:
    """What is linked need not be guessed."""
    return with_archive(finds, place, ArchiveRule("valid", at=now, worked=1)) if place not in finds.archives else finds


def _with_archives_owed(finds: Finds, waiting_high: int, now: float, limits: GuessLimits) -> Finds:
    if not is_archive_time(finds, now, waiting_high, limits.archives_below, limits.archives_every_seconds):
        return finds
    most = limits.archives_at_a_time + finds.requests // REQUESTS_PER_EXTRA_ARCHIVE
    for pattern in archives_to_try(finds, now, most):
        finds = owing(finds, pattern, Owed())
    return msgspec.structs.replace(finds, archives_at=now)


def _guessed(finds: Finds, facts: VisitFacts, now: float, limits: GuessLimits) -> tuple[Finds, tuple[Guess, ...]]:
    """As many of the owed guesses as there is room for, in their order; a few are looked at each time."""
    origin = facts.url[: len(facts.url) - len(place_of(facts.url))]
    room = guesses_left(finds, limits.share, limits.least, facts.waiting)
    guesses: list[Guess] = []
    kept: dict[str, Owed] = {}
    for pattern, owed in [*islice(finds.owed.items(), LOOKED_AT)]:
        if len(guesses) >= room:
            break
        is_list = "{n}" in pattern
        prospect = prospect_of(finds, pattern, owed, now, limits.share, facts.waiting) if is_list else "good"
        finds = without_owed(finds, pattern)
        if prospect == "open":
            kept[pattern] = owed
        elif prospect == "good":
            finds, guess = (_list_guess if is_list else _archive_guess)(finds, origin, pattern, owed, now)
            guesses += () if guess is None else (guess,)
    finds = msgspec.structs.replace(finds, made=finds.made + len(guesses), owed={**finds.owed, **kept})
    return finds, tuple(guesses)


def _list_guess(finds: Finds, origin: str, pattern: str, owed: Owed, now: float) -> tuple[Finds, Guess | None]:
    url = origin + pattern.replace("{n}", str(owed.known + owed.step))
    why = "no further page is linked" if owed.is_blank else f"{owed.known} is the last one known"
    return asked_list(finds, pattern, owed, now), Guess(url, Source.PAGINATION, f"{pattern}: {why}")


def _archive_guess(finds: Finds, origin: str, pattern: str, _: Owed, now: float) -> tuple[Finds, Guess | None]:
    rule = finds.archives.get(pattern)
    if rule is not None and not is_worth(rule, now):
        return finds, None
    if rule is None or not rule.worked:
        rule = ArchiveRule(at=now)
    period = next_period(pattern, rule, now)
    if period is None and "{" in pattern:
        return finds, None
    why = f"{pattern} has worked" if rule.worked else "a usual place"
    asked = msgspec.structs.replace(rule, reached=period, asked=period or 0, at=now)
    return with_archive(finds, pattern, asked), Guess(origin + place_at(pattern, period), Source.ARCHIVE, why)


def _with_section(finds: Finds, place: str) -> Finds:
    found = _SECTION.match(place.partition("?")[0])
    if found is None:
        return finds
    counts = dict(finds.sections)
    counts[found[1]] = counts.get(found[1], 0) + 1
    if len(counts) > MOST_SECTIONS:
        del counts[min(counts, key=lambda name: (counts[name], name == found[1], name))]
    return msgspec.structs.replace(finds, sections=counts)


def _page_of(facts: VisitFacts) -> ListPage:
    trace = facts.listing.trace if facts.listing is not None else b""
    return ListPage(facts.content_hash, facts.fingerprint, trace, facts.new_urls)


def _why_no_page(facts: VisitFacts) -> str:
    if facts.answer is Answer.NO_PAGE:
        return "no such page"
    return "redirected" if facts.answer is Answer.REDIRECTED else ""
