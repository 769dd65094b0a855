"""Learned tables as plain data: decision trees in JSON, compiled to one Python function on first use.

A tree is a number, which is its result, or a list: feature name, threshold, the tree for values up to the threshold,
and the tree for values above it. A table adds up the results of its trees. Python evaluates the sum as one expression
several times faster than a loop over nodes. The source has only names and numbers, which are all checked here.
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
"""A number, or [feature, threshold, tree, tree]; recursive JSON has no precise type."""
RowSums: TypeAlias = Callable[
    [Sequence[FeatureValues], Sequence[int], Mapping[int, FeatureValues], FeatureValues], list[float]
]
"""Takes the values of the rows, the group of each row, the values of the groups and the shared values. Returns the sum
of each row."""
_CompiledPart: TypeAlias = Callable[[FeatureValues, FeatureValues, FeatureValues, float], tuple[float, bool]]
_TREES_PER_PART: Final = 50
NO_ROW_SUM: Final = -20.0
"""The sum of a row without values, which means a certain no."""


class Table(Value, frozen=True):
    """One sum of trees."""

    trees: tuple[Tree, ...]
    exits: tuple[tuple[int, float, float], ...] = ()
    """After each of these numbers of trees: if the sum is beyond a bound, the rest is not computed, and the sum is
    multiplied to its average final value."""


def load_tables(name: str) -> dict[str, Table]:
    """The tables of a file in this package, by name."""
    return msgspec.json.decode(read_table_file(name), type=dict[str, Table])


def read_table_file(name: str) -> bytes:
    """The bytes of a file in this package. `pkgutil` loads 5 ms faster than `importlib.resources`."""
    text = get_data("tenax.extract.article", name)
    assert text is not None, "shipped with the package"
    return text


def tree_expression(tree: Tree, names: Mapping[str, str], fractions: Set[str]) -> str:
    """The tree as a Python expression with the variables `names`. All features but `fractions` are integers."""
    if not isinstance(tree, list):
        return repr(float(tree))
    feature, threshold, low, high = tree
    # Python compares two integers, or two floats, twice as fast as an integer with a float.
    limit = repr(float(threshold)) if feature in fractions else repr(floor(float(threshold)))
    low, high = tree_expression(low, names, fractions), tree_expression(high, names, fractions)
    return f"({low} if {names[feature]} <= {limit} else {high})"


def compile_sum(table: Table, features: Sequence[str], fractions: Set[str]) -> Callable[[FeatureValues], float]:
    """A function that takes the values, in the order of `features`, and returns the sum of the trees."""
    names = {name: f"x{index}" for index, name in enumerate(features)}
    lines = ["def total(numbers):", f"    {', '.join(names.values())}, = numbers", "    sum = 0.0"]
    lines += [f"    sum += {tree_expression(tree, names, fractions)}" for tree in table.trees]
    namespace: Callable[[FeatureValues], float] = _compile_function([*lines, "    return sum"], "total")
    return namespace


def compile_row_sums(
    table: Table,
    row_features: Sequence[str],
    group_features: Sequence[str],
    shared_features: Sequence[str],
    fractions: Set[str],
) -> RowSums:
    """A function that returns the sum of each row: from its own values, from those of its group, and from those that
    all rows share.

    A row without values has the sum `NO_ROW_SUM`.
    """
    families = [
        {name: f"{letter}{index}" for index, name in enumerate(family)}
        for letter, family in (("r", row_features), ("g", group_features), ("a", shared_features))
    ]
    names = families[2] | families[1] | families[0]
    rows, groups, shared = (", ".join(family.values()) for family in families)
    unpacked = [f"    {rows}, = row", f"    {groups}, = group", f"    {shared}, = shared"]
    borders = _part_starts(table)
    parts: list[_CompiledPart | None] = [None] * (len(borders) - 1)

    def compiled_part(number: int) -> _CompiledPart:
        """A part, compiled on first use. Most pages need only the first part of a large table."""
        lines = _source_lines(table, range(borders[number], borders[number + 1]), names, fractions)
        part: _CompiledPart = _compile_function(
            ["def part(row, group, shared, sum):", *unpacked, *lines, "    return sum, False"], "part"
        )
        parts[number] = part
        return part

    def totals(
        rows: Sequence[FeatureValues],
        indexes: Sequence[int],
        groups: Mapping[int, FeatureValues],
        shared: FeatureValues,
    ) -> list[float]:
        found = []
        for row, index in zip(rows, indexes, strict=True):
            total = 0.0 if row else NO_ROW_SUM
            for number, part in enumerate(parts) if row else ():
                total, is_sure = (part or compiled_part(number))(row, groups[index], shared, total)
                if is_sure:
                    break
            found.append(total)
        return found

    return totals


def _part_starts(table: Table) -> list[int]:
    """Where the parts of a table begin, which is at exits, and where the last part ends.

    Compiling a large table as a whole would need a hundred megabytes meanwhile.
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
