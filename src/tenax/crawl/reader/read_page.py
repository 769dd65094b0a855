"""Reading a document: parse it, judge its links. Pure, and usually done in a process of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice

import msgspec

from tenax.crawl.reader.messages import Job, Reading, max_cpu_seconds, unreadable
from tenax.database.links import Anchor, pack_links
from tenax.discovery.listing import Listing, listing_of
from tenax.discovery.page_numbers import Numbering, paged
from tenax.extract.budget import CpuBudget, TooCostly
from tenax.extract.document import Document, read_with_dom
from tenax.extract.html.block_page_signals import read_facts
from tenax.extract.html.dom import Dom
from tenax.extract.html.links import MAX_LINKS
from tenax.extract.metadata.read import shown
from tenax.fetch.validate import Verdict, refresh_target, validate
from tenax.model import (
    LINK_STEPS,
    LINKS_NOT_KEPT,
    Budget,
    Offer,
    PageKind,
    PageLink,
    Rejected,
    Source,
    refused_by_rules,
)
from tenax.runtime.cpu_time import cpu_seconds, cut_off
from tenax.urls.admit import Rules, admit_links, catalogue_offer, leads_to
from tenax.urls.normalize import Spelling, normalize, place_of, spelling_of
from tenax.urls.priority import GUESSES
from tenax.urls.resolve import MAX_RESOLVED_CHARS, base_of, resolvable, resolver

MOST_KNOWN = 100_000
MOST_OPEN = 2000
MAX_EVIDENCE_CHARS = 200
SECTION_LINKS = 5
"""A page right below the root whose main part has so many links is the front page of a section."""
_SECTION = re.compile(r"^[a-z]+://[^/]+/[^/?.]+/?$")
# What the address of a further page of a list, or of an archive, looks like; the rules behind it are narrower.
_NUMBERED = re.compile(
    r"[?&](?:page|paged|pg|p|pagenum|page_?no|seite|pagina|offset|start|from|skip)=\d"
    r"|/(?:page|p|seite|pagina)[/_-]?\d{1,5}(?:/|\.|$)|/(?:19|20)\d\d(?:/\d\d)?/?$",
    re.IGNORECASE,
)
# What all of those have in common, looked for in lower case among many addresses at once.
_MAY_BE_NUMBERED = re.compile(r"/(?:(?:p(?:age|agina)?|seite)[/_-]?\d|(?:19|20)\d\d)")


class Reader:
    """Reads documents, and remembers the links that the ledger has, so as not to offer them on every page again.

    A link counts as known only when a visit that offered it was committed; until then it is offered each time.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        """With the number of pages that link to each."""
        self._known_before: dict[str, int] = {}
        self._offered: dict[int, tuple[Offer, ...]] = {}
        """What was offered by jobs that are not committed yet."""

    def read(self, job: Job, rules: Rules) -> Reading:
        known: set[str] = set()
        reading = read_page(job, rules, self._known, self._known_before, known)
        if known and job.is_first and reading.rejected is None and (linked := self._counted(known)):
            reading = msgspec.structs.replace(reading, linked=linked)
        if reading.offers:
            if len(self._offered) >= MOST_OPEN:
                del self._offered[next(iter(self._offered))]
            self._offered[job.number] = reading.offers
        return reading

    def committed(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            for offer in self._offered.pop(number, ()):
                self._known.setdefault(offer.url, 1)
        if len(self._known) > MOST_KNOWN:
            self._known_before, self._known = self._known, {}

    def _counted(self, links: Iterable[str]) -> dict[str, int]:
        """Another page has these; those that are worth more by now, and how many links they have gained since the last
        time."""
        known, worth_more = self._known, {}
        for url in links:
            if before := known.get(url):
                known[url] = count = before + 1
                if count in LINK_STEPS:
                    worth_more[url] = count - max((step for step in LINK_STEPS if step < count), default=1)
        return worth_more


def read_page(
    job: Job,
    rules: Rules,
    known: Container[str] = (),
    known_before: Container[str] = (),
    left_out: set[str] | None = None,
) -> Reading:
    """What a document holds; links in one of the two are not offered, but added to `left_out`.

    One that takes more CPU time than it may is a failure.
    """
    seconds = max_cpu_seconds(job)
    budget = CpuBudget(cpu_seconds, seconds, "reading.max_cpu_seconds")
    try:
        with cut_off(seconds, budget.error):
            return _read_page(job, rules, known, known_before, left_out, budget)
    except TooCostly as error:
        return unreadable(str(error))


def _read_page(
    job: Job,
    rules: Rules,
    known: Container[str],
    known_before: Container[str],
    left_out: set[str] | None,
    budget: CpuBudget,
) -> Reading:
    if job.is_catalogue:
        return _read_catalogue(job, rules, known, known_before)
    document, dom = read_with_dom(
        job.body,
        job.content_type,
        job.robots_header,
        url=job.fetched_url,
        now=job.now,
        resolver=partial(_resolver, job.fetched_url, rules.urls.max_length),
        with_article=job.reading.articles,
        with_markdown=job.reading.markdown,
        with_kernel=job.reading.kernel,
        robot_names=job.robot_names,
        budget=budget,
    )
    if document.media == "other":
        if _holds_catalogue(job):
            return _read_catalogue(job, rules, known, known_before)
        return Reading(rejected=Rejected(why=f"content: {document.media_why}"))
    verdict = validate(document, partial(read_facts, dom), job.validation, len(job.body), job.status, job.way)
    if verdict.why:
        return _turned_away(job, rules, document, dom, verdict)
    budget.check("before its links were judged")
    base = base_of(document.base_href, job.fetched_url, rules.urls.max_length)
    document, is_cut = _with_resolvable_links(document, base, len(job.body))
    links = document.links if job.discovery.finds_by("links") else ()
    hrefs = [(link.href, link.is_nofollow or document.is_nofollow) for link in links]
    if document.next_href and links:
        hrefs.append((document.next_href, document.is_nofollow))
    targets: list[str | None] = []
    offers, refusals = admit_links(rules, job.url, base, job.depth, hrefs, known, known_before, left_out, targets)
    budget.check("judging its links")
    if document.feeds and not document.is_nofollow and job.discovery.finds_by("feeds"):
        feeds = _feeds(job, rules, document.feeds, base, known, known_before)
        if job.depth < rules.max_depth:
            offers += feeds
        elif feeds:  # what they name would be too deep
            refusals["feeds_too_deep"] = len(feeds)
    if is_cut or (dom is not None and dom.cut_at is not None) or len(document.links) >= MAX_LINKS:
        refusals["links_read"] = 1  # at least: the rest was not looked at
    if not job.reading.link_graph and (count := _not_kept(job, document, refusals)):
        refusals[LINKS_NOT_KEPT] = count
    listing = _listing(job, rules, document, base)
    if listing is not None and listing.numbering is not None:
        offers = _at_its_depth(job, offers, listing.numbering)
    canonical = normalize(document.canonical, base, spelling_of(rules.urls)) if document.canonical else None
    return Reading(
        title=document.title,
        description=document.description,
        canonical=canonical.url if canonical else None,
        language=document.language,
        kind=document.kind,
        charset=document.charset,
        charset_source=document.charset_source,
        headline=document.headline,
        language_confidence=document.language_confidence,
        authors=document.authors,
        published=document.published,
        modified=document.modified,
        site_name=document.site_name,
        section=document.section,
        keywords=document.keywords,
        image=web_url(document.image, base) if document.image else None,
        text=document.text,
        article=document.article,
        markdown=document.markdown,
        abstract=document.abstract,
        words=document.words,
        fingerprint=document.fingerprint,
        links=kept_links(document, base, job.reading.max_links) if job.reading.keep_links else (),
        leads_to=_packed(job, rules, document, base, targets) if job.reading.link_graph else None,
        content_hash=document.content_hash,
        links_count=len(document.links),
        offers=offers,
        refusals=refusals,
        has_feeds=bool(document.feeds),
        listing=listing,
        is_noindex=document.is_noindex,
        validation=verdict.status,
    )


def _turned_away(job: Job, rules: Rules, document: Document, dom: Dom | None, verdict: Verdict) -> Reading:
    """A wall or a shell: its links are not the site's, but a page that only leads on is followed."""
    offers: tuple[Offer, ...] = ()
    if verdict.why.startswith("refresh:") and not document.is_nofollow:
        base = base_of(document.base_href, job.fetched_url, rules.urls.max_length)
        offers, _ = admit_links(rules, job.url, base, job.depth, [(refresh_target(read_facts(dom)), False)])
    return Reading(
        charset=document.charset,
        charset_source=document.charset_source,
        offers=offers,
        validation=verdict.status,
        evidence=shown(verdict.evidence, MAX_EVIDENCE_CHARS),
        rejected=Rejected(verdict.why, verdict.status == "hard"),
    )


def _listing(job: Job, rules: Rules, document: Document, base: str) -> Listing | None:
    """What a list says of its further pages, and a guessed page whatever it is; None for everything else."""
    if not (job.discovery.finds_by("pagination") or job.discovery.finds_by("archives")):
        return None
    is_list = (
        job.source in GUESSES
        or document.kind is PageKind.HUB
        or _NUMBERED.search(job.url) is not None
        or _is_section(job.url, document)
    )
    # Many a list has so much text under each title that it reads like an article.
    if not is_list and not document.next_href and not leads_to_numbers(document):
        return None
    following = document.next_href or next((link.href for link in document.links if "next" in link.rel.split()), "")
    urls = leads_to(rules, base, [link.href for link in document.links[: rules.max_links_per_page]])
    goes_on = normalize(following, base, spelling_of(rules.urls)) if following else None
    found = listing_of(job.url, [url for url in urls if url is not None], goes_on.url if goes_on is not None else None)
    return found if is_list or found.numbering is not None else None


def _is_section(url: str, document: Document) -> bool:
    """Whether this is the front page of a section, which may read like an article."""
    return bool(_SECTION.search(url)) and sum(link.is_in_article for link in document.links) >= SECTION_LINKS


def leads_to_numbers(document: Document) -> bool:
    """Whether any link looks like one to a further page. All are asked at once first: most pages have none."""
    hrefs = [link.href for link in document.links]
    joined = "\n".join(hrefs).lower()
    may_be = "=" in joined or _MAY_BE_NUMBERED.search(joined) is not None
    return may_be and any(_NUMBERED.search(href) for href in hrefs)


def _at_its_depth(job: Job, offers: tuple[Offer, ...], numbering: Numbering) -> tuple[Offer, ...]:
    """Further pages of a list are no deeper than it, as long as it leads to anything but itself, and has an end."""
    pages = {offer.url: one for offer in offers if (one := paged(offer.url)) and one.pattern == numbering.pattern}
    if not pages or len(pages) == len(offers):
        return offers
    most = numbering.step * job.discovery.max_pages_guessed
    return tuple(
        msgspec.structs.replace(offer, depth=job.depth)
        if (page := pages.get(offer.url)) is not None and page.number <= most
        else offer
        for offer in offers
    )


def _holds_catalogue(job: Job) -> bool:
    """Whether it is a sitemap or a feed, of a kind that is wanted."""
    from tenax.crawl.url_lists import catalogue_in

    found = catalogue_in(job.body, job.content_type)
    return bool(found) and job.discovery.finds_by("sitemaps" if found == "sitemap" else "feeds")


def _read_catalogue(job: Job, rules: Rules, known: Container[str], known_before: Container[str]) -> Reading:
    from tenax.crawl.url_lists import read_catalogue  # a crawl that meets none does without it

    return read_catalogue(job, rules, known, known_before)


def _feeds(
    job: Job, rules: Rules, hrefs: Sequence[str], base: str, known: Container[str], known_before: Container[str]
) -> tuple[Offer, ...]:
    """The feeds that a page names, as offers."""
    budget = Budget("max_feeds", "", job.discovery.max_feeds)
    found = (catalogue_offer(rules, href, base, job.depth, Source.FEED, job.url, budget) for href in hrefs)
    return tuple(
        offer for offer in found if offer is not None and offer.url not in known and offer.url not in known_before
    )


def _resolver(fetched_url: str, max_chars: int, base_href: str | None) -> Callable[[str], str]:
    """What makes an address of the page absolute."""
    return resolver(base_of(base_href, fetched_url, max_chars))


def _with_resolvable_links(document: Document, base: str, body_bytes: int) -> tuple[Document, bool]:
    """The document with as many links as can be resolved, and whether it had more. Most pages are too small to ask."""
    links = document.links
    if len(links) * len(base) + body_bytes <= MAX_RESOLVED_CHARS:
        return document, False
    count = resolvable((link.href for link in links), base)
    if count == len(links):
        return document, False
    return msgspec.structs.replace(document, links=links[:count]), True


def web_url(href: str, base: str) -> str | None:
    """Where it leads, spelled as the page has it otherwise; None when that is nowhere on the web."""
    found = normalize(href, base, Spelling())
    return found.url if found is not None else None


def kept_links(document: Document, base: str, most: int) -> tuple[PageLink, ...]:
    """The links as they are kept: those that lead somewhere on the web, in the order of the page."""
    kept = (
        PageLink(url, link.text, link.rel, link.is_nofollow or document.is_nofollow, link.is_in_article)
        for link in document.links
        if (url := web_url(link.href, base)) is not None
    )
    return tuple(islice(kept, most))


def _packed(job: Job, rules: Rules, document: Document, base: str, targets: list[str | None]) -> bytes:
    """The links by where they lead, as the link graph keeps them, and the feeds that the page names; those to the page
    itself are left out, and so are the words of a page that asks not to be kept.

    All of them, however few are followed: a run with other rules or limits takes them from here. `targets` are those of
    the links that were judged: the crawl may follow none, or no more than so many.
    """
    origin, _ = place_of(job.url) or ("", "")
    if further := document.links[len(targets) :]:
        targets = targets + leads_to(rules, base, [link.href for link in further])
    said: Sequence[Anchor] = document.links
    if document.is_noindex:
        said = [PageLink("", is_nofollow=link.is_nofollow) for link in document.links]
    feeds = leads_to(rules, base, document.feeds) if document.feeds else ()
    return pack_links(origin, targets, said, feeds=feeds, but=job.url, is_nofollow=document.is_nofollow)


def _not_kept(job: Job, document: Document, refusals: Mapping[str, int]) -> int:
    """How many links of the page other rules may allow, where none are kept."""
    unwanted = 0 if job.discovery.finds_by("links") else len(document.links)
    unwanted += 0 if job.discovery.finds_by("feeds") else len(document.feeds)
    return refused_by_rules(refusals) + unwanted
