"""Extracts the content of one body: sniff, decode, parse once, and read everything from that tree.

The type of a body is HTML to parse, plain text to keep, or something that only claims to be one of them. A page is read
with the native code, or in Python (`body`) where that does not support it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import structs

from tenax.extract.article.page_type import kind_order
from tenax.extract.body import PageBody, ResolveUrl, read_body_in_python
from tenax.extract.budget import CpuBudget, ExtractLimitExceeded
from tenax.extract.html.charset import decode
from tenax.extract.html.dom import Dom, strip_controls
from tenax.extract.html.head import (
    PageHints,
    address_word_values,
    page_hint_values,
    parse_robots_hints,
    read_head,
    read_page_hints,
)
from tenax.extract.html.links import Links, read_links
from tenax.extract.html.text_limit import LONG_PAGE_BYTES, MIN_TEXT_CHARS, truncate_text
from tenax.extract.html.visible import MAX_TEXT_CHARS, page_text, plain_text
from tenax.extract.language.detect import Language, detect_language
from tenax.extract.markdown.escape import format_href
from tenax.extract.metadata.read import read_metadata, skim_metadata
from tenax.extract.native.binding import NativePage, Unsupported, load_native, open_page
from tenax.model import PageContent, PageKind
from tenax.text.fingerprint import content_hash

MediaKind = Literal["html", "text", "other"]
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"GIF8", "GIF image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"PK\x05\x06", "ZIP archive"),
    (b"\x1f\x8b", "gzip stream"),
    (b"BZh", "bzip2 stream"),
    (b"\xfd7zXZ\x00", "xz stream"),
    (b"\x28\xb5\x2f\xfd", "zstd stream"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"\x00\x00\x01\x00", "icon"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    (b"OggS", "Ogg stream"),
    (b"ID3", "MP3 audio"),
    (b"\x7fELF", "program"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Office document"),
)
_SIGNATURES = tuple(magic for magic, _ in _MAGIC)
_RIFF = ((b"WEBP", "WebP image"), (b"WAVE", "WAVE audio"), (b"AVI ", "AVI video"))
_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"))
_UNKNOWN_TYPES = frozenset(("unknown/unknown", "application/unknown", "*/*"))
# The openings of HTML in the WHATWG MIME Sniffing standard, and a few others that are plainly markup of a page.
_HTML_OPENINGS = tuple(
    b"<" + name
    for name in (
        b"!doctype html", b"html", b"head", b"script", b"iframe", b"h1", b"div", b"font", b"table", b"a ", b"a>",
        b"style", b"title", b"b>", b"body", b"br", b"p>", b"p ", b"!--", b"meta", b"link", b"main", b"article",
    )
)  # fmt: skip
_SNIFF_BYTES = 1445
# Never part of text; tab, line breaks, form feed and escape are excluded, as in the standard.
_BINARY_BYTES = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_MAX_NULS = 10_000
"""For a long page. The parser needs 17 bytes for each; no real page has more."""

ResolverFactory: TypeAlias = Callable[[str | None], Callable[[str], str]]
"""Maps the `<base href>` of the page to a function that makes a URL of the page absolute."""


class ExtractOptions(NamedTuple):
    """What is extracted, and how."""

    resolver: ResolverFactory | None = None
    """Makes the URLs in the Markdown absolute; without it they are as written."""
    with_article: bool = True
    """False: only title, description, declared language, text and links, and nothing slower."""
    with_markdown: bool = True
    with_native: bool = True
    """False: everything is done in Python, as where no native library exists."""
    robot_names: Sequence[str] = ()
    """Additional names by which robots rules may address us, in lower case."""


DEFAULT_OPTIONS: Final = ExtractOptions()


class Content(PageContent, frozen=True, kw_only=True):
    """The content of a body. URLs are as written: the caller resolves them against the URL and `base_href`."""

    media: MediaKind
    """`other`: nothing was read, and `media_reason` says why."""
    media_reason: str = ""
    links: Links = Links()
    base_href: str | None = None
    feeds: tuple[str, ...] = ()
    """Declared feeds."""
    next_href: str = ""
    """The declared next page."""
    is_noindex: bool = False
    is_nofollow: bool = False
    truncated_reason: str = ""
    """Set when the page has more elements or text than are read, or more blocks than are scored: how far it was read.
    The rest is missing here."""


def extract_content(
    body: bytes,
    content_type: str | None,
    robots_header: str | None = None,
    *,
    url: str | None = None,
    now: float | None = None,
    budget: CpuBudget | None = None,
) -> Content:
    """Extract the content of any body; never raises. `robots_header` is X-Robots-Tag, lines joined by newlines.

    `url` is the page's own: it helps to date and classify the page. Without `now` there are no dates, because none may
    be in the future. A page that exceeds its limits yields no content. Without a budget only memory is bounded.
    """
    try:
        return extract_with_dom(body, content_type, robots_header, url=url, now=now, budget=budget)[0]
    except ExtractLimitExceeded as error:
        return empty_content(str(error))


def empty_content(reason: str) -> Content:
    """A `Content` without anything read."""
    return Content(media="other", media_reason=reason, charset="", content_hash=content_hash(""))


def extract_with_dom(
    body: bytes,
    content_type: str | None,
    robots_header: str | None = None,
    *,
    url: str | None = None,
    now: float | None = None,
    options: ExtractOptions = DEFAULT_OPTIONS,
    budget: CpuBudget | None = None,
) -> tuple[Content, Dom | None]:
    """The same, with the parsed tree for further use: a page is parsed once.

    Raises `ExtractLimitExceeded` for a page that exceeds its limits.
    """
    with_article, with_native, robot_names = options.with_article, options.with_native, options.robot_names
    sniffed = sniff_media(body, content_type)
    if sniffed.kind == "html":
        decoded = decode(body, content_type)
        charset, charset_source = decoded.charset, decoded.source
        html = decoded.utf_8 if decoded.utf_8 is not None else decoded.text.encode("utf-8", "replace")
        del decoded  # as text it may take four times the memory
        if len(html) > MAX_TEXT_CHARS and html.count(b"\0") > _MAX_NULS:
            html = html.translate(None, b"\0")
        ready = load_native() if with_native else None
        dom, html_bytes = Dom(html, budget, ready.feed if ready is not None else None), len(html)
        del html
        is_long = (
            html_bytes > LONG_PAGE_BYTES and dom.root is not None and truncate_text(dom.root, with_native=with_native)
        )
        native_page = _open_native_page(dom, is_skimmed=not with_article) if with_native else None
        dom.scan, dom.searcher = (native_page.scan, native_page) if native_page is not None else (None, None)
        try:
            if with_article:
                read = _read_content(dom, native_page, robots_header, url, now, options=options)
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
        return structs.replace(empty_content(sniffed.reason), is_noindex=is_noindex, is_nofollow=is_nofollow), None
    decoded = decode(body, content_type)
    text = plain_text(decoded.text)
    return Content(
        media="text",
        media_reason=sniffed.reason,
        charset=decoded.charset,
        charset_source=decoded.source,
        text=text,
        is_noindex=is_noindex,
        is_nofollow=is_nofollow,
        content_hash=content_hash(text),
    ), None


class SniffResult(NamedTuple):
    """The type of a body, and the reason."""

    kind: MediaKind
    reason: str


def sniff_media(body: bytes, content_type: str | None) -> SniffResult:
    """Classify a body by its declared type and its beginning; bytes that are certainly binary win."""
    if not body:
        return SniffResult("other", "empty body")
    declared = (content_type or "").partition(";")[0].strip().lower()
    shape = binary_format(body)
    if shape:
        return SniffResult("other", f"{shape} sent as {declared}" if declared else shape)
    if declared in _HTML_TYPES:
        return SniffResult("html", declared)
    if declared == "text/plain":
        return SniffResult("text", declared)
    if "/" in declared and declared not in _UNKNOWN_TYPES:
        return SniffResult("other", f"{declared} is not supported")
    return _sniff_undeclared(body)


def binary_format(body: bytes) -> str:
    """The binary format whose signature the body starts with; empty when there is none."""
    if body.startswith(_SIGNATURES):
        return next(name for magic, name in _MAGIC if body.startswith(magic))
    if body.startswith(b"RIFF"):
        return next((name for mark, name in _RIFF if body[8:12] == mark), "RIFF file")
    return "MP4 video" if body[4:8] == b"ftyp" else ""


def _sniff_undeclared(body: bytes) -> SniffResult:
    start = body[:_SNIFF_BYTES]
    if start.startswith(_UTF16_BOMS):
        start = start[2:].replace(b"\0", b"")
    opening = start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\t\n\x0c\r ")[:32].lower()
    if opening.startswith(_HTML_OPENINGS):
        return SniffResult("html", "no type declared; it starts like HTML")
    if opening.startswith(b"<?xml"):
        if b"<html" in start.lower():
            return SniffResult("html", "no type declared; it starts like XHTML")
        return SniffResult("other", "no type declared; it starts like XML")
    if len(start.translate(None, _BINARY_BYTES)) != len(start):
        return SniffResult("other", "no type declared; it contains binary bytes")
    return SniffResult("text", "no type declared; it reads like plain text")


def _open_native_page(dom: Dom, *, is_skimmed: bool) -> NativePage | None:
    if dom.root is None:
        return None
    try:
        return open_page(dom.root.mem_id, is_skimmed=is_skimmed)
    except Unsupported as refusal:
        dom.native_refusal = str(refusal)
        return None


def _truncation_reason(dom: Dom, html_bytes: int, is_truncated_text: bool) -> str:
    if is_truncated_text:
        return f"read to character {MAX_TEXT_CHARS:,} (each text counts as at least {MIN_TEXT_CHARS})"
    return f"read to byte {dom.truncated_at:,} of {html_bytes:,}: too many elements" if dom.truncated_at else ""


def _detect_language(native_page: NativePage | None, text: str, declared: str | None) -> Language:
    if native_page is not None:
        try:
            return detect_language(text, declared, native_page.detect_language)
        except Unsupported:
            pass
    return detect_language(text, declared)


def _skim_content(
    dom: Dom, native_page: NativePage | None, robots_header: str | None, robot_names: Sequence[str]
) -> Content:
    """What one quick pass yields."""
    body = _skim_body(dom, native_page)
    dom.check_budget("reading its text")
    about = skim_metadata(dom, robots_header, robot_names)
    return Content(
        media="html",
        title=about.document_title,
        description=about.description,
        canonical=about.canonical,
        language=about.language,
        text=body.text,
        links=body.links,
        base_href=about.base_href,
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
    options: ExtractOptions,
) -> Content:
    """Everything but the fields of the response."""
    head = read_head(dom)
    resolve = options.resolver(head.base_href) if options.resolver is not None else None
    body = _read_body(dom, native_page, read_page_hints(head, url), resolve, with_markdown=options.with_markdown)
    dom.check_budget("reading its text")
    names = options.robot_names
    about = read_metadata(dom, robots_header, url=url, now=now, text=body.text, head=head, robot_names=names)
    dom.check_budget("reading its metadata")
    language = _detect_language(native_page, body.article or body.text, about.language)
    return Content(
        media="html",
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
        base_href=head.base_href,
        feeds=about.feeds,
        next_href=about.next_href,
        is_noindex=about.is_noindex,
        is_nofollow=about.is_nofollow,
        content_hash=content_hash(body.text),
        truncated_reason=f"read to block {body.truncated_at_block:,}" if body.truncated_at_block is not None else "",
    )


def _skim_body(dom: Dom, native_page: NativePage | None = None) -> PageBody:
    """Only text and links."""
    if native_page is not None:
        try:
            skimmed = native_page.skim()
            return PageBody(skimmed.text, skimmed.links)
        except Unsupported as refusal:
            dom.native_refusal = str(refusal)
    return PageBody(page_text(dom), read_links(dom))


def _read_body(
    dom: Dom, native_page: NativePage | None, hints: PageHints, resolve: ResolveUrl | None, *, with_markdown: bool
) -> PageBody:
    """The whole body. `resolve` makes the URLs in the Markdown absolute; without it they are as written."""
    if native_page is not None:
        try:
            return _read_body_native(dom, native_page, hints, resolve, with_markdown)
        except Unsupported as refusal:
            dom.native_refusal = str(refusal)
    return read_body_in_python(dom, hints, resolve, with_markdown=with_markdown)


def _read_body_native(
    dom: Dom, native_page: NativePage, hints: PageHints, resolve: ResolveUrl | None, with_markdown: bool
) -> PageBody:
    answer = native_page.read(hints.title.lower(), (*page_hint_values(hints), *address_word_values(hints)))
    dom.check_budget("scoring its blocks")
    markdown = ""
    if with_markdown:
        hrefs = answer.hrefs if resolve is None else map(resolve, answer.hrefs)
        addresses = list(map(format_href, hrefs))
        dom.check_budget("resolving its URLs")
        markdown = native_page.markdown(addresses)
    return PageBody(
        answer.text,
        answer.links,
        kind_order()[answer.kind_index] if answer.kind_index >= 0 else PageKind.OTHER,
        article=answer.article,
        markdown=markdown if answer.is_clean else strip_controls(markdown),
        abstract=answer.abstract or "",
        words=answer.words,
        fingerprint=answer.fingerprint,
        truncated_at_block=answer.truncated_at_block,
    )
