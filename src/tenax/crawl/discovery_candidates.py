"""Where a visit leads besides the links of its page: sitemaps that robots.txt names, usual places of feeds, guesses.

Pure. What is found here is offered to the ledger with the visit, which admits each URL once: so nothing is kept in mind
about what was offered before. What is learned by guessing is kept in the host's record.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from tenax.config import DiscoveryConfig, SiteConfig
from tenax.config.discovery import WayToFind
from tenax.crawl.reader.messages import Reading
from tenax.discovery.guesses import Answer as GuessAnswer
from tenax.discovery.guesses import Guess, GuessLimits, VisitFacts, after_visit, guesses_due, not_asked
from tenax.discovery.page_numbers import paged
from tenax.discovery.pagination import HASH_CHARS, ListLimits, why_same
from tenax.discovery.pending_guesses import held_back_by, is_owed, pending_guesses
from tenax.discovery.site_signs import ON, PageSigns, verdict_of, with_page
from tenax.discovery.sitemaps.read import sitemaps_in_robots
from tenax.model import (
    Budget,
    Claim,
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    Finds,
    GuessVerdict,
    Offer,
    Outcome,
    PageKind,
    Redirected,
    Refused,
    Rejected,
    RobotsCopy,
    RobotsVerdict,
    Source,
    Task,
)
from tenax.urls.admit import Rules, catalogue_offer, guess_offer, is_of_seeds
from tenax.urls.normalize import normalize, spelling_of

SITEMAP_PATHS = ("/sitemap.xml", "/sitemap_index.xml")
FEED_PATHS = ("/feed", "/rss.xml", "/atom.xml", "/feed.xml", "/index.xml")
PLACES_OF_SMALL_HOSTS = 2
"""Usual places of a feed that are tried on a host with few pages, unless somebody asked for guesses."""
PAGES_BEFORE_FEEDS = 20
BEGINNING_VISITS = 100
"""So many visits of a host are its beginning: that little waits there means that little was found yet."""
_GUESSING: tuple[WayToFind, ...] = ("pagination", "archives", "feeds", "sitemaps")
_UNTOUCHED: frozenset[GuessVerdict] = frozenset({"never", "own_site"})
"""Nothing is guessed there, and nothing that was seen changes that: lists need not be kept in mind."""
_MISSING = frozenset({FailureKind.NOT_FOUND, FailureKind.GONE, FailureKind.CLIENT_ERROR})


def of_robots(origin: str, robots: RobotsCopy, rules: Rules, discovery: DiscoveryConfig) -> tuple[Offer, ...]:
    """The sitemaps that a robots.txt names; where it names none, the usual place of one."""
    if not discovery.finds_by("sitemaps") or not _is_looked_through(origin, rules):
        return ()
    if robots.verdict is RobotsVerdict.UNREACHABLE:
        return ()
    home = f"{origin}/"
    budget = Budget("max_sitemaps", "", discovery.max_sitemaps)
    named = sitemaps_in_robots(robots.text)
    if named:
        found = (catalogue_offer(rules, url, home, 0, Source.SITEMAP, None, budget, is_named=True) for url in named)
        return tuple(offer for offer in found if offer is not None)
    return _guessed(origin, SITEMAP_PATHS[0], rules, Source.SITEMAP, None, budget)


def usual_places(
    finds: Finds, task: Task, outcome: Outcome, rules: Rules, discovery: DiscoveryConfig, left: int | None = None
) -> tuple[Finds, tuple[Offer, ...]]:
    """The next usual place of a sitemap or a feed, where the one before was not it, or the site names none.

    They are guesses: asked for only where guesses are made. The first place of a sitemap is none, as everyone asks it.
    """
    signs = finds.signs
    via = task.url
    offers: tuple[Offer, ...] = ()
    if discovery.finds_by("sitemaps") and signs.no_sitemap and not signs.sitemaps_tried:
        signs = msgspec.structs.replace(signs, sitemaps_tried=True)
        budget = Budget("max_sitemaps", "", discovery.max_sitemaps)
        offers += _guessed(task.origin, SITEMAP_PATHS[1], rules, Source.SITEMAP, via, budget)
    if discovery.finds_by("feeds"):
        budget = Budget("guess_least", "feeds", discovery.guess_least // 2)
        following = _next_of(FEED_PATHS, task.url.removeprefix(task.origin))
        is_tried = following in FEED_PATHS[:PLACES_OF_SMALL_HOSTS] or finds.requests >= BEGINNING_VISITS
        is_due = is_tried or finds.verdict == "asked"
        if task.source is Source.FEED and task.is_catalogue and following and is_due and _is_missing(outcome):
            offers += _guessed(task.origin, following, rules, Source.FEED, via, budget)
        elif _is_feed_due(finds, left):
            signs = msgspec.structs.replace(signs, feeds_tried=True)
            offers += _guessed(task.origin, FEED_PATHS[0], rules, Source.FEED, via, budget)
    return finds if signs is finds.signs else msgspec.structs.replace(finds, signs=signs), offers


def _is_feed_due(finds: Finds, left: int | None) -> bool:
    """No page names a feed so far; and unless somebody asked, enough pages were read for one to be named."""
    signs = finds.signs
    if not signs.has_home or signs.has_feed or signs.feeds_tried:
        return False
    return finds.verdict == "asked" or finds.requests >= PAGES_BEFORE_FEEDS or left == 0


def _next_of(paths: Sequence[str], path: str) -> str:
    """The usual place after this one; empty when it is none, or the last."""
    place = paths.index(path) + 1 if path in paths else len(paths)
    return paths[place] if place < len(paths) else ""


def _guessed(
    origin: str, path: str, rules: Rules, source: Source, via: str | None, budget: Budget
) -> tuple[Offer, ...]:
    offer = catalogue_offer(rules, origin + path, f"{origin}/", 0, source, via, budget)
    return (offer,) if offer is not None else ()


def _is_missing(outcome: Outcome) -> bool:
    if isinstance(outcome, Failed):
        return outcome.kind in _MISSING
    return isinstance(outcome, Rejected)


@lru_cache(maxsize=10_000)
def _is_looked_through(origin: str, rules: Rules) -> bool:
    """Whether this host is one that the seeds name, and anything could be followed there."""
    home = normalize(f"{origin}/", None, spelling_of(rules.urls))
    return home is not None and rules.max_depth > 0 and is_of_seeds(rules, home)


# ---- guesses ------------------------------------------------------------------------------------------------


def guessed(
    finds: Finds, claim: Claim, outcome: Outcome, reading: Reading | None, new_urls: int, now: float, rules: Rules,
    site: SiteConfig, likeness: Callable[[bytes, bytes], float],
) -> tuple[Finds, tuple[Offer, ...]]:  # fmt: skip
    """What is known of the host after a visit, and guesses at where more may be.

    `new_urls` is how many URLs its page led to.
    """
    discovery = site.discovery
    if not any(map(discovery.finds_by, _GUESSING)) or not _is_looked_through(claim.task.origin, rules):
        return finds, ()
    finds = _judged(finds, claim.task, outcome, reading, site)
    if finds.verdict in _UNTOUCHED:
        return finds, ()
    # A redirect leads on.
    waiting = None if _is_unasked(outcome, finds) else claim.waiting
    new_urls += isinstance(outcome, Redirected)
    left = _left_to_do(finds, waiting, new_urls)
    places: tuple[Offer, ...] = ()
    if finds.verdict in ON:
        finds, places = usual_places(finds, claim.task, outcome, rules, discovery, left)
    facts = VisitFacts(
        claim.task.url,
        claim.task.source,
        _answer_of(outcome),
        reading.listing if reading is not None else None,
        reading.content_hash if reading is not None else "",
        reading.fingerprint if reading is not None else b"",
        new_urls,
        claim.task.depth,
        is_hub=reading is not None and reading.kind is PageKind.HUB,
        words=reading.words if reading is not None else 0,
        is_to_slash=isinstance(outcome, Redirected) and outcome.to == f"{claim.task.url}/",
        was_asked=not isinstance(outcome, (Deferred, Refused)),
        waiting_high=left,
        waiting=(waiting or 0) + new_urls,
    )
    finds, offers = _further(finds, claim.task, facts, now, rules, discovery, likeness)
    return finds, places + offers


def _is_unasked(outcome: Outcome, finds: Finds) -> bool:
    """Whether nothing came of the visit that says how much there is: it is still to come, or the whole host may be
    closed. What is refused after other visits may well be the last there is."""
    return isinstance(outcome, Deferred) or (isinstance(outcome, Refused) and not finds.requests)


def _judged(finds: Finds, task: Task, outcome: Outcome, reading: Reading | None, site: SiteConfig) -> Finds:
    """The host's record with what this visit says of the kind of site, and whether guesses are made there."""
    signs = finds.signs
    place = task.url.removeprefix(task.origin)
    if reading is not None and reading.rejected is None:
        is_article = reading.kind is PageKind.ARTICLE
        has_feed = reading.has_feeds or reading.catalogue == "feed"
        is_sitemap = reading.catalogue == "sitemap" and reading.links_count > 0
        signs = with_page(signs, PageSigns(place, is_article, reading.published, has_feed, is_sitemap))
    elif task.source is Source.SITEMAP and place == SITEMAP_PATHS[0] and _is_missing(outcome):
        signs = msgspec.structs.replace(signs, no_sitemap=True)
    finds = msgspec.structs.replace(finds, signs=signs) if signs != finds.signs else finds
    verdict = verdict_of(finds, site.discovery.guesses, site.politeness.rate_per_second)
    return msgspec.structs.replace(finds, verdict=verdict) if verdict != finds.verdict else finds


