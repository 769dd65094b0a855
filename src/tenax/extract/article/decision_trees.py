"""Learned tables as plain data: decision trees in JSON, made into one Python function when first asked for.

A tree is a number, its answer, or a list: the name of a feature, a threshold, what to do up to it and what above it. A
table adds up the answers of its trees. Python runs the sum as one expression several times faster than a loop over
nodes would; the source is made of names and numbers only, all checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from math import floor
from pkgutil import get_data
from typing import Any, Final, TypeAlias

import msgspec

from tenax.model import Value

Numbers: TypeAlias = tuple[float, ...]
Tree: TypeAlias = Any
"""A number, or [feature, threshold, tree, tree]: JSON has no better word for it."""
RowSums: TypeAlias = Callable[[Sequence[Numbers], Sequence[int], Mapping[int, Numbers], Numbers], list[float]]
"""From the numbers of rows, the group of each, the numbers of groups and those of all, to the sum of each row."""
_Part: TypeAlias = Callable[[Numbers, Numbers, Numbers, float], tuple[float, bool]]
_TREES_OF_PART: Final = 50
NONE: Final = -20.0
"""The sum of a row without numbers: as surely not as any."""


class Table(Value, frozen=True):
    """One sum of trees."""

    trees: tuple[Tree, ...]
    exits: tuple[tuple[int, float, float], ...] = ()
    """After so many trees a sum beyond so much is not refined but multiplied, to where it would go on average."""


def load(name: str) -> dict[str, Table]:
    """The tables of a file beside this one, by name."""
    return msgspec.json.decode(written(name), type=dict[str, Table])


def written(name: str) -> bytes:
    """Such a file as it is. By `pkgutil`, which is there sooner than `importlib.resources` by 5 ms."""
    text = get_data("tenax.extract.article", name)
    assert text is not None, "it comes with the package"
    return text


def expression(tree: Tree, names: Mapping[str, str], fractions: Set[str]) -> str:
    """The tree as an expression on the variables that stand for features, all of them whole but for `fractions`."""
    if not isinstance(tree, list):
        return repr(float(tree))
    feature, threshold, low, high = tree
    # Python compares two whole numbers, or two that are not, twice as fast as one with the other.
    limit = repr(float(threshold)) if feature in fractions else repr(floor(float(threshold)))
    low, high = expression(low, names, fractions), expression(high, names, fractions)
    return f"({low} if {names[feature]} <= {limit} else {high})"


def compiled_sum(table: Table, features: Sequence[str], fractions: Set[str]) -> Callable[[Numbers], float]:
    """A function from the numbers, in the order of `features`, to the sum."""
    names = {name: f"x{place}" for place, name in enumerate(features)}
    lines = ["def total(numbers):", f"    {', '.join(names.values())}, = numbers", "    sum = 0.0"]
    lines += [f"    sum += {expression(tree, names, fractions)}" for tree in table.trees]
    made: Callable[[Numbers], float] = _made([*lines, "    return sum"], "total")
    return made


def compiled_rows(
    table: Table, of_row: Sequence[str], of_group: Sequence[str], of_all: Sequence[str], fractions: Set[str]
) -> RowSums:
    """A function that gives the sum for each row: its own numbers, those of its group and those that all share.

    A row without numbers has the sum `NONE`.
    """
    families = [
        {name: f"{letter}{place}" for place, name in enumerate(family)}
        for letter, family in (("r", of_row), ("g", of_group), ("a", of_all))
    ]
    names = families[2] | families[1] | families[0]
    rows, groups, shared = (", ".join(family.values()) for family in families)
    unpacked = [f"    {rows}, = row", f"    {groups}, = group", f"    {shared}, = shared"]
    borders = _borders(table)
    parts: list[_Part | None] = [None] * (len(borders) - 1)

    def made(number: int) -> _Part:
        """A part, compiled when it is first needed: most pages need no more than the first of a large table."""
        lines = _lines(table, range(borders[number], borders[number + 1]), names, fractions)
        part: _Part = _made(["def part(row, group, shared, sum):", *unpacked, *lines, "    return sum, False"], "part")
        parts[number] = part
        return part

    def totals(
        rows: Sequence[Numbers], places: Sequence[int], groups: Mapping[int, Numbers], shared: Numbers
    ) -> list[float]:
        found = []
        for row, place in zip(rows, places, strict=True):
            total = 0.0 if row else NONE
            for number, part in enumerate(parts) if row else ():
                total, is_sure = (part or made(number))(row, groups[place], shared, total)
                if is_sure:
                    break
            found.append(total)
        return found

    return totals


def _borders(table: Table) -> list[int]:
    """Where the parts of a table begin, at exits, and where the last one ends.

    Compiled as a whole, a large one would take a hundred megabytes while that lasts.
    """
    found = [0]
    for after, _, _ in table.exits:
        if after - found[-1] >= _TREES_OF_PART:
            found.append(after)
    return [*found, len(table.trees)]


def _lines(table: Table, trees: range, names: Mapping[str, str], fractions: Set[str]) -> Iterator[str]:
    """Some trees of a table as Python, with the exits after them."""
    exits = {after: (sure, scale) for after, sure, scale in table.exits}
    for number in trees:
        yield f"    sum += {expression(table.trees[number], names, fractions)}"
        if number + 1 in exits:
            sure, scale = exits[number + 1]
            yield f"    if not -{sure!r} < sum < {sure!r}:"
            yield f"        return sum * {scale!r}, True"


def _made(lines: list[str], name: str) -> Any:
    scope: dict[str, Any] = {}
    exec(compile("\n".join(lines), "<learned table>", "exec"), scope)
    return scope[name]
