"""One DOM per page and one walk through it: the small interface through which the other rooms see the parser.

The parser is lexbor, by way of selectolax. Only `parser`, `node` and the kernel name it, so that a faster one can take
its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, Protocol

from tenax.extract.budget import CpuBudget
from tenax.extract.html.node import Node, tag_number
from tenax.extract.html.parser import parse
from tenax.extract.html.walk import Walk

METADATA_ATTRIBUTES: Final[Mapping[int, tuple[str, ...]]] = {
    tag_number("base"): ("href",),
    tag_number("link"): ("rel", "href", "type"),
    tag_number("meta"): ("name", "property", "itemprop", "http-equiv", "content"),
    tag_number("script"): ("type",),
}
"""The attributes in which they tell it; a <title> has none."""
_HEAD, _SCRIPT, _TITLE, _H1 = (tag_number(name) for name in ("head", "script", "title", "h1"))
_LOWER_HEADINGS: Final = frozenset((tag_number("h2"), tag_number("h3")))


class MetadataElement(NamedTuple):
    """An element that may tell what the page is, see `Walk.telling`."""

    tag: int
    is_in_head: bool
    """Whether its parent is <head>."""
    attributes: Mapping[str, str | None]
    """Those of `METADATA_ATTRIBUTES` that it has."""
    text: str | None
    """What it begins with, of <title> and JSON-LD; None for others, and for those that begin with no text."""


class PageScan(Protocol):
    """What a walk through a page gathers that its head and its metadata are read from."""

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
        """Which clauses of `bylines.AUTHORS` and `bylines.DATES` anything may match, a bit each in their order."""


class PageSearcher(Protocol):
    """Who finds something in a page quicker than those who want it, as long as it has the page open."""

    def find_byline_lines(self, title: str) -> tuple[Sequence[str], Sequence[str]] | None:
        """What `bylines.lines_around` and `bylines.lines_with_years` find in the text; None when it cannot tell.

        `title` is what `bylines.beginning_of` makes of it. There may be no lines with years where `bylines.lone_dates`
        makes nothing of them.
        """

    def may_have_script_dates(self) -> bool:
        """Whether `head.stamps` may find any; False only where it cannot."""


MAX_HEADINGS: Final = 10
MIN_VISIBLE_CHARS: Final = 200
"""With less to see than this, a page may have kept its text for readers without JavaScript."""
MIN_NOSCRIPT_CHARS: Final = 500
_CHECK_EVERY: Final = 1_000


class Dom:
    """A parsed page; for one thread."""

    __slots__ = ("_budget", "_metadata_elements", "_parser", "_walk", "root", "scan", "searcher", "truncated_at")

    def __init__(self, html: str | bytes, budget: CpuBudget | None = None) -> None:
        """Bytes are UTF-8, and valid. Raises `TooCostly`, see `parser.parse`."""
        html = html.encode("utf-8", "replace") if isinstance(html, str) else html
        self._parser, self.truncated_at = parse(html, budget)
        """`truncated_at`: the bytes that are in the tree, if not all of them."""
        self._budget = budget
        self.root: Node | None = self._parser.root
        self._walk: Walk | None = None
        self._metadata_elements: Sequence[MetadataElement] | None = None
        self.scan: PageScan | None = None
        """What the kernel saw of it, if it was asked: then nobody else walks through the page."""
        self.searcher: PageSearcher | None = None
        """Who has it open."""

    @property
    def walk(self) -> Walk:
        """The walk through the whole page, taken once: text, links and metadata share it.

        Of a page that shows next to nothing before its scripts run, what it has for those without them: we are.
        """
        if self._walk is None:
            self.check_budget("before it was walked through")
            self._walk = Walk(self.root)
            if _count_visible_chars(self._walk) < MIN_VISIBLE_CHARS and self._parser.css_first("noscript") is not None:
                unscripted = Walk(self.root, with_noscript=True)
                # Less than this is a notice, not the page.
                if _count_visible_chars(unscripted) >= MIN_NOSCRIPT_CHARS:
                    self._walk = unscripted
        return self._walk

    @property
    def metadata_elements(self) -> Sequence[MetadataElement]:
        """What its elements tell that are there to tell what the page is, in document order."""
        if self._metadata_elements is None:
            if self.scan is not None:
                self._metadata_elements = [MetadataElement(*told) for told in self.scan.metadata_elements]
            else:
                self._metadata_elements = [_read_metadata_element(node) for node in self.walk.metadata_nodes]
        return self._metadata_elements

    @property
    def h1_texts(self) -> Sequence[str]:
        """What its <h1> say: the first few."""
        if self.scan is not None:
            return self.scan.h1_texts
        walk = self.walk
        return [walk.box_text(box) for box in islice(_find_positions(walk.box_tags, _H1), MAX_HEADINGS)]

    @property
    def subheading_texts(self) -> Iterable[str]:
        """What its <h2> and <h3> say: the first few, to be asked once and read only as they are wanted."""
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
        """Elements that match a CSS selector, in document order. What is inside <template> is not searched."""
        self.check_budget("searching it")
        return self._parser.css(selector)

    def select_with_ancestor(self, tag_name: str, ancestor_selector: str) -> Iterator[tuple[Node, bool]]:
        """Every element of this name, in document order, and whether one that `ancestor_selector` selects is around it.

        Each element above them is looked at once. The selector `article img` would climb from every image to the root,
        in one call that looks at no time: minutes, for a page that nests deep and has many.
        """
        tag, found = tag_number(tag_name), self.select(f"{ancestor_selector}, {tag_name}")
        known = {node.mem_id: True for node in found if node.tag_id != tag}
        for number, node in enumerate(found):
            if number % _CHECK_EVERY == 0:
                self.check_budget("searching it")
            if node.tag_id == tag:
                yield node, bool(known) and _has_known_ancestor(node, known)

    def check_budget(self, step: str) -> None:
        """Between two steps of reading it: raises `TooCostly` when its time is used up; see `CpuBudget.check`."""
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
    """Whether it stands in an element that is known for True; what is learnt of those between is added."""
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


def _find_positions(numbers: Sequence[int], wanted: int) -> Iterator[int]:
    """Where a rare number stands among many; a loop over all of them would be slower."""
    place = -1
    for _ in range(numbers.count(wanted)):
        place = numbers.index(wanted, place + 1)
        yield place


def _count_visible_chars(walk: Walk) -> int:
    """How much there is to see, about."""
    count = 0
    for fragment in walk.fragments:
        count += len(fragment.strip())
        if count >= MIN_NOSCRIPT_CHARS:
            break
    return count