def _further(
    finds: Finds, task: Task, facts: VisitFacts, now: float, rules: Rules, discovery: DiscoveryConfig,
    likeness: Callable[[bytes, bytes], float],
) -> tuple[Finds, tuple[Offer, ...]]:  # fmt: skip
    """Guesses at archives and further pages of lists."""
    finds, guesses = after_visit(finds, facts, now, _limits(discovery, finds.verdict in ON), likeness)
    if not guesses:
        return finds, ()
    offers = [guess_offer(rules, guess.url, guess.depth, guess.source, task.url) for guess in guesses]
    refused = [guess for guess, offer in zip(guesses, offers, strict=True) if offer is None]
    taken = tuple(offer for offer in offers if offer is not None)
    return not_asked(finds, refused) if refused else finds, taken


def held_back(before: Finds, after: Finds, url: str, now: float, discovery: DiscoveryConfig) -> dict[str, int]:
    """How many guesses that a visited page speaks for were not made, by the limit that kept them back."""
    if not after.owed or after.verdict not in ON:
        return {}
    return held_back_by(before, after, url, now, _limits(discovery, True))


class Pending(NamedTuple):
    """A guess that waits for a higher limit."""

    limit: str
    offer: Offer


def pending(finds: Finds, origin: str, now: float, rules: Rules, site: SiteConfig) -> tuple[Pending, ...]:
    """Guesses that are owed on a host, where guesses are made at all and the rules allow them."""
    found = []
    for one in pending_guesses(finds, now, _limits_now(finds, origin, rules, site)).values():
        source: Literal[Source.ARCHIVE, Source.PAGINATION] = Source.ARCHIVE if one.is_archive else Source.PAGINATION
        offer = guess_offer(rules, origin + one.place, one.depth, source, f"{origin}/")
        found += [] if offer is None else [Pending(one.limit, offer)]
    return tuple(found)


