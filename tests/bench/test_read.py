"""How extractors are scored, and that no page can stop the comparison."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import read_run
from bench import report as report_module
from bench.read import schedule
from bench.read_corpus import Page, lay_out
from bench.read_run import Extractor, Reading, read_all
from bench.read_score import (
    Shares,
    interval,
    is_same,
    percentile,
    score_of_snippets,
    score_of_texts,
    shares_of_snippets,
    shares_of_text,
    shingles,
    words_of,
)
from bench.read_tally import Corpus, cpu_figures, figures_of, judge, page_differences, tally
from bench.report import BenchError, Report
from docs import from_results

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's 3.5 km, they said.", ["It", "s", "3", "5", "km", "they", "said"]),
        ("Tokyo東京です", ["Tokyo", "東", "京", "で", "す"]),
        ("ไทย ok", ["ไ", "ท", "ย", "ok"]),
        ("한국어", ["한", "국", "어"]),
        ("привет мир", ["привет", "мир"]),
        (" — \n", []),
    ],
    ids=["latin", "japanese", "thai", "korean", "cyrillic", "nothing"],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_shingles_are_counted_and_short_texts_are_one() -> None:
    assert shingles("a b c d a b c d") == {
        ("a", "b", "c", "d"): 2, ("b", "c", "d", "a"): 1, ("c", "d", "a", "b"): 1, ("d", "a", "b", "c"): 1,
    }  # fmt: skip
    assert shingles("a b") == {("a", "b"): 1}
    assert not shingles("")


@pytest.mark.parametrize(
    ("gold", "got", "shares"),
    [
        ("a b c d e", "a b c d e", (1.0, 0.0, 0.0)),
        ("a b c d e", "a, b c\nd e.", (1.0, 0.0, 0.0)),
        ("a b c d e", "a b c d", (0.5, 0.0, 0.5)),
        ("a b c d", "a b c d e f", (1 / 3, 2 / 3, 0.0)),
        ("a b c d", "A b c d", (0.0, 0.5, 0.5)),
        ("a b c d", "", (0.0, 0.0, 1.0)),
        ("", "a b c d", (0.0, 1.0, 0.0)),
        ("", "", (0.0, 0.0, 0.0)),
    ],
    ids=["same", "spaced", "less", "more", "case", "nothing-found", "nothing-there", "nothing"],
)
def test_shares_of_a_text(gold: str, got: str, shares: tuple[float, float, float]) -> None:
    assert shares_of_text(gold, got) == pytest.approx(shares)


@given(st.text("abc 東", max_size=60), st.text("abc 東", max_size=60))
def test_shares_sum_to_one_and_turn_with_their_sides(gold: str, got: str) -> None:
    there, back = shares_of_text(gold, got), shares_of_text(got, gold)
    assert sum(there) == pytest.approx(1.0 if words_of(gold) or words_of(got) else 0.0)
    assert (there.hit, there.extra, there.missed) == (back.hit, back.missed, back.extra)


def test_snippets_are_found_across_line_breaks_and_only_whole() -> None:
    got = "The first\n  line ends.\nShare this"
    shares = shares_of_snippets(["first line", " line  ends. ", "last line"], ["Share", "Sign up"], got)
    assert shares == (2, 1, 1)


def test_f1_of_a_corpus_is_made_of_mean_precision_and_mean_recall() -> None:
    pages = [Shares(0.5, 0.5, 0.0), Shares(1.0, 0.0, 0.0), Shares(0.0, 0.0, 1.0)]
    score = score_of_texts(pages)
    # The page on which nothing was found has no precision, but a recall.
    assert score.precision == pytest.approx(0.75) and score.recall == pytest.approx(2 / 3)
    assert score.f1 == pytest.approx(2 * 0.75 * (2 / 3) / (0.75 + 2 / 3)) and score.pages == 3
    assert score_of_texts([]) == (0.0, 0.0, 0.0, 0)


def test_f1_of_snippets_weighs_every_snippet_alike() -> None:
    score = score_of_snippets([Shares(3, 1, 0), Shares(0, 0, 2)])
    assert (score.precision, score.recall) == (0.75, 0.6)
    assert score.f1 == pytest.approx(2 * 0.75 * 0.6 / 1.35)
    assert score_of_snippets([]) == (0.0, 0.0, 0.0, 0)


@pytest.mark.parametrize(
    ("name", "gold", "got", "same"),
    [
        ("title", "Ten Trends – to watch!", "ten trends: to watch", True),
        ("title", "Ten Trends", "Ten Trends | Site", False),
        ("title", "Ten Trends", None, False),
        ("date", "2025-08-25", "2025-08-25T10:00:00+02:00", True),
        ("date", "2025-08-25", "2025-08-24", False),
        ("authors", ["Ann Lee", "Bo  Ek"], ["bo ek", "Ann Lee"], True),
        ("authors", ["Ann Lee"], "ann  lee ", True),
        ("authors", ["Ann Lee", "Bo Ek"], ["Ann Lee"], False),
        ("authors", ["Ann Lee"], [], False),
        ("image", "https://a.example/i.jpg", "https://a.example/i.jpg ", True),
        ("image", "https://a.example/i.jpg", "https://a.example/I.jpg", False),
    ],
    ids=[
        "title", "title-more", "title-none", "day", "other-day", "people", "one", "fewer", "nobody", "image", "other",
    ],
)  # fmt: skip
def test_metadata(name: str, gold: Any, got: Any, same: bool) -> None:
    assert is_same(name, gold, got) is same


def test_percentile() -> None:
    assert percentile([float(value) for value in range(100, 0, -1)], 0.95) == 95.0
    assert percentile([3.0], 0.95) == 3.0


def test_an_interval_is_repeatable_and_holds_the_mean() -> None:
    differences = {"one": [0.1, -0.2, 0.3, 0.05] * 25}
    low, high = interval(differences)
    assert (low, high) == interval(differences)
    assert low < 0.0625 < high
    # Normal theory: the mean of 100 such pages has a standard error of 0.0179.
    assert high - low == pytest.approx(2 * 1.96 * 0.0179, rel=0.1)


def test_corpora_weigh_the_same_whatever_their_size() -> None:
    assert interval({"large": [0.0] * 900, "small": [0.5] * 3}) == pytest.approx((0.25, 0.25))
    assert interval({"large": [0.2], "empty": []}) == (0.2, 0.2)
    assert interval({}) == (0.0, 0.0)


# ---- corpora and bars ----------------------------------------------------------------------------------------


def test_corpora_are_read_in_order_compressed_or_not(tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "url": "", "html": f"<p>{n}", "text": f"{n}", "title": "", "date": "2025"} for n in range(12)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "pages-b.jsonl").write_text(text)
    (tmp_path / "pages-a.jsonl.xz").write_bytes(lzma.compress(text.encode()))
    pages = lay_out(tmp_path, tmp_path / "out", is_quick=True)
    assert [(page.corpus, page.text, page.kind) for page in pages] == [
        ("a", "0", "article"), ("a", "10", "article"), ("b", "0", "article"), ("b", "10", "article"),
    ]  # fmt: skip
    assert pages[0].metadata == {"date": "2025"}
    written = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert written[1] == {"id": "10", "url": None, "html": "<p>10"}
    assert len(lay_out(tmp_path, tmp_path / "out", is_quick=False)) == 24


def test_a_directory_without_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="holds no pages"):
        lay_out(tmp_path, tmp_path / "out", is_quick=False)


PAGES = [
    Page("full", "article", "a b c d e f", (), (), {"title": "T"}),
    Page("full", "forum", "g h i j k", (), (), {}),
    Page("parts", "article", "", ("a b",), ("x",), {}),
]


def reading(texts: list[str], cpu_ms: float, title: str = "T") -> Reading:
    made = Reading()
    made.add({"page": n, "text": text, "title": title, "cpu_ms": cpu_ms} for n, text in enumerate(texts))
    return made


def judged(ours: Reading, theirs: Reading) -> dict[str, bool]:
    report, readings = Report("read"), {"tenax": ours, "trafilatura": theirs}
    judge(report, {name: tally(PAGES, one) for name, one in readings.items()}, readings)
    return {what: bar.ok for what, bar in report.bars.items()}


def test_better_texts_at_a_tenth_of_the_cost_hold_every_bar() -> None:
    ours = reading(["a b c d e f", "g h i j k", "a b"], 1.0)
    passed = judged(ours, reading(["a b c d", "g h i j", "a b x"], 10.0, title="U"))
    assert set(passed.values()) == {True} and len(passed) == 9


def test_the_same_is_not_better() -> None:
    same = reading(["a b c d e f", "g h i j k", "a b"], 1.0)
    assert {what for what, ok in judged(same, same).items() if ok} == {
        "pages_that_ended_tenax",
        "title_over_best_peer_full",
        "other_kinds_f1_over_trafilatura_least",
    }


def test_articles_do_not_speak_for_other_kinds() -> None:
    passed = judged(reading(["a b c d e f", "g h i j", "a b"], 1.0), reading(["", "g h i j", "x"], 10.0))
    assert passed["article_f1_over_best_peer_full"] and not passed["other_kinds_f1_over_trafilatura_mean"]


def test_the_documents_show_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "RESULTS", tmp_path)
    monkeypatch.setattr(from_results, "RESULTS", tmp_path)
    report, ours = Report("read"), reading(["a b c d e f", "g h i j", "a b"], 1.5)
    report.figure("pages", len(PAGES))
    report.figure("passes", 3)
    report.figure("tenax", figures_of(tally(PAGES, ours), ours))
    report.figure("parse", {"cpu_ms": cpu_figures(ours)})
    judge(report, {"tenax": tally(PAGES, ours)}, {"tenax": ours})
    report.finish()
    shown = from_results.read_tables()
    assert "3 pages; CPU time of Tenax and trafilatura: the median of 3 passes." in shown
    assert "| parsing alone | 1.5 | 1.5 | 1.5 |" in shown
    assert (
        "|  | F1, article | F1, forum | title |\n| --- | --- | --- | --- |\n| Tenax | 1.000 | 0.667 | 1.000 |" in shown
    )
    assert "|  | F1, snippets |\n| --- | --- |\n| Tenax | 1.000 |" in shown


def test_articles_are_compared_by_snippets_only_where_there_is_no_text() -> None:
    ours, theirs = (
        tally(PAGES, reading(texts, 1.0)) for texts in (["a b c d e f", "", "a b"], ["a b c d e", "g h i j k", "x"])
    )
    assert list(page_differences(ours["parts"], theirs["parts"])) == [1.0]
    assert list(page_differences(ours["full"], theirs["full"])) == pytest.approx([1 - 0.8])
    assert Corpus().article_pages == []


def test_the_median_cost_and_the_first_text_of_the_passes_count() -> None:
    made = Reading()
    for cpu_ms, text in ((3.0, "first"), (1.0, "second"), (2.0, "third")):
        made.add([{"page": 0, "cpu_ms": cpu_ms, "text": text}])
    assert made.cpu_ms == {0: 2.0} and made.found[0]["text"] == "first"
    assert made.passes == [3.0, 1.0, 2.0]


def test_costs_are_compared_within_a_pass() -> None:
    """Though the machine is half as fast in the second, and a tenth in the third."""
    ours, theirs = Reading(), Reading()
    for mood, ratio in ((1.0, 0.1), (2.0, 0.15), (10.0, 0.9)):
        for one, cpu_ms in ((ours, 10.0 * mood * ratio), (theirs, 10.0 * mood)):
            one.add({"page": n, "text": "a b", "cpu_ms": cpu_ms} for n in range(3))
    report = Report("read")
    readings = {"tenax": ours, "trafilatura": theirs}
    judge(report, {name: tally(PAGES, one) for name, one in readings.items()}, readings)
    assert report.bars["cpu_vs_trafilatura"].value == pytest.approx(0.15)


def test_tenax_and_its_rival_take_turns_and_the_others_come_once() -> None:
    names = ["tenax", "trafilatura", "a", "b", "c", "parse"]
    assert " ".join(schedule(names, 3)) == "tenax trafilatura a parse trafilatura tenax b tenax trafilatura c"
    assert " ".join(schedule(["tenax", "trafilatura"], 2)) == "tenax trafilatura trafilatura tenax"
    assert list(schedule(["a"], 3)) == ["a"]


# ---- the processes -------------------------------------------------------------------------------------------

ODD = """
import os, signal, socket

