"""What the discovery site answers, and what a request there was worth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench.discover_behaviours import PastEnd
from bench.discover_feeds import feed
from bench.discover_pages import article_page, listing_page, plain_page
from bench.discover_site import PAGED_SECTIONS, Article, Host, Listing, Site
from bench.discover_sitemaps import TEXT, robots, sitemap
from bench.discover_traps import trap_page

HTML = "text/html; charset=utf-8"


class Worth(StrEnum):
    """A request is wasted when it could not give a real page, nor a document of discovery that exists.

    Such documents are homes, lists, archives, sitemaps (bad ones too: who asks cannot know), feeds and robots.txt, and
    redirects to one of them. Everything else is wasted, and so is asking again for what was answered before.
    """

    PAGE = "page"
    DOCUMENT = "document"
    GONE = "gone"
    """Nothing is there: dead entries of sitemaps, and guesses that were wrong."""
    PAST_END = "past_end"
    """A page of a list after its last one."""
    SAME = "same"
    """A question the page knows nothing of, and answers with what it always says."""
    AGAIN = "again"
    CALENDAR = "calendar"
    SAME_NEXT = "same_next"
    JUNK_NEXT = "junk_next"
    FACETS = "facets"

    @property
    def is_wasted(self) -> bool:
        return self not in (Worth.PAGE, Worth.DOCUMENT)


@dataclass(frozen=True)
class Answer:
    worth: Worth
    body: bytes = b""
    content_type: str = HTML
    status: int = 200
    location: str = ""


def respond(site: Site, index: int, target: str, origins: Sequence[str]) -> Answer:
    """What this host says to a request for a path, or a path with a query. The same every time."""
    host = site.hosts[index]
    return (
        _standing(site, host, target, origins)
        or _trapped(site, host, target)
        or _document(site, host, target, origins[index])
        or _after_end(host, target)
        or _unmoved(site, host, target, origins)
        or _nothing(host, target)
    )


def _standing(site: Site, host: Host, target: str, origins: Sequence[str]) -> Answer | None:
    match host.pages.get(target):
        case Article() as article:
            return Answer(Worth.PAGE, article_page(site, host, article).encode())
        case Listing() as listing:
            return Answer(Worth.DOCUMENT, listing_page(site, host, target, listing, origins).encode())
        case None:
            return None


def _trapped(site: Site, host: Host, target: str) -> Answer | None:
    if host.manner.trap is None or (text := trap_page(site, host, target)) is None:
        return None
    return Answer(Worth(host.manner.trap.value), text.encode())


def _document(site: Site, host: Host, target: str, origin: str) -> Answer | None:
    if target == "/robots.txt" and (text := robots(host, origin)) is not None:
        return Answer(Worth.DOCUMENT, text.encode(), TEXT)
    if (found := sitemap(site, host, target, origin)) is not None:
        return Answer(Worth.DOCUMENT, *found)
    if (written := feed(host, target, origin)) is not None:
        return Answer(Worth.DOCUMENT, written[0].encode(), written[1])
    return None


def _after_end(host: Host, target: str) -> Answer | None:
    """Pages of a list that do not exist, as this host answers for them."""
    manner = host.manner
    pattern = (
        re.escape(manner.pager).replace(r"\{n\}", r"([2-9]|[1-9]\d{1,8})").replace(r"\{offset\}", r"([1-9]\d{1,8})")
    )
    section = next((one for one in manner.sections[:PAGED_SECTIONS] if target.startswith(f"/{one}/")), None)
    if not manner.pager or section is None or not re.fullmatch(f"/{section}/{pattern}", target):
        return None
    if manner.past_end is PastEnd.FIRST:
        return Answer(Worth.PAST_END, status=302, location=f"/{section}/")
    text = plain_page(host, section.capitalize(), "<p>There is nothing here.</p>").encode()
    return Answer(Worth.PAST_END, text, status=200 if manner.past_end is PastEnd.EMPTY else 404)


def _unmoved(site: Site, host: Host, target: str, origins: Sequence[str]) -> Answer | None:
    """Where something stands that knows nothing of the query."""
    path, has_query, _ = target.partition("?")
    same = _standing(site, host, path, origins) if has_query else None
    return Answer(Worth.SAME, same.body) if same is not None else None


def _nothing(host: Host, target: str) -> Answer:
    """A slash may be all that is missing."""
    if f"{target}/" in host.pages:
        return Answer(Worth.DOCUMENT, status=301, location=f"{target}/")
    text = plain_page(host, "Not found", "<p>There is no such page.</p>")
    return Answer(Worth.GONE, text.encode(), status=404)
