"""Reads sitemaps and feeds. Their URLs become candidates, like links. Problems are reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from tenax.crawl.reader.messages import ExtractedPage, ExtractJob
from tenax.database.page_codec import FEED, SITEMAP, pack_urls
from tenax.discovery.feeds.read import Feed, looks_like_feed, read_feed
from tenax.discovery.sitemaps.read import Sitemap, SitemapEntry, SitemapLimits, looks_like_sitemap, read_sitemap
from tenax.model import LINKS_NOT_KEPT, Budget, ChangeNotice, Rejected, Source, UrlList, count_rule_refusals
from tenax.text.fingerprint import content_hash
from tenax.urls import NO_URLS, FoundOn, KnownUrls
from tenax.urls.admit import ListedUrl, Rules, admit_url_list, link_targets, url_list_candidate
from tenax.urls.normalize import MAX_RESOLVED_CHARS, split_base

T = TypeVar("T")

MAX_EVIDENCE_CHARS = 200
MAX_NOTICE_AGE_SECONDS = 90 * 86_400.0
"""An older change was seen by our own visits, or is false."""
MAX_CHANGE_NOTICES = 5_000
MAX_URLS_READ = 100_000
"""Maximum number of URLs read in one sitemap, even if few are taken. Those that a limit cuts off are stored for a run
with a higher limit."""


def detect_url_list(body: bytes, content_type: str | None) -> UrlList:
    """The kind of this URL list; empty if the body does not begin like one."""
    if looks_like_sitemap(body):
        return "sitemap"
    return "feed" if looks_like_feed(body, content_type) else ""


def extract_url_list(job: ExtractJob, rules: Rules, known_urls: KnownUrls = NO_URLS) -> ExtractedPage:
    """The candidates of a sitemap or feed; a rejection if it is neither.

    A document that was announced as a sitemap may have any form, also plain text or a feed.
    """
    form = detect_url_list(job.body, job.content_type)
    if form == "feed" and not (job.is_url_list and job.source is Source.SITEMAP):
        feed = read_feed(job.body, job.content_type, job.fetched_url, job.now)
        return _extract_feed(job, rules, feed, known_urls)
    most = max(job.discovery.max_sitemap_urls, MAX_URLS_READ)
    limits = SitemapLimits(
        max_urls=most,
        max_decoded_bytes=job.discovery.max_sitemap_bytes,
        max_relative_urls=MAX_RESOLVED_CHARS // len(job.fetched_url),
    )
    return _extract_sitemap(job, rules, read_sitemap(job.body, job.content_type, limits), known_urls)


def _extract_sitemap(job: ExtractJob, rules: Rules, sitemap: Sitemap, known_urls: KnownUrls) -> ExtractedPage:
    if sitemap.form == "none" or (sitemap.form == "text" and not sitemap.entries):
        return ExtractedPage(rejection=Rejected(f"url_list: {_format_problems(sitemap.problems) or 'not a sitemap'}"))
    refusals: dict[str, int] = {}
    change_notices: tuple[ChangeNotice, ...] = ()
    taken, beyond = _split_at_limit(sitemap.entries, job.discovery.max_sitemap_urls)
    if sitemap.form == "index":
        budget = Budget("max_sitemaps", "", job.discovery.max_sitemaps)
        index = FoundOn(job.fetched_url, job.depth, Source.SITEMAP, job.url)
        found = (url_list_candidate(rules, entry.url, index, budget) for entry in taken)
        candidates = tuple(
            {
                candidate.url: candidate for candidate in found if candidate is not None and candidate.url != job.url
            }.values()
        )
    else:
        document = FoundOn(job.url, job.depth, Source.SITEMAP, job.url)
        candidates, refusals = admit_url_list(rules, document, _iterate_entries(taken), job.now, known_urls)
        change_notices = _recent_changes(job, rules, _iterate_entries(taken))
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
    listed = _hash_entries((entry.url, entry.lastmod) for entry in taken)
    problems = sitemap.problems
    if beyond:
        problems += (f"{len(beyond):,} entries were left out: more than {job.discovery.max_sitemap_urls:,}",)
    urls = [entry.url for entry in _iterate_entries(sitemap.entries)]
    packed = (
        _pack_listed_urls(job, rules, [], urls, SITEMAP)
        if sitemap.form == "index"
        else _pack_listed_urls(job, rules, urls)
    )
    return ExtractedPage(
        url_list="sitemap",
        links_count=len(taken),
        content_hash=listed,
        candidates=candidates,
        refusals=_add_unstored_count(packed, refusals),
        evidence=_format_problems(problems),
        change_notices=change_notices,
        link_targets=packed,
    )


def _split_at_limit(entries: Sequence[T], limit: int) -> tuple[Sequence[T], Sequence[T]]:
    """The entries within the limit, and those beyond it."""
    return entries[:limit], entries[limit:]


def _iterate_entries(entries: Sequence[SitemapEntry]) -> Iterator[ListedUrl]:
    for entry in entries:
        yield ListedUrl(entry.url, entry.lastmod, entry.changefreq)
        for alternate in entry.alternates:
            yield ListedUrl(alternate, entry.lastmod)


def _extract_feed(job: ExtractJob, rules: Rules, feed: Feed, known_urls: KnownUrls) -> ExtractedPage:
    if not feed.format:
        return ExtractedPage(rejection=Rejected(f"url_list: {_format_problems(feed.problems) or 'not a feed'}"))
    named = [ListedUrl(entry.link, entry.updated or entry.published) for entry in feed.entries if entry.link]
    entries, beyond = _split_at_limit(named, job.discovery.max_sitemap_urls)
    document = FoundOn(job.url, job.depth, Source.FEED, job.url)
    candidates, refusals = admit_url_list(rules, document, entries, job.now, known_urls)
    if feed.next_link:
        budget = Budget("max_feeds", "", job.discovery.max_feeds)
        older = url_list_candidate(rules, feed.next_link, document._replace(base=job.fetched_url), budget)
        candidates += (older,) if older is not None else ()
    if beyond:
        refusals["max_sitemap_urls"] = len(beyond)
    listed = _hash_entries((entry.url, entry.at) for entry in entries)
    older_feeds = [feed.next_link] if feed.next_link else []
    packed = _pack_listed_urls(job, rules, [entry.url for entry in named], older_feeds, FEED)
    return ExtractedPage(
        url_list="feed",
        links_count=len(feed.entries),
        content_hash=listed,
        candidates=candidates,
        refusals=_add_unstored_count(packed, refusals),
        evidence=_format_problems(feed.problems),
        change_notices=_recent_changes(job, rules, entries),
        link_targets=packed,
    )


def _pack_listed_urls(
    job: ExtractJob, rules: Rules, urls: Sequence[str], lists: Sequence[str] = (), rel: str = ""
) -> bytes | None:
    """The listed URLs, stored like links, because a run with other rules or limits admits them from there."""
    if not job.extract.link_graph:
        return None
    pages, named = (link_targets(rules, job.fetched_url, some) for some in (urls, lists))
    return pack_urls(_url_origin(job.url), pages, named, rel)


def _add_unstored_count(packed: bytes | None, refusals: dict[str, int]) -> dict[str, int]:
    """The refusals. If the listed URLs are not stored, those that other rules may allow are added."""
    count = count_rule_refusals(refusals) if packed is None else 0
    return {**refusals, LINKS_NOT_KEPT: count} if count else refusals


def _recent_changes(job: ExtractJob, rules: Rules, entries: Iterable[ListedUrl]) -> tuple[ChangeNotice, ...]:
    """The latest changes, if the crawl is continuous."""
    if not job.is_continuous:
        return ()
    lately = [
        entry for entry in entries if entry.at is not None and job.now - MAX_NOTICE_AGE_SECONDS < entry.at <= job.now
    ]
    lately.sort(key=lambda entry: -(entry.at or 0.0))
    urls = link_targets(rules, job.fetched_url, [entry.url for entry in lately[:MAX_CHANGE_NOTICES]])
    pairs = zip(urls, lately, strict=False)
    return tuple(ChangeNotice(url, _url_origin(url), entry.at or 0.0) for url, entry in pairs if url is not None)


def _hash_entries(entries: Iterable[tuple[str, float | None]]) -> str:
    """A hash of the entries alone, because many feeds contain the time at which they were made."""
    return content_hash("\n".join(f"{url} {at}" for url, at in entries))


def _format_problems(problems: tuple[str, ...]) -> str:
    return "; ".join(problems)[:MAX_EVIDENCE_CHARS]


def _url_origin(url: str) -> str:
    origin, _ = split_base(url) or ("", "")
    return origin
