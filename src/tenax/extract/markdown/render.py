"""Renders the kept blocks of a page as Markdown: CommonMark with GFM tables. It has all words of the blocks and no
others.

The tree of boxes gives the context of a block (list, quote, heading, table). Each kept run is read again from the DOM
for its links and emphasis. Dropped blocks are not visited.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, compress
from typing import Final

from tenax.extract.article.blocks import Blocks
from tenax.extract.html.dom import strip_controls
from tenax.extract.html.tree import BOX_TAGS, BREAK, Node, tag_number
from tenax.extract.markdown.escape import escape_line_start, escape_text, format_code_block, format_heading
from tenax.extract.markdown.inline import (
    EM,
    STRONG,
    Paragraph,
    ResolveUrl,
    format_image,
    format_one_line,
    format_paragraph,
    read_link_href,
    read_run,
)
from tenax.extract.markdown.structure import BlockContext, BlockContexts, MarkdownOutput
from tenax.extract.markdown.tables import format_table

MAX_ANCESTOR_BOXES: Final = 2
"""An image belongs to a kept block if both are in a box at most this many levels above the block."""
MAX_IMAGE_BOXES: Final = 2
"""Maximum number of levels from that box down to the image."""
MAX_IMAGE_STEPS: Final = 24

_HR, _CODE, _A, _NOSCRIPT = map(tag_number, ("hr", "code", "a", "noscript"))
_SEPARATORS = re.compile(r"[\x1c-\x1f]")  # characters that are white space in Python and separators in blocks
_MAX_LANGUAGE_CHARS: Final = 30
_CODE_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight)-(?!(?:none|default)(?:\s|$))"
    rf"([\w+#.-]{{1,{_MAX_LANGUAGE_CHARS}}})(?=\s|$)"
)


def render_markdown(blocks: Blocks, kept: Sequence[bool], resolve: ResolveUrl | None = None) -> str:
    """The kept blocks in page order. URLs are as written, or as `resolve` returns them."""
    page = _MarkdownWriter(blocks, kept, resolve)
    page.write()
    return page.output.to_text()


class _MarkdownWriter:
    def __init__(self, blocks: Blocks, kept: Sequence[bool], resolve: ResolveUrl | None) -> None:
        self.blocks, self.kept, self.resolve = blocks, kept, resolve
        self.walk = blocks.walk
        self.output = MarkdownOutput()
        self._kept_before = [*accumulate(kept, initial=0)]
        self._contexts = BlockContexts(blocks, self._kept_before)
        self._languages: dict[str, str] = {}
        self._used_link = -1
        self._shown_images = 0
        """The number of images in the run that was read last."""
        self._box_tags = BOX_TAGS | {_NOSCRIPT} if _NOSCRIPT in blocks.walk.box_tags else BOX_TAGS
        tags = self.walk.box_tags
        self._rules = [*compress(range(len(tags)), map(_HR.__eq__, tags))] if _HR in tags else []
        self._rule_runs = [self.walk.box_starts[box] for box in self._rules]
        starts = self.walk.run_starts
        self._runs_before_images = {bisect_left(starts, position) - 1 for position in self.walk.image_positions}
        """Runs that have images between them and the next run; -1 for images before the first run."""

    def write(self) -> None:
        runs, boxes, illustrated, contexts = (
            self.blocks.runs,
            self.blocks.boxes,
            self._runs_before_images,
            self._contexts,
        )
        last = -1
        for block in compress(range(len(runs)), self.kept):
            run = runs[block]
            if run <= last:
                continue  # already added together with its container
            if last >= 0 and self._rules:
                self._add_rule(last, run)
            if run - 1 in illustrated and (run == 0 or not self._is_kept(run - 1)):
                self._add_images(run - 1, 0)
            context = contexts.find_context(boxes[block])
            # The fast way for most runs.
            if (
                context.owner_box < 0
                and not context.is_term
                and (text := self._format_plain_run(run, block)) is not None
            ):
                last, self._shown_images = run, 0
                if text:
                    self.output.add_block(context.containers, text)
            else:
                last = self._add_container(context, run)
            if last in illustrated and self._is_kept(last):
                self._add_images(last, self._shown_images)

    def _add_container(self, context: BlockContext, run: int) -> int:
        """Add the container of the run, and return its last run."""
        self._shown_images = 0
        if context.owner_box < 0:
            self._add_run(context, run)
            return run
        last = self.walk.box_ends[context.owner_box] - 1
        if context.table is not None:
            self._add_table(context)
        elif context.is_code:
            self._add_code(context)
        elif text := self._format_runs_on_one_line(run, last + 1, STRONG):
            self.output.add_block(context.containers, format_heading(context.level, text))
        return last

    def _is_kept(self, run: int) -> bool:
        """Whether any block of a run is kept."""
        firsts = self.blocks.first_of_run
        return self._kept_before[firsts[run + 1]] > self._kept_before[firsts[run]]

    def _add_run(self, context: BlockContext, run: int) -> None:
        """Add the kept paragraphs of a run."""
        first, end = self.blocks.first_of_run[run], self.blocks.first_of_run[run + 1]
        read = read_run(self.walk.run_nodes[run], self._take_enclosing_href(run), self._box_tags, self.resolve)
        # The last run of a truncated page has more paragraphs than blocks.
        for block, lines in zip(range(first, end), read.paragraphs, strict=False):
            if self.kept[block]:
                self._add_paragraph(context, lines)
        self._shown_images = read.image_count

    def _add_paragraph(self, context: BlockContext, lines: Paragraph) -> None:
        if context.is_term:
            text = format_one_line(lines, EM | STRONG)
            text = f"**{text}**" if text else ""
        else:
            text = format_paragraph(lines)
        if text:
            self.output.add_block(context.containers, text)

    def _format_plain_run(self, run: int, block: int) -> str | None:
        """A run as Markdown, if its text is a single node, directly in its box and in no link; otherwise None."""
        walk, firsts, text = self.walk, self.blocks.first_of_run, self.blocks.texts[block]
        start, fragments = walk.run_starts[run], walk.fragments
        if firsts[run + 1] - firsts[run] != 1 or "\n" in text:
            return None
        if start + 1 < len(fragments) and fragments[start + 1] != BREAK:
            return None
        at = bisect_left(walk.link_starts, start) - 1
        if at >= 0 and walk.link_ends[at] > start and at != self._used_link and self._link_href(at):
            return None
        parent = walk.run_nodes[run].parent
        return escape_line_start(escape_text(text)) if parent is not None and parent.tag_id in self._box_tags else None

    def _single_node_text(self, run: int) -> str | None:
        """The text of a run that fills its box and is in no link, as in most cells; otherwise None."""
        walk, node = self.walk, self.walk.run_nodes[run]
        if node.next is not None or (parent := node.parent) is None or parent.tag_id not in self._box_tags:
            return None
        at = bisect_left(walk.link_starts, walk.run_starts[run]) - 1
        if at >= 0 and walk.link_ends[at] > walk.run_starts[run]:
            return None
        return " ".join(walk.fragments[walk.run_starts[run]].split())

    def _take_enclosing_href(self, run: int) -> str:
        """The href of a link that began before the run. It is returned only for the first run in it, as on a card."""
        walk = self.walk
        start = walk.run_starts[run]
        at = bisect_left(walk.link_starts, start) - 1
        if at < 0 or walk.link_ends[at] <= start or at == self._used_link:
            return ""
        self._used_link = at
        return self._link_href(at)

    def _link_href(self, link: int) -> str:
        node = self.walk.link_nodes[link]
        return read_link_href(node, self.resolve) if node.tag_id == _A else ""

    def _format_runs_on_one_line(self, run: int, end: int, excluded_emphasis: int) -> str:
        """The kept blocks of some runs."""
        texts = []
        firsts = self.blocks.first_of_run
        for at in range(run, end):
            if self._is_kept(at):
                if (text := self._single_node_text(at)) is not None:
                    texts.append(escape_text(text))
                    self._shown_images = 0
                    continue
                read = read_run(self.walk.run_nodes[at], self._take_enclosing_href(at), self._box_tags, self.resolve)
                self._shown_images = read.image_count
                shown = zip(range(firsts[at], firsts[at + 1]), read.paragraphs, strict=False)
                texts += [format_one_line(lines, excluded_emphasis) for block, lines in shown if self.kept[block]]
        return " ".join(filter(None, texts))

    def _add_table(self, context: BlockContext) -> None:
        table, walk = context.table, self.walk
        assert table is not None

        def cell_text(box: int, is_head: bool) -> str:
            return self._format_runs_on_one_line(walk.box_starts[box], walk.box_ends[box], STRONG if is_head else 0)

        captions = [(box, escape_line_start(cell_text(box, False))) for box in table.captions]
        rows = (table.first_row, format_table(table, cell_text))
        # In page order, because some pages put captions below.
        for _, text in sorted([*captions, rows]):
            if text:
                self.output.add_block(context.containers, text)

    def _add_code(self, context: BlockContext) -> None:
        """Add preformatted text as written. If only parts of it are kept, add the kept blocks."""
        box, blocks, walk = context.owner_box, self.blocks, self.walk
        first, end = blocks.span(box)
        if self._kept_before[end] - self._kept_before[first] < end - first:
            texts = [
                text for text, is_kept in zip(blocks.texts[first:end], self.kept[first:end], strict=True) if is_kept
            ]
        else:
            begin, stop = walk.run_starts[walk.box_starts[box]], len(walk.fragments)
            if walk.box_ends[box] < len(walk.run_starts):
                stop = walk.run_starts[walk.box_ends[box]]
            # The indentation of the first line may be a separate text.
            while begin and walk.fragments[begin - 1] != BREAK and walk.fragments[begin - 1].isspace():
                begin -= 1
            raw = "".join(walk.fragments[begin:stop])
            if any(walk.run_boxes[run] != box for run in range(walk.box_starts[box], walk.box_ends[box])):
                # Adjacent boxes cause one line break, not two.
                raw = raw.replace(BREAK * 2, BREAK)
            texts = [raw.replace(BREAK, "\n").replace("\r\n", "\n").replace("\r", "\n")]
        code = strip_controls(_SEPARATORS.sub(" ", "\n".join(texts))).rstrip()
        if code:
            lead = len(code) - len(code.lstrip())
            self.output.add_block(
                context.containers,
                format_code_block(code[code.rfind("\n", 0, lead) + 1 :], self._find_code_language(box)),
            )

    def _find_code_language(self, box: int) -> str:
        walk = self.walk
        node = walk.box_nodes[box]
        names = [node.attributes.get("class")]
        child = node.first_child
        if child is not None and child.tag_id == _CODE:
            names.append(child.attributes.get("class"))
        parent = walk.box_parents[box]
        names += [walk.box_nodes[outer].attributes.get("class") for outer in (parent, walk.box_parents[parent])]
        return next(filter(None, map(self._parse_code_language, filter(None, names))), "")

    def _parse_code_language(self, name: str) -> str:
        """The language that a class names. Cached, because hundreds of listings may share one box, and its class may be
        very long."""
        found = self._languages.get(name)
        if found is None:
            match = _CODE_LANGUAGE.search(name)
            found = self._languages[name] = match[1] if match is not None else ""
        return found

    def _add_rule(self, last: int, run: int) -> None:
        """Add a rule if the page has one between two runs, in a box that contains both."""
        walk = self.walk
        at = bisect_right(self._rule_runs, last)
        if at < len(self._rules) and self._rule_runs[at] <= run:
            parent = walk.box_parents[self._rules[at]]
            if walk.box_starts[parent] <= last and run < walk.box_ends[parent]:
                self.output.add_block(self._contexts.find_context(parent).containers, "---")

    def _add_images(self, run: int, shown: int) -> None:
        """Add the images between a run and the next one that are near kept blocks and were not shown in the run."""
        walk = self.walk
        contexts, starts = walk.image_positions, walk.run_starts
        first = (bisect_right(contexts, starts[run]) if run >= 0 else 0) + shown
        end = bisect_right(contexts, starts[run + 1]) if run + 1 < len(starts) else len(contexts)
        if first >= end:
            return
        near = self._find_nearby_boxes(run)
        for image in walk.images[first:end]:
            image_box = self._find_image_box(image, near)
            if (
                image_box is not None
                and self._contexts.find_context(image_box).table is None
                and (text := format_image(image.attributes, self.resolve))
            ):
                self.output.add_block(
                    self._contexts.find_context(image_box).containers, self._link_image(text, contexts[first])
                )
            first += 1

    def _link_image(self, text: str, position: int) -> str:
        walk = self.walk
        at = bisect_right(walk.link_starts, position - 1) - 1
        if at < 0 or walk.link_ends[at] < position or walk.link_nodes[at].tag_id != _A:
            return text
        href = read_link_href(walk.link_nodes[at], self.resolve)
        return f"[{text}]({href})" if href else text

    def _find_nearby_boxes(self, run: int) -> dict[int, int]:
        """The kept boxes around a run and the next one, by the id of their node."""
        walk = self.walk
        near: dict[int, int] = {}
        for at in (run, run + 1):
            if 0 <= at < len(walk.run_starts) and self._is_kept(at):
                box = walk.run_boxes[at]
                for _ in range(MAX_ANCESTOR_BOXES + 1):
                    near.setdefault(walk.box_nodes[box].mem_id, box)
                    box = walk.box_parents[box]
        return near

    def _find_image_box(self, image: Node, nearby_boxes: Mapping[int, int]) -> int | None:
        """The nearby box that contains an image, directly or a few levels down."""
        node, boxes = image.parent, 0
        for _ in range(MAX_IMAGE_STEPS):
            if node is None or boxes > MAX_IMAGE_BOXES:
                break
            if node.tag_id in self._box_tags:
                boxes += 1
                if (image_box := nearby_boxes.get(node.mem_id)) is not None:
                    return image_box
            node = node.parent
        return None
