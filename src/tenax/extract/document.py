"""Extracts the content of one body: sniff, decode, parse once, limit the text, and read everything from that tree.

Extraction needs many times the size of the text: the whole text, the article and the Markdown, each in several steps.
The text is limited once, before any step. Elements stay, and so do links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec import structs

from tenax.extract.body import read_body, skim_body
from tenax.extract.budget import CpuBudget, ExtractLimitExceeded
from tenax.extract.html.charset import decode
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import read_head, read_page_hints
from tenax.extract.html.links import Links, read_base_href
from tenax.extract.html.media_type import MediaKind, sniff_media
from tenax.extract.html.parser import remove_node, truncate_text_node
from tenax.extract.html.tree import SKIPPED_TAGS, Node, tag_number
from tenax.extract.language.detect import Language, detect_language
from tenax.extract.metadata.read import parse_robots_hints, read_metadata, skim_metadata
from tenax.extract.native.binding import NativePage, Unsupported, load_native, open_page
from tenax.extract.text.visible import MAX_TEXT_CHARS, plain_text
from tenax.model import PageContent
from tenax.text.fingerprint import content_hash

MIN_TEXT_CHARS: Final = 12
"""Each text counts at least this much: a short text takes more memory than its characters."""
LONG_PAGE_BYTES: Final = 500_000
"""A shorter page needs no check: it cannot contain that many texts."""
# On a page that shows nothing else, <noscript> is read.
_SKIPPED_TAGS: Final = SKIPPED_TAGS - {tag_number("noscript")}


def truncate_text(root: Node, max_chars: int = MAX_TEXT_CHARS, *, with_native: bool = True) -> bool:
    """Keep `max_chars` characters of the texts that may be visible, blank ones not counted; whether there were more.

    Short texts count more than their length, see `MIN_TEXT_CHARS`.
    """
    ready = load_native() if with_native else None
    if ready is not None:
        return ready.truncate_text(root.mem_id, max_chars)
    return _truncate_in_python(root, max_chars)


def _truncate_in_python(root: Node, max_chars: int) -> bool:
    left, is_cut, end = max_chars, False, root.mem_id
    node: Node | None = root
    while node is not None:
        text = node.text_content
        if text is None:
            child = node.first_child if node.tag_id not in _SKIPPED_TAGS else None
            node = child if child is not None else _next_outside(node, end)
            continue
        following = _next_outside(node, end)
        chars = 0 if is_cut or not text or text.isspace() else max(len(text), MIN_TEXT_CHARS)
        if is_cut or (chars and not left):
            remove_node(node.mem_id)
            is_cut = True
        elif chars > left:
            truncate_text_node(node.mem_id, len(text[:left].encode("utf-8", "replace")))
            is_cut = True
        else:
            left -= chars
        node = following
    return is_cut


def _next_outside(node: Node, end: int) -> Node | None:
    """The node after this one and its descendants."""
    while node.mem_id != end:
        following = node.next
        if following is not None:
            return following
        above = node.parent
        if above is None:
            return None
        node = above
    return None


_MAX_NULS = 10_000
"""For a long page. The parser needs 17 bytes for each; no real page has more."""

ResolverFactory: TypeAlias = Callable[[str | None], Callable[[str], str]]
"""Maps the `<base href>` of the page to a function that makes a URL of the page absolute."""


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
    resolver: ResolverFactory | None = None,
    with_article: bool = True,
    with_markdown: bool = True,
    with_native: bool = True,
    robot_names: Sequence[str] = (),
    budget: CpuBudget | None = None,
) -> tuple[Content, Dom | None]:
    """The same, with the parsed tree for further use: a page is parsed once.

    `resolver` makes the URLs in the Markdown absolute; without it they are as written. `with_article=False` extracts
    only title, description, declared language, text and links, and nothing slower. `with_native=False` does everything
    in Python, as where no native library exists. `robot_names` are additional names by which robots rules may address
    us, in lower case. Raises `ExtractLimitExceeded` for a page that exceeds its limits.
    """
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
    body = skim_body(dom, native_page)
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
    """Everything but the fields of the response."""
    head = read_head(dom)
    base_href = read_base_href(dom)
    resolve = resolver(base_href) if resolver is not None else None
    body = read_body(dom, native_page, read_page_hints(head, url), resolve, with_markdown=with_markdown)
    dom.check_budget("reading its text")
    about = read_metadata(dom, robots_header, url=url, now=now, text=body.text, head=head, robot_names=robot_names)
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
        base_href=base_href,
        feeds=about.feeds,
        next_href=about.next_href,
        is_noindex=about.is_noindex,
        is_nofollow=about.is_nofollow,
        content_hash=content_hash(body.text),
        truncated_reason=f"read to block {body.truncated_at_block:,}" if body.truncated_at_block is not None else "",
    )
