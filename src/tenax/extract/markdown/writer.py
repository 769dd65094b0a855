"""The sheet Markdown is written on: blocks within quotes and list items, and the marks that keep each line there."""

from __future__ import annotations

from typing import Final, TypeAlias

MAX_LEVELS: Final = 16
"""Quotes count once and items twice, as parsers count them: some give up at 20."""


class Container:
    """A quote, or an item of a list."""

    __slots__ = ("first", "list", "number", "rest")

    def __init__(self, in_list: int | None = None, number: int | None = None) -> None:
        self.list = in_list
        """Which list it is an item of; None for a quote."""
        self.number = number
        """None in a list without numbers."""
        # What an item begins with depends on the list that ends just before it; the sheet decides.
        self.first = self.rest = "> "


Chain: TypeAlias = tuple[Container, ...]
"""Containers within each other, outermost first."""


def levels(chain: Chain) -> int:
    return sum(1 if container.list is None else 2 for container in chain)


class Sheet:
    def __init__(self) -> None:
        self._parts: list[str] = []
        self._open: Chain = ()
        self._signs: dict[int, str] = {}

    def add(self, chain: Chain, text: str) -> None:
        """Add a block: Markdown that makes sense on its own."""
        if not chain:
            # The most common of all.
            self._parts += ("\n\n", text) if self._parts else (text,)
            self._open = ()
            return
        common = _shared(self._open, chain)
        opened = chain[common:]
        for container in opened:
            if container.list is not None:
                self._sign(container, common if container is opened[0] else None)
        kept = "".join([container.rest for container in chain[:common]])
        if self._parts:
            is_tight = bool(opened) and self._goes_on(opened[0], common)
            self._parts.append("\n" if is_tight else f"\n{kept.rstrip()}\n")
        rest = "".join([container.rest for container in chain])
        first = "".join([container.first for container in opened])
        self._parts.append(f"{kept}{first}{text}".replace("\n", f"\n{rest}"))
        self._open = chain

    def text(self) -> str:
        return "".join(self._parts)

    def _goes_on(self, item: Container, common: int) -> bool:
        """Whether the item goes on with the list before it, or begins one right below the text of an outer item."""
        if item.list is None:
            return False
        if common < len(self._open):
            return self._open[common].list == item.list
        # Numbers other than 1 cannot end a paragraph.
        return common > 0 and self._open[-1].list is not None and item.number in (None, 1)

    def _sign(self, item: Container, place: int | None) -> None:
        """Give an item its marker: of a list that follows right on another one of its kind, the other marker."""
        assert item.list is not None
        sign = self._signs.get(item.list)
        if sign is None:
            usual, other = ("-", "*") if item.number is None else (".", ")")
            sign = usual
            if place is not None and place < len(self._open):
                before = self._open[place]
                if before.list is not None and self._signs.get(before.list) == usual:
                    sign = other
            self._signs[item.list] = sign
        item.first = f"{sign} " if item.number is None else f"{item.number}{sign} "
        item.rest = " " * len(item.first)


def _shared(one: Chain, other: Chain) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a is not b:
            break
        count += 1
    return count
