"""What a page is made of, as far as that tells a page from a wall: headings, scripts, frames, and the marks on them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

from tenax.extract.html.dom import Dom
from tenax.extract.html.node import Node, tag_number
from tenax.extract.text.visible import visible_text
from tenax.model import Value

MAX_ELEMENTS: Final = 200
"""A wall is small: what comes after so many elements is not looked at."""
MAX_MARKED: Final = 12
"""Elements of each sort that are looked at closely, which is the dear part."""
MAX_SCRIPT_CHARS: Final = 600
MAX_HEADING_CHARS: Final = 300
MAX_NOSCRIPT_CHARS: Final = 1_000
MAX_REFRESH_CHARS: Final = 2_000
_MAX_MARK_CHARS: Final = 300
_MAX_HEADINGS: Final = 6
_FIRST_CHILDREN: Final = 4

_SCRIPT, _STYLE, _NOSCRIPT, _META = map(tag_number, ("script", "style", "noscript", "meta"))
_HEADINGS: Final = frozenset(map(tag_number, ("h1", "h2")))
# Whose ids, classes and addresses may name the maker of a wall, or the place where an application will grow.
_MARKED: Final = frozenset(map(tag_number, ("script", "iframe", "form", "body", "div", "main", "section")))
# Drawings are left out: shells have them too, as icons and spinners.
_SHOWING: Final = frozenset(map(tag_number, ("img", "picture", "video", "audio", "object", "embed", "frame", "iframe")))
_ATTRIBUTES: Final = ("id", "class", "src", "action")
_MOUNTS: Final = frozenset(
    (
        "root", "app", "app-root", "__next", "__nuxt", "___gatsby", "react-root", "reactroot", "react-app", "app-mount",
        "main-app", "svelte", "q-app", "ember-app", "vue-app", "mount", "application",
    )
)  # fmt: skip


class Facts(Value, frozen=True):
    """What was found among the first elements of a page."""

    headings: tuple[str, ...] = ()
    """The first `<h1>` and `<h2>`, as they are read."""
    marks: str = ""
    """Ids, classes and addresses of elements and the beginnings of scripts, in lower case, a line each."""
    noscript: str = ""
    """What is shown to those without JavaScript."""
    scripts: int = 0
    shown: int = 0
    """Pictures, players and frames, without those for readers that have no JavaScript."""
    refresh: str = ""
    """The content of `<meta http-equiv=refresh>`."""
    is_large: bool = False
    """There are more elements than were looked at."""
    is_unbuilt: bool = False
    """There is a place where an application will grow, and nothing grows there yet."""


def read_facts(dom: Dom | None) -> Facts:
    """One pass over the page's elements, bounded however large it is."""
    return _Gathering(dom.root).facts() if dom is not None and dom.root is not None else Facts()


class _Gathering:
    """One pass, and what it has found so far."""

    def __init__(self, root: Node) -> None:
        self.headings: list[str] = []
        self.marks: list[str] = []
        self.noscript: list[str] = []
        self.seen: dict[int, int] = {}
        self.mount: Node | None = None
        self.refresh = ""
        self.hidden = 0
        count = self.seen.get
        for node in islice(root.traverse(), MAX_ELEMENTS):
            tag = node.tag_id
            self.seen[tag] = times = count(tag, 0) + 1
            if times > MAX_MARKED:
                continue
            if tag in _MARKED:
                self._mark(tag, node)
            elif tag in _HEADINGS:
                self._add_heading(node)
            elif tag == _META:
                self._meta(node.attributes)
            elif tag == _NOSCRIPT:
                self._hide(node)

    def facts(self) -> Facts:
        return Facts(
            headings=tuple(self.headings),
            marks="\n".join(self.marks).lower(),
            noscript=" ".join(self.noscript)[:MAX_NOSCRIPT_CHARS],
            scripts=self.seen.get(_SCRIPT, 0),
            shown=max(0, sum(self.seen.get(tag, 0) for tag in _SHOWING) - self.hidden),
            refresh=self.refresh,
            is_large=sum(self.seen.values()) >= MAX_ELEMENTS,
            is_unbuilt=self.mount is not None and _is_bare(self.mount),
        )

    def _mark(self, tag: int, node: Node) -> None:
        attributes = node.attributes
        self.marks += [value[:_MAX_MARK_CHARS] for name in _ATTRIBUTES if (value := attributes.get(name))]
        if tag == _SCRIPT:
            if "json" not in (attributes.get("type") or "") and (child := node.first_child) is not None:
                self.marks.append((child.text_content or "")[:MAX_SCRIPT_CHARS])
        elif self.mount is None and (attributes.get("id") or "").lower() in _MOUNTS:
            self.mount = node

    def _add_heading(self, node: Node) -> None:
        if len(self.headings) < _MAX_HEADINGS and (text := visible_text(node, MAX_HEADING_CHARS)):
            self.headings.append(text)

    def _meta(self, attributes: Mapping[str, str | None]) -> None:
        if not self.refresh and (attributes.get("http-equiv") or "").strip().lower() == "refresh":
            self.refresh = (attributes.get("content") or "")[:MAX_REFRESH_CHARS]
            self.marks.append(self.refresh)

    def _hide(self, node: Node) -> None:
        """Keep what a noscript says; the counting pixels in it are not shown to anyone."""
        self.noscript.append(_first_words(node)[:MAX_NOSCRIPT_CHARS])
        self.hidden += sum(1 for inner in islice(node.traverse(), MAX_MARKED) if inner.tag_id in _SHOWING)


def _is_bare(mount: Node) -> bool:
    """Whether nothing to read has been built there, and little else."""
    return sum(1 for _ in islice(mount.traverse(), MAX_MARKED)) < MAX_MARKED and not _first_words(mount)


def _first_words(node: Node) -> str:
    """Texts near the top of a node: enough to see whether it has any."""
    words = []
    for inner in islice(node.traverse(), MAX_MARKED):
        child = inner.first_child if inner.tag_id != _SCRIPT and inner.tag_id != _STYLE else None
        for _ in range(_FIRST_CHILDREN):
            if child is None:
                break
            words.append((child.text_content or "").strip())
            child = child.next
    return " ".join(filter(None, words))
