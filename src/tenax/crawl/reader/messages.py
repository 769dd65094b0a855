"""Messages between the crawl and its readers: documents to extract, and the results."""

from __future__ import annotations

import struct

import msgspec

from tenax.config import DiscoveryConfig, ExtractConfig, ValidationConfig
from tenax.discovery.archives import Listing
from tenax.model import (
    Candidate,
    ChangeNotice,
    Failed,
    FailureKind,
    PageContent,
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
    """A document to extract."""

    number: int
    """Identifies the job, when its visit is committed."""
    url: str
    """The URL of the task, normalized."""
    fetched_url: str
    """The URL that was fetched in the end. It is the base of relative links."""
    depth: int
    body: bytes
    content_type: str | None = None
    robots_header: str | None = None
    status: int = 200
    transport: TransportKind = TransportKind.HTTP
    """If a browser rendered the page and it is still an empty shell, it is rejected for good."""
    validation: ValidationConfig = ValidationConfig()
    """The settings of this site."""
    extract: ExtractConfig = ExtractConfig()
    """The settings of this site."""
    discovery: DiscoveryConfig = DiscoveryConfig()
    """The settings of this site."""
    source: Source = Source.LINK
    is_url_list: bool = False
    """A sitemap or feed was announced at this URL."""
    is_first: bool = True
    """The page was not read before, so its links are not counted yet."""
    is_continuous: bool = False
    """The crawl recrawls its pages, and uses announced changes."""
    robot_names: tuple[str, ...] = ()
    """Names that address us in rules for robots."""
    now: float = 0.0
    """Seconds since 1970. Later dates on the page are ignored."""


class ExtractedPage(PageContent, frozen=True, kw_only=True):
    """What was extracted: the content of the page, and its links as judged by the rules."""

    links: tuple[PageLink, ...] = ()
    link_targets: bytes | None = None
    """The links of the page as the link graph stores them; None if they are not stored."""
    links_count: int = 0
    candidates: tuple[Candidate, ...] = ()
    """Links for the database, without those that it surely has."""
    refusals: dict[str, int] = {}
    new_in_links: dict[str, int] = {}
    """Known links to which this page links, with the number of further pages that link to each."""
    url_list: UrlList = ""
    """The kind of URL list; empty for a page. In a list, `links_count` counts its URLs, and `candidates` are the new
    ones."""
    change_notices: tuple[ChangeNotice, ...] = ()
    """Pages that a sitemap or feed reports as changed."""
    listing: Listing | None = None
    """What a list says about its further pages."""
    has_feeds: bool = False
    """Whether the page names feeds."""
    is_noindex: bool = False
    validation: Validation = ""
    evidence: str = ""
    """What validation found, if the response was not a page."""
    native_refusal: str = ""
    """Why the native code did not read the page although `extract.native` is on."""
    failure: Failed | None = None
    """Set by `unreadable_page`. Then all other fields are empty."""
    rejection: Rejected | None = None
    """Set if this is not a page to store. Then all other fields are empty, except the candidate of a meta refresh."""


def unreadable_page(why: str) -> ExtractedPage:
    """The result of a document that costs too much to read, or crashes its readers. Its URL has failed."""
    return ExtractedPage(failure=Failed(why, FailureKind.UNREADABLE))


class ReaderBatch(Value, frozen=True):
    """What is sent to a reader: documents, and the rules for their links."""

    rules: Rules | None
    """None: unchanged since the last batch. The rules are long if there are a hundred thousand seeds."""
    jobs: tuple[ExtractJob, ...]
    committed_jobs: tuple[int, ...] = ()
    """Earlier jobs of this reader that are committed. So the database has their candidates."""


URL_LIST_CPU_FACTOR = 5
"""A sitemap may be five times as large as a page, and so takes five times as long."""


def max_cpu_seconds(job: ExtractJob) -> float:
    """The CPU time that the document may take."""
    return job.extract.max_cpu_seconds * (URL_LIST_CPU_FACTOR if job.is_url_list else 1)


HEADER = struct.Struct(">I")
"""The length of the batch that follows on the socket."""
ANSWER_HEADER = struct.Struct(">If")
"""The length of the message that follows, and the CPU time of its last document."""

encode_batch = msgspec.msgpack.Encoder().encode
decode_batch = msgspec.msgpack.Decoder(ReaderBatch).decode
encode_pages_into = msgspec.msgpack.Encoder().encode_into
decode_pages = msgspec.msgpack.Decoder(tuple[ExtractedPage, ...]).decode
