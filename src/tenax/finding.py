"""Where a visit leads besides the links of its page: sitemaps that robots.txt names, usual places of feeds, guesses.

Pure. What is found here is offered to the ledger with the visit, which admits each URL once: so nothing is kept in mind
about what was offered before. What is learned by guessing is kept in the host's record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from tenax.config import DiscoveryConfig
from tenax.discover.guessing import Answer as GuessAnswer
from tenax.discover.guessing import GuessLimits, VisitFacts, after_visit, not_asked
from tenax.discover.page_numbers import paged
from tenax.discover.pagination import HASH_CHARS, ListLimits, why_same
from tenax.discover.sitemaps import sitemaps_in_robots
from tenax.fetch.answer import Answer
from tenax.model import (
    Budget,
    Claim,
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    Finds,
    Offer,
    Outcome,
    Redirected,
    Refused,
    Rejected,
    RobotsCopy,
    RobotsVerdict,
    Source,
    Task,
)
from tenax.reading import Reading
from tenax.urls.admit import Rules, catalogue_offer, guess_offer, is_of_seeds
from tenax.urls.normalize import normalize, spelling_of

SITEMAP_PATHS = ("/sitemap.xml", "/sitemap_index.xml")
FEED_PATHS = ("/feed", "/rss.xml", "/atom.xml", "/feed.xml", "/index.xml")
BEGINNING_VISITS = 100
"""So many visits of a host are its beginning: that little waits there means that little was found yet."""
_MISSING = frozenset({FailureKind.NOT_FOUND, FailureKind.GONE, FailureKind.CLIENT_ERROR})


def found_beside(
    task: Task, answer: Answer, outcome: Outcome, reading: Reading | None, rules: Rules, discovery: DiscoveryConfig
) -> tuple[Offer, ...]:
    """What a visit offers besides the links of its page."""
    if answer.robots is not None:
        return of_robots(task.origin, answer.robots, rules, discovery)
    return of_visit(task, outcome, reading, rules, discovery)


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
        found = (
            catalogue_offer(rules, url, home, 0, Source.SITEMAP, None, budget, is_named=True)
            for url in named[: discovery.max_sitemaps]
        )
        return tuple(offer for offer in found if offer is not None)
    return _guessed(origin, SITEMAP_PATHS[0], rules, Source.SITEMAP, None, budget)


def of_visit(
    task: Task, outcome: Outcome, reading: Reading | None, rules: Rules, discovery: DiscoveryConfig
) -> tuple[Offer, ...]:
    """The next usual place of a sitemap or a feed, where the one before was not it, or a home page names no feed."""
    path = task.url.removeprefix(task.origin)
    if task.is_catalogue:
        return _after_guess(task, path, outcome, rules, discovery) if _is_missing(outcome) else ()
    if path != "/" or reading is None or reading.rejected is not None or reading.has_feeds:
        return ()
    if not discovery.finds_by("feeds") or not _is_looked_through(task.origin, rules):
        return ()
    budget = Budget("guess_least", "feeds", discovery.guess_least)
    return _guessed(task.origin, FEED_PATHS[0], rules, Source.FEED, task.url, budget)


def _after_guess(
    task: Task, path: str, outcome: Outcome, rules: Rules, discovery: DiscoveryConfig
) -> tuple[Offer, ...]:
    if task.source is Source.SITEMAP and (following := _next_of(SITEMAP_PATHS, path)):
        budget = Budget("max_sitemaps", "", discovery.max_sitemaps)
    elif task.source is Source.FEED and (following := _next_of(FEED_PATHS, path)):
        budget = Budget("guess_least", "feeds", discovery.guess_least)
    else:
        return ()
    return _guessed(task.origin, following, rules, task.source, task.url, budget)


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
    discovery: DiscoveryConfig, likeness: Callable[[bytes, bytes], float],
) -> tuple[Finds, tuple[Offer, ...]]:  # fmt: skip
    """What is known of the host after a visit, and guesses at where more may be.

    `new_urls` is how many URLs its page led to.
    """
    task = claim.task
    # What asked the site for nothing says little about how much there is.
    waiting = None if isinstance(outcome, (Deferred, Refused)) else claim.waiting
    is_wanted = discovery.finds_by("pagination") or discovery.finds_by("archives")
    if not is_wanted or not _is_looked_through(task.origin, rules):
        return finds, ()
    facts = VisitFacts(
        task.url,
        task.source,
        _answer_of(outcome),
        reading.listing if reading is not None else None,
        reading.content_hash if reading is not None else "",
        reading.fingerprint if reading is not None else b"",
        new_urls,
        waiting_high=_left_to_do(finds, waiting, new_urls),
        waiting=(waiting or 0) + new_urls,
    )
    finds, guesses = after_visit(finds, facts, now, _limits(discovery), likeness)
    if not guesses:
        return finds, ()
    offers = [
        guess_offer(rules, guess.url, task.depth if guess.source is Source.PAGINATION else 1, guess.source, task.url)
        for guess in guesses
    ]
    taken = tuple(offer for offer in offers if offer is not None)
    return not_asked(finds, len(guesses) - len(taken)) if len(taken) < len(guesses) else finds, taken


def why_repeated(task: Task, reading: Reading, finds: Finds, likeness: Callable[[bytes, bytes], float]) -> str:
    """Why a guessed page is no page of the site: it shows what another shows, as sites do that ignore the question."""
    if task.source is Source.ARCHIVE:
        seen = reading.content_hash[:HASH_CHARS]
        return "the same as another guess" if seen and seen == finds.archive_hash else ""
    own = paged(task.url) if task.source is Source.PAGINATION else None
    rule = finds.lists.get(own.pattern) if own is not None else None
    if own is None or rule is None or rule.asked != own.number:
        return ""
    return why_same(rule, reading.content_hash, reading.fingerprint, ListLimits(), likeness)


def _left_to_do(finds: Finds, waiting: int | None, new_urls: int) -> int | None:
    """How many tasks the host has left; None while that says nothing, for at first everyone has few."""
    if waiting is None:
        return None
    left = waiting + new_urls
    return left if not left or finds.requests >= BEGINNING_VISITS else None


@lru_cache(maxsize=64)
def _limits(discovery: DiscoveryConfig) -> GuessLimits:
    return GuessLimits(
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
