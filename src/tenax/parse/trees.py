"""Learned tables as plain data: decision trees in JSON, made into one Python function when first asked for.

A tree is a number, its answer, or a list: the name of a feature, a threshold, what to do up to it and what above it. A
table adds up the answers of its trees. Python runs the sum as one expression several times faster than a loop over
nodes would; the source is made of names and numbers only, all checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

import msgspec

from tenax.model import Value

Numbers: TypeAlias = tuple[float, ...]
Tree: TypeAlias = Any
"""A number, or [feature, threshold, tree, tree]: JSON has no better word for it."""
NONE: Final = -20.0
"""The sum of a row without numbers: as surely not as any."""


class Table(Value, frozen=True):
    """One sum of trees."""

    trees: tuple[Tree, ...]
    exits: tuple[tuple[int, float, float], ...] = ()
    """After so many trees a sum beyond so much is not refined but multiplied, to where it would go on average."""


def load(name: str) -> dict[str, Table]:
    """The tables of a file beside this one, by name."""
    return msgspec.json.decode(files("tenax.parse").joinpath(name).read_bytes(), type=dict[str, Table])


def expression(tree: Tree, names: dict[str, str]) -> str:
    """The tree as an expression on the variables that stand for features."""
    if not isinstance(tree, list):
        return repr(float(tree))
    feature, threshold, low, high = tree
    return f"({expression(low, names)} if {names[feature]} <= {float(threshold)!r} else {expression(high, names)})"


def compiled_sum(table: Table, features: Sequence[str]) -> Callable[[Numbers], float]:
    """A function from the numbers, in the order of `features`, to the sum."""
    names = {name: f"x{place}" for place, name in enumerate(features)}
    lines = ["def total(numbers):", f"    {', '.join(names.values())}, = numbers", "    sum = 0.0"]
    lines += [f"    sum += {expression(tree, names)}" for tree in table.trees]
    made: Callable[[Numbers], float] = _made([*lines, "    return sum"], "total")
    return made


def compiled_rows(
    table: Table, of_row: Sequence[str], of_group: Sequence[str], of_all: Sequence[str]
) -> Callable[[Sequence[Numbers], Sequence[int], dict[int, Numbers], Numbers], list[float]]:
    """A function that gives the sum for each row: its own numbers, those of its group and those that all share.

    A row without numbers has the sum `NONE`.
    """
    families = [
        {name: f"{letter}{place}" for place, name in enumerate(family)}
        for letter, family in (("r", of_row), ("g", of_group), ("a", of_all))
    ]
    rows, groups, shared = (", ".join(family.values()) for family in families)
    names = families[2] | families[1] | families[0]
    lines = [
        "def totals(rows, places, groups, shared):",
        f"    {shared}, = shared",
        "    found = []",
        "    last = None",
        "    for row, place in zip(rows, places, strict=True):",
        "        if not row:",
        "            found.append(NONE)",
        "            continue",
        f"        {rows}, = row",
        "        if place != last:",
        f"            {groups}, = groups[place]",
        "            last = place",
        "        sum = 0.0",
    ]
    exits = {after: (sure, scale) for after, sure, scale in table.exits}
    for number, tree in enumerate(table.trees):
        if number in exits:
            sure, scale = exits[number]
            lines.append(f"        if not -{sure!r} < sum < {sure!r}:")
            lines.append(f"            found.append(sum * {scale!r})")
            lines.append("            continue")
        lines.append(f"        sum += {expression(tree, names)}")
    made: Callable[[Sequence[Numbers], Sequence[int], dict[int, Numbers], Numbers], list[float]] = _made(
        [*lines, "        found.append(sum)", "    return found"], "totals"
    )
    return made


@cache
def _code(source: str) -> Any:
    return compile(source, "<learned table>", "exec")


def _made(lines: list[str], name: str) -> Any:
    scope: dict[str, Any] = {"NONE": NONE}
    exec(_code("\n".join(lines)), scope)
    return scope[name]
