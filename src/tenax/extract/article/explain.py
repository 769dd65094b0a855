"""Explains in words why each block of a page was kept or dropped.

A learned sum decides, and a sum has no single reason. The explanation names the two strongest facts that support the
decision, and no fact against it. If there are none, it says so. "In a footer" means that the page marks an element
around the block as a footer, by a tag, a role or a class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from tenax.extract.article.blocks import LONG_BLOCK_CHARS, Blocks
from tenax.extract.article.decision_trees import FeatureValues
from tenax.extract.article.features import BLOCK_FEATURES, BOX_FEATURES, Features
from tenax.extract.article.layout import CONTROL_TAG
from tenax.extract.html.tree import tag_number

NO_SINGLE_REASON: Final = "by the sum of weak signals"
MAX_REASONS: Final = 2

_BLOCK_FEATURE_INDEX: Final = {name: index for index, name in enumerate(BLOCK_FEATURES)}
_BOX_FEATURE_INDEX: Final = {name: index for index, name in enumerate(BOX_FEATURES)}

# Hints of a box that count against its content, the most significant one first.
_DROP_REASONS: Final = {
    "unshown": "hidden",
    "hidden": "in a part named as hidden",
    "nav": "in a navigation",
    "consent": "in a cookie notice or a dialog",
    "comment": "in a part named as comments",
    "related": "among links to other pages",
    "ad": "in an advertisement or a promotion",
    "share": "among share buttons",
    "footer": "in a footer",
    "side": "in a sidebar",
    "login": "in a form or a search box",
    "byline": "about the author",
    "meta": "among dates and labels",
    "header": "in the page header",
    "caption": "with an image or a video",
    "list": "in a list of cards",
}
# Labels for the numbers of `class_hints.classify_beginning`.
_BEGINNING_LABELS: Final = (
    *("sharing", "a subscription", "links to other pages", "comments", "a note about the author", "a byline or a date"),
    *("a credit", "a legal notice", "an advertisement", "a list of tags", "a menu or a button", "references"),
)
_HEADING_TAGS: Final = {tag_number(f"h{level}") for level in range(1, 7)}
_TAG_LABELS: Final = {
    **{tag_number(name): "a list item" for name in ("li", "dt", "dd")},
    **{tag_number(name): "part of a table" for name in ("td", "th", "caption")},
    **{tag_number(name): "code" for name in ("pre", "listing", "xmp")},
    tag_number("blockquote"): "a quotation",
    tag_number("figcaption"): "a caption",
}
_MIN_LINK_SHARE: Final = 0.5
_MAX_TINY_CHARS: Final = 25
_MIN_REPEATS: Final = 3
_MAX_HEADING_CHARS: Final = 24
_MAIN_HINTS: Final = ("article", "content")


class BlockFacts:
    """One block as the explanations need it: its values by name, and its neighbours."""

    def __init__(
        self, blocks: Blocks, features: Features, kept: Sequence[bool], index: int, heading: str, repeats: int
    ) -> None:
        self._block_values: FeatureValues = features.block_values[index]
        self._box_values: FeatureValues = features.box_values[blocks.boxes[index]]
        self.tag = blocks.walk.box_tags[blocks.boxes[index]]
        self.heading = heading
        """The heading above the block; its own text if it is a heading."""
        self.repeats = repeats
        """How often the text of the block occurs on the page."""
        self.is_title = index == features.title_block
        self.is_previous_kept: bool | None = kept[index - 1] if index else None
        self.is_next_kept: bool | None = kept[index + 1] if index + 1 < len(kept) else None
        """Whether its neighbours were kept; None if there is no neighbour."""

    def block_feature(self, name: str) -> float:
        return self._block_values[_BLOCK_FEATURE_INDEX[name]]

    def hint_level(self, name: str) -> float:
        """How close a box with this hint is: 3 for the block's own box, 0 if no box around it has the hint."""
        return self._box_values[_BOX_FEATURE_INDEX[name]]

    @property
    def is_short(self) -> bool:
        return self.block_feature("chars") < LONG_BLOCK_CHARS

    @property
    def is_prose(self) -> bool:
        return not self.is_short and self.block_feature("link share") < _MIN_LINK_SHARE

    @property
    def is_in_main(self) -> bool:
        return self.block_feature("in range") == 1


