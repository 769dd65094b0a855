"""Why each block of a page was kept or dropped, in words.

A learned sum decides, and no sum has one reason. So the words name what points the way the decision went, the two
strongest of it, and nothing that points the other way; where nothing does, they say so. "In a footer" means that the
page calls a part around the block so, by a tag, a role or a class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from tenax.extract.article.blocks import LONG_CHARS, Blocks
from tenax.extract.article.decision_trees import Numbers
from tenax.extract.article.features import OF_BLOCK, OF_BOX, Features
from tenax.extract.article.layout import UNREAD_TAG
from tenax.extract.html.node import tag_number

SMALL_SIGNS: Final = "by the sum of small signs"
MOST_REASONS: Final = 2

_OF_BLOCK: Final = {name: place for place, name in enumerate(OF_BLOCK)}
_OF_BOX: Final = {name: place for place, name in enumerate(OF_BOX)}

# The marks of a box that speak against what stands in it, the most telling first.
_AGAINST: Final = {
    "unshown": "hidden",
    "hidden": "in a part named as hidden",
    "nav": "in a navigation",
    "consent": "in a notice about cookies or a dialog",
    "comment": "said to be a comment",
    "related": "among links to other pages",
    "ad": "in an advertisement or an offer",
    "share": "among buttons for sharing",
    "footer": "in a footer",
    "side": "in a sidebar",
    "login": "in a form or a search",
    "byline": "about the author",
    "meta": "among dates and labels",
    "header": "in the page's header",
    "caption": "with a picture or a film",
    "list": "in a list of cards",
}
# What a text begins like, by the numbers of `marks.beginning_of`.
_BEGINNINGS: Final = (
    *("sharing", "a subscription", "links to other pages", "comments", "a note about the author", "a byline or a date"),
    *("a credit", "a legal notice", "an advertisement", "a list of tags", "a menu or a button", "references"),
)
_TITLE_TAGS: Final = {tag_number(f"h{level}") for level in range(1, 7)}
_TAGS: Final = {
    **{tag_number(name): "an item of a list" for name in ("li", "dt", "dd")},
    **{tag_number(name): "a part of a table" for name in ("td", "th", "caption")},
    **{tag_number(name): "code" for name in ("pre", "listing", "xmp")},
    tag_number("blockquote"): "a quotation",
    tag_number("figcaption"): "a caption",
}
_MOSTLY_LINKS: Final = 0.5
_FEW_CHARS: Final = 25
_MANY_TIMES: Final = 3
_MAX_HEADING_CHARS: Final = 24
_IS_MAIN: Final = ("article", "content")


class Sight:
    """One block as the reasons see it: its numbers by name, and the blocks beside it."""

    def __init__(
        self, blocks: Blocks, features: Features, kept: Sequence[bool], at: int, heading: str, times: int
    ) -> None:
        self._row: Numbers = features.of_block[at]
        self._box: Numbers = features.of_box[blocks.boxes[at]]
        self.tag = blocks.walk.box_tags[blocks.boxes[at]]
        self.heading = heading
        """The heading it stands under; its own text when it is one."""
        self.times = times
        """How often its text stands on the page."""
        self.is_title = at == features.title_at
        self.before: bool | None = kept[at - 1] if at else None
        self.after: bool | None = kept[at + 1] if at + 1 < len(kept) else None
        """Whether its neighbours were kept; None where there is none."""

    def number(self, name: str) -> float:
        return self._row[_OF_BLOCK[name]]

    def mark(self, name: str) -> float:
        """How near a box of this name is: 3 for the block's own, 0 for none around it."""
        return self._box[_OF_BOX[name]]

    @property
    def is_short(self) -> bool:
        return self.number("chars") < LONG_CHARS

    @property
    def is_prose(self) -> bool:
        return not self.is_short and self.number("link share") < _MOSTLY_LINKS

    @property
    def is_in_main(self) -> bool:
        return self.number("in range") == 1


def whys_of(blocks: Blocks, features: Features, kept: Sequence[bool]) -> list[str]:
    """A short reason for each block, from its numbers."""
    whys = []
    # What <body> is called is said of every block, and so says nothing of any.
    of_all = frozenset(name for name in _AGAINST if all(box[_OF_BOX[name]] for box in features.of_box.values()))
    heading, times = "", Counter(blocks.texts)
    for at, row in enumerate(features.of_block):
        if row[_OF_BLOCK["from heading"]] == 0:
            heading = blocks.texts[at]
        sight = Sight(blocks, features, kept, at, heading, times[blocks.texts[at]])
        reasons = _for(sight) if kept[at] else _against(sight, of_all)
        whys.append("; ".join(islice(reasons, MOST_REASONS)) or SMALL_SIGNS)
    return whys


def _for(sight: Sight) -> Iterator[str]:
    """What speaks for a block, the strongest first."""
    is_headline = sight.is_title or (sight.tag in _TITLE_TAGS and sight.after is True)
    if is_headline:
        yield "the title" if sight.is_title else "a heading above what is kept"
    if not is_headline:
        yield from _what(sight)
    if not sight.is_in_main and any(sight.mark(name) for name in _IS_MAIN):
        yield "in a part named as the article"


def _what(sight: Sight) -> Iterator[str]:
    """What it is, and whether it stands where most of the prose does."""
    what = _TAGS.get(sight.tag) or ("prose" if sight.is_prose else "")
    if what:
        yield f"{what} in the main part" if sight.is_in_main else what
    elif sight.is_short and sight.before and sight.after:
        yield "short, between kept paragraphs"
    elif sight.is_in_main:
        yield "in the main part"


def _against(sight: Sight, of_all: frozenset[str]) -> Iterator[str]:
    """What speaks against a block, the strongest first; but for the marks that all blocks have."""
    if sight.number("tag") == UNREAD_TAG:
        yield "a button or a field"
    if sight.is_title:
        yield "the title, which is told apart"
    # What is not shown is not shown, however far up that is said; of other names the nearest says most.
    marks = [name for name in _AGAINST if sight.mark(name) and name not in of_all]
    if marks:
        yield _AGAINST["unshown" if "unshown" in marks else max(marks, key=sight.mark)]
    if (share := sight.number("link share")) >= _MOSTLY_LINKS:
        yield f"{100 * share:.0f} % links"
    yield from _said(sight)
    if not sight.is_in_main:
        if sight.number("from first") < 0:
            yield "before the main part"
        elif sight.number("to last") < 0:
            yield "after the main part"
    if sight.times >= _MANY_TIMES:
        yield f"said {sight.times} times on the page"
    if sight.number("chars") < _FEW_CHARS:
        yield "only a few words"
    elif sight.is_short and sight.before is False and sight.after is False:
        yield "short, between dropped blocks"


def _said(sight: Sight) -> Iterator[str]:
    """What its own words, and those of the heading above it, say it is."""
    beginning = int(sight.number("beginning"))
    if beginning:
        yield f"begins like {_BEGINNINGS[beginning - 1]}"
    elif sight.number("heading") and sight.number("from heading") > 0:
        shown = sight.heading.replace("\n", " ")
        if len(shown) > _MAX_HEADING_CHARS:
            shown = f"{shown[:_MAX_HEADING_CHARS].rstrip()}…"
        yield f"under the heading “{shown}”"
