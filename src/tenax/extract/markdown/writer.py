"""Writes Markdown blocks within quotes and list items, with the prefixes of each line."""

from __future__ import annotations

from typing import Final, TypeAlias

MAX_LEVELS: Final = 16
"""Quotes count once and items twice, as in parsers: some fail at 20."""


class Container:
    """A quote, or an item of a list."""

    __slots__ = ("first_prefix", "list_box", "next_prefix", "number")

    def __init__(self, in_list: int | None = None, number: int | None = None) -> None:
        self.list_box = in_list
        """The list of an item; None for a quote."""
        self.number = number
        """None in an unordered list."""
        # The marker of an item depends on the list that ends just before it; the writer sets it.
        self.first_prefix = self.next_prefix = "> "


Containers: TypeAlias = tuple[Container, ...]
"""Nested containers, outermost first."""


def count_levels(containers: Containers) -> int:
    return sum(1 if container.list_box is None else 2 for container in containers)


class MarkdownOutput:
    def __init__(self) -> None:
        self._parts: list[str] = []
        self._open_containers: Containers = ()
        self._marker_by_list: dict[int, str] = {}

    def add_block(self, containers: Containers, text: str) -> None:
        """Add a complete Markdown block."""
        if not containers:
            # The most common case.
            self._parts += ("\n\n", text) if self._parts else (text,)
            self._open_containers = ()
            return
        common = _count_shared(self._open_containers, containers)
        opened = containers[common:]
        for container in opened:
            if container.list_box is not None:
                self._set_marker(container, common if container is opened[0] else None)
        kept = "".join([container.next_prefix for container in containers[:common]])
        if self._parts:
            is_tight = bool(opened) and self._continues_list(opened[0], common)
            self._parts.append("\n" if is_tight else f"\n{kept.rstrip()}\n")
        rest = "".join([container.next_prefix for container in containers])
        first = "".join([container.first_prefix for container in opened])
        self._parts.append(f"{kept}{first}{text}".replace("\n", f"\n{rest}"))
        self._open_containers = containers

    def to_text(self) -> str:
        return "".join(self._parts)

    def _continues_list(self, item: Container, common: int) -> bool:
        """Whether the item continues the list before it, or begins one directly below the text of an outer item."""
        if item.list_box is None:
            return False
        if common < len(self._open_containers):
            return self._open_containers[common].list_box == item.list_box
        # Only number 1 can interrupt a paragraph.
        return common > 0 and self._open_containers[-1].list_box is not None and item.number in (None, 1)

    def _set_marker(self, item: Container, depth: int | None) -> None:
        """Set the marker of an item: the alternative one if its list directly follows a list of the same kind."""
        assert item.list_box is not None
        sign = self._marker_by_list.get(item.list_box)
        if sign is None:
            usual, other = ("-", "*") if item.number is None else (".", ")")
            sign = usual
            if depth is not None and depth < len(self._open_containers):
                before = self._open_containers[depth]
                if before.list_box is not None and self._marker_by_list.get(before.list_box) == usual:
                    sign = other
            self._marker_by_list[item.list_box] = sign
        item.first_prefix = f"{sign} " if item.number is None else f"{item.number}{sign} "
        item.next_prefix = " " * len(item.first_prefix)


def _count_shared(one: Containers, other: Containers) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a is not b:
            break
        count += 1
    return count