def extract(html, url):
    if html == "hang":
        while True: pass
    if html == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if html == "hoard":
        return {"text": str(len(bytearray(2_000_000_000)))}
    if html == "fetch":
        socket.create_connection(("127.0.0.1", 9))
    if html == "panic":
        raise BaseException("at the Rust")
    if html == "leave":
        os._exit(3)
    return {"text": html.upper()}
"""


def extractor(folder: Path) -> Extractor:
    (folder / "odd.py").write_text(ODD)
    return Extractor("odd", "Odd", "odd:extract", Path(sys.executable), str(folder))


def laid_out(folder: Path, pages: list[str]) -> Path:
    file = folder / "pages.jsonl"
    file.write_text("".join(json.dumps({"url": None, "html": html}) + "\n" for html in pages))
    return file


def test_no_page_stops_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_run, "PAGE_SECONDS", 3.0)
    monkeypatch.setattr(read_run, "PAGE_MEGABYTES", 1000)
    pages = ["one", "die", "hang", "hoard", "fetch", "panic", "seven"]
    file, made = laid_out(tmp_path, pages), Reading()
    read_all(extractor(tmp_path), file, len(pages), made)
    assert made.ended == {1: "SIGKILL", 2: "SIGALRM"}
    assert made.found[0]["text"] == "ONE" and made.found[6]["text"] == "SEVEN"
    assert made.found[1] == made.found[2] == {}
    assert made.found[3]["error"].startswith("MemoryError")
    assert made.found[4]["error"] == "OSError: no extractor may use the network"
    assert made.found[5]["error"] == "BaseException: at the Rust"
    assert made.cpu_ms[2] == 3000.0 and 1 not in made.cpu_ms and made.errors == 3


def test_what_ended_once_is_not_tried_again(tmp_path: Path) -> None:
    file, made = laid_out(tmp_path, ["leave", "two"]), Reading(ended={0: "SIGALRM"}, found={0: {}})
    read_all(extractor(tmp_path), file, 2, made)
    assert made.found[1]["text"] == "TWO"


def test_an_extractor_that_cannot_run_is_an_error(tmp_path: Path) -> None:
    file = laid_out(tmp_path, ["one", "leave"])
    with pytest.raises(BenchError, match="Odd stopped at page 1 with exit code 3"):
        read_all(extractor(tmp_path), file, 2, Reading())


@pytest.mark.parametrize("where", ["extract", "parse_only"])
def test_ours_is_read_as_the_others_are(where: str, tmp_path: Path) -> None:
    ours = Extractor("tenax", "Tenax", f"bench.read_ours:{where}", Path(sys.executable), f"{ROOT / 'src'}:{ROOT}")
    file, made = laid_out(tmp_path, ["<title>Ten</title><p>Some words."]), Reading()
    read_all(ours, file, 1, made)
    assert made.errors == 0 and made.cpu_ms[0] > 0
    if where == "extract":
        assert made.found[0]["title"] == "Ten" and "Some words." in made.found[0]["text"]
