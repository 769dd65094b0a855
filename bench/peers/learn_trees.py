"""Learns which blocks to keep and what kind a page is: `python learn_trees.py DIRECTORY`; run by `bench/learn.py`.

Run in .venv-learn, without anything of Tenax. The directory holds what `bench/learn_rows.py` laid out; what is learned
is put beside it: the trees as LightGBM says them, and for each block and page the answer of trees that have seen
nothing of its site. Fixed seeds, one thread and one way to count make a second run give the same bytes.
"""

from __future__ import annotations

import json
import sys
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

KEPT_TREES = 150
KEPT: dict[str, Any] = REPEATABLE | {
    "objective": "binary",
    # By cross-validation: 300 slower trees gain nothing that shows and cost twice as much in every crawl; 80 trees, or
    # 100 of 15 leaves, lose 0.002 on articles and 0.009 on other kinds of page.
    "num_leaves": 31,
    "learning_rate": 0.09,
    # Sites are fewer than blocks, and alike within themselves: no leaf for the habits of one of them.
    "min_child_samples": 80,
    # Many features say nearly the same. Trees that see half of them each use them all.
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5,
}
EXITS = ((20, 1.6), (30, 2.0), (45, 2.0), (70, 1.75), (105, 1.25))
"""After so many trees a sum beyond so much is not refined: few of them change sides, and most blocks are that clear."""

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


def main(directory: Path) -> None:
    layout = json.loads((directory / "layout.json").read_text("utf-8"))
    learn_kept(directory, layout)
    learn_kinds(directory, layout)


def learn_kept(directory: Path, layout: dict[str, Any]) -> None:
    rows = np.fromfile(directory / "blocks.f32", dtype=np.float32).reshape(-1, len(layout["features"]))
    kept, weights = np.fromfile(directory / "lessons.f64", dtype=np.float64).reshape(-1, 2).T
    folds = np.repeat([page["fold"] for page in layout["pages"]], [page["blocks"] for page in layout["pages"]])
    unseen = np.zeros(len(rows), dtype=np.float32)
    for fold in range(layout["folds"]):
        print(f"fold {fold + 1} of {layout['folds']}", flush=True)
        model = fitted(KEPT, KEPT_TREES, rows, kept, weights, folds != fold)
        if (folds == fold).any():
            unseen[folds == fold] = model.predict(rows[folds == fold])
    unseen.tofile(directory / "unseen.f32")
    print("everything", flush=True)
    model = fitted(KEPT, KEPT_TREES, rows, kept, weights, np.ones(len(rows), dtype=bool))
    store(directory / "kept.model.json", {"trees": trees_of(model), "exits": exits_of(model, rows)})


def learn_kinds(directory: Path, layout: dict[str, Any]) -> None:
    """Pages that weigh nothing are not learned from."""
    pages = layout["pages"]
    rows = np.fromfile(directory / "pages.f64", dtype=np.float64).reshape(-1, len(layout["page_features"]))
    kinds, weights, folds = (np.array([page[name] for page in pages]) for name in ("kind", "kind_weight", "fold"))
    shares = np.bincount(kinds, weights=weights, minlength=layout["kinds"]) / max(weights.sum(), 1e-9)
    weights = weights * np.maximum(shares, 1e-3)[kinds] ** -KIND_EVENNESS
    parameters = KIND | {"num_class": layout["kinds"]}
    unseen = np.zeros(len(rows), dtype=int)
    for fold in range(layout["folds"]):
        model = fitted(parameters, KIND_TREES, rows, kinds, weights, folds != fold)
        if (folds == fold).any():
            unseen[folds == fold] = model.predict(rows[folds == fold]).argmax(axis=1)
    model = fitted(parameters, KIND_TREES, rows, kinds, weights, np.ones(len(rows), dtype=bool))
    store(directory / "kinds.model.json", {"trees": trees_of(model), "unseen": unseen.tolist()})


def fitted(parameters: dict[str, Any], trees: int, rows: Any, answers: Any, weights: Any, chosen: Any) -> Any:
    chosen = chosen & (weights > 0)
    return lightgbm.train(parameters, lightgbm.Dataset(rows[chosen], answers[chosen], weight=weights[chosen]), trees)


def trees_of(model: Any) -> Any:
    return model.dump_model()["tree_info"]


def exits_of(model: Any, rows: Any) -> list[list[float]]:
    """Each exit with the factor that leads, in the median, from where a sum leaves to where it would have ended."""
    ends = model.predict(rows, raw_score=True)
    is_left = np.ones(len(rows), dtype=bool)
    found = []
    for after, sure in EXITS:
        sums = model.predict(rows, num_iteration=after, raw_score=True)
        leaves = is_left & (np.abs(sums) >= sure)
        if leaves.any():
            found.append([after, sure, round(float(np.median(ends[leaves] / sums[leaves])), 2)])
        is_left &= ~leaves
    return found


def store(file: Path, learned: dict[str, Any]) -> None:
    file.write_text(json.dumps(learned), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
