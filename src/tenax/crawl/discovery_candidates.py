"""Candidates besides the links of a page: sitemaps named in robots.txt, well-known paths of feeds, guesses. Pure.

The candidates are committed with the visit, and the database admits each URL once. So nothing here remembers earlier
candidates. What guessing has learned is in the host record.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from tenax.config import DiscoveryConfig, SiteConfig
from tenax.config.discovery import DiscoverySource
from tenax.crawl.reader.messages import ExtractedPage
from tenax.discovery.guess_budget import GUESSING_VERDICTS, PageSigns, add_page_signs, guess_verdict
from tenax.discovery.guesses import Guess, GuessLimits, VisitFacts, discard_guesses, due_guesses, update_guesses
from tenax.discovery.guesses import VisitResult as GuessAnswer
from tenax.discovery.paged_urls import parse_paged_url
from tenax.discovery.pagination import HASH_CHARS, ListLimits, same_page_reason
from tenax.discovery.pending_guesses import count_limited_guesses, is_pending_guess, limited_guesses
from tenax.discovery.sitemaps.read import sitemaps_in_robots
from tenax.fetch.answer import VisitEnd
from tenax.model import (
    Budget,
    Candidate,
    Claim,
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    GuessState,
    GuessVerdict,
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
from tenax.urls import FoundOn
from tenax.urls.admit import Rules, guess_candidate, is_seed_host, url_list_candidate
from tenax.urls.normalize import normalize, normalize_options

SITEMAP_PATHS = ("/sitemap.xml", "/sitemap_index.xml")
FEED_PATHS = ("/feed", "/rss.xml", "/atom.xml", "/feed.xml", "/index.xml")
SMALL_HOST_FEED_PATHS = 2
"""How many well-known feed paths are tried on a host with few pages, unless guesses were requested."""
MIN_PAGES_BEFORE_FEEDS = 20
INITIAL_VISITS = 100
"""A host with fewer visits has just begun. Few waiting tasks then mean only that little was found yet."""
_GUESS_SOURCES: frozenset[DiscoverySource] = frozenset({"pagination", "archives", "feeds", "sitemaps"})
_NO_GUESS_VERDICTS: frozenset[GuessVerdict] = frozenset({"never", "own_site"})
"""Hosts on which nothing is guessed, whatever is seen there. Their lists are not tracked."""
_MISSING_KINDS = frozenset({FailureKind.NOT_FOUND, FailureKind.GONE, FailureKind.CLIENT_ERROR})


def robots_sitemap_candidates(
    origin: str, robots: RobotsCopy, rules: Rules, discovery: DiscoveryConfig
) -> tuple[Candidate, ...]:
    """The sitemaps named in robots.txt. If it names none, the first well-known path."""
    if "sitemaps" not in discovery.sources or not _may_discover(origin, rules):
        return ()
    if robots.verdict is RobotsVerdict.UNREACHABLE:
        return ()
    robots_txt, budget = _home_page(origin, Source.SITEMAP), Budget("max_sitemaps", "", discovery.max_sitemaps)
    named = sitemaps_in_robots(robots.text)
    if named:
        found = (url_list_candidate(rules, url, robots_txt, budget, is_named=True) for url in named)
        return tuple(candidate for candidate in found if candidate is not None)
    return _guess_url_list(SITEMAP_PATHS[0], robots_txt, rules, budget)


def guess_well_known_urls(
    guess_state: GuessState,
    task: Task,
    outcome: Outcome,
    rules: Rules,
    discovery: DiscoveryConfig,
    remaining_tasks: int | None = None,
) -> tuple[GuessState, tuple[Candidate, ...]]:
    """The next well-known path of a sitemap or a feed, if the previous one was missing or the site names none.

    These are guesses, and are made only where guesses are allowed. The first sitemap path does not count as a guess.
    """
    signs = guess_state.signs
    candidates: tuple[Candidate, ...] = ()
    if "sitemaps" in discovery.sources and signs.no_sitemap and not signs.sitemaps_tried:
        signs = msgspec.structs.replace(signs, sitemaps_tried=True)
        budget = Budget("max_sitemaps", "", discovery.max_sitemaps)
        found_on = _home_page(task.origin, Source.SITEMAP, task.url)
        candidates += _guess_url_list(SITEMAP_PATHS[1], found_on, rules, budget)
    if "feeds" in discovery.sources:
        found_on = _home_page(task.origin, Source.FEED, task.url)
        budget = Budget("min_guesses", "feeds", discovery.min_guesses // 2)
        next_path = _next_path(FEED_PATHS, task.url.removeprefix(task.origin))
        is_tried = next_path in FEED_PATHS[:SMALL_HOST_FEED_PATHS] or guess_state.requests >= INITIAL_VISITS
        is_due = is_tried or guess_state.verdict == "asked"
        if task.source is Source.FEED and task.is_url_list and next_path and is_due and _is_missing(outcome):
            candidates += _guess_url_list(next_path, found_on, rules, budget)
        elif _is_feed_due(guess_state, remaining_tasks):
            signs = msgspec.structs.replace(signs, feeds_tried=True)
            candidates += _guess_url_list(FEED_PATHS[0], found_on, rules, budget)
    return guess_state if signs is guess_state.signs else msgspec.structs.replace(guess_state, signs=signs), candidates


def _is_feed_due(guess_state: GuessState, remaining_tasks: int | None) -> bool:
    """Whether no page has named a feed so far and enough pages were read to expect one. If guesses were requested, the
    number of pages does not matter."""
    signs = guess_state.signs
    if not signs.has_home or signs.has_feed or signs.feeds_tried:
        return False
    return guess_state.verdict == "asked" or guess_state.requests >= MIN_PAGES_BEFORE_FEEDS or remaining_tasks == 0


def _next_path(paths: Sequence[str], path: str) -> str:
    """The path after this one; empty if it is the last one, or not in the list."""
    index = paths.index(path) + 1 if path in paths else len(paths)
    return paths[index] if index < len(paths) else ""


def _home_page(origin: str, source: Source, via: str | None = None) -> FoundOn:
    """The home page, for sitemaps and feeds that no page links to. They have the depth of a seed."""
    return FoundOn(f"{origin}/", 0, source, via)


def _guess_url_list(path: str, found_on: FoundOn, rules: Rules, budget: Budget) -> tuple[Candidate, ...]:
    candidate = url_list_candidate(rules, path, found_on, budget)
    return (candidate,) if candidate is not None else ()


def _is_missing(outcome: Outcome) -> bool:
    if isinstance(outcome, Failed):
        return outcome.kind in _MISSING_KINDS
    return isinstance(outcome, Rejected)


@lru_cache(maxsize=10_000)
def _may_discover(origin: str, rules: Rules) -> bool:
    """Whether this is a seed host, and the rules allow any page there."""
    home = normalize(f"{origin}/", None, normalize_options(rules.urls))
    return home is not None and rules.max_depth > 0 and is_seed_host(rules, home)


# ---- guesses ------------------------------------------------------------------------------------------------


def guess_urls(
    guess_state: GuessState,
    claim: Claim,
    end: VisitEnd,
    extracted: ExtractedPage | None,
    new_urls: int,
    rules: Rules,
    *,
    similarity: Callable[[bytes, bytes], float],
) -> tuple[GuessState, tuple[Candidate, ...]]:
    """The guess state of the host after a visit, and the guesses to make now.

    `new_urls` is the number of candidates of the visited page, without the links that the database surely has.
    """
    outcome, site, discovery = end.outcome, end.site, end.site.discovery
    if _GUESS_SOURCES.isdisjoint(discovery.sources) or not _may_discover(claim.task.origin, rules):
        return guess_state, ()
    guess_state = _update_verdict(guess_state, claim.task, outcome, extracted, site)
    if guess_state.verdict in _NO_GUESS_VERDICTS:
        return guess_state, ()
    # A redirect leads to one further URL.
    waiting = None if _is_unrequested(outcome, guess_state) else claim.waiting
    new_urls += isinstance(outcome, Redirected)
    left = _remaining_tasks(guess_state, waiting, new_urls)
    well_known: tuple[Candidate, ...] = ()
    if guess_state.verdict in GUESSING_VERDICTS:
        guess_state, well_known = guess_well_known_urls(
            guess_state, claim.task, outcome, rules, discovery, remaining_tasks=left
        )
    facts = VisitFacts(
        claim.task.url,
        claim.task.source,
        _guess_answer(outcome),
        listing=extracted.listing if extracted is not None else None,
        content_hash=extracted.content_hash if extracted is not None else "",
        fingerprint=extracted.fingerprint if extracted is not None else b"",
        new_urls=new_urls,
        depth=claim.task.depth,
        is_hub=extracted is not None and extracted.kind is PageKind.HUB,
        words=extracted.words if extracted is not None else 0,
        is_to_slash=isinstance(outcome, Redirected) and outcome.to == f"{claim.task.url}/",
        was_requested=not isinstance(outcome, (Deferred, Refused)),
        waiting_high=left,
        waiting=(waiting or 0) + new_urls,
    )
    guess_state, candidates = _guess_archives_and_pages(guess_state, facts, end, rules, similarity)
    return guess_state, well_known + candidates


def _is_unrequested(outcome: Outcome, guess_state: GuessState) -> bool:
    """Whether the visit does not show how many tasks are left, because it was deferred, or the whole host may be
    disallowed.

    After other visits, a refused task may be the last one.
    """
    return isinstance(outcome, Deferred) or (isinstance(outcome, Refused) and not guess_state.requests)


def _update_verdict(
    guess_state: GuessState, task: Task, outcome: Outcome, extracted: ExtractedPage | None, site: SiteConfig
) -> GuessState:
    """The guess state, updated by what this visit shows about the kind of site, and whether to guess there."""
    signs = guess_state.signs
    path = task.url.removeprefix(task.origin)
    if extracted is not None and extracted.rejection is None:
        is_article = extracted.kind is PageKind.ARTICLE
        has_feed = extracted.has_feeds or extracted.url_list == "feed"
        is_sitemap = extracted.url_list == "sitemap" and extracted.links_count > 0
        signs = add_page_signs(signs, PageSigns(path, is_article, extracted.published, has_feed, is_sitemap))
    elif task.source is Source.SITEMAP and path == SITEMAP_PATHS[0] and _is_missing(outcome):
        signs = msgspec.structs.replace(signs, no_sitemap=True)
    guess_state = msgspec.structs.replace(guess_state, signs=signs) if signs != guess_state.signs else guess_state
    verdict = guess_verdict(guess_state, site.discovery.guesses, site.politeness.rate_per_second)
    return msgspec.structs.replace(guess_state, verdict=verdict) if verdict != guess_state.verdict else guess_state


def _guess_archives_and_pages(
    guess_state: GuessState,
    facts: VisitFacts,
    end: VisitEnd,
    rules: Rules,
    similarity: Callable[[bytes, bytes], float],
) -> tuple[GuessState, tuple[Candidate, ...]]:
    """Guesses of archives and of further pages of lists."""
    guess_state, guesses = update_guesses(
        guess_state,
        facts,
        end.now,
        _guess_limits(end.site.discovery, guess_state.verdict in GUESSING_VERDICTS),
        similarity,
    )
    if not guesses:
        return guess_state, ()
    candidates = [guess_candidate(rules, guess.url, guess.depth, guess.source, facts.url) for guess in guesses]
    refused = [guess for guess, candidate in zip(guesses, candidates, strict=True) if candidate is None]
    taken = tuple(candidate for candidate in candidates if candidate is not None)
    return discard_guesses(guess_state, refused) if refused else guess_state, taken


def count_withheld_guesses(
    before: GuessState, after: GuessState, url: str, now: float, discovery: DiscoveryConfig
) -> dict[str, int]:
    """How many guesses that a visited page suggested were not made, by limit."""
    if not after.pending or after.verdict not in GUESSING_VERDICTS:
        return {}
    return count_limited_guesses(before, after, url, now, _guess_limits(discovery, True))


class WithheldGuess(NamedTuple):
    """A guess that waits for a higher limit."""

    limit: str
    candidate: Candidate


def withheld_guesses(
    guess_state: GuessState, origin: str, now: float, rules: Rules, site: SiteConfig
) -> tuple[WithheldGuess, ...]:
    """The pending guesses of a host on which guesses are made, as far as the rules allow them."""
    found = []
    for one in limited_guesses(guess_state, now, _current_limits(guess_state, origin, rules, site)).values():
        source: Literal[Source.ARCHIVE, Source.PAGINATION] = Source.ARCHIVE if one.is_archive else Source.PAGINATION
        candidate = guess_candidate(rules, origin + one.relative_url, one.depth, source, f"{origin}/")
        found += [] if candidate is None else [WithheldGuess(one.limit, candidate)]
    return tuple(found)


def due_candidates(
    guess_state: GuessState, origin: str, now: float, rules: Rules, site: SiteConfig, known: Container[str] = ()
) -> tuple[Candidate, ...]:
    """Candidates of a host whose guess limits were raised, if no visit is left that would produce them.

    `known` are the feed paths that were tried. If none of them was a feed, the next path is a candidate.
    """
    limits, home = _current_limits(guess_state, origin, rules, site), f"{origin}/"
    guesses: tuple[Guess, ...] = due_guesses(guess_state, home, now, limits)
    candidates = [guess_candidate(rules, guess.url, guess.depth, guess.source, home) for guess in guesses]
    if (
        limits.is_enabled
        and "feeds" in site.discovery.sources
        and guess_state.signs.feeds_tried
        and not guess_state.signs.has_feed
    ):
        budget = Budget("min_guesses", "feeds", site.discovery.min_guesses // 2)
        next_path = next((path for path in FEED_PATHS if origin + path not in known), None)
        found_on = _home_page(origin, Source.FEED, home)
        candidates += _guess_url_list(next_path, found_on, rules, budget) if next_path else ()
    return tuple(candidate for candidate in candidates if candidate is not None)


def _current_limits(guess_state: GuessState, origin: str, rules: Rules, site: SiteConfig) -> GuessLimits:
    """The limits of this run, which may guess where the previous run did not."""
    verdict = guess_verdict(guess_state, site.discovery.guesses, site.politeness.rate_per_second)
    can_discover = not _GUESS_SOURCES.isdisjoint(site.discovery.sources) and _may_discover(origin, rules)
    return _guess_limits(site.discovery, verdict in GUESSING_VERDICTS and can_discover)


def repeat_reason(
    task: Task, extracted: ExtractedPage, guess_state: GuessState, similarity: Callable[[bytes, bytes], float]
) -> str:
    """Why a guessed page counts as a repetition of another page, as on a site that ignores parameters; else empty."""
    if task.source is Source.ARCHIVE:
        seen = extracted.content_hash[:HASH_CHARS]
        return "the same as another guess" if seen and seen == guess_state.archive_hash else ""
    own = parse_paged_url(task.url) if task.source is Source.PAGINATION else None
    rule = guess_state.lists.get(own.pattern) if own is not None else None
    if (
        own is None
        or rule is None
        or (rule.guessed_number != own.number and not is_pending_guess(guess_state, task.url))
    ):
        return ""
    return same_page_reason(rule, extracted.content_hash, extracted.fingerprint, ListLimits(), similarity)


def _remaining_tasks(guess_state: GuessState, waiting: int | None, new_urls: int) -> int | None:
    """How many tasks the host has left; None if unknown, or too early to say, because at first every host has few."""
    if waiting is None:
        return None
    left = waiting + new_urls
    return left if not left or guess_state.requests >= INITIAL_VISITS else None


@lru_cache(maxsize=64)
def _guess_limits(discovery: DiscoveryConfig, is_on: bool) -> GuessLimits:
    return GuessLimits(
        is_enabled=is_on,
        ratio=discovery.guess_ratio,
        min_guesses=discovery.min_guesses,
        with_lists="pagination" in discovery.sources,
        with_archives="archives" in discovery.sources,
        archives_below=discovery.archives_below,
        archives_every_seconds=discovery.archives_every_seconds,
        lists=ListLimits(max_pages=discovery.max_guessed_pages, max_empty_pages=discovery.max_empty_pages),
    )


def _guess_answer(outcome: Outcome) -> GuessAnswer:
    match outcome:
        case Fetched(url_list=""):
            return GuessAnswer.PAGE
        case Redirected():
            return GuessAnswer.REDIRECTED
        case Rejected(why=why):  # a repeated page is compared with the other page
            return GuessAnswer.PAGE if why.startswith("guess:") else GuessAnswer.NO_PAGE
        case Failed(kind=kind) if kind in _MISSING_KINDS:
            return GuessAnswer.NO_PAGE
        case _:
            return GuessAnswer.OTHER
