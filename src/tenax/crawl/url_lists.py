"""What a site says about itself, a sitemap or a feed, read: its URLs judged like links, and what went wrong told."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from tenax.crawl.reader.messages import Job, Reading
from tenax.database.links import FEED, SITEMAP, pack_urls
from tenax.discovery.feeds.read import Feed, looks_like_feed, read_feed
from tenax.discovery.sitemaps.read import Sitemap, SitemapEntry, SitemapLimits, looks_like_sitemap, read_sitemap
from tenax.extract.text.fingerprint import content_hash
from tenax.model import LINKS_NOT_KEPT, Budget, Catalogue, Offer, Rejected, Source, Tiding, refused_by_rules
from tenax.urls.admit import Listed, Rules, admit_listed, catalogue_offer, leads_to
from tenax.urls.normalize import place_of
from tenax.urls.resolve import MAX_RESOLVED_CHARS

T = TypeVar("T")

MAX_EVIDENCE_CHARS = 200
OLD_NEWS_SECONDS = 90 * 86_400.0
"""A change that is told of so late was seen by our own visits, or is none."""
MOST_TIDINGS = 5_000
MOST_READ = 100_000
"""URLs read in one sitemap, however few are taken: what a limit cuts off is kept, for a run with a higher one."""


def catalogue_in(body: bytes, content_type: str | None) -> Catalogue:
    """Which of them this is; neither, when it does not begin like one."""
    if looks_like_sitemap(body):
        return "sitemap"
    return "feed" if looks_like_feed(body, content_type) else ""


def read_catalogue(job: Job, rules: Rules, known: Container[str] = (), known_before: Container[str] = ()) -> Reading:
    """What a sitemap or a feed offers; rejected when it is neither.

    One that is said to be a sitemap may be one in any form, plain text or a feed too.
    """
    form = catalogue_in(job.body, job.content_type)
    if form == "feed" and not (job.is_catalogue and job.source is Source.SITEMAP):
        feed = read_feed(job.body, job.content_type, job.fetched_url, job.now)
        return _of_feed(job, rules, feed, known, known_before)
    most = max(job.discovery.max_sitemap_urls, MOST_READ)
    limits = SitemapLimits(
        max_urls=most,
        max_decoded_bytes=job.discovery.max_sitemap_bytes,
        max_relative_urls=MAX_RESOLVED_CHARS // len(job.fetched_url),
    )
    return _of_sitemap(job, rules, read_sitemap(job.body, job.content_type, limits), known, known_before)


def _of_sitemap(
    job: Job, rules: Rules, sitemap: Sitemap, known: Container[str], known_before: Container[str]
) -> Reading:
    if sitemap.form == "none" or (sitemap.form == "text" and not sitemap.entries):
        return Reading(rejected=Rejected(f"catalogue: {_said(sitemap.problems) or 'it is no sitemap'}"))
    refusals: dict[str, int] = {}
    tidings: tuple[Tiding, ...] = ()
    taken, beyond = _parted(sitemap.entries, job.discovery.max_sitemap_urls)
    if sitemap.form == "index":
        budget = Budget("max_sitemaps", "", job.discovery.max_sitemaps)
        found = (
            catalogue_offer(rules, entry.url, job.fetched_url, job.depth, Source.SITEMAP, job.url, budget)
            for entry in taken
        )
        offers = tuple({offer.url: offer for offer in found if offer is not None and offer.url != job.url}.values())
    else:
        offers, refusals = admit_listed(
            rules, job.url, job.depth, _listed(taken), Source.SITEMAP, job.now, known, known_before
        )
        tidings = _tidings(job, rules, _listed(taken))
    refusals |= {
        name: count
        for name, count in {
            "max_sitemap_urls": len(beyond),
            "sitemap_read": sitemap.over_limit,
            "max_sitemap_bytes": int(sitemap.is_too_large),
            "invalid": refusals.get("invalid", 0) + sitemap.left_out - sitemap.over_limit,
        }.items()
        if count
    }
    listed = _hash_of((entry.url, entry.lastmod) for entry in taken)
    problems = sitemap.problems
    if beyond:
        problems += (f"{len(beyond):,} entries were left out: more than {job.discovery.max_sitemap_urls:,}",)
    urls = [entry.url for entry in _listed(sitemap.entries)]
    kept = _packed(job, rules, [], urls, SITEMAP) if sitemap.form == "index" else _packed(job, rules, urls)
    reading = _reading("sitemap", len(taken), listed, offers, _with_unkept(kept, refusals), problems, tidings)
    return msgspec.structs.replace(reading, leads_to=kept)


def _parted(entries: Sequence[T], most: int) -> tuple[Sequence[T], Sequence[T]]:
    """Those that are taken, and those beyond the limit."""
    return entries[:most], entries[most:]


def _listed(entries: Sequence[SitemapEntry]) -> Iterator[Listed]:
    for entry in entries:
        yield Listed(entry.url, entry.lastmod, entry.changefreq)
        for alternate in entry.alternates:
            yield Listed(alternate, entry.lastmod)


def _of_feed(job: Job, rules: Rules, feed: Feed, known: Container[str], known_before: Container[str]) -> Reading:
    if not feed.format:
        return Reading(rejected=Rejected(f"catalogue: {_said(feed.problems) or 'it is no feed'}"))
    named = [Listed(entry.link, entry.updated or entry.published) for entry in feed.entries if entry.link]
    entries, beyond = _parted(named, job.discovery.max_sitemap_urls)
    offers, refusals = admit_listed(rules, job.url, job.depth, entries, Source.FEED, job.now, known, known_before)
    if feed.next_link:
        budget = Budget("max_feeds", "", job.discovery.max_feeds)
        older = catalogue_offer(rules, feed.next_link, job.fetched_url, job.depth, Source.FEED, job.url, budget)
        offers += (older,) if older is not None else ()
    if beyond:
        refusals["max_sitemap_urls"] = len(beyond)
    listed = _hash_of((entry.url, entry.at) for entry in entries)
    older_feeds = [feed.next_link] if feed.next_link else []
    kept = _packed(job, rules, [entry.url for entry in named], older_feeds, FEED)
    refusals = _with_unkept(kept, refusals)
    tidings = _tidings(job, rules, entries)
    reading = _reading("feed", len(feed.entries), listed, offers, refusals, feed.problems, tidings)
    return msgspec.structs.replace(reading, leads_to=kept)


def _packed(job: Job, rules: Rules, urls: Sequence[str], lists: Sequence[str] = (), rel: str = "") -> bytes | None:
    """What is listed, as it is kept where links are: a run with other rules or limits takes it from here."""
    if not job.reading.link_graph:
        return None
    pages, named = (leads_to(rules, job.fetched_url, some) for some in (urls, lists))
    return pack_urls(_origin(job.url), pages, named, rel)


def _with_unkept(kept: bytes | None, refusals: dict[str, int]) -> dict[str, int]:
    """The refusals, and how many of them other rules may allow, where what is listed is not kept."""
    count = refused_by_rules(refusals) if kept is None else 0
    return {**refusals, LINKS_NOT_KEPT: count} if count else refusals


def _tidings(job: Job, rules: Rules, entries: Iterable[Listed]) -> tuple[Tiding, ...]:
    """The latest changes that are told of, where anyone wants to know."""
    if not job.is_kept_fresh:
        return ()
    lately = [entry for entry in entries if entry.at is not None and job.now - OLD_NEWS_SECONDS < entry.at <= job.now]
    lately.sort(key=lambda entry: -(entry.at or 0.0))
    urls = leads_to(rules, job.fetched_url, [entry.url for entry in lately[:MOST_TIDINGS]])
    pairs = zip(urls, lately, strict=False)
    return tuple(Tiding(url, _origin(url), entry.at or 0.0) for url, entry in pairs if url is not None)


def _reading(
    form: Catalogue,
    entries: int,
    listed: str,
    offers: tuple[Offer, ...],
    refusals: dict[str, int],
    problems: tuple[str, ...],
    tidings: tuple[Tiding, ...],
) -> Reading:
    return Reading(
        catalogue=form,
        links_count=entries,
        content_hash=listed,
        offers=offers,
        refusals=refusals,
        evidence=_said(problems),
        tidings=tidings,
    )


def _hash_of(entries: Iterable[tuple[str, float | None]]) -> str:
    """Of what is listed, whatever else differs: many a feed says when it was made."""
    return content_hash("\n".join(f"{url} {at}" for url, at in entries))


def _said(problems: tuple[str, ...]) -> str:
    return "; ".join(problems)[:MAX_EVIDENCE_CHARS]


def _origin(url: str) -> str:
    origin, _ = place_of(url) or ("", "")
    return origin
