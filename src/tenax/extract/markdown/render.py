"""The kept blocks of a page as Markdown: CommonMark with the tables of GFM, every word of them and no other.

The tree of boxes says where a block stands (in a list, a quote, a heading, a table), and each kept run is read once
more from the DOM for its links and emphasis. What is not kept is not entered.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, compress
from typing import Final

from tenax.extract.article.blocks import Blocks
from tenax.extract.html.node import Node, tag_number
from tenax.extract.html.walk import BORDERS, BREAK
from tenax.extract.markdown.escape import begun, escaped, fenced, heading
from tenax.extract.markdown.inline import (
    EM,
    STRONG,
    Paragraph,
    Resolve,
    linked,
    one_line,
    paragraph,
    picture,
    run_of,
)
from tenax.extract.markdown.structure import Place, Places
from tenax.extract.markdown.tables import table_text
from tenax.extract.markdown.writer import Sheet
from tenax.extract.text.visible import inert

NEAR_BOXES: Final = 2
"""Boxes from a kept block up to one that holds an image as well, for the image to belong to it."""
MAX_PICTURE_BOXES: Final = 2
"""Boxes from there down to the image."""
MAX_PICTURE_STEPS: Final = 24

_HR, _CODE, _A, _NOSCRIPT = map(tag_number, ("hr", "code", "a", "noscript"))
_SEPARATORS = re.compile(r"[\x1c-\x1f]")  # white space to Python, and to the blocks
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight)-(?!(?:none|default)(?:\s|$))([\w+#.-]{1,30})(?=\s|$)"
)


def markdown_of(blocks: Blocks, kept: Sequence[bool], resolve: Resolve | None = None) -> str:
    """The kept blocks in the order of the page; addresses as written, or as `resolve` gives them."""
    page = _Page(blocks, kept, resolve)
    page.write()
    return page.sheet.text()


class _Page:
    def __init__(self, blocks: Blocks, kept: Sequence[bool], resolve: Resolve | None) -> None:
        self.blocks, self.kept, self.resolve = blocks, kept, resolve
        self.walk = blocks.walk
        self.sheet = Sheet()
        self._before = [*accumulate(kept, initial=0)]
        self._places = Places(blocks, self._before)
        self._languages: dict[str, str] = {}
        self._used_link = -1
        self._shown = 0
        """How many images were met in the run that was read last."""
        self._borders = BORDERS | {_NOSCRIPT} if _NOSCRIPT in blocks.walk.box_tags else BORDERS
        tags = self.walk.box_tags
        self._rules = [*compress(range(len(tags)), map(_HR.__eq__, tags))] if _HR in tags else []
        self._rule_runs = [self.walk.box_firsts[box] for box in self._rules]
        starts = self.walk.run_starts
        self._illustrated = {bisect_left(starts, place) - 1 for place in self.walk.image_places}
        """The runs with images between them and the next; -1 for those before the first."""

    def write(self) -> None:
        runs, boxes, illustrated, places = self.blocks.runs, self.blocks.boxes, self._illustrated, self._places
        last = -1
        for block in compress(range(len(runs)), self.kept):
            run = runs[block]
            if run <= last:
                continue  # it was added with what it is part of
            if last >= 0 and self._rules:
                self._add_rule(last, run)
            if run - 1 in illustrated and (run == 0 or not self._is_kept(run - 1)):
                self._add_pictures(run - 1, 0)
            place = places.of(boxes[block])
            # The short way, which most runs take.
            if place.owner < 0 and not place.is_term and (text := self._plain(run, block)) is not None:
                last, self._shown = run, 0
                if text:
                    self.sheet.add(place.chain, text)
            else:
                last = self._add(place, run)
            if last in illustrated and self._is_kept(last):
                self._add_pictures(last, self._shown)

    def _add(self, place: Place, run: int) -> int:
        """Add what the run is part of, and give the last run of it."""
        self._shown = 0
        if place.owner < 0:
            self._add_run(place, run)
            return run
        last = self.walk.box_ends[place.owner] - 1
        if place.table is not None:
            self._add_table(place)
        elif place.is_code:
            self._add_code(place)
        elif text := self._on_one_line(run, last + 1, STRONG):
            self.sheet.add(place.chain, heading(place.level, text))
        return last

    def _is_kept(self, run: int) -> bool:
        """Whether anything of a run is kept."""
        firsts = self.blocks.first_of_run
        return self._before[firsts[run + 1]] > self._before[firsts[run]]

    def _add_run(self, place: Place, run: int) -> None:
        """Add the kept paragraphs of a run."""
        first, end = self.blocks.first_of_run[run], self.blocks.first_of_run[run + 1]
        read = run_of(self.walk.run_nodes[run], self._link_around(run), self._borders, self.resolve)
        # The last run of a page that was read in part has more paragraphs than blocks.
        for block, lines in zip(range(first, end), read.paragraphs, strict=False):
            if self.kept[block]:
                self._add_paragraph(place, lines)
        self._shown = read.pictures

    def _add_paragraph(self, place: Place, lines: Paragraph) -> None:
        if place.is_term:
            text = one_line(lines, EM | STRONG)
            text = f"**{text}**" if text else ""
        else:
            text = paragraph(lines)
        if text:
            self.sheet.add(place.chain, text)

    def _plain(self, run: int, block: int) -> str | None:
        """A run as Markdown if all of its text is one node, in its box itself and in no link; None of any other."""
        walk, firsts, text = self.walk, self.blocks.first_of_run, self.blocks.texts[block]
        start, fragments = walk.run_starts[run], walk.fragments
        if firsts[run + 1] - firsts[run] != 1 or "\n" in text:
            return None
        if start + 1 < len(fragments) and fragments[start + 1] != BREAK:
            return None
        at = bisect_left(walk.link_starts, start) - 1
        if at >= 0 and walk.link_ends[at] > start and at != self._used_link and self._href_of(at):
            return None
        parent = walk.run_nodes[run].parent
        return begun(escaped(text)) if parent is not None and parent.tag_id in self._borders else None

    def _lone_text(self, run: int) -> str | None:
        """The text of a run that is all of its box and stands in no link, as in most cells; None of any other."""
        walk, node = self.walk, self.walk.run_nodes[run]
        if node.next is not None or (parent := node.parent) is None or parent.tag_id not in self._borders:
            return None
        at = bisect_left(walk.link_starts, walk.run_starts[run]) - 1
        if at >= 0 and walk.link_ends[at] > walk.run_starts[run]:
            return None
        return " ".join(walk.fragments[walk.run_starts[run]].split())

    def _link_around(self, run: int) -> str:
        """Where a link leads that began before the run: for the first run it is around, as on a card with a title."""
        walk = self.walk
        start = walk.run_starts[run]
        at = bisect_left(walk.link_starts, start) - 1
        if at < 0 or walk.link_ends[at] <= start or at == self._used_link:
            return ""
        self._used_link = at
        return self._href_of(at)

    def _href_of(self, link: int) -> str:
        node = self.walk.leading[link]
        return linked(node, self.resolve) if node.tag_id == _A else ""

    def _on_one_line(self, run: int, end: int, but: int) -> str:
        """The kept blocks of some runs."""
        said = []
        firsts = self.blocks.first_of_run
        for at in range(run, end):
            if self._is_kept(at):
                if (text := self._lone_text(at)) is not None:
                    said.append(escaped(text))
                    self._shown = 0
                    continue
                read = run_of(self.walk.run_nodes[at], self._link_around(at), self._borders, self.resolve)
                self._shown = read.pictures
                shown = zip(range(firsts[at], firsts[at + 1]), read.paragraphs, strict=False)
                said += [one_line(lines, but) for block, lines in shown if self.kept[block]]
        return " ".join(filter(None, said))

    def _add_table(self, place: Place) -> None:
        table, walk = place.table, self.walk
        assert table is not None

        def said(box: int, is_head: bool) -> str:
            return self._on_one_line(walk.box_firsts[box], walk.box_ends[box], STRONG if is_head else 0)

        captions = [(box, begun(said(box, False))) for box in table.captions]
        rows = (table.first_row, table_text(table, said))
        # Where they stand on the page: some write them below.
        for _, text in sorted([*captions, rows]):
            if text:
                self.sheet.add(place.chain, text)

    def _add_code(self, place: Place) -> None:
        """Add preformatted text as it is written; of one that is kept in part, the kept blocks."""
        box, blocks, walk = place.owner, self.blocks, self.walk
        first, end = blocks.span(box)
        if self._before[end] - self._before[first] < end - first:
            texts = [
                text for text, is_kept in zip(blocks.texts[first:end], self.kept[first:end], strict=True) if is_kept
            ]
        else:
            begin, stop = walk.run_starts[walk.box_firsts[box]], len(walk.fragments)
            if walk.box_ends[box] < len(walk.run_starts):
                stop = walk.run_starts[walk.box_ends[box]]
            # The indentation of the first line may be a text of its own.
            while begin and walk.fragments[begin - 1] != BREAK and walk.fragments[begin - 1].isspace():
                begin -= 1
            raw = "".join(walk.fragments[begin:stop])
            if any(walk.run_boxes[run] != box for run in range(walk.box_firsts[box], walk.box_ends[box])):
                # Where a box ends another begins: one break, not two.
                raw = raw.replace(BREAK * 2, BREAK)
            texts = [raw.replace(BREAK, "\n").replace("\r\n", "\n").replace("\r", "\n")]
        code = inert(_SEPARATORS.sub(" ", "\n".join(texts))).rstrip()
        if code:
            lead = len(code) - len(code.lstrip())
            self.sheet.add(place.chain, fenced(code[code.rfind("\n", 0, lead) + 1 :], self._language(box)))

    def _language(self, box: int) -> str:
        walk = self.walk
        node = walk.box_nodes[box]
        names = [node.attributes.get("class")]
        child = node.first_child
        if child is not None and child.tag_id == _CODE:
            names.append(child.attributes.get("class"))
        parent = walk.box_parents[box]
        names += [walk.box_nodes[outer].attributes.get("class") for outer in (parent, walk.box_parents[parent])]
        return next(filter(None, map(self._language_in, filter(None, names))), "")

    def _language_in(self, name: str) -> str:
        """What a class names. Looked for once: hundreds of listings may stand in one box, and its class be endless."""
        found = self._languages.get(name)
        if found is None:
            match = _LANGUAGE.search(name)
            found = self._languages[name] = match[1] if match is not None else ""
        return found

    def _add_rule(self, last: int, run: int) -> None:
        """Add a rule if the page has one between two runs, in a box that holds them both."""
        walk = self.walk
        at = bisect_right(self._rule_runs, last)
        if at < len(self._rules) and self._rule_runs[at] <= run:
            parent = walk.box_parents[self._rules[at]]
            if walk.box_firsts[parent] <= last and run < walk.box_ends[parent]:
                self.sheet.add(self._places.of(parent).chain, "---")

    def _add_pictures(self, run: int, shown: int) -> None:
        """Add the images between a run and the next, but for those shown in it, that stand near kept ones of them."""
        walk = self.walk
        places, starts = walk.image_places, walk.run_starts
        first = (bisect_right(places, starts[run]) if run >= 0 else 0) + shown
        end = bisect_right(places, starts[run + 1]) if run + 1 < len(starts) else len(places)
        if first >= end:
            return
        near = self._near(run)
        for image in walk.images[first:end]:
            home = self._home(image, near)
            if (
                home is not None
                and self._places.of(home).table is None
                and (text := picture(image.attributes, self.resolve))
            ):
                self.sheet.add(self._places.of(home).chain, self._linked_picture(text, places[first]))
            first += 1

    def _linked_picture(self, text: str, place: int) -> str:
        walk = self.walk
        at = bisect_right(walk.link_starts, place - 1) - 1
        if at < 0 or walk.link_ends[at] < place or walk.leading[at].tag_id != _A:
            return text
        href = linked(walk.leading[at], self.resolve)
        return f"[{text}]({href})" if href else text

    def _near(self, run: int) -> dict[int, int]:
        """The boxes around a run and the next, as far as they are kept: by what their nodes are told apart."""
        walk = self.walk
        near: dict[int, int] = {}
        for at in (run, run + 1):
            if 0 <= at < len(walk.run_starts) and self._is_kept(at):
                box = walk.run_boxes[at]
                for _ in range(NEAR_BOXES + 1):
                    near.setdefault(walk.box_nodes[box].mem_id, box)
                    box = walk.box_parents[box]
        return near

    def _home(self, image: Node, near: Mapping[int, int]) -> int | None:
        """Which of the near boxes an image stands in, directly or a few boxes below."""
        node, boxes = image.parent, 0
        for _ in range(MAX_PICTURE_STEPS):
            if node is None or boxes > MAX_PICTURE_BOXES:
                break
            if node.tag_id in self._borders:
                boxes += 1
                if (home := near.get(node.mem_id)) is not None:
                    return home
            node = node.parent
        return None
