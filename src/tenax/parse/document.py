"""The whole reading of one body: decoded, sniffed, parsed once, and everything a page yields taken from it."""

from __future__ import annotations

from tenax.model import PageKind, Value
from tenax.parse.bounds import bounded
from tenax.parse.charset import decode
from tenax.parse.fingerprint import content_hash
from tenax.parse.html import Dom
from tenax.parse.links import Link, read_base_href, read_links
from tenax.parse.metadata import read_metadata, robots_hints
from tenax.parse.sniff import Media, kind_of
from tenax.parse.text import page_text, plain_text, visible_text

FEW_CHARS = 200
"""With less to see than this, a page may have kept its text for readers without JavaScript."""
UNSCRIPTED_CHARS = 500
"""Less than this in `<noscript>` is a notice, not the page."""


class Document(Value, frozen=True):
    """What a body yields. Hrefs are as written: the caller resolves them against the URL and `base_href`."""

    media: Media
    """`other`: nothing was read, and `media_why` says why."""
    media_why: str = ""
    title: str = ""
    description: str = ""
    canonical: str | None = None
    language: str | None = None
    kind: PageKind = PageKind.PAGE
    charset: str = ""
    charset_source: str = ""
    text: str = ""
    links: tuple[Link, ...] = ()
    base_href: str | None = None
    is_noindex: bool = False
    is_nofollow: bool = False
    content_hash: str = ""
    """SHA-256 of the text, hex; that of nothing when there is no text."""
    cut_why: str = ""
    """Set when the page was too costly to parse whole: what it did. The rest of it is missing here."""


def read_document(body: bytes, content_type: str | None, robots_header: str | None = None) -> Document:
    """Read a body of any size and manners; never raises. `robots_header` is X-Robots-Tag, lines joined by newlines."""
    return read_with_dom(body, content_type, robots_header)[0]


def read_with_dom(
    body: bytes, content_type: str | None, robots_header: str | None = None
) -> tuple[Document, Dom | None]:
    """The same, with the tree it was read from, for those who must look closer: a page is parsed once."""
    sniffed = kind_of(body, content_type)
    if sniffed.kind == "html":
        return _read_html(body, content_type, robots_header, sniffed.why)
    is_noindex, is_nofollow = robots_hints((), robots_header)
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


def _read_html(
    body: bytes, content_type: str | None, robots_header: str | None, media_why: str
) -> tuple[Document, Dom]:
    decoded = decode(body, content_type)
    markup = bounded(decoded.text)
    dom = Dom(decoded.utf_8 if decoded.utf_8 is not None and markup.html is decoded.text else markup.html)
    text = _readable(dom)
    about = read_metadata(dom, robots_header)
    return Document(
        "html",
        media_why,
        title=about.title,
        description=about.description,
        canonical=about.canonical,
        language=about.language,
        kind=about.kind,
        charset=decoded.charset,
        charset_source=decoded.source,
        text=text,
        links=read_links(dom),
        base_href=read_base_href(dom),
        is_noindex=about.is_noindex,
        is_nofollow=about.is_nofollow,
        content_hash=content_hash(text),
        cut_why=markup.why,
    ), dom


def _readable(dom: Dom) -> str:
    """The visible text. Of a page that shows nothing before its scripts run, what it has for those without: we are."""
    text = page_text(dom)
    if len(text) >= FEW_CHARS:
        return text
    unscripted = "\n".join(filter(None, map(visible_text, dom.select("noscript"))))
    return unscripted if len(unscripted) >= UNSCRIPTED_CHARS else text
