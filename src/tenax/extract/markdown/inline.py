"""A run of text as Markdown: its links, emphasis, code, pictures and line breaks, read from the elements within it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from tenax.extract.html.node import Node, tag_number
from tenax.extract.html.walk import UNENTERED
from tenax.extract.markdown.escape import address, begun, code_span, escaped, may_wrap
from tenax.extract.metadata.images import picture_href

EM, STRONG = 1, 2
MAX_ALT_CHARS: Final = 500
MAX_HREF_BYTES: Final = 65_536
"""A longer href is not looked at: it may stand around thousands of runs."""
_MAX_AROUND: Final = 64
"""Elements looked at around the beginning of a run."""

_A, _BR, _IMG, _INPUT = map(tag_number, ("a", "br", "img", "input"))
_MARK_OF: Final = {
    **{tag_number(name): STRONG for name in ("strong", "b")},
    **{tag_number(name): EM for name in ("em", "i")},
}
_CODE: Final = frozenset(map(tag_number, ("code", "kbd", "samp", "tt")))
_STYLED: Final = frozenset((_A, *_MARK_OF, *_CODE))


class Style(NamedTuple):
    mark: int = 0
    is_code: bool = False
    link: str = ""


Piece: TypeAlias = tuple[str, Style, bool]
"""Text of one style, already Markdown (but code, raw until it is known how far it goes), and whether white space
parts it from the piece before."""
Line: TypeAlias = list[Piece]
Paragraph: TypeAlias = list[Line]
Resolve: TypeAlias = Callable[[str], str]
PLAIN: Final = Style()


class Run:
    """What stands in a run, in the order of the page: paragraphs of lines of pieces."""

    __slots__ = ("_breaks", "_held", "_held_count", "_is_spaced", "_line", "_resolve", "paragraphs", "pictures")

    def __init__(self, resolve: Resolve | None) -> None:
        self._line: Line = []
        self.paragraphs: list[Paragraph] = [[self._line]]
        self.pictures = 0
        """How many images the paragraphs show or leave out; those after the last text are not among them."""
        self._resolve = resolve
        self._is_spaced = False
        self._breaks = 0
        self._held: list[Piece] = []
        self._held_count = 0

    def read(self, node: Node, link: str, borders: frozenset[int]) -> None:
        """Read on from the text with which the run begins to the next border of a box; `link` leads from all of it."""
        stack, style = self._around(node, link, borders)
        is_cut, add_text = len(stack) == _MAX_AROUND, self._add_text
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
                if tag in borders:
                    return
                child = None if tag in UNENTERED else at.first_child
                if child is None:
                    self._add_void(tag, at, style)
                    at = at.next
                    continue
                stack.append((at, style))
                if tag in _STYLED:
                    style = self._styled(tag, at, style)
                at = child
            if stack:
                last, style = stack.pop()
            elif is_cut and (above := last.parent) is not None and above.tag_id not in borders:
                last, style = above, PLAIN
            else:
                return
            at = last.next

    def _around(self, node: Node, link: str, borders: frozenset[int]) -> tuple[list[tuple[Node, Style]], Style]:
        """The inline elements that were open where the run begins, outermost first, and the style they give."""
        above: list[tuple[Node, int]] = []
        parent = node.parent
        while parent is not None and len(above) < _MAX_AROUND and (tag := parent.tag_id) not in borders:
            above.append((parent, tag))
            parent = parent.parent
        style = Style(link=link) if link else PLAIN
        stack: list[tuple[Node, Style]] = []
        for element, tag in reversed(above):
            stack.append((element, style))
            if tag in _STYLED:
                style = self._styled(tag, element, style)
        return stack, style

    def _styled(self, tag: int, element: Node, style: Style) -> Style:
        mark = _MARK_OF.get(tag)
        if mark is not None:
            return Style(style.mark | mark, style.is_code, style.link)
        if tag in _CODE:
            return Style(style.mark, True, style.link)
        link = linked(element, self._resolve)
        return Style(style.mark, style.is_code, link) if link else style

    def _add_text(self, raw: str, style: Style) -> None:
        text = " ".join(raw.split())
        if not text:
            self._is_spaced = self._is_spaced or raw != ""
            return
        is_spaced = self._is_spaced or text[0] != raw[0]
        self._is_spaced = text[-1] != raw[-1]
        if self._breaks or self._held_count:
            self._break()
        if style is PLAIN:
            self._line.append((escaped(text), style, is_spaced))
        else:
            self._add_styled(text, style, is_spaced)

    def _add_styled(self, text: str, style: Style, is_spaced: bool) -> None:
        line = self._line
        if style.is_code:
            if is_spaced or not line or not line[-1][1].is_code or line[-1][1] == style:
                line.append((text, style, is_spaced))
                return
            # The backticks of the two would run together.
            style = Style(style.mark, False, style.link)
        line.append((escaped(text), style, is_spaced))

    def _break(self) -> None:
        """A text follows on line breaks or images: begin its line or paragraph."""
        if self._breaks:
            self._line = []
            if self._breaks > 1:
                self.paragraphs.append([self._line])
            else:
                self.paragraphs[-1].append(self._line)
        self._breaks = 0
        self._line += self._held
        self.pictures += self._held_count
        self._held, self._held_count = [], 0

    def _add_void(self, tag: int, node: Node, style: Style) -> None:
        if tag == _BR:
            self._breaks += 1
        elif tag == _INPUT:
            self._is_spaced = True
        elif tag == _IMG:
            # Whether a text follows, so that it stands within the run, is not known yet.
            self._is_spaced = True
            self._held_count += 1
            if shown := picture(node.attributes, self._resolve):
                self._held.append((shown, Style(0, False, style.link), True))


def linked(element: Node, resolve: Resolve | None) -> str:
    href = element.attributes.get("href")
    if not href or (len(href) > MAX_HREF_BYTES // 4 and len(href.encode()) > MAX_HREF_BYTES):
        return ""
    return _address(resolve(href) if resolve is not None else href)


# One link may stand around thousands of runs.
_address = lru_cache(maxsize=64)(address)


def picture(attributes: Mapping[str, str | None], resolve: Resolve | None) -> str:
    """An image as Markdown; empty for what only decorates, be it by its looks or because it has nothing to say."""
    alt = " ".join((attributes.get("alt") or "")[:MAX_ALT_CHARS].split())
    if not alt and "alt" in attributes:
        return ""
    href = picture_href(attributes)
    source = address(resolve(href) if resolve is not None else href) if href else ""
    return f"![{escaped(alt)}]({source})" if source else ""


def paragraph(lines: Paragraph) -> str:
    """As a paragraph of its own."""
    if len(lines) == 1:
        return begun(_line(lines[0]))
    return "\\\n".join(filter(None, (begun(_line(line)) for line in lines)))


def one_line(lines: Paragraph, but: int = 0) -> str:
    """As it stands in a heading or a cell; `but` are marks to be left out."""
    if len(lines) == 1:
        return _line(lines[0], but)
    return " ".join(filter(None, (_line(line, but) for line in lines)))


def _line(line: Line, but: int = 0) -> str:
    """Most lines have links at most, and need no thought about what may stand beside what."""
    if len(line) == 1 and line[0][1] is PLAIN:
        return line[0][0]
    parts: list[str] = []
    inside = ""
    for text, (mark, is_code, link), is_spaced in line:
        if mark or is_code:
            return _styled_line(line, but)
        if link == inside:
            if is_spaced and parts:
                parts.append(" ")
        else:
            if inside:
                parts.append(f"]({inside})")
            if is_spaced and parts:
                parts.append(" ")
            elif link and parts and parts[-1].endswith("!"):
                parts[-1] = _unexcited(parts[-1])
            if link:
                parts.append("[")
            inside = link
        parts.append(text)
    if inside:
        parts.append(f"]({inside})")
    return "".join(parts)


def _unexcited(text: str) -> str:
    """An exclamation mark would make an image of the link that follows."""
    return f"{text[:-1]}\\!"


def _styled_line(line: Line, but: int) -> str:
    items: list[_Item] = []
    for link, group in groupby(_merged(line), key=_link_of):
        pieces = [
            (code_span(text) if style.is_code else text, style.mark & ~but, is_spaced)
            for text, style, is_spaced in group
        ]
        if not link:
            items += pieces
            continue
        _, mark, is_spaced = pieces[0]
        if all(piece[1] == mark for piece in pieces):
            items.append((f"[{_joined(pieces)}]({link})", mark, is_spaced))
        else:
            items.append((f"[{_marked(pieces)}]({link})", 0, is_spaced))
    return _marked(items)


def _link_of(piece: Piece) -> str:
    return piece[1].link


def _merged(line: Line) -> Line:
    """Pieces of the same style made one."""
    if all(one[1] != other[1] for one, other in pairwise(line)):
        return line
    merged: Line = []
    for style, group in groupby(line, key=itemgetter(1)):
        pieces = list(group)
        merged.append((_joined(pieces), style, pieces[0][2]))
    return merged


_Item: TypeAlias = tuple[str, int, bool]
_END: Final = ("", 0, True)


def _marked(items: Sequence[_Item]) -> str:
    """Texts with `*` around those that want it, where CommonMark would see it; never two kinds side by side."""
    groups = []
    for mark, group in groupby(items, key=itemgetter(1)):
        same = list(group)
        groups.append((same[0][0] if len(same) == 1 else _joined(same), mark, same[0][2]))
    wrapped: list[_Item] = []
    is_closed = False
    for (text, mark, is_spaced), after in zip(groups, [*groups[1:], _END], strict=True):
        before = "" if is_spaced or not wrapped else wrapped[-1][0][-1:]
        is_closed = (
            mark > 0
            and text != ""
            and (not is_closed or before == "")
            and may_wrap(before, text, "" if after[2] else after[0][:1])
        )
        stars = "*" * mark if is_closed else ""
        wrapped.append((f"{stars}{text}{stars}", mark, is_spaced))
    return _joined(wrapped)


def _joined(pieces: Sequence[tuple[str, object, bool]]) -> str:
    parts: list[str] = []
    for text, _, is_spaced in pieces:
        if not text:
            continue
        if parts:
            if is_spaced:
                parts.append(" ")
            elif text[0] == "[" and parts[-1].endswith("!"):
                parts[-1] = _unexcited(parts[-1])
        parts.append(text)
    return "".join(parts)


def run_of(node: Node, link: str, borders: frozenset[int], resolve: Resolve | None) -> Run:
    run = Run(resolve)
    run.read(node, link, borders)
    return run
