"""Records the output and stored data of Tenax, to compare them after a refactoring.

    scripts/golden record before --corpus DIR     # then refactor
    scripts/golden record after --corpus DIR
    scripts/golden compare before after           # prints differences per file; exit code 1 if there is one

Records the content of every page of a corpus; crawls of the demo site with one visit at a time (`pages.jsonl`, rows of
the databases, output of every verb); `--help` of every verb; and the public names of `tenax`. Times, durations and
other volatile values are masked, so that two records of the same code are equal.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import inspect
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.measure import end_with_parent
from bench.read_corpus import pages_of
from bench.report import ROOT, say

PORT = 18_765
HOSTS, PAGES = 3, 30
LONGEST_VALUE = 160
"""Longer values are recorded as a hash."""
MOST_LINES = 60
"""Differences printed per file."""

_VOLATILE = (
    (re.compile(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20\d\d \d\d:\d\d:\d\d GMT"), "<date>"),
    (re.compile(r"\b1[789]\d{8}(?:\d{3})?(?:\.\d+)?\b"), "<epoch>"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:ms|µs|s|min|h|d)\b"), "<duration>"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:pages|requests)/s"), "<rate>"),
    (re.compile(r"\b\d+(?:\.\d+)?/s"), "<rate>"),
    (re.compile(r'("(?:position|received_bytes|saved_bytes)": )\d+'), r"\1<number>"),
    (re.compile(r"\blist \S+, known to"), "list <list>, known to"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)
_VOLATILE_NAMES = re.compile(
    r"(?:^|_)(?:at|due|found|seconds|ms|since|until|latency|rate|seq|via|duplicate_of|similarity)(?:_|$)"
)
"""Fields that depend on the clock, or on the random order of tasks that are due at the same time."""


def command() -> int:
    options = _parser().parse_args()
    if options.verb == "compare":
        return compare(options.before, options.after)
    record(options.directory, options.corpus)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/golden", description=(__doc__ or "").partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record", help="record output and stored data in a new directory")
    recording.add_argument("directory", type=Path)
    recording.add_argument("--corpus", type=Path, help="a directory of pages-NAME.jsonl[.xz]")
    comparing = verbs.add_parser("compare", help="print the differences of two records")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    return parser


# ---- record -----------------------------------------------------------------------------------------------------


def record(directory: Path, corpus: Path | None) -> None:
    if directory.exists():
        raise SystemExit(f"scripts/golden: {directory} exists; name a directory that does not")
    directory.mkdir(parents=True)
    (directory / "api.txt").write_text("\n".join(api()) + "\n", encoding="utf-8")
    _record_help(directory)
    _record_crawl(directory)
    if corpus is not None:
        _record_content(directory, corpus)


def api() -> Iterator[str]:
    """The public names of `tenax`, with their arguments or fields."""
    import tenax

    for name in sorted(tenax.__all__):
        value = getattr(tenax, name)
        if isinstance(value, type) and issubclass(value, msgspec.Struct):
            yield f"{name}({', '.join(value.__struct_fields__)})"
        elif inspect.isclass(value) or inspect.isfunction(value):
            with contextlib.suppress(ValueError):
                yield f"{name}{inspect.signature(value)}"
            members = [one for one in dir(value) if not one.startswith("_")] if inspect.isclass(value) else []
            yield from (f"{name}.{one}" for one in members)
        else:
            yield name


def _record_help(directory: Path) -> None:
    from tenax.cli.commands import VERBS

    texts = [_tenax("--help")] + [_tenax(verb.NAME, "--help") for verb in VERBS]
    (directory / "help.txt").write_text("\n".join(texts), encoding="utf-8")


def _record_content(directory: Path, corpus: Path) -> None:
    import tenax

    with (directory / "content.txt").open("w", encoding="utf-8") as out:
        for name, row in pages_of(corpus):
            url = row.get("url") or ""
            document = msgspec.to_builtins(tenax.read(row["html"], url if url.startswith("http") else None))
            out.write(f"{name} {row.get('id')}\n")
            out.writelines(f"  {field}: {_short(value)}\n" for field, value in document.items())


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(text) <= LONGEST_VALUE:
        return text
    return f"{len(text)} characters, sha256 {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _record_crawl(directory: Path) -> None:
    """Crawls each host separately: with several hosts, the order of visits depends on the clock."""
    output, pages, rows = list[str](), list[str](), list[str]()
    with _demo() as origins:
        for number, origin in enumerate(origins):
            home = directory / f"crawl-{number}"
            said = {"crawl": _tenax("crawl", f"{origin}/", *_SETTINGS, "--dir", str(home))}
            said |= {" ".join(words): _tenax(*words, "--dir", str(home)) for words in _verbs(origin)}
            said |= {" ".join(words): _tenax(*words) for words in _verbs_without_crawl(origin)}
            output += [f"$ tenax {words}\n{_sorted(text.replace(str(home), '<out>'))}" for words, text in said.items()]
            pages += _pages(home / "pages.jsonl")
            rows += _rows(home / "tenax.db")
            shutil.rmtree(home)
    for name, lines in (("output.txt", output), ("pages.txt", pages), ("rows.txt", rows)):
        (directory / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


_SETTINGS = (
    "--rate", "0", "--quiet", "--set", "pool.processes=0", "--set", "crawl.concurrency=1",
    "--set", "politeness.share_rate_limit=false", "--set", "hosts.budget_failures=1000",
    "--set", "fetch.total_timeout_seconds=5", "--set", "discovery.guesses=always",
)  # fmt: skip


def _verbs(origin: str) -> list[tuple[str, ...]]:
    explained = ("/", "/private/accounts", "/moody", "/nowhere", "/visit?utm_source=letter&sid=1")
    return [
        ("status",),
        ("status", "--json"),
        ("status", "--schedule"),
        *(("explain", f"{origin}{path}") for path in explained),
        ("links", "--from", f"{origin}/"),
        ("links", "--to", f"{origin}/"),
        ("dead-letters", "list"),
        ("db", "check"),
    ]


def _verbs_without_crawl(origin: str) -> list[tuple[str, ...]]:
    home = f"{origin}/"
    return [("fetch", home), ("read", home, "--format", "markdown"), ("sitemap", home), ("feed", home), ("config",)]


def _sorted(text: str) -> str:
    """Sorts the lines: many are in the order of visits, which differs between runs."""
    return "\n".join(sorted(text.splitlines())) + "\n"


def _pages(file: Path) -> Iterator[str]:
    lines = file.read_text(encoding="utf-8").split("\n")[:-1]
    for page in sorted((json.loads(line) for line in lines), key=lambda page: str(page["url"])):
        yield str(page["url"])
        yield from (f"  {key}: {_stable(key, value)}" for key, value in sorted(page.items()) if key != "url")


@contextlib.contextmanager
def _demo() -> Iterator[list[str]]:
    command = [sys.executable, "-m", "tenax.demo", "--port", str(PORT), "--hosts", str(HOSTS), "--pages", str(PAGES)]
    process = subprocess.Popen(
        [*command, "--behaviours", "quick"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment(),
        preexec_fn=end_with_parent,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["origins"]
    finally:
        process.kill()
        process.wait()


def _tenax(*words: str) -> str:
    """Output of the program with standard error, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "tenax", *words], env=_environment() | {"COLUMNS": "400", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=300,
    )  # fmt: skip
    return _plain(f"{done.stdout.decode('utf-8', 'replace')}[exit code {done.returncode}]\n")


