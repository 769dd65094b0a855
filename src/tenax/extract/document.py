"""The whole reading of one body: decoded, sniffed, parsed once, and everything a page yields taken from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec import structs

from tenax.extract.article.hints import hints_of
from tenax.extract.budget import CpuBudget, TooCostly
from tenax.extract.html.charset import decode
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import read_head
from tenax.extract.html.links import Link, read_base_href
from tenax.extract.html.media_type import Media, kind_of
from tenax.extract.html.text_limit import LEAST_CHARS, LONG_BYTES, shorten
from tenax.extract.language.detect import Language, language_of
from tenax.extract.metadata.read import read_metadata, robots_hints, skim_metadata
from tenax.extract.native.binding import GaveUp, Sheet, open_sheet
from tenax.extract.native_body import read_body, skim_body
from tenax.extract.text.fingerprint import content_hash
from tenax.extract.text.visible import MAX_TEXT_CHARS, plain_text
from tenax.model import PageKind, Value

_MOST_NULS = 10_000
"""Of a long page. The parser takes 17 bytes for each; with more of them it is no page that anybody wrote."""

Resolver: TypeAlias = Callable[[str | None], Callable[[str], str]]
"""Given the `<base href>` of the page, a function that makes an address of the page absolute."""


class Document(Value, frozen=True):
    """What a body yields. Hrefs are as written: the caller resolves them against the URL and `base_href`."""

    media: Media
    """`other`: nothing was read, and `media_why` says why."""
    media_why: str = ""
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
    cut_why: str = ""
    """Set when the page has more elements than are parsed, or more blocks than are judged: how far it was read. The
    rest of it is missing here."""


def read_document(
    body: bytes,
    content_type: str | None,
    robots_header: str | None = None,
    *,
    url: str | None = None,
    now: float | None = None,
    budget: CpuBudget | None = None,
) -> Document:
    """Read a body of any size and manners; never raises. `robots_header` is X-Robots-Tag, lines joined by newlines.

    `url` is the page's own: it helps to date it and to tell what it is. Without `now` it has no dates, for none may lie
    in the future. Of a page that costs more than it may, nothing is read. Without a budget only its memory is bounded.
    """
    try:
        return read_with_dom(body, content_type, robots_header, url=url, now=now, budget=budget)[0]
    except TooCostly as error:
        return unread(str(error))


def unread(why: str) -> Document:
    """A document of which nothing was read."""
    return Document("other", why, content_hash=content_hash(""))


def read_with_dom(
    body: bytes,
    content_type: str | None,
    robots_header: str | None = None,
    *,
    url: str | None = None,
    now: float | None = None,
    resolver: Resolver | None = None,
    with_article: bool = True,
    with_markdown: bool = True,
    with_kernel: bool = True,
    robot_names: Sequence[str] = (),
    budget: CpuBudget | None = None,
) -> tuple[Document, Dom | None]:
    """The same, with the tree it was read from, for those who must look closer: a page is parsed once.

    `resolver` makes the addresses in the Markdown absolute; without one they are as written. Without the article there
    is title, description, language as declared, text and links, and nothing that takes longer. Without the kernel
    all is read in Python, as it is where there is none. `robot_names` are further names that rules for robots may mean
    us by, in lower case. Raises `TooCostly` for a page that costs more than it may.
    """
    sniffed = kind_of(body, content_type)
    if sniffed.kind == "html":
        decoded = decode(body, content_type)
        charset, charset_source = decoded.charset, decoded.source
        html = decoded.utf_8 if decoded.utf_8 is not None else decoded.text.encode("utf-8", "replace")
        del decoded  # as text it may take four times as much as the page
        if len(html) > MAX_TEXT_CHARS and html.count(b"\0") > _MOST_NULS:
            html = html.translate(None, b"\0")
        dom, html_bytes = Dom(html, budget), len(html)
        del html
        is_long = html_bytes > LONG_BYTES and dom.root is not None and shorten(dom.root, with_kernel=with_kernel)
        sheet = None
        if with_kernel and dom.root is not None:
            sheet = open_sheet(dom.root.mem_id, is_skimmed=not with_article)
        dom.seen, dom.searcher = (sheet.seen, sheet) if sheet is not None else (None, None)
        try:
            if with_article:
                read = _read(dom, sheet, robots_header, url, now, resolver, with_markdown, robot_names)
            else:
                read = _skimmed(dom, sheet, robots_header, robot_names)
        finally:
            dom.searcher = None
            if sheet is not None:
                sheet.close()
        return structs.replace(
            read,
            media_why=sniffed.why,
            charset=charset,
            charset_source=charset_source,
            cut_why=read.cut_why or _cut_why(dom, html_bytes, is_long),
        ), dom
    is_noindex, is_nofollow = robots_hints((), robots_header, robot_names)
    if sniffed.kind == "other":
        return Document(
            "other", sniffed.why, is_noindex=is_noindex, is_nofollow=is_nofollow, content_hash=content_hash("")
        ), None
    decoded = decode(body, content_type)
    text = plain_text(decoded.text)
    return Document(
        "text",
        sniffed.why,
        charset=decoded.charset,
        charset_source=decoded.source,
        text=text,
        is_noindex=is_noindex,
        is_nofollow=is_nofollow,
        content_hash=content_hash(text),
    ), None


def _cut_why(dom: Dom, html_bytes: int, is_long: bool) -> str:
    if is_long:
        return f"read to character {MAX_TEXT_CHARS:,}, each text counted as {LEAST_CHARS} at least"
    return f"read to byte {dom.cut_at:,} of {html_bytes:,}, for it has so many elements" if dom.cut_at else ""


def _language(sheet: Sheet | None, text: str, declared: str | None) -> Language:
    if sheet is not None:
        with suppress(GaveUp):
            return language_of(text, declared, sheet.language)
    return language_of(text, declared)


def _skimmed(dom: Dom, sheet: Sheet | None, robots_header: str | None, robot_names: Sequence[str]) -> Document:
    """What can be had without a second look."""
    body = skim_body(dom, sheet)
    dom.check("reading its text")
    about = skim_metadata(dom, robots_header, robot_names)
    return Document(
        "html",
        title=about.window_title,
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


def _read(
    dom: Dom,
    sheet: Sheet | None,
    robots_header: str | None,
    url: str | None,
    now: float | None,
    resolver: Resolver | None,
    with_markdown: bool,
    robot_names: Sequence[str],
) -> Document:
    """Everything but how the page came."""
    head = read_head(dom)
    base_href = read_base_href(dom)
    resolve = resolver(base_href) if resolver is not None else None
    body = read_body(dom, sheet, hints_of(head, url), resolve, with_markdown=with_markdown)
    dom.check("reading its text")
    about = read_metadata(dom, robots_header, url=url, now=now, text=body.text, head=head, robot_names=robot_names)
    dom.check("reading what it says about itself")
    language = _language(sheet, body.article or body.text, about.language)
    return Document(
        "html",
        title=about.window_title,
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
        cut_why=f"read to block {body.cut_at:,}" if body.cut_at is not None else "",
    )
