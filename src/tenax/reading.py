"""From a document's bytes to what a page yields: parse it, judge its links. Pure; it runs in the reader processes."""

from __future__ import annotations

import msgspec

from tenax.model import Offer, PageKind, Rejected, Value
from tenax.parse.document import read_document
from tenax.urls.admit import Rules, admit_links
from tenax.urls.normalize import Spelling, normalize, spelling_of


class Job(Value, frozen=True):
    """A document to read."""

    url: str
    """As the task has it, normalised."""
    fetched_url: str
    """As it was asked for in the end; relative links start here."""
    depth: int
    body: bytes
    content_type: str | None = None
    robots_header: str | None = None


class Reading(Value, frozen=True):
    """What was read: the page's own part, and its links as the rules see them."""

    title: str = ""
    description: str = ""
    canonical: str | None = None
    language: str | None = None
    kind: PageKind = PageKind.PAGE
    charset: str = "utf-8"
    charset_source: str = ""
    text: str = ""
    content_hash: str = ""
    links_count: int = 0
    offers: tuple[Offer, ...] = ()
    refusals: dict[str, int] = {}
    is_noindex: bool = False
    rejected: Rejected | None = None
    """Set when this is not a page we keep; everything else is empty then."""


class Work(Value, frozen=True):
    """What is sent to a reader: documents, and the rules their links are judged by."""

    rules: Rules
    jobs: tuple[Job, ...]


def read_page(job: Job, rules: Rules) -> Reading:
    document = read_document(job.body, job.content_type, job.robots_header)
    if document.media == "other":
        return Reading(rejected=Rejected(why=f"content: {document.media_why}"))
    base = _base(document.base_href, job.fetched_url)
    hrefs = ((link.href, link.is_nofollow or document.is_nofollow) for link in document.links)
    offers, refusals = admit_links(rules, job.url, base, job.depth, hrefs)
    canonical = normalize(document.canonical, base, spelling_of(rules.urls)) if document.canonical else None
    return Reading(
        title=document.title,
        description=document.description,
        canonical=canonical.url if canonical else None,
        language=document.language,
        kind=document.kind,
        charset=document.charset,
        charset_source=document.charset_source,
        text=document.text,
        content_hash=document.content_hash,
        links_count=len(document.links),
        offers=offers,
        refusals=refusals,
        is_noindex=document.is_noindex,
    )


def _base(base_href: str | None, fetched_url: str) -> str:
    """Where relative links start. Spelled plainly: the crawl's own spelling may drop a slash that matters here."""
    if base_href is None:
        return fetched_url
    base = normalize(base_href, fetched_url, Spelling())
    return base.url if base is not None else fetched_url


encode_work = msgspec.msgpack.Encoder().encode
decode_work = msgspec.msgpack.Decoder(Work).decode
encode_readings = msgspec.msgpack.Encoder().encode
decode_readings = msgspec.msgpack.Decoder(tuple[Reading, ...]).decode
