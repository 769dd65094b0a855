"""`tenax crawl`, from the first page to the last, and what it leaves behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tenax.demo.host_site import page_paths
from tests.e2e.conftest import Crawled
from tests.e2e.program import INLINE, Demo, holds_once, page_lines, status, stored, tenax, together, urls

FAST = ("--rate", "0", "--per-host", "4")


def host_pages(demo: Demo, index: int) -> set[str]:
    return {demo.origins[index] + path for path in page_paths(demo.site, index)}


def test_a_first_crawl_holds_every_page_once_and_says_where(crawled: Crawled) -> None:
    assert holds_once(crawled.out, crawled.demo.pages)
    summary = crawled.first.out
    assert "Crawl complete: nothing is left to visit." in summary
    assert re.search(rf"pages +{len(crawled.demo.pages)} ", summary)
    assert str(crawled.out / "tenax.db") in summary
    assert str(crawled.out / "pages.jsonl") in summary
    for reason in ("2 closed by robots.txt", "3 truncated", "2 not found", "endless calendar", "failed URLs   4"):
        assert reason in summary
    assert "Resume with" not in summary
    assert f"explain {crawled.demo.seeds[0]} --dir {crawled.out}" in summary


def test_a_line_has_what_the_page_had(crawled: Crawled) -> None:
    by_url = {line["url"]: line for line in page_lines(crawled.out)}
    found = by_url[f"{crawled.demo.origins[5]}/found-at-last"]
    assert [hop["url"].rpartition("/")[2] for hop in found["redirects"]] == ["old-address", "older-address"]
    front = by_url[crawled.demo.seeds[0]]
    assert (front["status"], front["depth"], front["via"]) == (200, 0, None)
    assert front["title"]
    assert len(front["text"]) > 200
    assert all(line["via"] for url, line in by_url.items() if url not in crawled.demo.seeds)


def test_hostile_titles_are_inert_wherever_they_are_shown(crawled: Crawled) -> None:
    url = f"{crawled.demo.origins[0]}/headline"
    [line] = [line for line in page_lines(crawled.out) if line["url"] == url]
    assert "<script>" in line["title"]
    for answer in together(
        ("explain", url, "--dir", crawled.out),
        ("export", "--where", f"url={url}", "--dir", crawled.out),
        ("export", "--format", "csv", "--where", f"url={url}", "--dir", crawled.out),
    ):
        assert answer.code == 0
        assert "alert" in answer.out
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", answer.out.replace("\r\n", "\n"))


def test_the_same_command_on_a_complete_crawl_says_so_and_asks_nobody(crawled: Crawled) -> None:
    before, lines = crawled.demo.log.read_bytes(), (crawled.out / "pages.jsonl").read_bytes()
    again = tenax("crawl", *crawled.demo.seeds, *crawled.options, "--dir", crawled.out)
    assert again.code == 0
    assert f"this crawl is complete: {len(crawled.demo.pages)} pages stored; --restart starts it over" in again.err
    assert crawled.demo.log.read_bytes() == before
    assert (crawled.out / "pages.jsonl").read_bytes() == lines


def test_readers_in_processes_of_their_own_see_the_same_pages(calm: Demo, tmp_path: Path) -> None:
    done = tenax("crawl", *calm.seeds, *FAST, "--set", "pool.processes=2", "--dir", tmp_path)
    assert done.code == 0
    assert holds_once(tmp_path, calm.pages)


def test_fresh_sets_the_earlier_crawl_aside(calm: Demo, tmp_path: Path) -> None:
    options = (*FAST, *INLINE, "--dir", tmp_path)
    tenax("crawl", calm.seeds[0], *options, "--max-pages", "3")
    before = urls(tmp_path)
    again = tenax("crawl", calm.seeds[0], *options, "--restart", "--max-pages", "5")
    assert again.code == 0
    assert len(urls(tmp_path)) == len(stored(tmp_path)) == 5
    [aside] = tmp_path.glob("previous-*")
    assert urls(aside) == before
    assert len(stored(aside)) == 3
    assert f"the earlier crawl was moved to {aside}" in again.err
    assert "--restart" not in again.out


def test_max_pages_is_exact_also_across_runs(calm: Demo, tmp_path: Path) -> None:
    options = (*FAST, "--concurrency", "16", *INLINE, "--dir", tmp_path)
    for most in (1, 7, 20):
        done = tenax("crawl", *calm.seeds, *options, "--max-pages", str(most))
        assert done.code == 0
        assert "Page limit reached" in done.out
        assert "Resume with" in done.out
        assert len(set(urls(tmp_path))) == len(stored(tmp_path)) == len(page_lines(tmp_path)) == most
    done = tenax("crawl", *calm.seeds, *options)
    assert "Crawl complete" in done.out
    assert holds_once(tmp_path, calm.pages)


def test_max_depth_is_counted_in_links_from_a_seed(calm: Demo, tmp_path: Path) -> None:
    outs = [tmp_path / str(depth) for depth in (0, 1)]
    for done in together(
        *(("crawl", calm.seeds[0], *FAST, *INLINE, "--max-depth", out.name, "--dir", out) for out in outs)
    ):
        assert done.code == 0
    assert urls(outs[0]) == [calm.seeds[0]]
    depths = {line["url"]: line["depth"] for line in page_lines(outs[1])}
    assert set(depths.values()) == {0, 1}
    assert len(depths) < len(host_pages(calm, 0))
    too_deep = sorted(host_pages(calm, 0) - depths.keys())[0]
    answer = tenax("explain", too_deep, "--dir", outs[0])
    assert "Never admitted: the rule `depth` refuses it" in answer.out
    assert status(outs[1])["refusals"]["depth"] > 0


def test_scope(calm: Demo, tmp_path: Path) -> None:
    """`any` leads to the second host too, and the guard lets it in here by an allowed network."""
    port = calm.origins[0].rpartition(":")[2]
    open_gate = ("--set", "guard.allow_networks=127.0.0.0/8", "--set", f"guard.ports={port}")
    section = sorted(path for path in page_paths(calm.site, 0) if path.count("/") == 2 and path.endswith("/"))[0]
    seeds = {"host": calm.seeds[0], "domain": calm.seeds[0], "prefix": calm.origins[0] + section, "any": calm.seeds[0]}
    commands = [
        ("crawl", seed, "--scope", scope, *FAST, *INLINE, *open_gate, "--dir", tmp_path / scope)
        for scope, seed in seeds.items()
    ]
    assert [done.code for done in together(*commands)] == [0, 0, 0, 0]
    first = host_pages(calm, 0)
    assert set(urls(tmp_path / "host")) == first
    assert set(urls(tmp_path / "domain")) == first  # an address is its own domain
    assert set(urls(tmp_path / "prefix")) == {url for url in first if url.startswith(calm.origins[0] + section)}
    assert set(urls(tmp_path / "any")) == calm.pages
    answer = tenax("explain", calm.seeds[1], "--dir", tmp_path / "host")
    assert "Never admitted: the rule `scope` refuses it" in answer.out


def test_include_and_exclude(calm: Demo, tmp_path: Path) -> None:
    """Globs and regular expressions; one with exponential backtracking in other engines takes no time here."""
    base = ("crawl", calm.seeds[0], *FAST, *INLINE)
    pages = host_pages(calm, 0)
    glob, regex, evil = tmp_path / "glob", tmp_path / "regex", tmp_path / "evil"
    done = together(
        (*base, "--include", "*/tags/*", "--dir", glob),
        (*base, "--exclude", "*/tags/*", "--exclude", r"/-\d*[02468]$/", "--dir", regex),
        (*base, "--exclude", "/(a+)+$/", "--exclude", "/^(([a-z0-9:/.-])+)+#$/", "--dir", evil),
    )
    assert [one.code for one in done] == [0, 0, 0]
    assert set(urls(glob)) == {calm.seeds[0]} | {url for url in pages if "/tags/" in url}
    unwanted = re.compile(r"/tags/|-\d*[02468]$")
    assert set(urls(regex)) == {url for url in pages if not unwanted.search(url)}
    assert set(urls(evil)) == {url for url in pages if not url.endswith("a")}
    answer = tenax("explain", f"{calm.origins[0]}/tags/", "--dir", regex)
    assert "matches the exclude pattern `*/tags/*`" in answer.out


def test_a_changed_rule_is_said_and_holds_from_now_on(calm: Demo, tmp_path: Path) -> None:
    base = ("crawl", calm.seeds[0], *FAST, *INLINE, "--dir", tmp_path)
    tenax(*base, "--max-pages", "2")
    again = tenax(*base, "--max-pages", "4", "--exclude", "*/tags/*")
    assert "changed since the last run: exclude none → */tags/*" in again.err


def test_the_directory_is_named_after_the_seed_when_none_is_given(calm: Demo, tmp_path: Path) -> None:
    host = calm.origins[0].removeprefix("http://")
    done = tenax("crawl", host, *FAST, *INLINE, "--max-pages", "1", cwd=tmp_path)
    assert done.code == 0
    [made] = tmp_path.iterdir()
    assert made.name == f"tenax-{host.replace(':', '-')}"
    assert urls(made) == [calm.seeds[0]]
    assert tenax("status", cwd=tmp_path).out.startswith(made.name)


@pytest.mark.parametrize("flag", ["--quiet", "-q"])
def test_quiet_is_quiet(calm: Demo, tmp_path: Path, flag: str) -> None:
    asked = ("crawl", calm.seeds[0], *FAST, *INLINE, flag, "--dir")
    assert tenax(*asked, tmp_path / "all", "--exclude", "*/*") == (0, "", "")
    limited = tenax(*asked, tmp_path / "some", "--max-depth", "0")
    assert limited.out.startswith("Crawl limited: no URL is waiting, but 26 links of 1 page were not followed")
