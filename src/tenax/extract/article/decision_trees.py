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

FeatureValues: TypeAlias = tuple[float, ...]
Tree: TypeAlias = Any
"""A number, or [feature, threshold, tree, tree]: JSON has no better word for it."""
RowSums: TypeAlias = Callable[
    [Sequence[FeatureValues], Sequence[int], Mapping[int, FeatureValues], FeatureValues], list[float]
]
"""From the numbers of rows, the group of each, the numbers of groups and those of all, to the sum of each row."""
_CompiledPart: TypeAlias = Callable[[FeatureValues, FeatureValues, FeatureValues, float], tuple[float, bool]]
_TREES_PER_PART: Final = 50
NO_ROW_SUM: Final = -20.0
"""The sum of a row without numbers: as surely not as any."""


class Table(Value, frozen=True):
    """One sum of trees."""

    trees: tuple[Tree, ...]
    exits: tuple[tuple[int, float, float], ...] = ()
    """After so many trees a sum beyond so much is not refined but multiplied, to where it would go on average."""


def load_tables(name: str) -> dict[str, Table]:
    """The tables of a file beside this one, by name."""
    return msgspec.json.decode(read_table_file(name), type=dict[str, Table])


def read_table_file(name: str) -> bytes:
    """Such a file as it is. By `pkgutil`, which is there sooner than `importlib.resources` by 5 ms."""
    text = get_data("tenax.extract.article", name)
    assert text is not None, "it comes with the package"
    return text


def tree_expression(tree: Tree, names: Mapping[str, str], fractions: Set[str]) -> str:
    """The tree as an expression on the variables that stand for features, all of them whole but for `fractions`."""
    if not isinstance(tree, list):
        return repr(float(tree))
    feature, threshold, low, high = tree
    # Python compares two whole numbers, or two that are not, twice as fast as one with the other.
    limit = repr(float(threshold)) if feature in fractions else repr(floor(float(threshold)))
    low, high = tree_expression(low, names, fractions), tree_expression(high, names, fractions)
    return f"({low} if {names[feature]} <= {limit} else {high})"


def compile_sum(table: Table, features: Sequence[str], fractions: Set[str]) -> Callable[[FeatureValues], float]:
    """A function from the numbers, in the order of `features`, to the sum."""
    names = {name: f"x{place}" for place, name in enumerate(features)}
    lines = ["def total(numbers):", f"    {', '.join(names.values())}, = numbers", "    sum = 0.0"]
    lines += [f"    sum += {tree_expression(tree, names, fractions)}" for tree in table.trees]
    made: Callable[[FeatureValues], float] = _compile_function([*lines, "    return sum"], "total")
    return made


def compile_row_sums(
    table: Table,
    row_features: Sequence[str],
    group_features: Sequence[str],
    shared_features: Sequence[str],
    fractions: Set[str],
) -> RowSums:
    """A function that gives the sum for each row: its own numbers, those of its group and those that all share.

    A row without numbers has the sum `NO_ROW_SUM`.
    """
    families = [
        {name: f"{letter}{place}" for place, name in enumerate(family)}
        for letter, family in (("r", row_features), ("g", group_features), ("a", shared_features))
    ]
    names = families[2] | families[1] | families[0]
    rows, groups, shared = (", ".join(family.values()) for family in families)
    unpacked = [f"    {rows}, = row", f"    {groups}, = group", f"    {shared}, = shared"]
    borders = _part_starts(table)
    parts: list[_CompiledPart | None] = [None] * (len(borders) - 1)

    def made(number: int) -> _CompiledPart:
        """A part, compiled when it is first needed: most pages need no more than the first of a large table."""
        lines = _source_lines(table, range(borders[number], borders[number + 1]), names, fractions)
        part: _CompiledPart = _compile_function(
            ["def part(row, group, shared, sum):", *unpacked, *lines, "    return sum, False"], "part"
        )
        parts[number] = part
        return part

    def totals(
        rows: Sequence[FeatureValues], places: Sequence[int], groups: Mapping[int, FeatureValues], shared: FeatureValues
    ) -> list[float]:
        found = []
        for row, place in zip(rows, places, strict=True):
            total = 0.0 if row else NO_ROW_SUM
            for number, part in enumerate(parts) if row else ():
                total, is_sure = (part or made(number))(row, groups[place], shared, total)
                if is_sure:
                    break
            found.append(total)
        return found

    return totals


def _part_starts(table: Table) -> list[int]:
    """Where the parts of a table begin, at exits, and where the last one ends.

    Compiled as a whole, a large one would take a hundred megabytes while that lasts.
    """
    found = [0]
    for after, _, _ in table.exits:
        if after - found[-1] >= _TREES_PER_PART:
            found.append(after)
    return [*found, len(table.trees)]


def _source_lines(table: Table, trees: range, names: Mapping[str, str], fractions: Set[str]) -> Iterator[str]:
    """Some trees of a table as Python, with the exits after them."""
    exits = {after: (sure, scale) for after, sure, scale in table.exits}
    for number in trees:
        yield f"    sum += {tree_expression(table.trees[number], names, fractions)}"
        if number + 1 in exits:
            sure, scale = exits[number + 1]
            yield f"    if not -{sure!r} < sum < {sure!r}:"
            yield f"        return sum * {scale!r}, True"


def _compile_function(lines: list[str], name: str) -> Any:
    scope: dict[str, Any] = {}
    exec(compile("\n".join(lines), "<learned table>", "exec"), scope)
    return scope[name]
