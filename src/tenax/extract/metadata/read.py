"""Metadata of a page: title, authors, dates, image, language, canonical URL, robots hints and kind.

The sources of each field are tried in the order of trust below, and the first usable value is taken. Every text may be
shown on a terminal, so control characters, escape sequences and bidirectional marks are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from tenax.extract.html.dom import MAX_HEADINGS, Dom, collapse_spaces
from tenax.extract.html.head import Head, find_script_dates, parse_robots_hints, read_head
from tenax.extract.html.visible import page_text
from tenax.extract.metadata.authors import (
    choose_authors,
    filter_lone_dates,
    find_author_texts,
    find_byline,
    find_date_texts,
    find_lines_near_title,
    find_lines_with_years,
    is_byline_label,
    title_prefix,
)
from tenax.extract.metadata.dates import are_adjacent_days, filter_datable, is_near_midnight, parse_date, parse_url_date
from tenax.extract.metadata.images import content_image_href, is_shared_image
from tenax.extract.metadata.jsonld import read_jsonld, to_texts
from tenax.extract.metadata.titles import choose_title
from tenax.model import Value

MAX_TITLE_CHARS = 1_000
MAX_DESCRIPTION_CHARS = 5_000
MAX_NAME_CHARS = 200
MAX_KEYWORDS = 50
MAX_IMAGE_CANDIDATES = 30
_TEXT_CONTAINERS: Final = "article, main, [role=main], figure"

# The most trusted source comes first. "ld" is a field of this page's JSON-LD node; anything else is the name of a meta.
TITLE_SOURCES: Final = (
    *("ld headline", "dc.title", "dcterms.title", "og:title"),
    *("twitter:title", "citation_title", "parsely-title", "title"),
)
DESCRIPTION_SOURCES: Final = (
    *("description", "og:description", "twitter:description", "ld description", "dc.description"),
)
AUTHOR_SOURCES: Final = (
    *("ld authors", "citation_author", "author", "article:author", "article:author_name", "og:article:author"),
    *("dc.creator", "dcterms.creator", "dc.creator.author", "sailthru.author", "parsely-author", "byl"),
    *("shareaholic:article_author_name", "twitter:creator:name", "article_author", "authors", "creator"),
)
PUBLISHED_SOURCES: Final = (
    *("article:published_time", "og:article:published_time", "og:published_time", "article:published"),
    *("ld published", "datepublished", "citation_publication_date", "citation_online_date", "citation_date"),
    *("dcterms.issued", "dc.date.issued", "dcterms.created", "dc.date.created", "dcterms.date", "dc.date"),
    *("sailthru.date", "parsely-pub-date", "publish-date", "publish_date", "publication_date", "pubdate"),
    *("cxenseparse:recs:publishtime", "article.published", "date", "created", "originalpublicationdate"),
    *("datecreated", "timestamp"),
)
MODIFIED_SOURCES: Final = (
    *("ld modified", "article:modified_time", "og:updated_time", "og:article:modified_time", "datemodified"),
    *("dateupdate", "dcterms.modified", "dc.date.modified", "last-modified", "lastmod", "revised"),
)
IMAGE_SOURCES: Final = (
    *("og:image", "og:image:secure_url", "og:image:url", "ld image", "twitter:image", "twitter:image:src", "image"),
)
SITE_NAME_SOURCES: Final = (
    *("og:site_name", "ld site_name", "application-name", "apple-mobile-web-app-title", "dc.publisher"),
)
KEYWORD_SOURCES: Final = ("ld keywords", "article:tag", "news_keywords", "keywords", "parsely-tags", "dc.subject")
SECTION_SOURCES: Final = ("article:section", "ld section", "parsely-section", "section")

# Most pages have none of these. A set intersection checks all of them at once.
_AUTHOR_SOURCE_SET, _PUBLISHED_SOURCE_SET, _MODIFIED_SOURCE_SET = (
    frozenset(AUTHOR_SOURCES),
    frozenset(PUBLISHED_SOURCES),
    frozenset(MODIFIED_SOURCES),
)
_MONTH_FIRST_LANGUAGES = frozenset(("en", "en-US", "en-PH"))

_ESCAPE_SEQUENCE = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]?")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
_LANGUAGE_TAG = re.compile(
    r"([a-zA-Z]{2,3})(?:[-_]([a-zA-Z]{4}))?(?:[-_]([a-zA-Z]{2}|[0-9]{3}))?(?:[-_][a-zA-Z0-9]{1,8})*"
)


class Metadata(Value, frozen=True):
    """Metadata of a page. URLs are as written, not resolved; dates are ISO 8601."""

    title: str = ""
    description: str = ""
    canonical: str | None = None
    language: str | None = None
    """The language as declared."""
    is_noindex: bool = False
    is_nofollow: bool = False
    authors: tuple[str, ...] = ()
    published: str | None = None
    modified: str | None = None
    image: str | None = None
    site_name: str = ""
    section: str = ""
    keywords: tuple[str, ...] = ()
    document_title: str = ""
    """The whole <title>, or its substitute. A browser tab shows it, and block pages are recognized by it."""
    feeds: tuple[str, ...] = ()
    next_href: str = ""
    """The declared next page."""
    base_href: str | None = None


class MetadataSources:
    """The sources of metadata: the head of the page, its JSON-LD node, and the body."""

    def __init__(self, dom: Dom, url: str | None, text: str | None = None, head: Head | None = None) -> None:
        self.dom = dom
        self.head = read_head(dom) if head is None else head
        self.values_by_source = _collect_values(self.head, url)
        """Values of metas and JSON-LD by the names in the lists above. Sources without a value are missing."""
        self.site_names = _collect_site_names(self.all_values(SITE_NAME_SOURCES), url)
        """Names of the site that a title or an author may repeat, including the name of its host."""
        self.title = _choose_title(self)
        self._text = text
        self._lines: list[str] | None = None
        self._lines_with_years: Sequence[str] | None = None
        """Found by the search for the other lines; None before that search."""

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = page_text(self.dom)
        return self._text

    @property
    def lines(self) -> list[str]:
        """The lines near the title, each once. They are searched for the date and for the authors."""
        if self._lines is None:
            searcher = self.dom.searcher
            found = searcher.find_byline_lines(title_prefix(self.title)) if searcher is not None else None
            near, self._lines_with_years = found or (find_lines_near_title(self.title, self.text), None)
            self._lines = list(dict.fromkeys(near))
        return self._lines

    @property
    def lone_dates(self) -> list[str]:
        """Lines that contain little more than a date."""
        lines = self._lines_with_years
        return filter_lone_dates(find_lines_with_years(self.text) if lines is None else lines)

    def all_values(self, names: Sequence[str]) -> list[str]:
        """All values, in the order of the names."""
        return _all_values(self.values_by_source, names)

    def first_value(self, names: Sequence[str], max_chars: int) -> str:
        """The first non-empty value, safe to display."""
        return _first_value(self.values_by_source, names, max_chars)


def skim_metadata(dom: Dom, robots_header: str | None = None, robot_names: Sequence[str] = ()) -> Metadata:
    """Metadata from the head alone; see `read_metadata`."""
    head = read_head(dom)
    is_noindex, is_nofollow = _read_robots_hints(head, robots_header, robot_names)
    title = clean_text(head.title, MAX_TITLE_CHARS) or clean_text(head.meta("og:title"), MAX_TITLE_CHARS)
    return Metadata(
        title=title,
        description=_first_value(head.meta_values, DESCRIPTION_SOURCES, MAX_DESCRIPTION_CHARS),
        canonical=head.canonical,
        feeds=head.feeds,
        next_href=head.next_href,
        base_href=head.base_href,
        language=_declared_language(dom, head),
        is_noindex=is_noindex,
        is_nofollow=is_nofollow,
        document_title=title,
    )


def read_metadata(
    dom: Dom,
    robots_header: str | None = None,
    *,
    url: str | None = None,
    now: float | None = None,
    text: str | None = None,
    head: Head | None = None,
    robot_names: Sequence[str] = (),
) -> Metadata:
    """Read all metadata.

    `robots_header` is X-Robots-Tag; see `parse_robots_hints`. Without `now` there are no dates, because they need an
    upper limit. `text` and `head` are those of the page, if the caller already has them. The text is searched for a
    byline and a date near the title.
    """
    page = MetadataSources(dom, url, text, head)
    head = page.head
    is_noindex, is_nofollow = _read_robots_hints(head, robots_header, robot_names)
    language = _declared_language(dom, head)
    published, modified = _choose_dates(page, url, now, language) if now is not None else (None, None)
    return Metadata(
        title=page.title,
        description=page.first_value(DESCRIPTION_SOURCES, MAX_DESCRIPTION_CHARS),
        canonical=head.canonical,
        feeds=head.feeds,
        next_href=head.next_href,
        language=language,
        is_noindex=is_noindex,
        is_nofollow=is_nofollow,
        authors=_choose_authors(page),
        published=published,
        modified=modified,
        image=choose_image((*page.all_values(IMAGE_SOURCES), head.image_href), dom) or None,
        site_name=page.first_value(SITE_NAME_SOURCES, MAX_NAME_CHARS),
        section=page.first_value(SECTION_SOURCES, MAX_NAME_CHARS),
        keywords=_choose_keywords(page),
        document_title=clean_text(head.title, MAX_TITLE_CHARS)
        or clean_text(head.meta("og:title"), MAX_TITLE_CHARS)
        or page.title,
    )


def _collect_values(head: Head, url: str | None) -> Mapping[str, Sequence[str]]:
    if not head.scripts:
        return head.meta_values
    described = read_jsonld(head.scripts, url or head.canonical)
    # This cannot conflict with a meta, because names of metas have no spaces.
    return head.meta_values | {f"ld {name}": texts for name, texts in to_texts(described).items()}


def _collect_site_names(declared_names: Iterable[str], url: str | None) -> list[str]:
    names = [clean_text(text, MAX_NAME_CHARS) for text in declared_names]
    host = (url or "").partition("://")[2].partition("/")[0].casefold().removeprefix("www.")
    names.extend(filter(None, (host, host.rpartition(".")[0])))
    return names


def _all_values(values_by_source: Mapping[str, Sequence[str]], names: Sequence[str]) -> list[str]:
    return [text for name in names if name in values_by_source for text in values_by_source[name]]


def _first_value(values_by_source: Mapping[str, Sequence[str]], names: Sequence[str], max_chars: int) -> str:
    for name in names:
        for value in values_by_source.get(name, ()):
            if text := clean_text(value, max_chars):
                return text
    return ""


def clean_text(text: str, max_chars: int) -> str:
    """One line of text, at most `max_chars` long, safe to display anywhere."""
    # The text is sliced before it is cleaned, which bounds the cost of a title of ten megabytes.
    text = collapse_spaces(text[: 4 * max_chars])
    if not text.isprintable():
        text = " ".join(_UNPRINTABLE.sub("", _ESCAPE_SEQUENCE.sub("", text)).split())
    return text[:max_chars].rstrip()


def _read_robots_hints(head: Head, header: str | None, names: Sequence[str]) -> tuple[bool, bool]:
    further = [(name, content) for name in names for content in head.meta_values.get(name, ())]
    return parse_robots_hints((*head.robots, *further), header, names)


def _choose_title(page: MetadataSources) -> str:
    dom, titles = page.dom, page.all_values(TITLE_SOURCES)[:MAX_HEADINGS]
    title = choose_title(dom.h1_texts, titles, page.head.title, page.site_names, dom.subheading_texts)
    return clean_text(title, MAX_TITLE_CHARS)


def choose_image(hrefs: Iterable[str], dom: Dom) -> str:
    """The image that the metadata name for sharing (`hrefs`, most trusted first), or the first large one beside the
    text; its href as written, empty when there is none."""
    for href in filter(None, map(str.strip, hrefs)):
        if is_shared_image(href):
            return href
    images = dom.select_with_ancestor("img", _TEXT_CONTAINERS)
    beside_text = islice((node for node, is_inside in images if is_inside), MAX_IMAGE_CANDIDATES)
    return next(filter(None, (content_image_href(node.attributes) for node in beside_text)), "")


def _choose_authors(page: MetadataSources) -> tuple[str, ...]:
    found = choose_authors(_author_sources(page), page.site_names)
    return tuple(clean_text(name, MAX_NAME_CHARS) for name in found)


def _author_sources(page: MetadataSources) -> Iterator[Iterable[str]]:
    """The values of each source, read only when the sources before it named nobody."""
    answers = page.values_by_source
    for name in () if _AUTHOR_SOURCE_SET.isdisjoint(answers) else AUTHOR_SOURCES:
        if name in answers:
            yield answers[name]
    if (label := page.head.meta("twitter:label1")) and is_byline_label(label):
        yield (page.head.meta("twitter:data1"),)
    for text in find_author_texts(page.dom):
        yield (text,)
    if line := find_byline(page.lines):
        yield (line,)


def _choose_dates(
    page: MetadataSources, url: str | None, now: float, language: str | None
) -> tuple[str | None, str | None]:
    """Publication and modification date; each None when unknown."""
    is_month_first = (language or "en-US") in _MONTH_FIRST_LANGUAGES
    answers = page.values_by_source

    def first(texts: Iterable[str]) -> str | None:
        return next((date for text in texts if (date := parse_date(text, now, is_month_first=is_month_first))), None)

    published = None if _PUBLISHED_SOURCE_SET.isdisjoint(answers) else first(page.all_values(PUBLISHED_SOURCES))
    modified = None if _MODIFIED_SOURCE_SET.isdisjoint(answers) else first(page.all_values(MODIFIED_SOURCES))
    in_url = parse_url_date(url, now) if url else None
    if published is not None:
        # Of two timestamps by one clock, the earlier is the publication and the later the modification.
        ld_published = first(page.all_values(("ld published",)))
        published = (
            min(published, ld_published)
            if ld_published
            and ld_published[10:]
            and ld_published[19:] == published[19:]
            and are_adjacent_days(published, ld_published)
            else published
        )
        # A machine's date may be in another time zone; the URL and the visible text have the local day.
        local = in_url or (first(page.lines) if is_near_midnight(published) else None)
        return (local if local and are_adjacent_days(published, local) else published), modified
    return in_url or first(_body_date_texts(page)) or modified, modified


def _body_date_texts(page: MetadataSources) -> Iterator[str]:
    """Date texts in the body; each source is read only when those before it had none."""
    yield from find_date_texts(page.dom)
    yield from filter_datable(page.lines)
    yield from page.lone_dates
    yield from find_script_dates(page.dom)


def _choose_keywords(page: MetadataSources) -> tuple[str, ...]:
    """The keywords of the first source that has any."""
    answers = page.values_by_source
    for name in KEYWORD_SOURCES:
        if name not in answers:
            continue
        texts = [part for value in answers[name] for part in value[:MAX_DESCRIPTION_CHARS].split(",")]
        if words := [word for text in texts[:MAX_KEYWORDS] if (word := clean_text(text, MAX_NAME_CHARS))]:
            return tuple(dict.fromkeys(words))
    return ()


def _declared_language(dom: Dom, head: Head) -> str | None:
    declared, for_xml = dom.languages
    return normalize_language(declared or for_xml or "") or normalize_language(
        (head.meta("content-language") or head.meta("language")).partition(",")[0]
    )


def normalize_language(tag: str) -> str | None:
    """A language tag in BCP 47 form, such as `en`, `en-GB` or `zh-Hant-TW`; None when it is invalid."""
    return _normalize_tag(tag.strip()[:40]) if tag else None


@lru_cache(maxsize=256)
def _normalize_tag(tag: str) -> str | None:
    """Cached, because all pages of a site use the same tag."""
    found = _LANGUAGE_TAG.fullmatch(tag)
    if found is None:
        return None
    language, script, region = found.groups()
    return "-".join(filter(None, (language.lower(), (script or "").title(), (region or "").upper())))
