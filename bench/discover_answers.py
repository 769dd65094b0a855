"""Answers of the discovery site, and the worth of each request."""

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
    """A request is wasted when it cannot return a real page or an existing discovery document.

    Discovery documents are home pages, lists, archives, sitemaps (also broken ones: a crawler cannot know), feeds,
    robots.txt, and redirects to one of them. Everything else is wasted, and so is a repeated request.
    """

    PAGE = "page"
    DOCUMENT = "document"
    GONE = "gone"
    """404: dead sitemap entries and wrong guesses."""
    PAST_END = "past_end"
    """A list page after the last one."""
    SAME = "same"
    """A query that the page ignores."""
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
    """The answer of this host for a path with an optional query. Deterministic."""
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
    if host.behaviour.trap is None or (text := trap_page(site, host, target)) is None:
        return None
    return Answer(Worth(host.behaviour.trap.value), text.encode())


def _document(site: Site, host: Host, target: str, origin: str) -> Answer | None:
    if target == "/robots.txt" and (text := robots(host, origin)) is not None:
        return Answer(Worth.DOCUMENT, text.encode(), TEXT)
    if (found := sitemap(site, host, target, origin)) is not None:
        return Answer(Worth.DOCUMENT, *found)
    if (written := feed(host, target, origin)) is not None:
        return Answer(Worth.DOCUMENT, written[0].encode(), written[1])
    return None


def _after_end(host: Host, target: str) -> Answer | None:
    """This host's answer for list pages that do not exist."""
    behaviour = host.behaviour
    pattern = (
        re.escape(behaviour.pager).replace(r"\{n\}", r"([2-9]|[1-9]\d{1,8})").replace(r"\{offset\}", r"([1-9]\d{1,8})")
    )
    section = next((one for one in behaviour.sections[:PAGED_SECTIONS] if target.startswith(f"/{one}/")), None)
    if not behaviour.pager or section is None or not re.fullmatch(f"/{section}/{pattern}", target):
        return None
    if behaviour.past_end is PastEnd.FIRST:
        return Answer(Worth.PAST_END, status=302, location=f"/{section}/")
    text = plain_page(host, section.capitalize(), "<p>There is nothing here.</p>").encode()
    return Answer(Worth.PAST_END, text, status=200 if behaviour.past_end is PastEnd.EMPTY else 404)


def _unmoved(site: Site, host: Host, target: str, origins: Sequence[str]) -> Answer | None:
    """An existing path with an unknown query."""
    path, has_query, _ = target.partition("?")
    same = _standing(site, host, path, origins) if has_query else None
    return Answer(Worth.SAME, same.body) if same is not None else None


def _nothing(host: Host, target: str) -> Answer:
    """Redirects when only the trailing slash is missing."""
    if f"{target}/" in host.pages:
        return Answer(Worth.DOCUMENT, status=301, location=f"{target}/")
    text = plain_page(host, "Not found", "<p>There is no such page.</p>")
    return Answer(Worth.GONE, text.encode(), status=404)
