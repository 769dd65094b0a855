"""What passes between the crawl and its readers: documents to read, and what was found in them."""

from __future__ import annotations

import struct

import msgspec

from tenax.config import DiscoveryConfig, ExtractConfig, ValidationConfig
from tenax.discovery.listing import Listing
from tenax.model import (
    Candidate,
    ChangeNotice,
    Failed,
    FailureKind,
    PageKind,
    PageLink,
    Rejected,
    Source,
    TransportKind,
    UrlList,
    Validation,
    Value,
)
from tenax.urls.admit import Rules


class ExtractJob(Value, frozen=True):
    """A document to read."""

    number: int
    """By which the reader is told later that the visit was committed."""
    url: str
    """As the task has it, normalised."""
    fetched_url: str
    """As it was asked for in the end; relative links start here."""
    depth: int
    body: bytes
    content_type: str | None = None
    robots_header: str | None = None
    status: int = 200
    transport: TransportKind = TransportKind.HTTP
    """How it was fetched: a shell that a browser has rendered is one for good."""
    validation: ValidationConfig = ValidationConfig()
    """As it holds for this site."""
    extract: ExtractConfig = ExtractConfig()
    """As it holds for this site."""
    discovery: DiscoveryConfig = DiscoveryConfig()
    """As it holds for this site."""
    source: Source = Source.LINK
    is_url_list: bool = False
    """A sitemap or a feed is said to be there."""
    is_first: bool = True
    """The page was not read before: its links were not counted yet."""
    is_continuous: bool = False
    """The crawl keeps up with its pages, and wants to know of their changes."""
    robot_names: tuple[str, ...] = ()
    """By which rules for robots may mean us."""
    now: float = 0.0
    """In seconds since 1970: no date on the page is believed that is later."""


class ExtractedPage(Value, frozen=True):
    """What was read: the page's own part, and its links as the rules see them."""

    title: str = ""
    description: str = ""
    canonical: str | None = None
    language: str | None = None
    kind: PageKind = PageKind.OTHER
    charset: str = "utf-8"
    charset_source: str = ""
    headline: str = ""
    language_confidence: float = 0.0
    authors: tuple[str, ...] = ()
    published: str | None = None
    modified: str | None = None
    site_name: str = ""
    section: str = ""
    keywords: tuple[str, ...] = ()
    image: str | None = None
    text: str = ""
    article: str = ""
    markdown: str = ""
    abstract: str = ""
    words: int = 0
    fingerprint: bytes = b""
    links: tuple[PageLink, ...] = ()
    link_targets: bytes | None = None
    """Its links as the link graph keeps them; None where it is not kept."""
    content_hash: str = ""
    links_count: int = 0
    candidates: tuple[Candidate, ...] = ()
    """Links for the database; those that it surely has already are left out."""
    refusals: dict[str, int] = {}
    new_in_links: dict[str, int] = {}
    """Links that the database has already, once more pages have them, and how many more."""
    url_list: UrlList = ""
    """What it is, when it is no page but a list of URLs: `links_count` of them, and the new ones are offered."""
    change_notices: tuple[ChangeNotice, ...] = ()
    """Pages that a sitemap or a feed says have changed."""
    listing: Listing | None = None
    """What a list says of its further pages."""
    has_feeds: bool = False
    """Whether the page says where feeds are."""
    is_noindex: bool = False
    validation: Validation = ""
    evidence: str = ""
    """What the validation saw, when it was not content."""
    failure: Failed | None = None
    """Set when it cannot be read, by `unreadable_page`. Nothing else is told of it then."""
    rejection: Rejected | None = None
    """Set when this is not a page we keep. Nothing else is told of it then, except the offer of where it leads on to
    when that is all it does."""


def unreadable_page(why: str) -> ExtractedPage:
    """A document that costs too much to read, or ends whoever reads it: a failure of its URL."""
    return ExtractedPage(failure=Failed(why, FailureKind.UNREADABLE))


class ReaderBatch(Value, frozen=True):
    """What is sent to a reader: documents, and the rules their links are judged by."""

    rules: Rules | None
    """None: the same as the last time. A crawl of a hundred thousand seeds has long ones."""
    jobs: tuple[ExtractJob, ...]
    committed_jobs: tuple[int, ...] = ()
    """Earlier jobs of this reader whose visits are in the database by now, and so are the links they offered."""


URL_LIST_CPU_FACTOR = 5
"""A sitemap may be five times as large as a page, and takes as much longer to read."""


def max_cpu_seconds(job: ExtractJob) -> float:
    """CPU time that reading it may take."""
    return job.extract.max_cpu_seconds * (URL_LIST_CPU_FACTOR if job.is_url_list else 1)


HEADER = struct.Struct(">I")
"""The length of what follows on the socket."""

encode_batch = msgspec.msgpack.Encoder().encode
decode_batch = msgspec.msgpack.Decoder(ReaderBatch).decode
encode_pages_into = msgspec.msgpack.Encoder().encode_into
decode_pages = msgspec.msgpack.Decoder(tuple[ExtractedPage, ...]).decode
