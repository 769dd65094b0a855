"""The base of all values, and the content of a page. Its fields are defined here and nowhere else.

Extraction returns these fields, and a reader sends them. The stored page, its line of JSON, its CSV columns and the
table in the documents take their fields from `PageContent`. A new field is one line here, and its extraction.
"""

from __future__ import annotations

from enum import StrEnum
from operator import attrgetter
from typing import Final

import msgspec


class Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """A frozen value. When it is stored, fields with their default value are left out."""


class PageKind(StrEnum):
    """The type of a page."""

    ARTICLE = "article"
    HUB = "hub"
    """A list of other pages: a home page, a section, a search."""
    PRODUCT = "product"
    FORUM = "forum"
    DOCUMENTATION = "documentation"
    OTHER = "other"


class PageContent(Value, frozen=True):
    """What is extracted from a page and stored with it, in the order of its public forms."""

    title: str = ""
    """The title that a browser tab shows."""
    description: str = ""
    """The description that the page declares."""
    kind: PageKind = PageKind.OTHER
    """`article`, `hub`, `product`, `forum`, `documentation` or `other`."""
    language: str | None = None
    """The language tag of the text, such as `en` or `pt-BR`."""
    language_confidence: float = 0.0
    """How certain the language is, from 0 to 1."""
    headline: str = ""
    """The title of the content, without the name of the site."""
    authors: tuple[str, ...] = ()
    """The names of the authors."""
    published: str | None = None
    """The publication date in ISO 8601, a date or a time; never in the future."""
    modified: str | None = None
    """The modification date in ISO 8601."""
    site_name: str = ""
    """The name of the site, as the page declares it."""
    section: str = ""
    """The section of the site, as the page declares it."""
    keywords: tuple[str, ...] = ()
    """The keywords that the page declares."""
    image: str | None = None
    """The URL of the lead image."""
    abstract: str = ""
    """The first paragraph of the article, or the description."""
    words: int = 0
    """The number of words of the article; in scripts without spaces two characters count as one."""
    canonical: str | None = None
    """The canonical URL that the page declares."""
    content_hash: str = ""
    """SHA-256 of `text`, in hex."""
    charset: str = "utf-8"
    """The character encoding."""
    charset_source: str = ""
    """Which source declared the encoding."""
    fingerprint: bytes = b""
    """The fingerprint of the article, for similarity; empty if there is none. Not in events."""
    text: str = ""
    """All visible text, one line per block."""
    article: str = ""
    """The main content as plain text, one paragraph per line."""
    markdown: str = ""
    """The main content as Markdown; empty if `extract.markdown` is off."""


CONTENT_FIELDS: Final = PageContent.__struct_fields__
TEXT_FIELDS: Final = ("text", "article", "markdown")
"""The long texts. They are stored and sent apart from the other fields."""
INTERNAL_FIELDS: Final = frozenset({"charset_source", "fingerprint"})
"""Fields that are not in lines of JSON and CSV."""

content_values = attrgetter(*CONTENT_FIELDS)
"""The values of these fields in order: `Page(*content_values(extracted), url=…)`."""
