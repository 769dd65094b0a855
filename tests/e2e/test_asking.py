"""What a crawl can be asked afterwards: explain, status, export, failed URLs."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import Crawled
from tests.e2e.program import in_one_process, page_lines, status, tenax, together, urls

# ---- explain ----------------------------------------------------------------------------------------------

STORIES = {
    "a seed": ("{0}/", ["Visited and stored, as a page.", "given as a seed", "fetched, HTTP 200", "→ done"]),
    "one of many spellings": (
        "{2}/./tags/../visit?utm_source=letter&sid=1#map",
        ["/visit\n", "normalized", "tracking or session parameters dropped: utm_source, sid", "Visited and stored"],
    ),
    "a second try": (
        "{2}/moody",
        ["failed, server error: HTTP 500", "one failed attempt counted", "visit 3", "fetched"],
    ),
    "closed by robots.txt": (
        "{0}/private/accounts",
        ["Not fetched: ", "robots.txt does not allow it", "✗ robots.txt forbids it"],
    ),
    "a redirect": ("{5}/old-address", ["redirected, HTTP 301, to http://127.0.0.6", "/older-address", "→ done"]),
    "where it led": ("{5}/found-at-last", ["by a redirect of", "redirected, HTTP 301"]),
    "a redirect out of scope": ("{5}/cloud", ["to http://169.254.169.254/latest/meta-data/; not followed: scope"]),
    "a redirect into what is closed": ("{0}/side-door", ["redirected, HTTP 302, to http://127.0.0.1"]),
    "a failed URL": ("{2}/cut-short", ["Given up: the body ends too early (tried 3 times)", "visit 3", "given up:"]),
    "a loop": ("{5}/and-round", ["Given up: redirect loop", "by a redirect of"]),
    "a bomb": ("{4}/bomb", ["Given up: larger than 10485760 bytes"]),
    "not found": ("{0}/lost", ["failed, not found: HTTP 404", "→ done"]),
    "marked noindex": ("{1}/unlisted", ["rejected, not stored: noindex"]),
    "not a page": ("{3}/picture", ["rejected, not stored: content"]),
    "out of scope": ("https://example.org/", ["Never admitted: the rule `scope` refuses it", "by the current rules"]),
    "a trap": (
        "{5}/calendar?year=2061&month=1",
        ["Never admitted: the rule `trap:calendar_years` refuses it", "`urls.calendar_years`"],
    ),
    "another trap": ("{4}/echo/a/b/a/b/a/b/", ["the rule `trap:max_repeated_segments` refuses it"]),
    "never found": ("{1}/nobody/links/here", ["Never found: no stored page links to it"]),
    "never found, and closed": ("{0}/private/other", ["It would be admitted, then refused by robots.txt."]),
    "marked nofollow": ("{1}/quiet/nook", ["Never admitted: every link to it is marked nofollow"]),
}


@pytest.fixture(scope="module")
def explained(crawled: Crawled) -> dict[str, str]:
    """All stories."""
    asked = [url.format(*crawled.demo.origins) for url, _ in STORIES.values()]
    answers = in_one_process(*(("explain", url, "--dir", crawled.out) for url in asked))
    return dict(zip(STORIES, answers, strict=True))


@pytest.mark.parametrize("name", STORIES)
def test_the_life_of_a_url(explained: dict[str, str], name: str) -> None:
    for words in STORIES[name][1]:
        assert words in explained[name]


def test_explain_for_programs(crawled: Crawled) -> None:
    answer = json.loads(tenax("explain", f"{crawled.demo.origins[2]}/moody", "--json", "--dir", crawled.out).out)
    assert [visit["outcome"]["type"] for visit in answer["history"]["visits"]][-3:] == ["failed", "failed", "fetched"]
    assert answer["history"]["state"] == "settled"
    assert answer["history"]["via"] == f"{crawled.demo.origins[2]}/curiosities"


# ---- status -----------------------------------------------------------------------------------------------


def test_status_of_a_complete_crawl(crawled: Crawled) -> None:
    counts = status(crawled.out)
    assert counts["pages"] == len(crawled.demo.pages)
    assert counts["outcomes"]["fetched"] == counts["pages"] + 1, "a feed that is linked is read as one"
    assert counts["dead"] == 4
    assert not counts.get("waiting")
    assert not counts.get("is_running")
    text = tenax("status", "--dir", crawled.out).out
    assert "Nothing is waiting. `tenax dead-letters list` shows the failed URLs." in text
    assert f"events        {len(crawled.demo.pages)} events written to pages.jsonl\n" in text


# ---- export -----------------------------------------------------------------------------------------------


def test_export_as_json_lines(crawled: Crawled) -> None:
    answer = tenax("export", "--dir", crawled.out)
    pages = [json.loads(line) for line in answer.out.splitlines()]
    assert {page["url"] for page in pages} == crawled.demo.pages
    assert len(pages) == len(crawled.demo.pages)
    texts = {page["url"]: page["text"] for page in pages}
    assert texts == {line["url"]: line["text"] for line in page_lines(crawled.out)}


def test_export_as_a_table(crawled: Crawled, tmp_path: Path) -> None:
    file = tmp_path / "pages.csv"
    answer = tenax("export", "--format", "csv", "-o", file, "--where", "kind=article", "--dir", crawled.out)
    assert answer.code == 0
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    wanted = {line["url"] for line in page_lines(crawled.out) if line["kind"] == "article"}
    assert {row["url"] for row in rows} == wanted
    assert answer.err == f"{len(wanted)} pages written to {file}\n"


def test_export_as_files(crawled: Crawled, tmp_path: Path) -> None:
    answer = tenax(
        "export", "--format", "markdown", "-o", tmp_path / "md", "--where", "host=127.0.0.2", "--dir", crawled.out
    )
    wanted = [url for url in urls(crawled.out) if url.startswith(crawled.demo.origins[1])]
    files = list((tmp_path / "md").rglob("*.md"))
    assert len(files) == len(wanted)
    assert answer.err == f"{len(wanted)} pages written to {tmp_path / 'md'}\n"
    assert {file.read_text(encoding="utf-8").splitlines()[0] for file in files} == {"---"}


def test_export_where_everything_given_holds(crawled: Crawled) -> None:
    lines, origin = page_lines(crawled.out), crawled.demo.origins[3]
    language = next(line["language"] for line in lines if line["url"] == f"{origin}/")
    wheres = {
        "url=*/finder?*": {line["url"] for line in lines if "/finder?" in line["url"]},
        f"language={language}": {line["url"] for line in lines if line["language"] == language},
        "status=404": set(),
        "since=2020-01-01": {line["url"] for line in lines},
        "since=2999-01-01": set(),
    }
    answers = in_one_process(
        *(("export", "--where", where, "--dir", crawled.out) for where in wheres),
        ("export", "--where", "host=127.0.0.4", "--where", "url=*/soup*", "--dir", crawled.out),
    )
    found = [{json.loads(line)["url"] for line in answer.splitlines()} for answer in answers]
    assert found[:-1] == list(wheres.values())
    assert found[-1] == {f"{origin}/soup", f"{origin}/soup/spoon", f"{origin}/soup/bowl"}


def test_export_to_where_nothing_can_be_written(crawled: Crawled) -> None:
    for answer in together(
        ("export", "-o", "/proc/nowhere/pages.jsonl", "--dir", crawled.out),
        ("export", "--format", "markdown", "-o", "/proc/nowhere", "--dir", crawled.out),
    ):
        assert answer.code == 7
        assert answer.err.startswith("tenax: /proc/nowhere")
        assert answer.err.count("\n") == 1


def test_export_to_a_full_disk(crawled: Crawled) -> None:
    answer = tenax("export", "-o", "/dev/full", "--dir", crawled.out)
    assert answer.code == 6
    assert answer.err == "tenax: /dev/full: the disk is full; the crawl itself is unharmed\n"


# ---- failed URLs ------------------------------------------------------------------------------------------


def test_dead_letters_are_listed_with_their_cause_and_replayed(crawled: Crawled, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    shutil.copytree(crawled.out, out)
    bomb, lines = f"{crawled.demo.origins[4]}/bomb", (out / "pages.jsonl").read_bytes()
    listed = tenax("dead-letters", "list", "--dir", out)
    assert f"{bomb}\n    larger than 10485760 bytes (`fetch.max_body_bytes`)\n" in listed.out
    assert "4 failed URLs." in listed.out
    failed = [json.loads(line) for line in tenax("dead-letters", "list", "--json", "--dir", out).out.splitlines()]
    assert {line["url"].rpartition("/")[2] for line in failed} == {"bomb", "cut-short", "and-round", "passwords"}
    one = tenax("dead-letters", "replay", bomb, "--dir", out)
    assert one.out.startswith("1 URL will be visited again. Resume with:  python -m tenax crawl")
    unknown = tenax("dead-letters", "replay", f"{crawled.demo.origins[4]}/", "--dir", out)
    assert (unknown.code, unknown.out) == (0, "Nothing to replay.\n")
    others = tenax("dead-letters", "replay", "--all", "--dir", out)
    assert others.out.startswith("3 URLs will be visited again.")
    assert (status(out)["waiting"], status(out).get("dead", 0)) == (4, 0)
    asked = crawled.demo.asked("/bomb")
    done = tenax("crawl", *crawled.demo.seeds, *crawled.options, "--dir", out)
    assert "Crawl complete" in done.out
    assert crawled.demo.asked("/bomb") == asked + 1
    assert status(out)["dead"] == 4
    assert "visit 2" in tenax("explain", bomb, "--dir", out).out
    assert (out / "pages.jsonl").read_bytes() == lines


def test_a_table_is_read_back_as_it_was_written(crawled: Crawled) -> None:
    answer = tenax("export", "--format", "csv", "--dir", crawled.out)
    rows = list(csv.DictReader(io.StringIO(answer.out, newline="")))
    assert {row["url"] for row in rows} == crawled.demo.pages
