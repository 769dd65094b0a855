"""What pages teach, how they are parted, and what the learned trees look like in the end."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

import pytest

from bench import learn
from bench.learn_rows import (
    FEATURES,
    FOLDS,
    KIND_ORDER,
    SNIPPET_WEIGHT,
    BlockLabel,
    block_labels,
    block_labels_of_snippets,
    block_labels_of_text,
    fold_of,
    kind_weight,
    lay_out_rows,
    rows_of,
)
from bench.learn_tables import kept_tables, kinds_tables, same_trees, store, tree_of
from bench.read_corpus import Page, lay_out
from bench.read_score import Shares
from bench.read_tally import Corpus
from bench.report import BenchError
from docs import from_results
from tenax.extract.article import page_type, select
from tenax.extract.article.decision_trees import Table, compile_sum, load_tables
from tenax.extract.article.features import BLOCK_FEATURES, BOX_FEATURES
from tenax.extract.article.layout import PAGE_FEATURES
from tenax.extract.article.page_type import KIND_FEATURES
from tenax.model import PageKind

GOLD = "one two three four five six seven eight"


def page(corpus: str = "a", kind: str = "article", text: str = "", wanted: str = "", unwanted: str = "") -> Page:
    return Page(corpus, kind, text, (wanted,) if wanted else (), (unwanted,) if unwanted else (), {})


# ---- labels --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ("one two three four five", True),
        ("One more: two, three four five.", True),
        ("one two three four and then another end", False),
        ("one three five seven two four", False),
        ("seven eight", True),
        ("eight seven", False),
        ("six", True),
        ("nine", False),
        ("…", False),
    ],
    ids=["whole", "most", "half", "shuffled", "two-words", "two-turned", "a-word", "another-word", "no-words"],
)
def test_a_block_is_kept_if_most_of_it_stands_in_the_text(text: str, is_kept: bool) -> None:
    assert block_labels_of_text([text], GOLD)[0].is_kept is is_kept


def test_blocks_weigh_by_their_words_among_those_of_the_text() -> None:
    gold = " ".join(f"word{number}" for number in range(40))
    half = " ".join(f"word{number}" for number in range(20))
    other = " ".join(f"word{number}" for number in range(20, 40))
    assert block_labels_of_text([half, "nothing of it", other, "…"], gold) == [
        BlockLabel(True, 50.0), BlockLabel(False, 7.5), BlockLabel(True, 50.0), BlockLabel(False, 0.0),
    ]  # fmt: skip


def test_no_block_drowns_the_others() -> None:
    short, long = block_labels_of_text(["one two three four", "menu " * 1000], "one two three four")
    assert short.is_kept and short.weight == pytest.approx(100 * 4 / 30)
    assert long == BlockLabel(False, 300.0)


def test_of_snippets_only_the_blocks_that_hold_one_teach() -> None:
    texts = ["He said  so\nthen.", "Share this", "He said so. Share this", "Neither."]
    assert block_labels_of_snippets(texts, ["said so"], ["Share\tthis"]) == [
        BlockLabel(True, SNIPPET_WEIGHT), BlockLabel(False, SNIPPET_WEIGHT),
        BlockLabel(True, SNIPPET_WEIGHT), BlockLabel(False, 0.0),
    ]  # fmt: skip


def test_a_page_is_judged_as_its_corpus_is() -> None:
    texts = ["one two three four"]
    assert block_labels(texts, page(text=GOLD, unwanted="one two"), {"a"})[0].is_kept
    assert block_labels(texts, page(unwanted="one two"), set()) == [BlockLabel(False, SNIPPET_WEIGHT)]
    assert block_labels(texts, page(wanted="one two"), {"a"}) == [BlockLabel(False, 0.0)]


# ---- parts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("https://example.co.uk/a", "1"), ("http://www.news.example.co.uk:8080/b", "2")),
        ((None, "guardian-1"), (None, "guardian-2")),
        (("http://localhost/page.html", "guardian-1"), (None, "guardian")),
    ],
    ids=["one-site", "numbered", "no-address"],
)
def test_pages_of_a_site_stay_together(one: tuple[str | None, str], other: tuple[str | None, str]) -> None:
    assert fold_of(*one) == fold_of(*other)


def test_sites_are_spread_over_all_parts() -> None:
    folds = [fold_of(f"https://site{number}.co.uk/", "a") for number in range(100)]
    assert set(folds) == set(range(FOLDS))
    assert folds == [fold_of(f"https://site{number}.co.uk/x", "b") for number in range(100)]


def test_kinds_that_a_corpus_does_not_name_count_less() -> None:
    assert kind_weight(page("named", text="a"), {"named"}) == 1.0
    assert kind_weight(page("other", wanted="a"), {"named"}) < kind_weight(page("other", text="a"), {"named"}) < 1.0


# ---- layout --------------------------------------------------------------------------------------------------


def test_every_block_has_its_numbers_and_its_visit_update(tmp_path: Path) -> None:
    html = f"<title>Numbers</title><nav><a href=/>Home</a></nav><article><p>{GOLD}.</p></article>"
    rows = [
        {"id": "a", "url": "https://example.org/a", "html": html, "text": GOLD},
        {"id": "b", "url": "https://example.org/b", "html": "", "page_type": "listing"},
    ]
    (tmp_path / "pages-a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pages = lay_out(tmp_path, tmp_path / "pages.jsonl", is_quick=False)
    assert lay_out_rows(pages, tmp_path / "pages.jsonl", tmp_path) == 2
    layout = json.loads((tmp_path / "layout.json").read_text())
    assert [(one["blocks"], one["kind_weight"]) for one in layout["pages"]] == [(2, 1.0), (0, 0.0)]
    assert KIND_ORDER[layout["pages"][1]["kind"]] is PageKind.HUB
    numbers = array("f", (tmp_path / "blocks.f32").read_bytes())
    words = FEATURES.index("words")
    assert len(numbers) == 2 * len(FEATURES) == 2 * len(layout["features"])
    assert [numbers[words], numbers[len(FEATURES) + words]] == [1, 8]
    labels = array("d", (tmp_path / "labels.f64").read_bytes())
    assert labels.tolist() == pytest.approx([0, 100 / 30, 1, 800 / 30])
    assert len(array("d", (tmp_path / "pages.f64").read_bytes())) == 2 * len(KIND_FEATURES)


def test_names_of_features_are_unlike() -> None:
    assert len(set(FEATURES)) == len(FEATURES) == len(BLOCK_FEATURES) + len(BOX_FEATURES) + len(PAGE_FEATURES)


# ---- tables --------------------------------------------------------------------------------------------------


def leaf(value: float) -> dict[str, object]:
    return {"leaf_value": value}


def split(feature: int, threshold: float, below: object, above: object, decision: str = "<=") -> dict[str, object]:
    return {
        "split_feature": feature, "threshold": threshold, "decision_type": decision, "left_child": below,
        "right_child": above,
    }  # fmt: skip


def test_a_tree_becomes_lists_of_names_and_few_digits() -> None:
    tree = split(1, 0.123456789, leaf(-0.98765), split(0, 2.0, leaf(0.5), leaf(1.00001)))
    assert tree_of(tree, ("first", "second")) == ["second", 0.123457, -0.9877, ["first", 2.0, 0.5, 1.0]]


def test_what_a_table_cannot_say_is_refused() -> None:
    with pytest.raises(BenchError, match="'=='"):
        tree_of(split(0, 1.0, leaf(0), leaf(1), decision="=="), ("first",))


def test_tables_are_what_reading_loads(tmp_path: Path) -> None:
    trees = [
        {"tree_structure": split(position, 0.5, leaf(-1), leaf(position))} for position in range(2 * len(KIND_ORDER))
    ]
    made = kinds_tables(trees)
    store(made, tmp_path / "kinds.json")
    assert json.loads((tmp_path / "kinds.json").read_text()) == made
    assert set(made) == set(load_tables(page_type.TABLES_FILE)) == {kind.value for kind in PageKind}
    second = list(made)[1]
    total = compile_sum(Table(tuple(made[second]["trees"])), KIND_FEATURES, frozenset(KIND_FEATURES))
    assert total((0.0,) * len(KIND_FEATURES)) == -2
    assert total((1.0,) * len(KIND_FEATURES)) == 1 + 1 + len(KIND_ORDER)


def test_a_table_of_blocks_keeps_its_exits() -> None:
    tree = {"tree_structure": split(0, 1.0, leaf(0), leaf(1)), "worth": 0.5}
    made = kept_tables({"article": {"trees": [tree], "exits": [[20, 1.6, 1.97]]}})
    assert made == {"article": {"trees": [[FEATURES[0], 1.0, 0, 0.5]], "exits": [[20, 1.6, 1.97]]}}
    assert made.keys() < load_tables(select.TABLES_FILE).keys()


def test_trees_are_compared_place_by_place() -> None:
    made = {"kept": {"trees": [["a", 1.0, 0.1, 0.2], 0.5, 0.7]}}
    assert same_trees(made, {"kept": {"trees": [["a", 1.0, 0.1, 0.2], 0.6, 0.7, 0.8]}}) == 2
    assert same_trees(made, {}) == 0


# ---- figures -------------------------------------------------------------------------------------------------


def test_a_corpus_tells_what_it_can() -> None:
    right, half = Shares(1.0, 0.0, 0.0), Shares(0.5, 0.0, 0.5)
    texts = Corpus({"article": [right], "forum": [half], "product": [right]}, snippets=[half])
    assert learn.figures_of(texts) == pytest.approx({"articles": 1.0, "other_kinds": (2 / 3 + 1) / 2})
    assert learn.figures_of(Corpus(snippets=[half])) == pytest.approx({"snippets": 2 / 3})


def test_the_documents_show_what_was_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_results, "RESULTS", tmp_path)
    figures = {
        "pages": 1390, "blocks": 364_000, "mixed": {"articles": 0.94731, "other_kinds": 0.7425, "kinds": {}},
        "snippets": {"snippets": 0.93, "kinds": {}}, "kinds_right": 0.876,
        "kept_json": {"trees": 150, "as_shipped": 149}, "kinds_json": {"trees": 300, "as_shipped": 300},
        "machine": {"cores": 2, "cpu": "a CPU", "python": "3.11.7", "system": "Linux 6"},
    }  # fmt: skip
    bars = {"articles_f1": {"value": 0.9473, "bar": 0.94, "ok": True}}
    (tmp_path / "learn.json").write_text(json.dumps({"figures": figures, "bars": bars}))
    shown = from_results.learn_tables()
    assert "| `mixed` | 0.9473 | 0.7425 |  |" in shown and "| `snippets` |  |  | 0.9300 |" in shown
    assert "87.6% of the pages" in shown
    assert "149 of 150 for blocks, 300 of 300 for kinds" in shown


def test_unseen_answers_are_dealt_to_the_blocks_they_belong_to(tmp_path: Path) -> None:
    rows = [{"id": name, "url": None, "html": f"<p>{name} one two three</p><p>menu of it</p>"} for name in ("a", "b")]
    file, answers = tmp_path / "pages.jsonl", tmp_path / "unseen.f32"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    answers.write_bytes(array("f", [0.9, 0.01, 0.01, 0.9]).tobytes())
    pages = [page(text="a one two three"), page(text="menu of it")]
    assert len(list(rows_of(file))) == 2
    corpora = learn._scored(pages, file, answers)
    assert corpora["a"].kinds["article"] == [Shares(1.0, 0.0, 0.0)] * 2
