"""How feed readers are compared: what agrees, and what they are given."""

from __future__ import annotations

import base64
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from bench.feeds import ASPECTS, differences
from bench.feeds_corpus import lay_out
from bench.feeds_ours import parsed
from bench.report import BenchError
from docs import from_results

RSS = "<rss><channel><title>Post</title><item><title>Café</title><link>/1</link></item></channel></rss>"


def answer(**changed: Any) -> dict[str, Any]:
    found = {"links": ["/1"], "titles": ["One"], "dates": [[1.0, None]], "of_feed": ["/", "Post", None, None]}
    return found | changed


@pytest.mark.parametrize(
    ("theirs", "differing"),
    [
        (answer(), ()),
        (answer(dates=[[1, None]]), ()),
        (answer(of_feed=["/", "Other", None, None]), ("all four and the feed's own",)),
        (answer(titles=["Two"]), ("titles", "all four", "all four and the feed's own")),
        (answer(dates=[[1, 2]]), ("dates", "all four", "all four and the feed's own")),
        (answer(links=["/2"]), ("links", "all four", "all four and the feed's own")),
        (
            answer(links=[], titles=[], dates=[]),
            ("entries", "links", "titles", "dates", "all four", "all four and the feed's own"),
        ),
        ({"error": "it broke"}, (*ASPECTS, "all four", "all four and the feed's own")),
    ],
)
def test_what_differs(theirs: dict[str, Any], differing: tuple[str, ...]) -> None:
    found = differences(["a.xml"], {0: answer()}, {0: theirs})
    assert [what for what, files in found.items() if files] == list(differing)


def test_nobody_agrees_with_one_who_gave_no_answer() -> None:
    assert differences(["a.xml"], {}, {})["entries"] == ["a.xml"]


@pytest.mark.parametrize("suffix", ["", ".xz"])
def test_every_reader_is_given_the_bytes_and_large_feeds_too(tmp_path: Path, suffix: str) -> None:
    body = RSS.encode("utf-16")
    line = json.dumps({"name": "a.xml", "bytes": base64.b64encode(body).decode()}).encode()
    (tmp_path / f"feeds.jsonl{suffix}").write_bytes(lzma.compress(line) if suffix else line)
    names, large = lay_out(tmp_path, tmp_path / "out.jsonl", is_quick=False)
    rows = [json.loads(row) for row in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert names == ["a.xml"]
    assert [row["id"] for row in rows] == [*names, *(name for name, _ in large)]
    assert rows[0]["html"].encode("latin-1") == body
    assert parsed(rows[0]["html"], "https://example.org/a.xml") == {
        "links": ["https://example.org/1"],
        "titles": ["Café"],
        "dates": [[None, None]],
        "of_feed": ["", "Post", None, None],
    }
    links = [parsed(row["html"], row["url"])["links"] for row in rows[1:]]
    assert len({len(found) for found in links}) == 1, "what is broken in some hides no entry"
    assert all(400_000 < length < 4_000_000 for _, length in large)


def test_a_directory_without_feeds(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="holds no feeds"):
        lay_out(tmp_path, tmp_path / "out.jsonl", is_quick=False)


def test_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {"tenax": 1.5, "feedparser": 9.0, "feedparser_plain": 4.0}
    large = {"large RSS": {"megabytes": 1.0, "same_links": True, "cpu_ms_a_megabyte": costs}}
    figures = {"files": 1404, "passes": 5, "agreement": {"links": 0.9986}, "cpu_ms": costs, "large": large}
    monkeypatch.setattr(from_results, "result", lambda _name: {"figures": figures | {"machine": {}}, "bars": {}})
    monkeypatch.setattr(from_results, "_with_bars", lambda _measured, text: text)
    text = from_results.feeds_tables()
    assert "| links | 99.86% |" in text
    assert "| a megabyte of a large RSS | 1.5 ms | 9 ms | 4 ms |" in text
