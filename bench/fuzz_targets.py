"""Fuzz targets: each is a function of untrusted bytes that checks its invariants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from tenax.extract.document import Content, ExtractOptions, extract_content, extract_with_dom
from tenax.extract.html.charset import decode
from tenax.extract.html.head import parse_robots_hints
from tenax.extract.language.detect import detect_language
from tenax.extract.metadata.authors import choose_authors, find_byline
from tenax.extract.metadata.dates import are_adjacent_days, parse_date, parse_url_date
from tenax.extract.metadata.jsonld import read_jsonld
from tenax.extract.metadata.read import clean_text, normalize_language
from tenax.extract.metadata.titles import choose_title
from tenax.text.fingerprint import fingerprint_bands, fingerprint_similarity

NOW: Final = 1_700_000_000.0
TOMORROW: Final = "2023-11-16"
"""No date of a page is later, read at `NOW`: its clock may be ahead by a time zone."""
URL: Final = "https://www.example.org/news/2023/11/10/a-lighthouse-story.html?p=1"
HEADERS: Final = (
    *("text/html; charset=utf-8", "text/html", None, "text/plain", "text/html; charset=big5", "application/xhtml+xml"),
    *("text/html; charset=utf-16le", "text/html; charset=shift_jis", "text/html; charset=iso-2022-jp", "text/html;;=,"),
    *("text/html; charset=gb18030", "text/html; charset=windows-1252", "application/octet-stream", "charset='x-user"),
)
"""What a server may say of a body; the first byte of an input chooses one."""
_AGAIN: Final = b"\xc0"
_STEERING: Final = frozenset(map(chr, (*range(9), *range(0x0E, 0x20), 0x7F, 0x9B)))
"""Terminal control characters."""


def charset(data: bytes) -> None:
    decoded = decode(data[1:], _header(data))
    decoded.text.encode("utf-8")
    assert decoded.charset and decoded.source
    assert decoded.utf_8 is None or decoded.utf_8.decode("utf-8") == decoded.text


def document(data: bytes) -> None:
    """Full extraction, with native code and in Python, which must agree.

    Some inputs run twice: the result may not depend on earlier pages.
    """
    body, header = data[1:], _header(data)
    read = extract_content(body, header, "noindex", url=URL, now=NOW)
    _check_document(read)
    plain, _ = extract_with_dom(body, header, "noindex", url=URL, now=NOW, options=ExtractOptions(with_native=False))
    assert read == plain
    assert data[:1] < _AGAIN or read == extract_content(body, header, "noindex", url=URL, now=NOW)


def jsonld(data: bytes) -> None:
    """Several scripts, separated by NUL."""
    scripts = data.decode("utf-8", "replace").split("\0")
    found = read_jsonld(scripts, URL)
    texts = (found.headline, found.description, found.published, found.modified, found.image, found.site_name)
    for text in (*texts, found.section, found.language, *found.authors, *found.keywords, *found.types):
        assert isinstance(text, str)


def facts(data: bytes) -> None:
    """Dates, people, titles, languages and rules for robots, from lines of text."""
    text = data.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode("utf-8")
    lines = text.split("\n")
    for line in lines[:20]:
        for is_month_first in (False, True):
            _check_date(parse_date(line, NOW, is_month_first=is_month_first))
        _check_date(parse_url_date(f"https://example.org/{line}", NOW))
        normalize_language(line)
        detect_language(line, line)
    names = choose_authors(([line] for line in lines), lines[:2])
    assert all(name.strip() for name in names)
    find_byline(lines)
    title = choose_title(lines[:3], lines[3:6], lines[-1], lines[:1], lines[6:9])
    _check_shown([clean_text(title, 100)])
    parse_robots_hints([("robots", line) for line in lines], text)


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "charset": charset,
    "document": document,
    "facts": facts,
    "jsonld": jsonld,
}
"""By the name that is asked for, and that the files of what was found begin with."""


def _header(data: bytes) -> str | None:
    return HEADERS[data[0] % len(HEADERS)] if data else None


def _check_document(read: Content) -> None:
    _check_shown((read.title, read.headline, read.description, read.site_name, read.section))
    _check_shown((*read.authors, *read.keywords, read.text, read.article, read.markdown))
    for link in read.links:
        f"{link.href} {link.text} {link.rel}".encode()
    for moment in (read.published, read.modified):
        _check_date(moment)
    assert 0 <= read.language_confidence <= 1
    assert read.words >= 0
    if read.fingerprint:
        fingerprint_bands(read.fingerprint)
        assert fingerprint_similarity(read.fingerprint, read.fingerprint) == 1


def _check_date(moment: str | None) -> None:
    if moment is not None:
        assert moment[:10] <= TOMORROW, moment
        assert are_adjacent_days(moment, moment), moment


def _check_shown(texts: Iterable[str]) -> None:
    for text in texts:
        text.encode("utf-8")
        assert not _STEERING.intersection(text), text[:200]
