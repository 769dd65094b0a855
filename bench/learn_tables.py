"""Converts LightGBM's trees to the tables of `extract.article.decision_trees`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.learn_rows import FEATURES, KIND_ORDER
from bench.report import BenchError
from tenax.extract.article.page_type import KIND_FEATURES

Tables = dict[str, dict[str, Any]]
"""By name: trees, and the early-exit bounds of the sum."""


def kept_tables(learned: Mapping[str, Mapping[str, Any]]) -> Tables:
    return {
        name: {
            "trees": [tree_of(tree["tree_structure"], FEATURES, tree["worth"]) for tree in table["trees"]],
            "exits": list(table["exits"]),
        }
        for name, table in learned.items()
    }


def kinds_tables(trees: Sequence[Mapping[str, Any]]) -> Tables:
    """LightGBM interleaves the trees of the kinds."""
    made = [tree_of(one["tree_structure"], KIND_FEATURES) for one in trees]
    return {str(kind.value): {"trees": made[position :: len(KIND_ORDER)]} for position, kind in enumerate(KIND_ORDER)}


def tree_of(node: Mapping[str, Any], names: Sequence[str], worth: float = 1.0) -> Any:
    """A number or [feature, threshold, up to it, above it], with as many digits as the numbers of a block deserve."""
    if "leaf_value" in node:
        return round(worth * node["leaf_value"], 4)
    if node["decision_type"] != "<=":
        raise BenchError(f"a tree decides by {node['decision_type']!r}, which no table can say")
    below, above = (tree_of(node[child], names, worth) for child in ("left_child", "right_child"))
    return [names[node["split_feature"]], float(f"{node['threshold']:.6g}"), below, above]


def store(tables: Tables, file: Path) -> None:
    file.write_text(json.dumps(tables, separators=(",", ":")), encoding="utf-8")


def same_trees(tables: Tables, shipped: Mapping[str, Any]) -> int:
    """Number of trees that are equal at the same position."""
    pairs = [
        (ours, theirs)
        for name, table in tables.items()
        for ours, theirs in zip(table["trees"], shipped.get(name, {}).get("trees", ()), strict=False)
    ]
    return sum(ours == theirs for ours, theirs in pairs)
