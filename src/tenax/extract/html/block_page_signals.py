"""Signals that distinguish a page from a block page: headings, scripts, frames and their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

from tenax.extract.html.dom import Dom, visible_text
from tenax.extract.html.tree import Node, Walk, tag_number
from tenax.model import Value

MAX_ELEMENTS: Final = 200
"""A block page is small, so later elements are ignored."""
MAX_INSPECTED: Final = 12
"""Maximum elements per tag whose attributes are read, because reading attributes takes most of the time."""
MAX_SCRIPT_CHARS: Final = 600
MAX_HEADING_CHARS: Final = 300
MAX_NOSCRIPT_CHARS: Final = 1_000
MAX_REFRESH_CHARS: Final = 2_000
_MAX_ATTRIBUTE_CHARS: Final = 300
_MAX_HEADINGS: Final = 6
_FIRST_CHILDREN: Final = 4

_SCRIPT, _STYLE, _NOSCRIPT, _META = map(tag_number, ("script", "style", "noscript", "meta"))
_HEADINGS: Final = frozenset(map(tag_number, ("h1", "h2")))
# Elements whose ids, classes and URLs may name the vendor of a block page, or the mount point of an application.
_INSPECTED_TAGS: Final = frozenset(map(tag_number, ("script", "iframe", "form", "body", "div", "main", "section")))
# Drawings do not count, because empty shells of applications have them too, as icons and spinners.
_MEDIA_TAGS: Final = frozenset(
    map(tag_number, ("img", "picture", "video", "audio", "object", "embed", "frame", "iframe"))
)
_ATTRIBUTES: Final = ("id", "class", "src", "action")
_MOUNT_IDS: Final = frozenset(
    (
        "root", "app", "app-root", "__next", "__nuxt", "___gatsby", "react-root", "reactroot", "react-app", "app-mount",
        "main-app", "svelte", "q-app", "ember-app", "vue-app", "mount", "application",
    )
)  # fmt: skip


class BlockPageSignals(Value, frozen=True):
    """Signals among the first elements of a page."""

    headings: tuple[str, ...] = ()
    """The first `<h1>` and `<h2>`, as displayed."""
    attributes_text: str = ""
    """Ids, classes and URLs of elements and the beginnings of scripts, in lower case, one per line."""
    noscript_text: str = ""
    """Text shown without JavaScript."""
    script_count: int = 0
    media_count: int = 0
    """Images, players and frames outside <noscript>."""
    refresh: str = ""
    """The content of `<meta http-equiv=refresh>`."""
    is_large: bool = False
    """The page has more elements than were read."""
    has_empty_mount: bool = False
    """The page has a mount point of an application that is empty."""


def read_block_page_signals(dom: Dom | None) -> BlockPageSignals:
    """One pass over the page's elements, bounded for any page size."""
    return _SignalCollector(dom.root).to_signals() if dom is not None and dom.root is not None else BlockPageSignals()


class _SignalCollector:
    """State of one pass."""

    def __init__(self, root: Node) -> None:
        self.headings: list[str] = []
        self.attribute_values: list[str] = []
        self.noscript: list[str] = []
        self.tag_counts: dict[int, int] = {}
        self.mount: Node | None = None
        self.refresh = ""
        self.noscript_media_count = 0
        count = self.tag_counts.get
        for node in islice(root.traverse(), MAX_ELEMENTS):
            tag = node.tag_id
            self.tag_counts[tag] = times = count(tag, 0) + 1
            if times > MAX_INSPECTED:
                continue
            if tag in _INSPECTED_TAGS:
                self._add_attributes(tag, node)
            elif tag in _HEADINGS:
                self._add_heading(node)
            elif tag == _META:
                self._add_meta(node.attributes)
            elif tag == _NOSCRIPT:
                self._add_noscript(node)

    def to_signals(self) -> BlockPageSignals:
        return BlockPageSignals(
            headings=tuple(self.headings),
            attributes_text="\n".join(self.attribute_values).lower(),
            noscript_text=" ".join(self.noscript)[:MAX_NOSCRIPT_CHARS],
            script_count=self.tag_counts.get(_SCRIPT, 0),
            media_count=max(0, sum(self.tag_counts.get(tag, 0) for tag in _MEDIA_TAGS) - self.noscript_media_count),
            refresh=self.refresh,
            is_large=sum(self.tag_counts.values()) >= MAX_ELEMENTS,
            has_empty_mount=self.mount is not None and _is_empty_mount(self.mount),
        )

    def _add_attributes(self, tag: int, node: Node) -> None:
        attributes = node.attributes
        self.attribute_values += [
            value[:_MAX_ATTRIBUTE_CHARS] for name in _ATTRIBUTES if (value := attributes.get(name))
        ]
        if tag == _SCRIPT:
            if "json" not in (attributes.get("type") or "") and (child := node.first_child) is not None:
                self.attribute_values.append((child.text_content or "")[:MAX_SCRIPT_CHARS])
        elif self.mount is None and (attributes.get("id") or "").lower() in _MOUNT_IDS:
            self.mount = node

    def _add_heading(self, node: Node) -> None:
        if len(self.headings) < _MAX_HEADINGS and (text := visible_text(Walk(node), MAX_HEADING_CHARS)):
            self.headings.append(text)

    def _add_meta(self, attributes: Mapping[str, str | None]) -> None:
        if not self.refresh and (attributes.get("http-equiv") or "").strip().lower() == "refresh":
            self.refresh = (attributes.get("content") or "")[:MAX_REFRESH_CHARS]
            self.attribute_values.append(self.refresh)

    def _add_noscript(self, node: Node) -> None:
        """Keep the text of a <noscript> element, and ignore tracking pixels."""
        self.noscript.append(_leading_text(node)[:MAX_NOSCRIPT_CHARS])
        self.noscript_media_count += sum(
            1 for inner in islice(node.traverse(), MAX_INSPECTED) if inner.tag_id in _MEDIA_TAGS
        )


def _is_empty_mount(mount: Node) -> bool:
    """Whether the mount point has no text and few elements."""
    return sum(1 for _ in islice(mount.traverse(), MAX_INSPECTED)) < MAX_INSPECTED and not _leading_text(mount)


def _leading_text(node: Node) -> str:
    """Texts near the top of a node, which are enough to see whether it has any."""
    words = []
    for inner in islice(node.traverse(), MAX_INSPECTED):
        child = inner.first_child if inner.tag_id != _SCRIPT and inner.tag_id != _STYLE else None
        for _ in range(_FIRST_CHILDREN):
            if child is None:
                break
            words.append((child.text_content or "").strip())
            child = child.next
    return " ".join(filter(None, words))
