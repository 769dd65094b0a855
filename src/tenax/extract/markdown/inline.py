"""Renders a run of text as Markdown: links, emphasis, code, images and line breaks of the elements in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from tenax.extract.html.tree import SKIPPED_TAGS, Node, tag_number
from tenax.extract.markdown.escape import can_emphasize, escape_line_start, escape_text, format_code_span, format_href
from tenax.extract.metadata.images import content_image_href

EM, STRONG = 1, 2
MAX_ALT_CHARS: Final = 500
MAX_HREF_BYTES: Final = 65_536
"""A longer href is ignored, because it may enclose thousands of runs."""
_MAX_OPEN_ELEMENTS: Final = 64
"""Maximum elements examined around the beginning of a run."""

_A, _BR, _IMG, _INPUT = map(tag_number, ("a", "br", "img", "input"))
_EMPHASIS_BY_TAG: Final = {
    **{tag_number(name): STRONG for name in ("strong", "b")},
    **{tag_number(name): EM for name in ("em", "i")},
}
_CODE_TAGS: Final = frozenset(map(tag_number, ("code", "kbd", "samp", "tt")))
_STYLING_TAGS: Final = frozenset((_A, *_EMPHASIS_BY_TAG, *_CODE_TAGS))


class Style(NamedTuple):
    emphasis: int = 0
    is_code: bool = False
    href: str = ""


Piece: TypeAlias = tuple[str, Style, bool]
"""Text of one style, and whether white space separates it from the piece before. The text is already Markdown; code
stays raw until its extent is known."""
Line: TypeAlias = list[Piece]
Paragraph: TypeAlias = list[Line]
ResolveUrl: TypeAlias = Callable[[str], str]
PLAIN: Final = Style()


class InlineRun:
    """The content of a run in page order: paragraphs, which are lists of lines, which are lists of pieces."""

    __slots__ = (
        "_is_spaced",
        "_line",
        "_line_break_count",
        "_pending_image_count",
        "_pending_images",
        "_resolve",
        "image_count",
        "paragraphs",
    )

    def __init__(self, resolve: ResolveUrl | None) -> None:
        self._line: Line = []
        self.paragraphs: list[Paragraph] = [[self._line]]
        self.image_count = 0
        """Images that the paragraphs show or leave out. Images after the last text are not counted."""
        self._resolve = resolve
        self._is_spaced = False
        self._line_break_count = 0
        self._pending_images: list[Piece] = []
        self._pending_image_count = 0

    def read_from(self, node: Node, href: str, box_tags: frozenset[int]) -> None:
        """Read from the first text of the run to the next border of a box. `href` is the target of all of it."""
        stack, style = self._open_styles(node, href, box_tags)
        is_cut, add_text = len(stack) == _MAX_OPEN_ELEMENTS, self._add_text
        at: Node | None = node
        last = node
        while True:
            while at is not None:
                last = at
                text = at.text_content
                if text is not None:
                    add_text(text, style)
                    at = at.next
                    continue
                tag = at.tag_id
                if tag in box_tags:
                    return
                child = None if tag in SKIPPED_TAGS else at.first_child
                if child is None:
                    self._add_void(tag, at, style)
                    at = at.next
                    continue
                stack.append((at, style))
                if tag in _STYLING_TAGS:
                    style = self._apply_element_style(tag, at, style)
                at = child
            if stack:
                last, style = stack.pop()
            elif is_cut and (above := last.parent) is not None and above.tag_id not in box_tags:
                last, style = above, PLAIN
            else:
                return
            at = last.next

    def _open_styles(self, node: Node, href: str, box_tags: frozenset[int]) -> tuple[list[tuple[Node, Style]], Style]:
        """The inline elements that are open where the run begins, the outermost first, and their combined style."""
        above: list[tuple[Node, int]] = []
        parent = node.parent
        while parent is not None and len(above) < _MAX_OPEN_ELEMENTS and (tag := parent.tag_id) not in box_tags:
            above.append((parent, tag))
            parent = parent.parent
        style = Style(href=href) if href else PLAIN
        stack: list[tuple[Node, Style]] = []
        for element, tag in reversed(above):
            stack.append((element, style))
            if tag in _STYLING_TAGS:
                style = self._apply_element_style(tag, element, style)
        return stack, style

    def _apply_element_style(self, tag: int, element: Node, style: Style) -> Style:
        emphasis = _EMPHASIS_BY_TAG.get(tag)
        if emphasis is not None:
            return Style(style.emphasis | emphasis, style.is_code, style.href)
        if tag in _CODE_TAGS:
            return Style(style.emphasis, True, style.href)
        link = read_link_href(element, self._resolve)
        return Style(style.emphasis, style.is_code, link) if link else style

    def _add_text(self, raw: str, style: Style) -> None:
        text = " ".join(raw.split())
        if not text:
            self._is_spaced = self._is_spaced or raw != ""
            return
        is_spaced = self._is_spaced or text[0] != raw[0]
        self._is_spaced = text[-1] != raw[-1]
        if self._line_break_count or self._pending_image_count:
            self._start_line()
        if style is PLAIN:
            self._line.append((escape_text(text), style, is_spaced))
        else:
            self._add_styled(text, style, is_spaced)

    def _add_styled(self, text: str, style: Style, is_spaced: bool) -> None:
        line = self._line
        if style.is_code:
            if is_spaced or not line or not line[-1][1].is_code or line[-1][1] == style:
                line.append((text, style, is_spaced))
                return
            # Otherwise the backticks of the two would merge.
            style = Style(style.emphasis, False, style.href)
        line.append((escape_text(text), style, is_spaced))

    def _start_line(self) -> None:
        """Begin the line or paragraph of a text that follows line breaks or images."""
        if self._line_break_count:
            self._line = []
            if self._line_break_count > 1:
                self.paragraphs.append([self._line])
            else:
                self.paragraphs[-1].append(self._line)
        self._line_break_count = 0
        self._line += self._pending_images
        self.image_count += self._pending_image_count
        self._pending_images, self._pending_image_count = [], 0

    def _add_void(self, tag: int, node: Node, style: Style) -> None:
        if tag == _BR:
            self._line_break_count += 1
        elif tag == _INPUT:
            self._is_spaced = True
        elif tag == _IMG:
            # It is not known yet whether a text follows, which would make the image a part of the run.
            self._is_spaced = True
            self._pending_image_count += 1
            if shown := format_image(node.attributes, self._resolve):
                self._pending_images.append((shown, Style(0, False, style.href), True))


def read_link_href(element: Node, resolve: ResolveUrl | None) -> str:
    href = element.attributes.get("href")
    if not href or (len(href) > MAX_HREF_BYTES // 4 and len(href.encode()) > MAX_HREF_BYTES):
        return ""
    return _cached_href(resolve(href) if resolve is not None else href)


# One link may enclose thousands of runs.
_cached_href = lru_cache(maxsize=64)(format_href)


def format_image(attributes: Mapping[str, str | None], resolve: ResolveUrl | None) -> str:
    """An image as Markdown. Empty for decoration, which is recognized by its attributes or a missing description."""
    alt = " ".join((attributes.get("alt") or "")[:MAX_ALT_CHARS].split())
    if not alt and "alt" in attributes:
        return ""
    href = content_image_href(attributes)
    source = format_href(resolve(href) if resolve is not None else href) if href else ""
    return f"![{escape_text(alt)}]({source})" if source else ""


def format_paragraph(lines: Paragraph) -> str:
    """The lines as a paragraph."""
    if len(lines) == 1:
        return escape_line_start(_format_line(lines[0]))
    return "\\\n".join(filter(None, (escape_line_start(_format_line(line)) for line in lines)))


def format_one_line(lines: Paragraph, excluded_emphasis: int = 0) -> str:
    """The lines as the text of a heading or a cell. Styles in `excluded_emphasis` are left out."""
    if len(lines) == 1:
        return _format_line(lines[0], excluded_emphasis)
    return " ".join(filter(None, (_format_line(line, excluded_emphasis) for line in lines)))


def _format_line(line: Line, excluded_emphasis: int = 0) -> str:
    """The pieces of a line. Most lines have no style other than links, and skip the rules of emphasis."""
    if len(line) == 1 and line[0][1] is PLAIN:
        return line[0][0]
    parts: list[str] = []
    inside = ""
    for text, (emphasis, is_code, link), is_spaced in line:
        if emphasis or is_code:
            return _format_styled_line(line, excluded_emphasis)
        if link == inside:
            if is_spaced and parts:
                parts.append(" ")
        else:
            if inside:
                parts.append(f"]({inside})")
            if is_spaced and parts:
                parts.append(" ")
            elif link and parts and parts[-1].endswith("!"):
                parts[-1] = _escape_exclamation(parts[-1])
            if link:
                parts.append("[")
            inside = link
        parts.append(text)
    if inside:
        parts.append(f"]({inside})")
    return "".join(parts)


def _escape_exclamation(text: str) -> str:
    """A trailing exclamation mark would turn the link after it into an image."""
    return f"{text[:-1]}\\!"


def _format_styled_line(line: Line, excluded_emphasis: int) -> str:
    items: list[_EmphasizedText] = []
    for link, group in groupby(_merge_pieces(line), key=_piece_href):
        pieces = [
            (format_code_span(text) if style.is_code else text, style.emphasis & ~excluded_emphasis, is_spaced)
            for text, style, is_spaced in group
        ]
        if not link:
            items += pieces
            continue
        _, emphasis, is_spaced = pieces[0]
        if all(piece[1] == emphasis for piece in pieces):
            items.append((f"[{_join_texts(pieces)}]({link})", emphasis, is_spaced))
        else:
            items.append((f"[{_format_emphasis(pieces)}]({link})", 0, is_spaced))
    return _format_emphasis(items)


def _piece_href(piece: Piece) -> str:
    return piece[1].href


def _merge_pieces(line: Line) -> Line:
    """Merge adjacent pieces of the same style."""
    if all(one[1] != other[1] for one, other in pairwise(line)):
        return line
    merged: Line = []
    for style, group in groupby(line, key=itemgetter(1)):
        pieces = list(group)
        merged.append((_join_texts(pieces), style, pieces[0][2]))
    return merged


_EmphasizedText: TypeAlias = tuple[str, int, bool]
_LINE_END: Final = ("", 0, True)


def _format_emphasis(items: Sequence[_EmphasizedText]) -> str:
    """Texts with `*` where CommonMark recognizes it. Two kinds of emphasis are never side by side."""
    groups = []
    for emphasis, group in groupby(items, key=itemgetter(1)):
        same = list(group)
        groups.append((same[0][0] if len(same) == 1 else _join_texts(same), emphasis, same[0][2]))
    wrapped: list[_EmphasizedText] = []
    is_closed = False
    for (text, emphasis, is_spaced), after in zip(groups, [*groups[1:], _LINE_END], strict=True):
        before = "" if is_spaced or not wrapped else wrapped[-1][0][-1:]
        is_closed = (
            emphasis > 0
            and text != ""
            and (not is_closed or before == "")
            and can_emphasize(before, text, "" if after[2] else after[0][:1])
        )
        stars = "*" * emphasis if is_closed else ""
        wrapped.append((f"{stars}{text}{stars}", emphasis, is_spaced))
    return _join_texts(wrapped)


def _join_texts(pieces: Sequence[tuple[str, object, bool]]) -> str:
    parts: list[str] = []
    for text, _, is_spaced in pieces:
        if not text:
            continue
        if parts:
            if is_spaced:
                parts.append(" ")
            elif text[0] == "[" and parts[-1].endswith("!"):
                parts[-1] = _escape_exclamation(parts[-1])
        parts.append(text)
    return "".join(parts)


def read_run(node: Node, href: str, box_tags: frozenset[int], resolve: ResolveUrl | None) -> InlineRun:
    run = InlineRun(resolve)
    run.read_from(node, href, box_tags)
    return run