def _environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    return {**ours, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}


def _plain(text: str) -> str:
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return text


def _stable(name: str, value: Any) -> str:
    if _VOLATILE_NAMES.search(name):
        return "<varies>"
    if isinstance(value, dict):
        return _short({key: json.loads(_stable_json(key, one)) for key, one in value.items()})
    return _plain(_short(value))


def _stable_json(name: str, value: Any) -> str:
    if _VOLATILE_NAMES.search(name):
        return '"<varies>"'
    if isinstance(value, dict):
        return json.dumps({key: json.loads(_stable_json(key, one)) for key, one in value.items()})
    return _plain(json.dumps(value, ensure_ascii=False)) if isinstance(value, str) else json.dumps(value)


def _rows(file: Path) -> Iterator[str]:
    """The rows of the public views, and the row count of each table."""
    with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
        for name in names:
            if not name.startswith("sqlite_"):
                (count,) = database.execute(f'SELECT count(*) FROM "{name}"').fetchone()
                yield f"table {name}: {count} rows"
        database.row_factory = sqlite3.Row
        for view in ("crawled_pages", "domains", "url_frontier"):
            rows = database.execute(f"SELECT * FROM {view}").fetchall()
            for row in sorted(rows, key=lambda row: str(row[0])):
                yield f"{view} {row[0]}"
                yield from (f"  {name}: {_stable(name, row[name])}" for name in row.keys()[1:])


# ---- compare ----------------------------------------------------------------------------------------------------


def compare(before: Path, after: Path) -> int:
    files = [{file.name for file in directory.iterdir() if file.is_file()} for directory in (before, after)]
    for name in sorted(files[0] ^ files[1]):
        say(f"{name}: only in one of them, not compared")
    differ = 0
    for name in sorted(files[0] & files[1]):
        old, new = ((directory / name).read_text(encoding="utf-8").splitlines() for directory in (before, after))
        if old == new:
            say(f"{name}: equal, {len(old):,} lines")
            continue
        differ += 1
        changes = list(difflib.unified_diff(old, new, f"before/{name}", f"after/{name}", "", "", 1, ""))
        say(f"{name}: {sum(line[0] in '+-' for line in changes[2:]):,} lines differ")
        sys.stdout.writelines(f"{line}\n" for line in changes[:MOST_LINES])
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(command())