def due(
    finds: Finds, origin: str, now: float, rules: Rules, site: SiteConfig, known: Container[str] = ()
) -> tuple[Offer, ...]:
    """What to ask a host for when its guess limits were raised, and no visit is left to guess after.

    `known` are usual places of feeds that were tried: the next one is offered, if none was there.
    """
    limits, home = _limits_now(finds, origin, rules, site), f"{origin}/"
    guesses: tuple[Guess, ...] = guesses_due(finds, home, now, limits)
    offers = [guess_offer(rules, guess.url, guess.depth, guess.source, home) for guess in guesses]
    if limits.is_on and site.discovery.finds_by("feeds") and finds.signs.feeds_tried and not finds.signs.has_feed:
        budget = Budget("guess_least", "feeds", site.discovery.guess_least // 2)
        following = next((path for path in FEED_PATHS if origin + path not in known), None)
        offers += _guessed(origin, following, rules, Source.FEED, home, budget) if following else ()
    return tuple(offer for offer in offers if offer is not None)


def _limits_now(finds: Finds, origin: str, rules: Rules, site: SiteConfig) -> GuessLimits:
    """Those of this run, which may guess where the one before did not."""
    verdict = verdict_of(finds, site.discovery.guesses, site.politeness.rate_per_second)
    is_looked_through = any(map(site.discovery.finds_by, _GUESSING)) and _is_looked_through(origin, rules)
    return _limits(site.discovery, verdict in ON and is_looked_through)


def why_repeated(task: Task, reading: Reading, finds: Finds, likeness: Callable[[bytes, bytes], float]) -> str:
    """Why a guessed page is no page of the site: it shows what another shows, as sites do that ignore the question."""
    if task.source is Source.ARCHIVE:
        seen = reading.content_hash[:HASH_CHARS]
        return "the same as another guess" if seen and seen == finds.archive_hash else ""
    own = paged(task.url) if task.source is Source.PAGINATION else None
    rule = finds.lists.get(own.pattern) if own is not None else None
    if own is None or rule is None or (rule.asked != own.number and not is_owed(finds, task.url)):
        return ""
    return why_same(rule, reading.content_hash, reading.fingerprint, ListLimits(), likeness)


def _left_to_do(finds: Finds, waiting: int | None, new_urls: int) -> int | None:
    """How many tasks the host has left; None while that says nothing, for at first everyone has few."""
    if waiting is None:
        return None
    left = waiting + new_urls
    return left if not left or finds.requests >= BEGINNING_VISITS else None


@lru_cache(maxsize=64)
def _limits(discovery: DiscoveryConfig, is_on: bool) -> GuessLimits:
    return GuessLimits(
        is_on=is_on,
        share=discovery.guess_share,
        least=discovery.guess_least,
        with_lists=discovery.finds_by("pagination"),
        with_archives=discovery.finds_by("archives"),
        archives_below=discovery.archives_below,
        archives_every_seconds=discovery.archives_every_seconds,
        lists=ListLimits(pages=discovery.max_pages_guessed, barren=discovery.barren_pages),
    )


def _answer_of(outcome: Outcome) -> GuessAnswer:
    match outcome:
        case Fetched(catalogue=""):
            return GuessAnswer.PAGE
        case Redirected():
            return GuessAnswer.REDIRECTED
        case Rejected(why=why):  # one that repeats another is compared with it, and says so
            return GuessAnswer.PAGE if why.startswith("guess:") else GuessAnswer.NO_PAGE
        case Failed(kind=kind) if kind in _MISSING:
            return GuessAnswer.NO_PAGE
        case _:
            return GuessAnswer.OTHER
