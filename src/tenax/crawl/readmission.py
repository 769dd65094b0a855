"""Takes up what the rules and limits of earlier runs kept out.

A run may widen the scope, drop a pattern or raise a limit. The links of stored pages are kept, so what the change lets
in is admitted from there: nothing is fetched again but documents whose links are not kept. Which rules and limits were
last applied to what is stored is kept with the crawl (`Bounds`), written when the work is done: killed in the middle,
it is done again, and admits nothing twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from tenax import logs
from tenax.config import Config, DiscoveryConfig, Sites
from tenax.crawl.discovery_candidates import FEED_PATHS, due, of_robots
from tenax.crawl.limit_check import OF_ROBOTS, PAGES_AT_ONCE, STAYING, in_parts, is_kept
from tenax.database import CutPage, Ledger, PageLinks
from tenax.database.links import unpack_links
from tenax.model import (
    LINKS_NOT_KEPT,
    OF_GUESSES,
    Budget,
    Offer,
    PageLink,
    Source,
    Value,
    cut_off_by_limits,
    limits_in,
)
from tenax.urls.admit import (
    Listed,
    Rules,
    admit_links,
    admit_listed,
    budgets_at,
    catalogue_offer,
    redirect_refusal,
)
from tenax.urls.normalize import normalize, spelling_of

log = logs.logger(__name__)

_NAME = "bounds"
_GUESSING = ("guess_least", "guess_share", "max_pages_guessed", "guesses_allowed")
"""What lets more be guessed when it is higher."""
_GUESSES_ALLOWED = ("never", "auto", "always")
_BUDGETS = ("facets_per_path", "facets_tried", "max_same_in_series", "hosts_per_domain")
_OF_RULES = ("depth", "feeds_too_deep", "max_links_per_page", *_BUDGETS)
"""Limits that are kept with the rules of a crawl; the others are settings of each worker."""
PARKED_CAUSES = ("guard", "robots", "rules", "facets", "series", "redirect")


class Bounds(Value, frozen=True):
    """What kept URLs out, when this was last looked at."""

    rules: str
    """A digest of what may admit other URLs than before: scope, patterns, spelling, ways of discovery."""
    limits: dict[str, float]
    guard: str
    """A digest of what the guard goes by."""
    robots: str
    """A digest of how robots.txt is asked and read."""


class Readmitted(Value, frozen=True):
    """What came of a change."""

    admitted: int = 0
    """URLs that wait now, of links that were kept."""
    asked_again: int = 0
    """Documents that are fetched again, because their links are not kept."""
    unparked: int = 0
    """Tasks that a setting had kept back."""


def bounds_of(rules: Rules, config: Config, typed_origins: Iterable[str]) -> Bounds:
    """What keeps URLs out of a crawl with these settings."""
    urls = msgspec.structs.asdict(rules.urls)
    limits: dict[str, float] = {name: urls.pop(name) for name in _BUDGETS}
    discovery = config.discovery
    limits |= {"depth": rules.max_depth, "feeds_too_deep": rules.max_depth}
    limits |= {"max_links_per_page": rules.max_links_per_page}
    limits |= {name: getattr(discovery, name) for name in ("max_sitemaps", "max_feeds")}
    limits |= {name: getattr(discovery, name) for name in ("max_sitemap_urls", "max_sitemap_bytes")}
    limits |= {name: getattr(discovery, name) for name in _GUESSING[:3]}
    limits["guesses_allowed"] = max(_GUESSES_ALLOWED.index(one.discovery.guesses) for one in Sites(config))
    sites = [(one.discovery.sources, one.duplicates.follow) for one in Sites(config)]
    said = (sorted(rules.seeds), rules.scope.name, sorted(rules.scope.hosts | rules.scope.domains))
    scope = (*said, sorted(rules.scope.prefixes), rules.include, rules.exclude)
    asked = [(one.fetch.user_agent, one.fetch.profile) for one in Sites(config)]
    agents = (asked, [one.politeness.robots_on_unreachable for one in Sites(config)])
    guard = _digest((config.guard, sorted(typed_origins)))
    return Bounds(_digest((scope, urls, sites)), limits, guard, _digest(agents))


async def bounds_with(ledger: Ledger, rules: Rules, config: Config) -> Bounds:
    """The same after a change of the rules alone: guard, robots.txt and the other limits are as they were."""
    new, kept = bounds_of(rules, config, ()), await ledger.recall(_NAME)
    if kept is None:
        return new
    before = msgspec.json.decode(kept, type=Bounds)
    own = {name: new.limits[name] for name in _OF_RULES}
    return msgspec.structs.replace(new, limits=before.limits | own, guard=before.guard, robots=before.robots)


async def readmit(ledger: Ledger, rules: Rules, config: Config, bounds: Bounds) -> Readmitted:
    """Admit what these rules and limits allow and those before did not. Durable on return."""
    kept = await ledger.recall(_NAME)
    before = msgspec.json.decode(kept, type=Bounds) if kept is not None else None
    done = Readmitted()
    if before is not None and before != bounds:
        done = await _Pass(ledger, rules, config).run(before, bounds)
        log.info("rules or limits changed", admitted=done.admitted, asked_again=done.asked_again, freed=done.unparked)
    if before != bounds:
        await ledger.remember(_NAME, msgspec.json.encode(bounds))
    return done


class _Pass:
    """Goes through what is stored, once."""

    def __init__(self, ledger: Ledger, rules: Rules, config: Config) -> None:
        self._ledger = ledger
        self._rules = rules
        self._sites = Sites(config)

    async def run(self, before: Bounds, after: Bounds) -> Readmitted:
        has_other_rules = before.rules != after.rules
        raised = {name for name, limit in after.limits.items() if limit > before.limits.get(name, 0)}
        causes = [name for name in ("guard", "robots") if getattr(before, name) != getattr(after, name)]
        if has_other_rules or before.limits != after.limits:
            causes += ["rules", "facets", "series"]
        admitted = again = 0
        if has_other_rules:
            admitted = await self._all_links()
        if has_other_rules or raised:
            admitted += await self._sitemaps_of_seeds()
            more, again = await self._cut_off(raised, has_other_rules)
            admitted += more + await self._redirects()
        if has_other_rules or raised.intersection(_GUESSING):
            admitted += await self._guesses()
        return Readmitted(admitted, again, await self._ledger.unpark(causes) if causes else 0)

    async def _all_links(self) -> int:
        """Everything that a stored page, sitemap or feed leads to. What is refused of it is counted anew."""
        admitted, refused = 0, Counter[str]()
        async for pages in in_parts(self._ledger.links.all(with_lists=True), PAGES_AT_ONCE):
            for count, refusals in await asyncio.gather(*(self._offer(page) for page in pages)):
                admitted += count
                refused.update(refusals)
        await self._ledger.cut_offs.restate(refused)
        return admitted

    async def _offer(self, page: PageLinks) -> tuple[int, dict[str, int]]:
        offers, refusals = self._offers(page)
        admission = await self._ledger.admit(offers, via=page.record_id)
        if left := cut_off_by_limits(refusals):
            await self._ledger.cut_offs.put({page.record_id: Counter(left) + Counter(admission.refusals)})
        return admission.admitted, refusals

    def _offers(self, page: PageLinks | CutPage) -> tuple[tuple[Offer, ...], dict[str, int]]:
        links = unpack_links(page.origin, page.packed or b"")
        discovery = self._sites.of_origin(page.origin).discovery
        most = discovery.max_sitemap_urls if page.catalogue else len(links)
        pages = [link for link in links[:most] if not link.is_url_list]
        offers, refusals = self._pages(page, pages, discovery)
        lists, too_deep = self._lists(page, [link for link in links[:most] if link.is_url_list], discovery)
        beyond = {"max_sitemap_urls": len(links) - most} if len(links) > most else {}
        return offers + lists, refusals | too_deep | beyond

    def _pages(
        self, page: PageLinks | CutPage, links: Sequence[PageLink], discovery: DiscoveryConfig
    ) -> tuple[tuple[Offer, ...], dict[str, int]]:
        """What a page links to, or a sitemap or a feed lists."""
        if page.catalogue:
            source = Source.SITEMAP if page.catalogue == "sitemap" else Source.FEED
            listed = [Listed(link.url) for link in links]
            return admit_listed(self._rules, page.url, page.depth, listed, source, 0.0)
        if not discovery.finds_by("links"):
            return (), {}
        hrefs = [(link.url, link.is_nofollow) for link in links]
        return admit_links(self._rules, page.url, page.url, page.depth, hrefs)

    def _lists(
        self, page: PageLinks | CutPage, links: Sequence[PageLink], discovery: DiscoveryConfig
    ) -> tuple[tuple[Offer, ...], dict[str, int]]:
        """The sitemaps of an index, the older part of a feed, the feeds that a page names."""
        source, is_wanted = Source.FEED, discovery.finds_by("feeds")
        budget = Budget("max_feeds", "", discovery.max_feeds)
        if page.catalogue == "sitemap":
            source, is_wanted = Source.SITEMAP, discovery.finds_by("sitemaps")
            budget = Budget("max_sitemaps", "", discovery.max_sitemaps)
        if not is_wanted:
            return (), {}
        named = (
            catalogue_offer(self._rules, link.url, page.url, page.depth, source, page.url, budget)
            for link in links
            if not link.is_nofollow
        )
        offers = tuple(offer for offer in named if offer is not None)
        if offers and not page.catalogue and page.depth >= self._rules.max_depth:
            return (), {"feeds_too_deep": len(offers)}
        return offers, {}

    async def _cut_off(self, raised: set[str], has_other_rules: bool) -> tuple[int, int]:
        """Of pages that limits cut off: those with limits that are higher now; under other rules, all with links."""
        admitted, unkept = 0, list[int]()
        async for pages in in_parts(self._ledger.cut_offs.pages(), PAGES_AT_ONCE):
            wanted = [page for page in pages if raised & limits_in(page.cut)]
            unkept += [page.record_id for page in wanted if not is_kept(page)]
            if has_other_rules:
                unkept += [page.record_id for page in pages if LINKS_NOT_KEPT in page.cut and page not in wanted]
            found = [page for page in (pages if has_other_rules else wanted) if is_kept(page)]
            admitted += sum(await asyncio.gather(*(self._take_up(page) for page in found)))
        return admitted, await self._ledger.cut_offs.ask_again(unkept)

    async def _take_up(self, page: CutPage) -> int:
        offers, refusals = self._offers(page)
        if OF_ROBOTS in page.cut and not page.catalogue:
            offers += await self._sitemaps(page.origin)
        admission = await self._ledger.admit(offers, via=page.record_id)
        left = Counter(cut_off_by_limits(refusals)) + Counter(cut_off_by_limits(admission.refusals))
        left += Counter({name: page.cut[name] for name in STAYING - {OF_ROBOTS} if name in page.cut})
        await self._ledger.cut_offs.put({page.record_id: left})
        return admission.admitted

    async def _guesses(self) -> int:
        """Guesses that the limits leave room for now, on hosts that owe some and on those of the seeds."""
        origins = {page.origin async for page in self._ledger.cut_offs.pages() if not OF_GUESSES.isdisjoint(page.cut)}
        now, admitted = (await self._ledger.status()).now, 0
        for origin in sorted(origins.union(self._seed_origins())):
            host = await self._ledger.host(origin)
            if host is None or not host.finds.requests:
                continue
            known = await self._ledger.links.states([origin + path for path in FEED_PATHS])
            offers = due(host.finds, origin, now, self._rules, self._sites.of_origin(origin), known)
            admitted += (await self._ledger.admit(offers)).admitted
        return admitted

    async def _redirects(self) -> int:
        """Where URLs lead that the rules refused; those that they allow now. Nothing is asked for again."""
        admitted, followed = 0, []
        spelling = spelling_of(self._rules.urls)
        async for one in self._ledger.cut_offs.redirects():
            target = normalize(one.to, None, spelling)
            if target is not None and redirect_refusal(self._rules, target, one.depth) is None:
                budgets = budgets_at(self._rules, target.url)
                offer = Offer(
                    target.url, target.origin, one.depth, source=Source.REDIRECT, via=one.url, budgets=budgets
                )
                admitted += (await self._ledger.admit([offer], via=one.record_id)).admitted
                followed.append(one.record_id)
        await self._ledger.cut_offs.followed(followed)
        return admitted

    async def _sitemaps_of_seeds(self) -> int:
        """Those that robots.txt names, as it was last seen."""
        admitted = 0
        for origin in self._seed_origins():
            if found := await self._sitemaps(origin):
                admitted += (await self._ledger.admit(found)).admitted
        return admitted

    def _seed_origins(self) -> list[str]:
        spelling = spelling_of(self._rules.urls)
        seeds = (normalize(url, None, spelling) for url in (*self._rules.seeds, *self._rules.moved_to))
        return list(dict.fromkeys(seed.origin for seed in seeds if seed is not None))

    async def _sitemaps(self, origin: str) -> tuple[Offer, ...]:
        host = await self._ledger.host(origin)
        if host is None or host.robots is None:
            return ()
        return of_robots(origin, host.robots, self._rules, self._sites.of_origin(origin).discovery)


def _digest(value: object) -> str:
    return blake2b(msgspec.json.encode(value), digest_size=16).hexdigest()
