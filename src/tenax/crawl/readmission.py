"""Admits URLs that the rules and limits of earlier runs left out.

A run may widen the scope, remove a pattern or raise a limit. The links of stored pages are kept, so newly allowed URLs
are admitted from there. Only documents without stored links are fetched again. The rules and limits that were last
applied (`Bounds`) are stored with the crawl when the work is done. If the process is killed before, the work is
repeated, and admits nothing twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import msgspec

from tenax import logs
from tenax.config import Config, DiscoveryConfig, Sites
from tenax.crawl.cut_offs import NON_LINK_LIMITS, PAGE_BATCH_SIZE, SITEMAP_LIMIT, has_stored_links, iterate_batches
from tenax.crawl.discovery_candidates import FEED_PATHS, due_candidates, robots_sitemap_candidates
from tenax.database import CutOffPage, PageLinks, Records, Reports
from tenax.database.page_codec import unpack_links
from tenax.model import (
    GUESS_LIMITS,
    LINKS_NOT_KEPT,
    Budget,
    Candidate,
    PageLink,
    Source,
    Value,
    limit_names,
    limit_refusals,
)
from tenax.urls import FoundOn
from tenax.urls.admit import (
    ListedUrl,
    Rules,
    admit_links,
    admit_url_list,
    redirect_refusal,
    url_budgets,
    url_list_candidate,
)
from tenax.urls.normalize import normalize, normalize_options

log = logs.logger(__name__)

_BOUNDS_KEY = "bounds"
_GUESS_LIMITS = ("min_guesses", "guess_ratio", "max_guessed_pages", "guesses_allowed")
"""With higher values there are more guesses."""
_GUESS_LEVELS = ("never", "auto", "always")
_URL_BUDGETS = ("facets_per_path", "facet_samples", "max_same_in_series", "hosts_per_domain")
_RULE_LIMITS = ("depth", "feeds_too_deep", "max_links_per_page", *_URL_BUDGETS)
"""Limits that are stored with the rules of a crawl. The others are settings of each worker."""
PARKED_CAUSES = (
    "guard", "robots", "rules", "facets", "series", "redirect", "validation", "small", "refresh", "empty"
)  # fmt: skip


class Bounds(Value, frozen=True):
    """The rules and limits that were last applied to the stored pages."""

    rules: str
    """A digest of the settings that decide which URLs are admitted: scope, patterns, normalization, discovery
    sources."""
    limits: dict[str, float]
    guard: str
    """A digest of the settings of the guard."""
    robots: str
    """A digest of the settings for robots.txt."""


class ReadmissionResult(Value, frozen=True):
    """The effect of a change."""

    admitted: int = 0
    """URLs admitted from stored links."""
    refetched: int = 0
    """Documents to fetch again, because their links are not stored."""
    unparked: int = 0
    """Tasks that were parked because of a setting, and are released."""


def admission_bounds(rules: Rules, config: Config, typed_origins: Iterable[str]) -> Bounds:
    """The bounds that follow from these settings."""
    urls = msgspec.structs.asdict(rules.urls)
    limits: dict[str, float] = {name: urls.pop(name) for name in _URL_BUDGETS}
    discovery = config.discovery
    limits |= {"depth": rules.max_depth, "feeds_too_deep": rules.max_depth}
    limits |= {"max_links_per_page": rules.max_links_per_page}
    limits |= {name: getattr(discovery, name) for name in ("max_sitemaps", "max_feeds")}
    limits |= {name: getattr(discovery, name) for name in ("max_sitemap_urls", "max_sitemap_bytes")}
    limits |= {name: getattr(discovery, name) for name in _GUESS_LIMITS[:3]}
    limits["guesses_allowed"] = max(_GUESS_LEVELS.index(one.discovery.guesses) for one in Sites(config))
    sites = [(one.discovery.sources, one.duplicates.follow) for one in Sites(config)]
    seeds_and_scope = (sorted(rules.seeds), rules.scope.name, sorted(rules.scope.hosts | rules.scope.domains))
    scope = (*seeds_and_scope, sorted(rules.scope.prefixes), rules.include, rules.exclude)
    identities = [(one.fetch.user_agent, one.fetch.profile) for one in Sites(config)]
    agents = (identities, [one.politeness.robots_on_unreachable for one in Sites(config)])
    guard = _digest((config.guard, sorted(typed_origins)))
    return Bounds(_digest((scope, urls, sites)), limits, guard, _digest(agents))


async def updated_bounds(reports: Reports, rules: Rules, config: Config) -> Bounds:
    """The bounds after only the rules have changed. Guard, robots.txt and other limits stay the same."""
    new, stored = admission_bounds(rules, config, ()), await reports.get_meta(_BOUNDS_KEY)
    if stored is None:
        return new
    before = msgspec.json.decode(stored, type=Bounds)
    own = {name: new.limits[name] for name in _RULE_LIMITS}
    return msgspec.structs.replace(new, limits=before.limits | own, guard=before.guard, robots=before.robots)


async def readmit(records: Records, rules: Rules, config: Config, bounds: Bounds) -> ReadmissionResult:
    """Admit what these rules and limits allow and the previous ones did not. The result is durable on return."""
    stored = await records.get_meta(_BOUNDS_KEY)
    before = msgspec.json.decode(stored, type=Bounds) if stored is not None else None
    done = ReadmissionResult()
    if before is not None and before != bounds:
        done = await _Readmission(records, rules, config).run(before, bounds)
        log.info("rules or limits changed", admitted=done.admitted, refetched=done.refetched, unparked=done.unparked)
    if before != bounds:
        await records.set_meta(_BOUNDS_KEY, msgspec.json.encode(bounds))
    return done


class _Readmission:
    """One pass over everything that is stored."""

    def __init__(self, records: Records, rules: Rules, config: Config) -> None:
        self._records = records
        self._rules = rules
        self._sites = Sites(config)

    async def run(self, before: Bounds, after: Bounds) -> ReadmissionResult:
        has_other_rules = before.rules != after.rules
        raised = {name for name, limit in after.limits.items() if limit > before.limits.get(name, 0)}
        causes = [name for name in ("guard", "robots") if getattr(before, name) != getattr(after, name)]
        if has_other_rules or before.limits != after.limits:
            causes += ["rules", "facets", "series"]
        admitted = again = 0
        if has_other_rules:
            admitted = await self._readmit_links()
        if has_other_rules or raised:
            admitted += await self._admit_seed_sitemaps()
            more, again = await self._readmit_cut_off(raised, has_other_rules)
            admitted += more + await self._admit_redirects()
        if has_other_rules or raised.intersection(_GUESS_LIMITS):
            admitted += await self._admit_guesses()
        return ReadmissionResult(admitted, again, await self._records.unpark(causes) if causes else 0)

    async def _readmit_links(self) -> int:
        """Admit the links of every stored page, sitemap and feed. Refusals are counted again."""
        admitted, refused = 0, Counter[str]()
        async for pages in iterate_batches(self._records.links.read_all(with_url_lists=True), PAGE_BATCH_SIZE):
            for count, refusals in await asyncio.gather(*(self._admit_page_links(page) for page in pages)):
                admitted += count
                refused.update(refusals)
        await self._records.cut_offs.replace_refusals(refused)
        return admitted

    async def _admit_page_links(self, page: PageLinks) -> tuple[int, dict[str, int]]:
        candidates, refusals = self._page_candidates(page)
        admission = await self._records.admit(candidates, via=page.record_id)
        if left := limit_refusals(refusals):
            await self._records.cut_offs.replace({page.record_id: Counter(left) + Counter(admission.refusals)})
        return admission.admitted, refusals

    def _page_candidates(self, page: PageLinks | CutOffPage) -> tuple[tuple[Candidate, ...], dict[str, int]]:
        links = unpack_links(page.origin, page.packed or b"")
        discovery = self._sites.for_origin(page.origin).discovery
        most = discovery.max_sitemap_urls if page.url_list else len(links)
        pages = [link for link in links[:most] if not link.is_url_list]
        candidates, refusals = self._link_candidates(page, pages, discovery)
        lists, too_deep = self._url_list_candidates(
            page, [link for link in links[:most] if link.is_url_list], discovery
        )
        beyond = {"max_sitemap_urls": len(links) - most} if len(links) > most else {}
        return candidates + lists, refusals | too_deep | beyond

    def _link_candidates(
        self, page: PageLinks | CutOffPage, links: Sequence[PageLink], discovery: DiscoveryConfig
    ) -> tuple[tuple[Candidate, ...], dict[str, int]]:
        """The links of a page, or the entries of a sitemap or feed."""
        if page.url_list:
            source = Source.SITEMAP if page.url_list == "sitemap" else Source.FEED
            listed = [ListedUrl(link.url) for link in links]
            return admit_url_list(self._rules, FoundOn(page.url, page.depth, source, page.url), listed, now=0.0)
        if "links" not in discovery.sources:
            return (), {}
        hrefs, is_nofollow = [link.url for link in links], [link.is_nofollow for link in links]
        found_on = FoundOn(page.url, page.depth, Source.LINK, page.url)
        candidates, refusals, *_ = admit_links(self._rules, found_on, hrefs, is_nofollow)
        return candidates, refusals

    def _url_list_candidates(
        self, page: PageLinks | CutOffPage, links: Sequence[PageLink], discovery: DiscoveryConfig
    ) -> tuple[tuple[Candidate, ...], dict[str, int]]:
        """The sitemaps of an index, the older part of a feed, the feeds named by a page."""
        source, is_wanted = Source.FEED, "feeds" in discovery.sources
        budget = Budget("max_feeds", "", discovery.max_feeds)
        if page.url_list == "sitemap":
            source, is_wanted = Source.SITEMAP, "sitemaps" in discovery.sources
            budget = Budget("max_sitemaps", "", discovery.max_sitemaps)
        if not is_wanted:
            return (), {}
        found_on = FoundOn(page.url, page.depth, source, page.url)
        named = (url_list_candidate(self._rules, link.url, found_on, budget) for link in links if not link.is_nofollow)
        candidates = tuple(candidate for candidate in named if candidate is not None)
        if candidates and not page.url_list and page.depth >= self._rules.max_depth:
            return (), {"feeds_too_deep": len(candidates)}
        return candidates, {}

    async def _readmit_cut_off(self, raised: set[str], has_other_rules: bool) -> tuple[int, int]:
        """Readmit from pages with cut-offs: those that have higher limits now or, if the rules changed, all pages with
        links."""
        admitted, unstored = 0, list[int]()
        async for pages in iterate_batches(self._records.cut_offs.pages(), PAGE_BATCH_SIZE):
            wanted = [page for page in pages if raised & limit_names(page.cut_off_counts)]
            unstored += [page.record_id for page in wanted if not has_stored_links(page)]
            if has_other_rules:
                unstored += [
                    page.record_id for page in pages if LINKS_NOT_KEPT in page.cut_off_counts and page not in wanted
                ]
            found = [page for page in (pages if has_other_rules else wanted) if has_stored_links(page)]
            admitted += sum(await asyncio.gather(*(self._readmit_page(page) for page in found)))
        return admitted, await self._records.cut_offs.refetch(unstored)

    async def _readmit_page(self, page: CutOffPage) -> int:
        candidates, refusals = self._page_candidates(page)
        if SITEMAP_LIMIT in page.cut_off_counts and not page.url_list:
            candidates += await self._robots_sitemaps(page.origin)
        admission = await self._records.admit(candidates, via=page.record_id)
        left = Counter(limit_refusals(refusals)) + Counter(limit_refusals(admission.refusals))
        left += Counter(
            {
                name: page.cut_off_counts[name]
                for name in NON_LINK_LIMITS - {SITEMAP_LIMIT}
                if name in page.cut_off_counts
            }
        )
        await self._records.cut_offs.replace({page.record_id: left})
        return admission.admitted

    async def _admit_guesses(self) -> int:
        """Admit the guesses that the limits allow now, on hosts with pending guesses and on the hosts of the seeds."""
        origins = {
            page.origin
            async for page in self._records.cut_offs.pages()
            if not GUESS_LIMITS.isdisjoint(page.cut_off_counts)
        }
        now, admitted = (await self._records.status()).now, 0
        for origin in sorted(origins.union(self._seed_origins())):
            host = await self._records.host(origin)
            if host is None or not host.guess_state.requests:
                continue
            known = await self._records.links.states([origin + path for path in FEED_PATHS])
            candidates = due_candidates(
                host.guess_state, origin, now, rules=self._rules, site=self._sites.for_origin(origin), known=known
            )
            admitted += (await self._records.admit(candidates)).admitted
        return admitted

    async def _admit_redirects(self) -> int:
        """Admit the redirect targets that the rules refused before and allow now. Nothing is requested again."""
        admitted, followed = 0, []
        spelling = normalize_options(self._rules.urls)
        async for one in self._records.cut_offs.redirects():
            target = normalize(one.to, None, spelling)
            if target is not None and redirect_refusal(self._rules, target, one.depth) is None:
                budgets = url_budgets(self._rules, target.url)
                candidate = Candidate(
                    target.url, target.origin, one.depth, source=Source.REDIRECT, via=one.url, budgets=budgets
                )
                admitted += (await self._records.admit([candidate], via=one.record_id)).admitted
                followed.append(one.record_id)
        await self._records.cut_offs.settle_redirects(followed)
        return admitted

    async def _admit_seed_sitemaps(self) -> int:
        """Admit the sitemaps that are named in robots.txt as last fetched."""
        admitted = 0
        for origin in self._seed_origins():
            if found := await self._robots_sitemaps(origin):
                admitted += (await self._records.admit(found)).admitted
        return admitted

    def _seed_origins(self) -> list[str]:
        spelling = normalize_options(self._rules.urls)
        seeds = (normalize(url, None, spelling) for url in (*self._rules.seeds, *self._rules.moved_to))
        return list(dict.fromkeys(seed.origin for seed in seeds if seed is not None))

    async def _robots_sitemaps(self, origin: str) -> tuple[Candidate, ...]:
        host = await self._records.host(origin)
        if host is None or host.robots is None:
            return ()
        return robots_sitemap_candidates(origin, host.robots, self._rules, self._sites.for_origin(origin).discovery)


def _digest(value: object) -> str:
    return blake2b(msgspec.json.encode(value), digest_size=16).hexdigest()
