"""What to guess after a visit: further pages of lists and archives, within what the host's budget allows.

`after_visit` is the one door. It first learns from the visit, then makes the guesses that are owed, as far as there is
room (`guess_budget`); the others stay owed until more was visited. All of it follows from what it is given, the time
included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from itertools import islice
from typing import Literal

import msgspec

from tenax.discovery.archives import (
    NO_PAGE,
    NOTHING_NEW,
    after_archive,
    archive_at,
    archives_to_try,
    is_archive_time,
    is_first_year,
    is_worth,
    next_period,
    place_at,
    rule_to_ask,
    with_archive,
)
from tenax.discovery.guess_budget import GuessRoom, guess_room, with_made, with_success
from tenax.discovery.linked_archives import REDIRECTED, after_linked, with_months
from tenax.discovery.listing import Listing
from tenax.discovery.page_numbers import Numbering, Paged, paged, place_of
from tenax.discovery.pagination import (
    HASH_CHARS,
    Likeness,
    ListLimits,
    ListPage,
    after_guess,
    as_others,
    asked_list,
    owed_lists,
    owing,
    prospect_of,
    read_list,
    why_not_on,
    without_owed,
)
from tenax.model import ArchiveRule, Finds, GuessState, ListRule, Owed, Source, Value

MOST_SECTIONS = 16
LOOKED_AT = 16
"""Owed guesses at a time; those that cannot be made yet go to the end."""
LOOK_EVERY = 8
"""Visits between two looks at what is owed, where nothing happened that could change it."""

_TO_SLASH = f"{REDIRECTED} to its slash"
_FOLLOWED_WITHIN_SECONDS = 60.0
"""So long an archive that was redirected to its slash is waited for, before another one is asked for."""
_GUESSED = (Source.ARCHIVE, Source.PAGINATION)
_SECTION = re.compile(r"/([A-Za-z%][A-Za-z%0-9_-]{1,40})(?=/|$)")


class Answer(StrEnum):
    """How a visit ended, as far as guesses are concerned."""

    PAGE = "page"
    NO_PAGE = "no_page"
    """404, 410, or whatever says that nothing is there."""
    REDIRECTED = "redirected"
    OTHER = "other"
    """Nothing was learned: a timeout, a refusal, a server in trouble."""


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
    depth: int = 0
    """Links from a seed."""
    is_hub: bool = False
    """Its page is a list by what it shows, not only by how it is numbered."""
    words: int = 0
    is_to_slash: bool = False
    """It was redirected, to the same address with a slash at its end."""
    was_asked: bool = True
    waiting_high: int | None = None
    """Tasks of high priority that wait for this host, those of this page included; None: not known."""
    waiting: int = 0
    """All tasks that wait for this host and come before any guess, as far as is known."""


class GuessLimits(Value, frozen=True):
    """How much may be guessed."""

    is_on: bool = True
    """False: nothing is guessed, but the visit is learned from, for guesses may be made later."""
    share: float = 0.03
    least: int = 7
    """Misses of each kind that a host gets in any case."""
    with_lists: bool = True
    with_archives: bool = True
    archives_below: int = 10
    """Archives are looked for when fewer tasks of high priority wait,"""
    archives_every_seconds: float = 86_400.0
    """and after this time whatever waits."""
    archives_at_a_time: int = 2
    """Archives without an answer, at most: the answers say which to try next."""
    archives_a_day: int = 5
    """The same where so much waits that they are only looked for because a day is over."""
    lists: ListLimits = ListLimits()


class Guess(Value, frozen=True):
    """A URL that nobody named, to be offered if it is allowed and not known."""

    url: str
    source: Literal[Source.ARCHIVE, Source.PAGINATION]
    why: str
    depth: int = 1
    """Of a page of a list, that of the list."""


def not_asked(finds: Finds, guesses: Iterable[Guess]) -> Finds:
    """These guesses were not let into the crawl after all, and cost no request."""
    archives = sum(guess.source is Source.ARCHIVE for guess in guesses)
    lists = sum(guess.source is Source.PAGINATION for guess in guesses)
    return msgspec.structs.replace(
        finds,
        made=max(finds.succeeded, finds.made - archives - lists),
        archives_made=max(finds.archives_succeeded, finds.archives_made - archives),
    )


def after_visit(
    finds: Finds, facts: VisitFacts, now: float, limits: GuessLimits, likeness: Likeness
) -> tuple[Finds, tuple[Guess, ...]]:
    """What is known of the host after this visit, and what to ask it for besides what its pages name."""
    before = finds
    finds = msgspec.structs.replace(finds, requests=finds.requests + 1) if facts.was_asked else finds
    if facts.answer is not Answer.OTHER and (
        facts.listing is not None or facts.answer is not Answer.PAGE or facts.source in _GUESSED
    ):
        finds = _learned(finds, facts, now, limits, likeness)
    if not limits.is_on:
        return finds, ()
    room = guess_room(finds, limits.share, limits.least, facts.waiting)
    finds = _with_archives_owed(finds, facts.waiting_high, now, limits, room) if limits.with_archives else finds
    if not finds.owed or room.is_empty:
        return finds, ()
    # What is owed and was not guessed waits for an answer, or for more room: looked at when either may have come.
    is_news = finds.owed is not before.owed or finds.styles is not before.styles
    if is_news or not facts.waiting or finds.requests % LOOK_EVERY == 0:
        is_dry = facts.waiting_high is not None and facts.waiting_high < limits.archives_below
        return _guessed(finds, facts.url, now, limits, facts.waiting, room, is_dry)
    return finds, ()


def guesses_due(finds: Finds, home: str, now: float, limits: GuessLimits) -> tuple[Guess, ...]:
    """What to ask a host for where no visit is left to guess after: its limits were raised.

    Nothing is counted until the answers come, so to ask twice is to ask for the same.
    """
    room = guess_room(finds, limits.share, limits.least)
    if not limits.is_on or room.is_empty:
        return ()
    finds = _with_archives_owed(finds, 0, now, limits, room) if limits.with_archives else finds
    return _guessed(finds, home, now, limits, 0, room, is_dry=True)[1]


def _learned(finds: Finds, facts: VisitFacts, now: float, limits: GuessLimits, likeness: Likeness) -> Finds:
    """An answer to a guess is one however its URL came to us: it may have been linked meanwhile."""
    finds = _adopted(finds, facts, now) if facts.source in _GUESSED else finds
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


def _adopted(finds: Finds, facts: VisitFacts, now: float) -> Finds:
    """A guess that was made outside of a visit is counted with its answer."""
    if facts.source is Source.ARCHIVE:
        pattern, period = archive_at(facts.url, finds.archives)
        rule = finds.archives.get(pattern)
        if rule is not None and (rule.asked is not None or period is None or period >= (rule.reached or period + 1)):
            return finds  # it was counted when it was made
        rule = rule or ArchiveRule(at=now)
        asked = msgspec.structs.replace(rule, reached=period, asked=period or 0)
        return with_made(with_archive(without_owed(finds, pattern), pattern, asked), is_archive=True)
    own = paged(facts.url)
    owed = finds.owed.get(own.pattern) if own is not None else None
    if own is None or owed is None or owed.known + owed.step != own.number:
        return finds
    return with_made(asked_list(without_owed(finds, own.pattern), own.pattern, owed, now), is_archive=False)


def _after_list_guess(
    finds: Finds, facts: VisitFacts, own: Paged, rule: ListRule, now: float, limits: GuessLimits, likeness: Likeness
) -> Finds:
    told = facts.listing.numbering if facts.listing is not None else None
    if told is None or told.pattern != own.pattern:
        told = Numbering(own.pattern, own.number, own.number, rule.step)
    page = _page_of(facts)
    why_not = _why_no_page(facts) or why_not_on(rule, page, limits.lists, likeness)
    if not why_not and page.new_urls:
        finds = with_success(finds, is_archive=False)
    return after_guess(finds, rule, told, page, why_not, now, limits.lists)


def _after_archive_guess(finds: Finds, facts: VisitFacts, pattern: str, rule: ArchiveRule, now: float) -> Finds:
    seen = facts.content_hash[:HASH_CHARS]
    why_not = _why_no_page(facts)
    if not why_not and seen and seen == finds.archive_hash:
        why_not = "the same as another guess"
    elif not why_not and not facts.new_urls:
        why_not = NOTHING_NEW
    if facts.answer is Answer.PAGE:
        finds = msgspec.structs.replace(finds, archive_hash=seen)
    if not why_not:
        finds = with_success(finds, is_archive=True)
    rule = after_archive(rule, why_not, now, is_year="{m" not in pattern)
    finds = with_archive(finds, pattern, rule)
    if why_not or rule.reached is None:
        return owing(finds, pattern, Owed()) if rule.state == "valid" and rule.reached is not None else finds
    if is_first_year(pattern, rule.reached, facts.listing.dated if facts.listing is not None else {}, finds.archives):
        ended = msgspec.structs.replace(rule, state="invalid", why="it begins within this year")
        return with_archive(finds, pattern, ended)
    return owing(with_months(finds, pattern, rule.reached, facts.listing), pattern, Owed())


def _after_list(finds: Finds, facts: VisitFacts, listing: Listing, now: float, limits: GuessLimits) -> Finds:
    place = place_of(facts.url)
    finds = _with_section(finds, place)
    if limits.with_archives:
        finds = after_linked(finds, facts.url, listing, facts.new_urls, now)
    # The list of a month goes on with the month before it, unless it says otherwise.
    if limits.with_lists and (listing.numbering is not None or archive_at(facts.url, finds.archives)[1] is None):
        finds = read_list(finds, place, listing.numbering, _page_of(facts), now)
    return finds


def _with_archives_owed(
    finds: Finds, waiting_high: int | None, now: float, limits: GuessLimits, room: GuessRoom
) -> Finds:
    if not finds.archives_at:
        finds = msgspec.structs.replace(finds, archives_at=now)  # the first day begins
    if not is_archive_time(finds, now, waiting_high, limits.archives_below, limits.archives_every_seconds):
        return finds
    at_a_time = limits.archives_at_a_time if room.has_share else 1
    if now >= finds.archives_at + limits.archives_every_seconds:
        finds, at_a_time = msgspec.structs.replace(finds, archives_at=now), limits.archives_a_day
    unanswered = sum(_is_unanswered(rule, now) for rule in finds.archives.values())
    most = min(room.archives, at_a_time - unanswered)
    if most <= 0:
        return finds
    for pattern in archives_to_try(finds, now, most, with_further=room.has_share):
        finds = owing(finds, pattern, Owed()) if pattern not in finds.owed else finds
    return finds


def _is_unanswered(rule: ArchiveRule, now: float) -> bool:
    is_led_on = rule.why == _TO_SLASH and now < rule.at + _FOLLOWED_WITHIN_SECONDS
    return is_led_on or (rule.asked is not None and not is_worth(rule, now))


def _guessed(
    finds: Finds, url: str, now: float, limits: GuessLimits, waiting: int, room: GuessRoom, is_dry: bool
) -> tuple[Finds, tuple[Guess, ...]]:
    """As many of the owed guesses as there is room for; a few of each kind are looked at each time.

    Lists that show no further page wait until the host runs dry: guesses come last anyway, and by then the host has
    shown how it numbers its lists.
    """
    origin = url[: len(url) - len(place_of(url))]
    guesses: list[Guess] = []
    kept: dict[str, Owed] = {}
    archives = [*islice((pattern for pattern in finds.owed if "{n}" not in pattern), LOOKED_AT)]
    for pattern in archives:
        rule = finds.archives.get(pattern)
        if len(guesses) >= (room.archives_at_all if rule is not None and rule.worked else room.archives):
            continue
        finds, guess = _archive_guess(without_owed(finds, pattern), origin, pattern, now)
        guesses += () if guess is None else (guess,)
    made = len(guesses)
    for pattern, owed in owed_lists(finds, is_dry, limits.lists.pages, LOOKED_AT):
        kept_rule = finds.lists.get(pattern)
        is_going_on = kept_rule is not None and kept_rule.state == "valid"
        if len(guesses) - made >= (room.lists_at_all if is_going_on else room.lists):
            continue
        finds, pattern, owed = as_others(without_owed(finds, pattern), pattern, owed)
        prospect = prospect_of(finds, pattern, owed, now, limits.share, waiting)
        if prospect == "open":
            kept[pattern] = owed
        elif prospect == "good":
            finds, one = _list_guess(finds, origin, pattern, owed, now)
            guesses.append(one)
    finds = msgspec.structs.replace(
        finds,
        made=finds.made + len(guesses),
        archives_made=finds.archives_made + made,
        owed={**finds.owed, **kept},
    )
    return finds, tuple(guesses)


def _list_guess(finds: Finds, origin: str, pattern: str, owed: Owed, now: float) -> tuple[Finds, Guess]:
    url = origin + pattern.replace("{n}", str(owed.known + owed.step))
    why = "no further page is linked" if owed.is_blank else f"{owed.known} is the last one known"
    guess = Guess(url, Source.PAGINATION, f"{pattern}: {why}", owed.depth)
    return asked_list(finds, pattern, owed, now), guess


def _archive_guess(finds: Finds, origin: str, pattern: str, now: float) -> tuple[Finds, Guess | None]:
    rule = rule_to_ask(pattern, finds.archives.get(pattern), now)
    if rule is None:
        return finds, None
    period = next_period(pattern, rule, now, finds.signs.newest)
    if period is None and "{" in pattern:
        return finds, None
    why = f"{pattern} has worked" if rule.worked else "a usual place"
    state: GuessState = "valid" if rule.worked else "tried"
    asked = msgspec.structs.replace(rule, state=state, reached=period, asked=period or 0, at=now)
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
    links = facts.listing.links if facts.listing is not None else 0
    return ListPage(
        facts.content_hash, facts.fingerprint, trace, facts.new_urls, facts.depth, links, facts.words, facts.is_hub
    )


def _why_no_page(facts: VisitFacts) -> str:
    if facts.answer is Answer.NO_PAGE:
        return NO_PAGE
    if facts.answer is not Answer.REDIRECTED:
        return ""
    return _TO_SLASH if facts.is_to_slash else REDIRECTED
