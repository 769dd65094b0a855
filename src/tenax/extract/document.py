"""The whole reading of one body: decoded, sniffed, parsed once, and everything a page yields taken from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec import structs

from tenax.extract.article.hints import read_page_hints
from tenax.extract.budget import CpuBudget, ExtractLimitExceeded
from tenax.extract.html.charset import decode
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import read_head
from tenax.extract.html.links import Link, read_base_href
from tenax.extract.html.media_type import MediaKind, sniff_media
from tenax.extract.html.text_limit import LONG_PAGE_BYTES, MIN_TEXT_CHARS, truncate_text
from tenax.extract.language.detect import Language, detect_language
from tenax.extract.metadata.read import parse_robots_hints, read_metadata, skim_metadata
from tenax.extract.native.binding import NativePage, Unsupported, open_page
from tenax.extract.native_body import read_body, skim_body
from tenax.extract.text.fingerprint import content_hash
from tenax.extract.text.visible import MAX_TEXT_CHARS, plain_text
from tenax.model import PageKind, Value

_MAX_NULS = 10_000
"""Of a long page. The parser takes 17 bytes for each; with more of them it is no page that anybody wrote."""

ResolverFactory: TypeAlias = Callable[[str | None], Callable[[str], str]]
"""Given the `<base href>` of the page, a function that makes an address of the page absolute."""


class Content(Value, frozen=True):
    """What a body yields. Hrefs are as written: the caller resolves them against the URL and `base_href`."""

    media: MediaKind
    """`other`: nothing was read, and `media_reason` says why."""
    media_reason: str = ""
    title: str = ""
    description: str = ""
    canonical: str | None = None
    language: str | None = None
    kind: PageKind = PageKind.OTHER
    charset: str = ""
    charset_source: str = ""
    language_confidence: float = 0.0
    """From 0 to 1."""
    headline: str = ""
    """The title of what the page tells, without the name of the site; `title` is what a browser's tab shows."""
    authors: tuple[str, ...] = ()
    published: str | None = None
    """ISO 8601, a date or a moment; never in the future."""
    modified: str | None = None
    site_name: str = ""
    section: str = ""
    keywords: tuple[str, ...] = ()
    image: str | None = None
    """As written; the caller resolves it."""
    text: str = ""
    """Everything that is seen."""
    article: str = ""
    """The clean part: what the page is there for, a paragraph to a line."""
    markdown: str = ""
    """The same with its structure."""
    abstract: str = ""
    words: int = 0
    """Of the clean part; in scripts without spaces two characters count as one."""
    fingerprint: bytes = b""
    """Of the clean part, see `fingerprint.near_fingerprint`; empty when there is none."""
    links: tuple[Link, ...] = ()
    base_href: str | None = None
    feeds: tuple[str, ...] = ()
    """Where the page says that feeds are, as written."""
    next_href: str = ""
    """Where its head says that it goes on, as written."""
    is_noindex: bool = False
    is_nofollow: bool = False
    content_hash: str = ""
    """SHA-256 of the text, hex; that of nothing when there is no text."""
    truncated_reason: str = ""
    """Set when the page has more elements than are parsed, or more blocks than are judged: how far it was read. The
    rest of it is missing here."""


def extract_content(
    body: bytes,
    content_type: str | None,
    robots_header: str | None = None,
    *,
    url: str | None = None,
    now: float | None = None,
    budget: CpuBudget | None = None,
) -> Content:
    """Read a body of any size and manners; never raises. `robots_header` is X-Robots-Tag, lines joined by newlines.

    `url` is the page's own: it helps to date it and to tell what it is. Without `now` it has no dates, for none may lie
    in the future. Of a page that costs more than it may, nothing is read. Without a budget only its memory is bounded.
    """
    try:
        return extract_with_dom(body, content_type, robots_header, url=url, now=now, budget=budget)[0]
    except ExtractLimitExceeded as error:
        return empty_content(str(error))


def empty_content(reason: str) -> Content:
    """A document of which nothing was read."""
    return Content("other", reason, content_hash=content_hash(""))


