"""One DOM per page and one walk through it: the small interface through which other packages use the parser.

The parser is lexbor, through selectolax. Only `parser`, `tree` and the native code name it, so it can be replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, Protocol

from tenax.extract.budget import CpuBudget
from tenax.extract.html.parser import parse
from tenax.extract.html.tree import BREAK, Feeder, Node, Walk, tag_number

METADATA_ATTRIBUTES: Final[Mapping[int, tuple[str, ...]]] = {
    tag_number("base"): ("href",),
    tag_number("link"): ("rel", "href", "type"),
    tag_number("meta"): ("name", "property", "itemprop", "http-equiv", "content"),
    tag_number("script"): ("type",),
}
"""The attributes read from metadata elements; a <title> has none."""
_HEAD, _SCRIPT, _TITLE, _H1 = (tag_number(name) for name in ("head", "script", "title", "h1"))
_LOWER_HEADINGS: Final = frozenset((tag_number("h2"), tag_number("h3")))


class MetadataElement(NamedTuple):
    """An element that may describe the page, see `Walk.metadata_nodes`."""

    tag: int
    is_in_head: bool
    """Whether its parent is <head>."""
    attributes: Mapping[str, str | None]
    """Those of `METADATA_ATTRIBUTES` that it has."""
    text: str | None
    """The leading text of <title> and JSON-LD; None for other elements, and for those that do not begin with a text."""


class PageScan(Protocol):
    """The result of a walk that head and metadata are read from."""

    @property
    def metadata_elements(self) -> Sequence[tuple[int, bool, Mapping[str, str | None], str | None]]:
        """See `MetadataElement`."""

    @property
    def languages(self) -> tuple[str | None, str | None]: ...
    @property
    def h1_texts(self) -> Sequence[str]: ...
    @property
    def subheading_texts(self) -> Sequence[str]: ...
    @property
    def byline_clauses(self) -> int:
        """The clauses of `authors.AUTHOR_SELECTORS` and `authors.DATE_SELECTORS` that may match, one bit for each, in
        their order."""


class PageSearcher(Protocol):
    """Searches an open page faster than Python does."""

    def find_byline_lines(self, title: str) -> tuple[Sequence[str], Sequence[str]] | None:
        """The results of `authors.find_lines_near_title` and `authors.find_lines_with_years`; None if unknown.

        `title` is the result of `authors.title_prefix`. Lines with years may be missing if `authors.filter_lone_dates`
        would return nothing.
        """

    def may_have_script_dates(self) -> bool:
        """Whether `head.find_script_dates` may find a date. False only if it cannot."""


MAX_HEADINGS: Final = 10
MIN_VISIBLE_CHARS: Final = 200
"""A page with less visible text may have its content in <noscript>."""
MIN_NOSCRIPT_CHARS: Final = 500
_CHECK_EVERY: Final = 1_000


class Dom:
    """A parsed page. For one thread."""

    __slots__ = (
        "_budget",
        "_metadata_elements",
        "_parser",
        "_walk",
        "native_refusal",
        "root",
        "scan",
        "searcher",
        "truncated_at",
    )

    def __init__(self, html: str | bytes, budget: CpuBudget | None = None, feeder: Feeder | None = None) -> None:
        """Bytes must be valid UTF-8. Raises `ExtractLimitExceeded`, see `parser.parse`."""
        html = html.encode("utf-8", "replace") if isinstance(html, str) else html
        self._parser, self.truncated_at = parse(html, budget, feeder)
        """`truncated_at`: the number of bytes in the tree; None: all of them."""
        self._budget = budget
        self.root: Node | None = self._parser.root
        self._walk: Walk | None = None
        self._metadata_elements: Sequence[MetadataElement] | None = None
        self.scan: PageScan | None = None
        """The result of the native walk, if there was one. Then Python does not walk through the page."""
        self.searcher: PageSearcher | None = None
        """The native page while it is open."""
        self.native_refusal = ""
        """Why the native code did not read this page, if it was asked to."""

    @property
    def walk(self) -> Walk:
        """The walk through the whole page. It is made once: text, links and metadata share it.

        A page that shows almost nothing without scripts is walked with the content of <noscript>.
        """
        if self._walk is None:
            self.check_budget("before walking through it")
            self._walk = Walk(self.root)
            if _count_visible_chars(self._walk) < MIN_VISIBLE_CHARS and self._parser.css_first("noscript") is not None:
                unscripted = Walk(self.root, with_noscript=True)
                # Less text than this is a notice, not the page.
                if _count_visible_chars(unscripted) >= MIN_NOSCRIPT_CHARS:
                    self._walk = unscripted
        return self._walk

    @property
    def metadata_elements(self) -> Sequence[MetadataElement]:
        """The elements that describe the page, in document order."""
        if self._metadata_elements is None:
            if self.scan is not None:
                self._metadata_elements = [MetadataElement(*fields) for fields in self.scan.metadata_elements]
            else:
                self._metadata_elements = [_read_metadata_element(node) for node in self.walk.metadata_nodes]
        return self._metadata_elements

    @property
    def h1_texts(self) -> Sequence[str]:
        """The texts of the first few <h1>."""
        if self.scan is not None:
            return self.scan.h1_texts
        walk = self.walk
        return [walk.box_text(box) for box in islice(_find_positions(walk.box_tags, _H1), MAX_HEADINGS)]

    @property
    def subheading_texts(self) -> Iterable[str]:
        """The texts of the first few <h2> and <h3>. They can be iterated once, and are read lazily."""
        if self.scan is not None:
            return self.scan.subheading_texts
        walk = self.walk
        return islice(
            (walk.box_text(box) for box, tag in enumerate(walk.box_tags) if tag in _LOWER_HEADINGS), MAX_HEADINGS
        )

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """The `lang` and the `xml:lang` of the whole page, as written."""
        if self.scan is not None:
            return self.scan.languages
        attributes = self.root.attributes if self.root is not None else {}
        return attributes.get("lang"), attributes.get("xml:lang")

    def select(self, selector: str) -> Sequence[Node]:
        """Elements that match a CSS selector, in document order. Does not search inside <template>."""
        self.check_budget("searching it")
        return self._parser.css(selector)

    def select_with_ancestor(self, tag_name: str, ancestor_selector: str) -> Iterator[tuple[Node, bool]]:
        """Every element with this name, in document order, and whether it is inside of an element that matches
        `ancestor_selector`.

        Each ancestor is examined once, and the time is checked meanwhile. The selector `article img` would walk from
        every image to the root in one call without checking the time, which takes minutes for a deeply nested page with
        many images.
        """
        tag, found = tag_number(tag_name), self.select(f"{ancestor_selector}, {tag_name}")
        known = {node.mem_id: True for node in found if node.tag_id != tag}
        for number, node in enumerate(found):
            if number % _CHECK_EVERY == 0:
                self.check_budget("searching it")
            if node.tag_id == tag:
                yield node, bool(known) and _has_known_ancestor(node, known)

    def check_budget(self, step: str) -> None:
        """Call between two steps: raises `ExtractLimitExceeded` when the time is used up; see `CpuBudget.check`."""
        if self._budget is not None:
            self._budget.check(step)


def _read_metadata_element(node: Node) -> MetadataElement:
    tag, parent = node.tag_id, node.parent
    attributes: dict[str, str | None] = {}
    if names := METADATA_ATTRIBUTES.get(tag):
        written = node.attributes
        attributes = {name: written[name] for name in names if name in written}
    is_read = tag == _TITLE or (tag == _SCRIPT and "ld+json" in (attributes.get("type") or "").lower())
    child = node.first_child if is_read else None
    return MetadataElement(
        tag,
        parent is not None and parent.tag_id == _HEAD,
        attributes,
        child.text_content if child is not None else None,
    )


def _has_known_ancestor(node: Node, known: dict[int, bool]) -> bool:
    """Whether an ancestor is known as True. Adds the results for the ancestors in between."""
    answer, passed, above = False, [], node.parent
    while above is not None:
        number = above.mem_id
        if number in known:
            answer = known[number]
            break
        passed.append(number)
        above = above.parent
    known.update(dict.fromkeys(passed, answer))
    return answer


def _find_positions(numbers: Sequence[int], number: int) -> Iterator[int]:
    """The positions of a rare number among many; faster than a loop."""
    position = -1
    for _ in range(numbers.count(number)):
        position = numbers.index(number, position + 1)
        yield position


def _count_visible_chars(walk: Walk) -> int:
    """The approximate number of visible characters."""
    count = 0
    for fragment in walk.fragments:
        count += len(fragment.strip())
        if count >= MIN_NOSCRIPT_CHARS:
            break
    return count


# ---- text -------------------------------------------------------------------------------------------------

# Text is also shown in terminals and logs: escapes are removed. Tabs and line breaks are handled separately.
_CONTROLS = bytes([*range(0x09), *range(0x0E, 0x20), 0x7F])
_REPEATED_SPACES = re.compile("  +")


def visible_text(walk: Walk, max_chars: int) -> str:
    """The visible text of a walk in document order, one line per block; never contains NUL."""
    return strip_controls(join_lines(map(str.strip, "".join(walk.fragments).split(BREAK))))[:max_chars]


def join_lines(lines: Iterable[str]) -> str:
    """Drop empty lines and collapse white space within the others, by whole-string passes."""
    raw = BREAK.join(filter(None, lines))
    for blank in "\n\t\r\f\v\xa0\x1c\x1d\x1e\x1f":
        if blank in raw:
            raw = raw.replace(blank, " ")
    # Searched from the end, which Python does a third faster; many pages have none.
    if raw.rfind("  ") >= 0:
        raw = _REPEATED_SPACES.sub(" ", raw)
    return raw.replace(BREAK, "\n")


def collapse_spaces(text: str) -> str:
    """The text with white space collapsed to single spaces and stripped; most short texts need no change."""
    # Of all white space only the space is printable.
    if text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    return " ".join(text.split())


def strip_controls(text: str) -> str:
    """The text without control characters other than white space."""
    # On bytes: in UTF-8 these controls are single bytes and part of no other character. Faster than a regular
    # expression.
    encoded = text.encode("utf-8", "replace")
    kept = encoded.translate(None, _CONTROLS)
    if len(kept) != len(encoded):
        text = kept.decode("utf-8")
    return text.replace("\x9b", "") if "\x9b" in text else text
