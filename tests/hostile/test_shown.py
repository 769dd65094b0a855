"""Text that acts where it is shown: in `pages.jsonl`, and in the names of directories and files that a person chose."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.program import environment, in_turn
from tests.hostile.crawling import crawl
from tests.site.hostile import hub, page, serves
from tests.site.server import Site

ACTS = "before\x85next\u2028line\u2029and\x9b2J\u202egnp.exe\u2066\u200e\x7f\U000e0041after"
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


async def said(commands: Sequence[Sequence[str]], cwd: Path) -> list[str]:
    """What each command writes to either stream, all of them in one process, while the sites of this test serve."""
    answers = await asyncio.to_thread(in_turn, *commands, cwd=cwd, env=environment(TMPDIR=str(cwd)))
    assert {answer.code for answer in answers} == {0}, answers
    return [answer.err + answer.out for answer in answers]


async def test_pages_jsonl_has_a_line_a_page_for_every_reader_and_says_the_same_as_export(tmp_path: Path) -> None:
    paths = [f"/{number}" for number in range(5)]
    routes = {path: serves(page(f"{path} {ACTS}").replace(b"</p>", ACTS.encode() + b"</p>")) for path in paths}
    paths.append("/plain.txt")
    routes["/plain.txt"] = serves((f"Some words {ACTS}. " * 50).encode(), "text/plain; charset=utf-8")
    async with Site({"/": hub(*paths), **routes}) as site:
        await crawl([site.url("/")], tmp_path / "out")
        [exported] = await said([["export", "--dir", "out"]], tmp_path)
    written = (tmp_path / "out" / "pages.jsonl").read_text(encoding="utf-8")
    lines = written.splitlines()
    assert len(lines) == len(paths) + 1
    assert not CONTROLS.search(written)
    pages = {line["url"]: line for line in map(json.loads, lines)}
    for sign in "\x85\u2028\u2029\u202e\u2066\u200e\U000e0041":
        assert sign in pages[site.url("/plain.txt")]["text"], "nothing is lost"
    numbered = {json.loads(line)["url"]: json.loads(line) for line in exported.splitlines()}
    assert {url: {**line, "seq": None} for url, line in pages.items()} == numbered


async def test_a_directory_that_acts_on_a_terminal_is_inert_wherever_it_is_shown(tmp_path: Path) -> None:
    name = "out\x1b[31m\nRed: \u202ename\x9b2J"
    file = f"{name}.csv"
    async with Site({"/": hub("/a"), "/a": serves(page())}) as site:
        flags = ["--rate", "0", "--set", "pool.processes=0", "--set", "discovery.sources=links"]
        commands = [
            ["crawl", site.url("/"), *flags, "--dir", name, "--max-pages", "1"],
            ["crawl", "--dir", name, "--max-pages", "5"],
            ["status", "--dir", name],
            ["status", "--schedule", "--dir", name],
            ["explain", site.url("/a"), "--dir", name],
            ["fetch", site.url("/a"), "--dir", name],
            ["export", "--format", "csv", "-o", file, "--dir", name],
            ["export", "--format", "markdown", "--dir", name],
            ["links", "--export", file, "--dir", name],
            ["dead-letters", "list", "--dir", name],
        ]
        texts = await said(commands, tmp_path)
        shown = [text for text in texts if CONTROLS.search(text)]
        assert shown == []
        assert not [text for text in texts if "\nRed:" in text]
        # What is proposed works, typed as it stands.
        resume = re.search(r"tenax (status --dir .*?)  ", texts[0])
        assert resume is not None, texts[0]
        asked = await asyncio.to_thread(
            subprocess.run,
            ["bash", "-c", f"{sys.executable} -m tenax {resume[1]}"],
            cwd=tmp_path, env=environment(LC_ALL="C.UTF-8"), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (asked.returncode, asked.stderr) == (0, "")
        assert asked.stdout == texts[2]