def explain_blocks(blocks: Blocks, features: Features, kept: Sequence[bool]) -> list[str]:
    """A short reason for each block, from its values."""
    explanations = []
    # Hints on <body> apply to every block, so they explain none.
    of_all = frozenset(
        name for name in _DROP_REASONS if all(box[_BOX_FEATURE_INDEX[name]] for box in features.box_values.values())
    )
    heading, times = "", Counter(blocks.texts)
    for at, row in enumerate(features.block_values):
        if row[_BLOCK_FEATURE_INDEX["from heading"]] == 0:
            heading = blocks.texts[at]
        sight = BlockFacts(blocks, features, kept, index=at, heading=heading, repeats=times[blocks.texts[at]])
        reasons = _reasons_to_keep(sight) if kept[at] else _reasons_to_drop(sight, of_all)
        explanations.append("; ".join(islice(reasons, MAX_REASONS)) or NO_SINGLE_REASON)
    return explanations


def _reasons_to_keep(facts: BlockFacts) -> Iterator[str]:
    """What counts for a block, the strongest reason first."""
    is_headline = facts.is_title or (facts.tag in _HEADING_TAGS and facts.is_next_kept is True)
    if is_headline:
        yield "the title" if facts.is_title else "a heading above kept text"
    if not is_headline:
        yield from _describe_role(facts)
    if not facts.is_in_main and any(facts.hint_level(name) for name in _MAIN_HINTS):
        yield "in a part named as the article"


def _describe_role(facts: BlockFacts) -> Iterator[str]:
    """What the block is, and whether most of the prose is where it is."""
    what = _TAG_LABELS.get(facts.tag) or ("prose" if facts.is_prose else "")
    if what:
        yield f"{what} in the main part" if facts.is_in_main else what
    elif facts.is_short and facts.is_previous_kept and facts.is_next_kept:
        yield "short, between kept paragraphs"
    elif facts.is_in_main:
        yield "in the main part"


def _reasons_to_drop(facts: BlockFacts, common_hints: frozenset[str]) -> Iterator[str]:
    """What counts against a block, the strongest reason first. Hints that all blocks have are ignored."""
    if facts.block_feature("tag") == CONTROL_TAG:
        yield "a button or a field"
    if facts.is_title:
        yield "the title, which is stored separately"
    # A hidden element hides everything in it, at any distance. Of other hints the nearest one counts most.
    hints = [name for name in _DROP_REASONS if facts.hint_level(name) and name not in common_hints]
    if hints:
        yield _DROP_REASONS["unshown" if "unshown" in hints else max(hints, key=facts.hint_level)]
    if (share := facts.block_feature("link share")) >= _MIN_LINK_SHARE:
        yield f"{100 * share:.0f} % links"
    yield from _describe_wording(facts)
    if not facts.is_in_main:
        if facts.block_feature("from first") < 0:
            yield "before the main part"
        elif facts.block_feature("to last") < 0:
            yield "after the main part"
    if facts.repeats >= _MIN_REPEATS:
        yield f"{facts.repeats} times on the page"
    if facts.block_feature("chars") < _MAX_TINY_CHARS:
        yield "only a few words"
    elif facts.is_short and facts.is_previous_kept is False and facts.is_next_kept is False:
        yield "short, between dropped blocks"


def _describe_wording(facts: BlockFacts) -> Iterator[str]:
    """What the words of the block, and those of the heading above it, indicate."""
    beginning = int(facts.block_feature("beginning"))
    if beginning:
        yield f"begins like {_BEGINNING_LABELS[beginning - 1]}"
    elif facts.block_feature("heading") and facts.block_feature("from heading") > 0:
        shown = facts.heading.replace("\n", " ")
        if len(shown) > _MAX_HEADING_CHARS:
            shown = f"{shown[:_MAX_HEADING_CHARS].rstrip()}…"
        yield f"under the heading “{shown}”"
