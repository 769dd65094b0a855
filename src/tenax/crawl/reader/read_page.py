"""Extracts a document and applies the rules to its links. Pure. Usually runs in a reader process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise

import msgspec

from tenax.crawl.reader.messages import ExtractedPage, ExtractJob
from tenax.database.page_codec import LinkColumns, pack_links
from tenax.discovery.archives import Listing, build_listing
from tenax.discovery.paged_urls import Numbering, parse_paged_url
from tenax.extract.budget import CpuBudget
from tenax.extract.document import Content, ExtractOptions, extract_with_dom
from tenax.extract.html.block_page_signals import read_block_page_signals
from tenax.extract.html.dom import Dom
from tenax.extract.html.links import MAX_LINKS
from tenax.extract.metadata.read import clean_text
from tenax.fetch.validate import Verdict, refresh_target, validate
from tenax.model import (
    LINK_STEPS,
    LINKS_NOT_KEPT,
    Budget,
    Candidate,
    PageKind,
    PageLink,
    Rejected,
    Source,
    content_values,
    count_rule_refusals,
)
from tenax.urls import NO_URLS, FoundOn, KnownUrls
from tenax.urls.admit import Rules, admit_links, link_targets, url_list_candidate
from tenax.urls.normalize import (
    MAX_RESOLVED_CHARS,
    NormalizeOptions,
    count_resolvable,
    normalize,
    normalize_options,
    page_link_resolver,
    resolve_base,
    split_base,
)
from tenax.urls.priority import GUESS_SOURCES

MAX_KNOWN_URLS = 100_000
MAX_UNCOMMITTED_JOBS = 2000
MAX_EVIDENCE_CHARS = 200
_MAX_COUNTED_LINKS = max(LINK_STEPS)
_GAIN_AT_STEP = {step: step - before for before, step in pairwise((1, *sorted(LINK_STEPS)))}
"""How many links a URL has gained since the step before."""
MIN_SECTION_LINKS = 5
"""A page right below the root is the front page of a section if its main content has this many links."""
_LIST_SOURCES = frozenset({"pagination", "archives"})
_SECTION_URL = re.compile(r"^[a-z]+://[^/]+/[^/?.]+/?$")
# URLs of further pages of a list, or of an archive. The rules that are applied afterwards are narrower.
_NUMBERED_URL = re.compile(
    r"[?&](?:page|paged|pg|p|pagenum|page_?no|seite|pagina|offset|start|from|skip)=\d"
    r"|/(?:page|p|seite|pagina)[/_-]?\d{1,5}(?:/|\.|$)|/(?:19|20)\d\d(?:/\d\d)?/?$",
    re.IGNORECASE,
)
# Text that all of them contain. It is searched in lower case, in many URLs at the same time.
_NUMBERED_URL_PREFILTER = re.compile(r"/(?:(?:p(?:age|agina)?|seite)[/_-]?\d|(?:19|20)\d\d)")


class Reader:
    """Extracts documents. It remembers the links that the database has, to leave them out on other pages.

    A link is known only after a visit with it as a candidate was committed. Until then it is a candidate each time.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        """The number of pages that link to each known URL."""
        self._known_before: dict[str, int] = {}
        self._uncommitted_candidates: dict[int, tuple[Candidate, ...]] = {}
        """Candidates of jobs that are not committed yet."""

    def extract(self, job: ExtractJob, rules: Rules, budget: CpuBudget | None = None) -> ExtractedPage:
        """Extract a document. Raises `ExtractLimitExceeded`."""
        known: set[str] = set()
        extracted = extract_page(job, rules, KnownUrls(self._known, self._known_before), known, budget)
        if known and job.is_first and extracted.rejection is None and (linked := self._count_in_links(known)):
            extracted = msgspec.structs.replace(extracted, new_in_links=linked)
        if extracted.candidates:
            if len(self._uncommitted_candidates) >= MAX_UNCOMMITTED_JOBS:
                del self._uncommitted_candidates[next(iter(self._uncommitted_candidates))]
            self._uncommitted_candidates[job.number] = extracted.candidates
        return extracted

    def mark_committed(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            for candidate in self._uncommitted_candidates.pop(number, ()):
                self._known.setdefault(candidate.url, 1)
        if len(self._known) > MAX_KNOWN_URLS:
            self._known_before, self._known = self._known, {}

    def _count_in_links(self, links: Iterable[str]) -> dict[str, int]:
        """Count one more page that links to each of these URLs. Returns the URLs whose priority rises, each with the
        number of links gained since the last report."""
        known, worth_more = self._known, {}
        for url in links:
            before = known.get(url, _MAX_COUNTED_LINKS)
            if before < _MAX_COUNTED_LINKS:
                known[url] = count = before + 1
                if count in _GAIN_AT_STEP:
                    worth_more[url] = _GAIN_AT_STEP[count]
        return worth_more


def extract_page(
    job: ExtractJob,
    rules: Rules,
    known_urls: KnownUrls = NO_URLS,
    known_links: set[str] | None = None,
    budget: CpuBudget | None = None,
) -> ExtractedPage:
    """Extract a document. Links to known URLs are not candidates, but are added to `known_links`.

    Raises `ExtractLimitExceeded`. Call it through `extract_within_limit`.
    """
    if job.is_url_list:
        return _extract_url_list(job, rules, known_urls)
    content, dom = extract_with_dom(
        job.body,
        job.content_type,
        job.robots_header,
        url=job.fetched_url,
        now=job.now,
        options=ExtractOptions(
            resolver=partial(page_link_resolver, job.fetched_url, max_chars=rules.urls.max_length),
            with_article=job.extract.articles,
            with_markdown=job.extract.markdown,
            with_native=job.extract.native,
            robot_names=job.robot_names,
        ),
        budget=budget,
    )
    if content.media == "other":
        if _is_wanted_url_list(job):
            return _extract_url_list(job, rules, known_urls)
        return ExtractedPage(rejection=Rejected(why=f"content: {content.media_reason}"))
    verdict = validate(
        content,
        partial(read_block_page_signals, dom),
        job.validation,
        len(job.body),
        status=job.status,
        transport=job.transport,
    )
    if verdict.why:
        return _rejected_page(job, rules, content, dom, verdict)
    if dom is not None:
        dom.check_budget("before its links were judged")
    base = resolve_base(content.base_href, job.fetched_url, rules.urls.max_length)
    content, is_cut = _limit_resolvable_links(content, base, len(job.body))
    hrefs, is_nofollow = _followed_links(job, content)
    page = FoundOn(base, job.depth, Source.LINK, job.url)
    candidates, refusals, linked, targets = admit_links(rules, page, hrefs, is_nofollow, known_urls)
    if known_links is not None:
        known_links |= linked
    if dom is not None:
        dom.check_budget("judging its links")
    if content.feeds and not content.is_nofollow and "feeds" in job.discovery.sources:
        feeds = _feed_candidates(job, rules, content.feeds, base, known_urls)
        if job.depth < rules.max_depth:
            candidates += feeds
        elif feeds:  # the URLs that they list would be too deep
            refusals["feeds_too_deep"] = len(feeds)
    if is_cut or (dom is not None and dom.truncated_at is not None) or len(content.links.hrefs) >= MAX_LINKS:
        refusals["links_read"] = 1  # at least one, because the rest was not read
    if not job.extract.link_graph and (count := _unstored_link_count(job, content, refusals)):
        refusals[LINKS_NOT_KEPT] = count
    listing = _page_listing(job, rules, content, base)
    if listing is not None and listing.numbering is not None:
        candidates = _set_list_depth(job, candidates, listing.numbering)
    canonical = normalize(content.canonical, base, normalize_options(rules.urls)) if content.canonical else None
    content = msgspec.structs.replace(
        content,
        canonical=canonical.url if canonical else None,
        image=web_url(content.image, base) if content.image else None,
    )
    return ExtractedPage(
        *content_values(content),
        links=build_page_links(content, base, job.extract.max_links) if job.extract.keep_links else (),
        link_targets=_pack_page_links(job, rules, content, base, targets) if job.extract.link_graph else None,
        links_count=len(content.links.hrefs),
        candidates=candidates,
        refusals=refusals,
        has_feeds=bool(content.feeds),
        listing=listing,
        is_noindex=content.is_noindex,
        validation=verdict.status,
        native_refusal=dom.native_refusal if dom is not None else "",
    )


def _followed_links(job: ExtractJob, content: Content) -> tuple[Sequence[str], Sequence[bool]]:
    """The hrefs to follow, including the declared next page, and whether each is marked nofollow, as for
    `admit_links`."""
    links = content.links
    if not links.hrefs or "links" not in job.discovery.sources:
        return (), ()
    hrefs = (*links.hrefs, content.next_href) if content.next_href else links.hrefs
    if content.is_nofollow:
        return hrefs, [True] * len(hrefs)
    # Of the flags, see `Links`, only these two are nofollow; most pages have neither.
    may_be_nofollow = "1" in links.flags or "3" in links.flags
    return hrefs, [*links.is_nofollow, False] if may_be_nofollow else ()


def _rejected_page(job: ExtractJob, rules: Rules, content: Content, dom: Dom | None, verdict: Verdict) -> ExtractedPage:
    """The result for a block page or an empty shell. Its links are not those of the site, but a meta refresh is
    followed."""
    candidates: tuple[Candidate, ...] = ()
    if verdict.why.startswith("refresh:") and not content.is_nofollow:
        base = resolve_base(content.base_href, job.fetched_url, rules.urls.max_length)
        page = FoundOn(base, job.depth, Source.LINK, job.url)
        candidates = admit_links(rules, page, [refresh_target(read_block_page_signals(dom))]).candidates
    return ExtractedPage(
        charset=content.charset,
        charset_source=content.charset_source,
        candidates=candidates,
        validation=verdict.status,
        evidence=clean_text(verdict.evidence, MAX_EVIDENCE_CHARS),
        rejection=Rejected(verdict.why, verdict.status == "hard"),
    )


def _page_listing(job: ExtractJob, rules: Rules, content: Content, base: str) -> Listing | None:
    """What a list, or any guessed page, says about its further pages; None for all other pages."""
    if _LIST_SOURCES.isdisjoint(job.discovery.sources):
        return None
    is_list = (
        job.source in GUESS_SOURCES
        or content.kind is PageKind.HUB
        or _NUMBERED_URL.search(job.url) is not None
        or _is_section(job.url, content)
    )
    # In many lists there is so much text below each title that they look like an article.
    if not is_list and not content.next_href and not has_numbered_links(content):
        return None
    links = content.links
    following = content.next_href or next(
        (href for href, rel in zip(links.hrefs, links.rels, strict=True) if "next" in rel.split()), ""
    )
    urls = link_targets(rules, base, links.hrefs[: rules.max_links_per_page])
    goes_on = normalize(following, base, normalize_options(rules.urls)) if following else None
    found = build_listing(
        job.url, [url for url in urls if url is not None], goes_on.url if goes_on is not None else None
    )
    return found if is_list or found.numbering is not None else None


def _is_section(url: str, content: Content) -> bool:
    """Whether this is the front page of a section, which may look like an article."""
    return bool(_SECTION_URL.search(url)) and sum(link.is_in_article for link in content.links) >= MIN_SECTION_LINKS


def has_numbered_links(content: Content) -> bool:
    """Whether any link looks like one to a further page. All links are searched at the same time first, because most
    pages have none."""
    joined = "\n".join(content.links.hrefs).lower()
    may_be = "=" in joined or _NUMBERED_URL_PREFILTER.search(joined) is not None
    return may_be and any(_NUMBERED_URL.search(href) for href in content.links.hrefs)


def _set_list_depth(job: ExtractJob, candidates: tuple[Candidate, ...], numbering: Numbering) -> tuple[Candidate, ...]:
    """Further pages of a list get its depth, if the list links to anything but itself and has an end."""
    pages = {
        candidate.url: one
        for candidate in candidates
        if (one := parse_paged_url(candidate.url)) and one.pattern == numbering.pattern
    }
    if not pages or len(pages) == len(candidates):
        return candidates
    most = numbering.step * job.discovery.max_guessed_pages
    return tuple(
        msgspec.structs.replace(candidate, depth=job.depth)
        if (page := pages.get(candidate.url)) is not None and page.number <= most
        else candidate
        for candidate in candidates
    )


def _is_wanted_url_list(job: ExtractJob) -> bool:
    """Whether it is a sitemap or feed of a kind that is wanted."""
    from tenax.crawl.url_lists import detect_url_list

    found = detect_url_list(job.body, job.content_type)
    return bool(found) and ("sitemaps" if found == "sitemap" else "feeds") in job.discovery.sources


def _extract_url_list(job: ExtractJob, rules: Rules, known_urls: KnownUrls) -> ExtractedPage:
    from tenax.crawl.url_lists import extract_url_list  # a crawl without sitemaps and feeds need not import it

    return extract_url_list(job, rules, known_urls)


def _feed_candidates(
    job: ExtractJob, rules: Rules, hrefs: Sequence[str], base: str, known_urls: KnownUrls
) -> tuple[Candidate, ...]:
    """The feeds that a page names, as candidates."""
    budget = Budget("max_feeds", "", job.discovery.max_feeds)
    page, (known, known_before) = FoundOn(base, job.depth, Source.FEED, job.url), known_urls
    found = (url_list_candidate(rules, href, page, budget) for href in hrefs)
    return tuple(
        candidate
        for candidate in found
        if candidate is not None and candidate.url not in known and candidate.url not in known_before
    )


def _limit_resolvable_links(content: Content, base: str, body_bytes: int) -> tuple[Content, bool]:
    """The content, with only as many links as `MAX_RESOLVED_CHARS` allows to resolve; and whether any links were cut.

    The links of most pages cannot reach that limit, so they are not counted.
    """
    links = content.links
    if len(links.hrefs) * len(base) + body_bytes <= MAX_RESOLVED_CHARS:
        return content, False
    count = count_resolvable(links.hrefs, base)
    if count == len(links):
        return content, False
    return msgspec.structs.replace(content, links=links[:count]), True


def web_url(href: str, base: str) -> str | None:
    """The absolute URL, normalized with the default options; None if it is not http or https."""
    found = normalize(href, base, NormalizeOptions())
    return found.url if found is not None else None


def build_page_links(content: Content, base: str, limit: int) -> tuple[PageLink, ...]:
    """The links as stored: those with http or https, in page order."""
    links = (
        PageLink(url, link.text, link.rel, link.is_nofollow or content.is_nofollow, link.is_in_article)
        for link in content.links
        if (url := web_url(link.href, base)) is not None
    )
    return tuple(islice(links, limit))


def _pack_page_links(job: ExtractJob, rules: Rules, content: Content, base: str, targets: list[str | None]) -> bytes:
    """The links by target, as the link graph stores them, and the feeds that the page names.

    Links to the page itself are left out, and so are the link texts of a noindex page. All links are stored, even if
    few are followed, because a run with other rules or limits admits them from here. `targets` are those of the links
    that were checked. The crawl may follow none of them, or only some.
    """
    origin, _ = split_base(job.url) or ("", "")
    links = content.links
    if further := links.hrefs[len(targets) :]:
        targets = targets + link_targets(rules, base, further)
    columns = LinkColumns(targets[: len(links.hrefs)], links.texts, links.rels, links.flags)
    if content.is_noindex:
        columns = columns.without_texts()
    feeds = link_targets(rules, base, content.feeds) if content.feeds else ()
    return pack_links(origin, columns, feeds=feeds, excluded_url=job.url, is_nofollow=content.is_nofollow)


def _unstored_link_count(job: ExtractJob, content: Content, refusals: Mapping[str, int]) -> int:
    """How many links of the page other rules may allow, if the links are not stored."""
    unwanted = 0 if "links" in job.discovery.sources else len(content.links)
    unwanted += 0 if "feeds" in job.discovery.sources else len(content.feeds)
    return count_rule_refusals(refusals) + unwanted
