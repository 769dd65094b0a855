"""Learned tables: the sums of a small one, and that the shipped ones run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.extract.article.decision_trees import (
    NO_ROW_SUM,
    FeatureValues,
    Table,
    Tree,
    compile_row_sums,
    compile_sum,
    load_tables,
)
from tenax.extract.article.features import BLOCK_FEATURES, BOX_FEATURES, FRACTION_FEATURES
from tenax.extract.article.layout import PAGE_FEATURES, PAGE_FRACTION_FEATURES
from tenax.extract.article.page_type import KIND_FEATURES
from tenax.model import PageKind

SIZE: Tree = ["size", 10, -1, ["kind of it", 0.5, 2, 3]]
"""Small: -1; else 2, or 3 of the other kind."""
NAMES = ("size", "kind of it")


@pytest.mark.parametrize(
    ("numbers", "total"),
    [((10.0, 9.0), -1.0), ((10.1, 0.0), 2.0), ((11.0, 0.5), 2.0), ((11.0, 0.6), 3.0)],
)
def test_a_tree(numbers: tuple[float, float], total: float) -> None:
    assert compile_sum(Table((SIZE,)), NAMES, {*NAMES})(numbers) == total


def test_a_table_adds_up_its_trees() -> None:
    table = Table((SIZE, 0.25, ["kind of it", 0, 0, 100]))
    total = compile_sum(table, NAMES, {"kind of it"})
    assert total((11, 1.0)) == 103.25
    assert total((1, 0.0)) == -0.75
    assert compile_sum(Table(()), ("size",), set())((3,)) == 0.0


def test_unknown_feature_is_rejected() -> None:
    with pytest.raises(KeyError):
        compile_sum(Table((SIZE,)), ("size",), set())


@pytest.mark.parametrize("fractions", [frozenset(), frozenset(("size",))], ids=["whole", "not whole"])
@pytest.mark.parametrize("tree", ["__import__('os')", ["size", "1 or x", 0, 1], ["size", 1, "x", 0]])
def test_only_numbers_become_code(tree: Tree, fractions: frozenset[str]) -> None:
    with pytest.raises(ValueError, match="could not convert"):
        compile_sum(Table((tree,)), ("size",), fractions)


ROW: Tree = ["own", 0, -1, 1]
GROUP: Tree = ["around", 0, -10, 10]
ALL: Tree = ["of all", 0, -100, 100]


def totals(table: Table, rows: Sequence[FeatureValues], indexes: list[int]) -> list[float]:
    groups: dict[int, FeatureValues] = {0: (0.0,), 1: (1.0,)}
    return compile_row_sums(table, ("own",), ("around",), ("of all",), set())(rows, indexes, groups, (1.0,))


def test_rows_use_own_group_and_shared_values() -> None:
    table = Table((ROW, GROUP, ALL))
    assert totals(table, [(0,), (1,), (1,), (0,)], [0, 0, 1, 0]) == [89, 91, 111, 89]
    assert totals(table, [], []) == []


def test_row_without_values_needs_no_group() -> None:
    assert totals(Table((ROW, GROUP)), [(), (1,), ()], [7, 1, 8]) == [NO_ROW_SUM, 11, NO_ROW_SUM]


def test_row_values_win_over_group_and_shared_values() -> None:
    """A name that row, group and shared values have in common is the row's."""
    run = compile_row_sums(Table((["x", 0, -1, 1],)), ("x",), ("x",), ("x",), set())
    assert run([(1.0,)], [0], {0: (0.0,)}, (0.0,)) == [1]


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (3.0, 30.0),  # certain: not refined, but scaled
        (-3.0, -30.0),
        (2.0, 20.0),
        (1.9, 1.9 + 0.5),
        (-1.9, -1.9 + 0.5),
    ],
)
def test_certain_sum_exits_early(first: float, expected: float) -> None:
    table = Table((first, 0.5), exits=((1, 2.0, 10.0),))
    assert totals(table, [(0,)], [0]) == [pytest.approx(expected)]


def test_first_certain_exit_is_taken() -> None:
    table = Table((["own", 0, 1, 5], 2, 0.5), exits=((1, 4.0, 2.0), (2, 3.0, 3.0)))
    assert totals(table, [(0,), (1,)], [0, 0]) == [9.0, 10.0]


def test_large_table_in_parts_gives_the_same_sum() -> None:
    """It is split where a sum may end early."""
    trees = tuple(["own", number % 7, -0.01, 0.01 + number / 10_000] for number in range(300))
    rows = [(number,) for number in range(8)]
    plain = totals(Table(trees), rows, [0] * 8)
    parted = Table(trees, exits=tuple((after, 1e9, 1.0) for after in (20, 60, 120, 150, 260)))
    assert totals(parted, rows, [0] * 8) == pytest.approx(plain)
    ending = Table(trees, exits=((60, 1e9, 1.0), (260, 0.0, 2.0)))
    assert totals(ending, [(9,)], [0])[0] == pytest.approx(2 * sum(0.01 + number / 10_000 for number in range(260)))


def answer(tree: Tree, numbers: dict[str, float]) -> float:
    """A tree evaluated step by step."""
    while isinstance(tree, list):
        feature, threshold, low, high = tree
        tree = low if numbers[feature] <= threshold else high
    return float(tree)


NUMBERS = st.floats(-100, 100)
TREES = st.recursive(
    NUMBERS,
    lambda inner: st.tuples(st.sampled_from("ab"), NUMBERS, inner, inner).map(list),
    max_leaves=12,
)


@given(st.lists(TREES, max_size=4), st.integers(-100, 100), NUMBERS)
def test_compiled_trees_equal_interpreted_trees(trees: list[Tree], a: int, b: float) -> None:
    """For integers and others, whatever they are compared with."""
    table, expected = Table(tuple(trees)), sum(answer(tree, {"a": a, "b": b}) for tree in trees)
    assert compile_sum(table, ("a", "b"), {"b"})((a, b)) == pytest.approx(expected)
    assert compile_row_sums(table, ("a",), ("b",), ("c",), {"b"})([(a,)], [0], {0: (b,)}, (0,)) == [
        pytest.approx(expected)
    ]


def test_shipped_tables() -> None:
    kept = load_tables("kept.json")
    assert set(kept) == {"article", "other"}
    for table in kept.values():
        compile_row_sums(table, BLOCK_FEATURES, BOX_FEATURES, PAGE_FEATURES, FRACTION_FEATURES)
    kinds = load_tables("kinds.json")
    assert set(kinds) == {kind.value for kind in PageKind}
    for table in kinds.values():
        compile_sum(table, KIND_FEATURES, PAGE_FRACTION_FEATURES)