def extract_with_dom(
    body: bytes,
    content_type: str | None,
    robots_header: str | None = None,
    *,
    url: str | None = None,
    now: float | None = None,
    resolver: ResolverFactory | None = None,
    with_article: bool = True,
    with_markdown: bool = True,
    with_native: bool = True,
    robot_names: Sequence[str] = (),
    budget: CpuBudget | None = None,
) -> tuple[Content, Dom | None]:
    """The same, with the tree it was read from, for those who must look closer: a page is parsed once.

    `resolver` makes the addresses in the Markdown absolute; without one they are as written. Without the article there
    is title, description, language as declared, text and links, and nothing that takes longer. Without the kernel
    all is read in Python, as it is where there is none. `robot_names` are further names that rules for robots may mean
    us by, in lower case. Raises `ExtractLimitExceeded` for a page that costs more than it may.
    """
    sniffed = sniff_media(body, content_type)
    if sniffed.kind == "html":
        decoded = decode(body, content_type)
        charset, charset_source = decoded.charset, decoded.source
        html = decoded.utf_8 if decoded.utf_8 is not None else decoded.text.encode("utf-8", "replace")
        del decoded  # as text it may take four times as much as the page
        if len(html) > MAX_TEXT_CHARS and html.count(b"\0") > _MAX_NULS:
            html = html.translate(None, b"\0")
        dom, html_bytes = Dom(html, budget), len(html)
        del html
        is_long = (
            html_bytes > LONG_PAGE_BYTES and dom.root is not None and truncate_text(dom.root, with_native=with_native)
        )
        native_page = None
        if with_native and dom.root is not None:
            native_page = open_page(dom.root.mem_id, is_skimmed=not with_article)
        dom.scan, dom.searcher = (native_page.scan, native_page) if native_page is not None else (None, None)
        try:
            if with_article:
                read = _read_content(dom, native_page, robots_header, url, now, resolver, with_markdown, robot_names)
            else:
                read = _skim_content(dom, native_page, robots_header, robot_names)
        finally:
            dom.searcher = None
            if native_page is not None:
                native_page.close()
        return structs.replace(
            read,
            media_reason=sniffed.reason,
            charset=charset,
            charset_source=charset_source,
            truncated_reason=read.truncated_reason or _truncation_reason(dom, html_bytes, is_long),
        ), dom
    is_noindex, is_nofollow = parse_robots_hints((), robots_header, robot_names)
    if sniffed.kind == "other":
        return Content(
            "other", sniffed.reason, is_noindex=is_noindex, is_nofollow=is_nofollow, content_hash=content_hash("")
        ), None
    decoded = decode(body, content_type)
    text = plain_text(decoded.text)
    return Content(
        "text",
        sniffed.reason,
        charset=decoded.charset,
        charset_source=decoded.source,
        text=text,
        is_noindex=is_noindex,
        is_nofollow=is_nofollow,
        content_hash=content_hash(text),
    ), None


def _truncation_reason(dom: Dom, html_bytes: int, is_truncated_text: bool) -> str:
    if is_truncated_text:
        return f"read to character {MAX_TEXT_CHARS:,}, each text counted as {MIN_TEXT_CHARS} at least"
    return (
        f"read to byte {dom.truncated_at:,} of {html_bytes:,}, for it has so many elements" if dom.truncated_at else ""
    )


def _detect_language(native_page: NativePage | None, text: str, declared: str | None) -> Language:
    if native_page is not None:
        with suppress(Unsupported):
            return detect_language(text, declared, native_page.detect_language)
    return detect_language(text, declared)


def _skim_content(
    dom: Dom, native_page: NativePage | None, robots_header: str | None, robot_names: Sequence[str]
) -> Content:
    """What can be had without a second look."""
    body = skim_body(dom, native_page)
    dom.check_budget("reading its text")
    about = skim_metadata(dom, robots_header, robot_names)
    return Content(
        "html",
        title=about.document_title,
        description=about.description,
        canonical=about.canonical,
        language=about.language,
        text=body.text,
        links=body.links,
        base_href=read_base_href(dom),
        feeds=about.feeds,
        next_href=about.next_href,
        is_noindex=about.is_noindex,
        is_nofollow=about.is_nofollow,
        content_hash=content_hash(body.text),
    )


def _read_content(
    dom: Dom,
    native_page: NativePage | None,
    robots_header: str | None,
    url: str | None,
    now: float | None,
    resolver: ResolverFactory | None,
    with_markdown: bool,
    robot_names: Sequence[str],
) -> Content:
    """Everything but how the page came."""
    head = read_head(dom)
    base_href = read_base_href(dom)
    resolve = resolver(base_href) if resolver is not None else None
    body = read_body(dom, native_page, read_page_hints(head, url), resolve, with_markdown=with_markdown)
    dom.check_budget("reading its text")
    about = read_metadata(dom, robots_header, url=url, now=now, text=body.text, head=head, robot_names=robot_names)
    dom.check_budget("reading what it says about itself")
    language = _detect_language(native_page, body.article or body.text, about.language)
    return Content(
        "html",
        title=about.document_title,
        description=about.description,
        canonical=about.canonical,
        language=language.tag or None,
        language_confidence=language.confidence,
        kind=body.kind,
        headline=about.title,
        authors=about.authors,
        published=about.published,
        modified=about.modified,
        site_name=about.site_name,
        section=about.section,
        keywords=about.keywords,
        image=about.image,
        text=body.text,
        article=body.article,
        markdown=body.markdown,
        abstract=body.abstract or about.description,
        words=body.words,
        fingerprint=body.fingerprint,
        links=body.links,
        base_href=base_href,
        feeds=about.feeds,
        next_href=about.next_href,
        is_noindex=about.is_noindex,
        is_nofollow=about.is_nofollow,
        content_hash=content_hash(body.text),
        truncated_reason=f"read to block {body.truncated_at_block:,}" if body.truncated_at_block is not None else "",
    )
