"""Learns which blocks to keep and what kind a page is: `python learn_trees.py DIRECTORY`; run by `bench/learn.py`.

Run in .venv-learn, without anything of Tenax. The directory holds what `bench/learn_rows.py` laid out; what is learned
is put beside it: the trees as LightGBM says them, and for each block and page the answer of trees that have seen
nothing of its site. Fixed seeds, one thread and one way to count make a second run give the same bytes.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

REPEATABLE: dict[str, Any] = {
    "seed": 1,
    "num_threads": 1,
    "deterministic": True,
    # Otherwise the faster of two ways is found by a stop-watch, and they add in different orders.
    "force_col_wise": True,
    "verbose": -1,
}

KEPT: dict[str, Any] = REPEATABLE | {
    "objective": "binary",
    # Sites are fewer than blocks, and alike within themselves: no leaf for the habits of one of them.
    "min_child_samples": 60,
    # Many features say nearly the same. Trees that see half of them each use them all.
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5,
}


@dataclass(frozen=True)
class Plan:
    """How the trees for some kinds of page are made. All are learned from all pages."""

    trees: int
    leaves: int
    rate: float
    others: float
    """How much a page counts that is no article."""
    exits: tuple[int, ...]
    """After so many trees a sum may end early."""
    seeds: tuple[int, ...] = (1,)
    """The mean of as many makings, which takes turns in the table."""


# By cross-validation. On articles, four times as many and larger trees are no better, and half as many lose 0.003. The
# other kinds are each different in its own way, and few: there the large table gains 0.016 on the small one, and the
# second making 0.003 of it.
PLANS = {
    "article": Plan(60, 15, 0.2, 0.5, (4, 6, 10, 15, 22, 30, 42)),
    "other": Plan(250, 31, 0.06, 3.0, (8, 14, 20, 30, 50, 80, 120, 180, 260, 360), (1, 7)),
}
MOST_TURNS = 0.006
"""Of the blocks that leave at an exit, so many would have changed sides later, by weight: the least sum to leave with
is chosen by it. Most blocks are clear long before the last tree."""

KIND_TREES = 50
KIND_EVENNESS = 0.3
"""Rare kinds count more: 0 would leave them as they are, and more than half the pages are articles; 1 would make them
even, and every sixth article something else."""
KIND: dict[str, Any] = REPEATABLE | {
    "objective": "multiclass",
    # Pages are hundreds, not hundreds of thousands: small trees.
    "num_leaves": 6,
    "learning_rate": 0.1,
    "min_child_samples": 8,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 3,
}


class Forest:
    """The trees of one plan, made of some of the rows."""

    def __init__(self, plan: Plan, rows: Any, kept: Any, weights: Any) -> None:
        parameters = KEPT | {"num_leaves": plan.leaves, "learning_rate": plan.rate}
        self._plan = plan
        self._models = [fitted(parameters | {"seed": seed}, plan.trees, rows, kept, weights) for seed in plan.seeds]

    def sums(self, rows: Any, after: int | None = None) -> Any:
        """What the trees add up to, or the first of them."""
        each = None if after is None else after // len(self._models)
        return sum(model.predict(rows, num_iteration=each, raw_score=True) for model in self._models) / len(
            self._models
        )

    def table(self, rows: Any, weights: Any) -> dict[str, Any]:
        makings = [trees_of(model) for model in self._models]
        trees = [{**tree, "worth": 1 / len(makings)} for turn in zip(*makings, strict=True) for tree in turn]
        return {"trees": trees, "exits": self._exits(rows, weights)}

    def _exits(self, rows: Any, weights: Any) -> list[list[float]]:
        """Each exit with the least sum to leave with, and the factor that leads to where it would end in the median."""
        ends = self.sums(rows)
        is_left = weights > 0
        found = []
        for after in self._plan.exits:
            sums = self.sums(rows, after)
            sure = least_sure(np.abs(sums[is_left]), (sums * ends < 0)[is_left], weights[is_left])
            leaves = is_left & (np.abs(sums) >= sure)
            if leaves.any():
                found.append([after, sure, round(float(np.median(ends[leaves] / sums[leaves])), 2)])
            is_left &= ~leaves
        return found


def least_sure(sizes: Any, turns: Any, weights: Any) -> float:
    """The least size, in steps of 0.05, from which on few enough of the sums change sides."""
    order = np.argsort(-sizes)
    turned = np.cumsum((turns * weights)[order]) <= MOST_TURNS * np.cumsum(weights[order])
    few = sizes[order][turned]
    return float(np.ceil((few.min() if len(few) else sizes.max(initial=0.0) + 1) * 20) / 20)


def main(directory: Path) -> None:
    layout = json.loads((directory / "layout.json").read_text("utf-8"))
    kinds = learn_kinds(directory, layout)
    learn_kept(directory, layout, np.array(kinds) == layout["article"])


def learn_kept(directory: Path, layout: dict[str, Any], seem_articles: Any) -> None:
    """`seem_articles` says of each page which table would be asked about it."""
    pages = layout["pages"]
    rows = np.fromfile(directory / "blocks.f32", dtype=np.float32).reshape(-1, len(layout["features"]))
    kept, weights = np.fromfile(directory / "labels.f64", dtype=np.float64).reshape(-1, 2).T
    counts = [page["blocks"] for page in pages]
    folds = np.repeat([page["fold"] for page in pages], counts)
    is_article = np.repeat([page["kind"] == layout["article"] for page in pages], counts)
    is_asked = {"article": np.repeat(seem_articles, counts), "other": np.repeat(~seem_articles, counts)}
    unseen = np.zeros(len(rows), dtype=np.float32)
    learned = {}
    for name, plan in PLANS.items():
        counted = weights * np.where(is_article, 1.0, plan.others)
        for fold in range(layout["folds"]):
            print(f"{name}: part {fold + 1} of {layout['folds']}", flush=True)
            asked = (folds == fold) & is_asked[name]
            if asked.any():
                part = (folds != fold) & (weights > 0)
                forest = Forest(plan, rows[part], kept[part], counted[part])
                unseen[asked] = 1 / (1 + np.exp(-forest.sums(rows[asked])))
        print(f"{name}: everything", flush=True)
        known = weights > 0
        learned[name] = Forest(plan, rows[known], kept[known], counted[known]).table(rows, counted)
    unseen.tofile(directory / "unseen.f32")
    store(directory / "kept.model.json", learned)


def learn_kinds(directory: Path, layout: dict[str, Any]) -> list[int]:
    """What each page would be taken for, unseen. Pages that weigh nothing are not learned from."""
    pages = layout["pages"]
    rows = np.fromfile(directory / "pages.f64", dtype=np.float64).reshape(-1, len(layout["page_features"]))
    kinds, weights, folds = (np.array([page[name] for page in pages]) for name in ("kind", "kind_weight", "fold"))
    shares = np.bincount(kinds, weights=weights, minlength=layout["kinds"]) / max(weights.sum(), 1e-9)
    weights = weights * np.maximum(shares, 1e-3)[kinds] ** -KIND_EVENNESS
    parameters = KIND | {"num_class": layout["kinds"]}
    unseen = np.zeros(len(rows), dtype=int)
    for fold in range(layout["folds"]):
        part = (folds != fold) & (weights > 0)
        model = fitted(parameters, KIND_TREES, rows[part], kinds[part], weights[part])
        if (folds == fold).any():
            unseen[folds == fold] = model.predict(rows[folds == fold]).argmax(axis=1)
    known = weights > 0
    model = fitted(parameters, KIND_TREES, rows[known], kinds[known], weights[known])
    store(directory / "kinds.model.json", {"trees": trees_of(model), "unseen": unseen.tolist()})
    return list(unseen.tolist())


def fitted(parameters: dict[str, Any], trees: int, rows: Any, answers: Any, weights: Any) -> Any:
    return lightgbm.train(parameters, lightgbm.Dataset(rows, answers, weight=weights), trees)


def trees_of(model: Any) -> Any:
    return model.dump_model()["tree_info"]


def store(file: Path, learned: dict[str, Any]) -> None:
    file.write_text(json.dumps(learned), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
