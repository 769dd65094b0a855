"""A real crawl asked for its links, against what the site itself says; and a crawl that is led on by them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.demo.reference import Reader, fetch, normalized
from tests.e2e.program import INLINE, Demo, holds_once, in_one_process, status, tenax

HURRIED = ("--discover", "links", "--set", "politeness.rate_per_second=0", *INLINE)


@pytest.fixture(scope="module")
def crawled(calm: Demo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("links") / "out"
    ended = tenax("crawl", *calm.seeds, *HURRIED, "--dir", out)
    assert ended.code == 0, ended.err
    return out


@pytest.fixture(scope="module")
def edges(crawled: Path) -> dict[str, dict[str, dict[str, object]]]:
    """Every link that was exported, by where it stands and where it leads."""
    (text,) = in_one_process(("links", "--export", "-", "--dir", crawled))
    found: dict[str, dict[str, dict[str, object]]] = {}
    for edge in map(json.loads, text.splitlines()):
        found.setdefault(edge["source"], {})[edge["target"]] = edge
    return found


def test_every_link_of_every_page_is_there(calm: Demo, edges: dict[str, dict[str, dict[str, object]]]) -> None:
    assert set(edges) == calm.pages
    for url in sorted(calm.pages)[::7]:
        written = {normalized(url, href) for href in Reader(fetch(url)[2].decode("latin-1")).links} - {url}
        assert {target for target, edge in edges[url].items() if not edge["is_nofollow"]} == written, url
        assert any(edge["text"] for edge in edges[url].values())
    in_articles = [edge["is_in_article"] for links in edges.values() for edge in links.values()]
    assert 0 < sum(map(bool, in_articles)) < len(in_articles)


def test_what_is_asked_is_what_was_exported(crawled: Path, edges: dict[str, dict[str, dict[str, object]]]) -> None:
    counted = Counter(target for links in edges.values() for target, edge in links.items() if not edge["is_nofollow"])
    front = min(edges, key=len)
    asked: list[tuple[str, ...]] = [
        ("--top", "5"),
        ("--top", "5", "--by", "pagerank"),
        ("--from", front),
        ("--to", front),
    ]
    commands: list[list[str | Path]] = [["links", *words, "--json", "--dir", crawled] for words in asked]
    answers = in_one_process(*commands)
    top, ranked, leads_to, led_from = ([json.loads(line) for line in answer.splitlines()] for answer in answers)
    assert [line["in_links"] for line in top] == sorted(counted.values(), reverse=True)[:5]
    assert all(counted[line["url"]] == line["in_links"] for line in top + ranked)
    assert 1 > ranked[0]["score"] >= ranked[-1]["score"] > 0
    assert {link["url"]: link["text"] for link in leads_to} == {url: edge["text"] for url, edge in edges[front].items()}
    assert {link["state"] for link in leads_to} == {"settled"}
    assert {link["source"] for link in led_from} == {url for url, links in edges.items() if front in links}


def test_a_crawl_led_on_by_its_links(calm: Demo, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert tenax("crawl", *calm.seeds, *HURRIED, "--max-pages", "8", "--dir", out).code == 0
    waiting = status(out)["waiting"]
    ended = tenax("links", "--prioritize", "--by", "pagerank", "--dir", out)
    assert ended.code == 0, ended.err
    changed, total = ended.out.removeprefix("Changed the priority of ").split(" of ")
    assert 0 < int(changed) <= waiting and total.startswith(f"{waiting} waiting URLs.")
    assert status(out)["waiting"] == waiting
    assert tenax("crawl", *calm.seeds, *HURRIED, "--dir", out).code == 0
    assert holds_once(out, calm.pages)
