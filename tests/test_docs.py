"""The documents are correct: what they name exists, what exists is documented, and their examples run."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tenax
from bench.__main__ import available
from docs import from_code, from_comparison, from_results, generate
from tenax.cli import parser, settings
from tenax.cli.commands import VERBS
from tenax.cli.views.pages import parse_page_filter
from tenax.config import SiteConfig, all_settings, load_config
from tenax.database.sqlite.schema import queries
from tenax.errors import TenaxError
from tenax.metrics import METRICS, PAGE_FETCHER_METRICS
from tenax.urls.admit import build_rules

ROOT = Path(__file__).parent.parent
PAGES = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in generate.pages()}
EVERYTHING = "\n".join(PAGES.values())

FENCE = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#]*)(?:#(?P<anchor>[^)]*))?\)")
CODE = re.compile(r"(?P<ticks>`+)(?P<text>.+?)(?P=ticks)")
OF_SCRIPTS = frozenset({
    "--quick", "--check", "--checked", "--corpus", "--durations", "--fix", "--install",
    "--minutes", "--plant", "--seed", "--serve", "--site", "--target",
})  # fmt: skip
OPERATORS = frozenset({"&&", "||", "|", ";"})


def fenced(page: str, *kinds: str) -> list[str]:
    return [match["text"] for match in FENCE.finditer(PAGES[page]) if match["kind"] in kinds]


def prose(page: str) -> str:
    return FENCE.sub("", PAGES[page])


# ---- generated parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_generated_parts_are_up_to_date(page: str) -> None:
    assert generate.rewritten(PAGES[page]) == PAGES[page], f"{page} is out of date: run scripts/docs"


def test_every_generated_part_is_used() -> None:
    assert set(generate.parts_of(EVERYTHING)) == set(generate.PARTS)


def test_only_the_text_between_the_markers_is_written() -> None:
    inline, block = (
        "<!-- begin exit-codes -->old<!-- end exit-codes -->",
        "<!-- begin metrics -->\n<!-- end metrics -->",
    )
    new = generate.rewritten(f"before\n{inline} after\n{block}")
    assert new.startswith("before\n<!-- begin exit-codes -->| code |") and "<!-- end exit-codes --> after\n" in new
    assert "<!-- begin metrics -->\n\n| metric |" in new and "old" not in new
    assert generate.rewritten(new) == new


def test_missing_results_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_results, "RESULTS", tmp_path)
    parts = [name for name in generate.PARTS if name.startswith(("bench-", "soak-"))]
    assert {generate.PARTS[name]() for name in parts} == {from_results.NOT_MEASURED}
    assert "×" not in from_results.speed_claim()


def test_results_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_results, "RESULTS", tmp_path)
    cost = {"pages_per_second": 512.3, "cpu_seconds_per_1000_pages": 1.234, "peak_rss_mb": 99.9, "peak_pss_mb": 80.0}
    ratio = {"pages_per_second": 6.66, "pages_per_cpu_second": 12.34}
    figures = {"pages": 5000, "rounds": 3, "page_bytes": 30_000.0, "tenax": cost, "tenax_skim": cost, "scrapy": cost}
    machine = {"cores": 2, "cpu": "a CPU", "python": "3.11.7", "system": "Linux 6"}
    bars = {"memory_mb": {"value": 99.9, "bar": 250.0, "ok": True}, "speed": {"value": 6.66, "bar": 8.0, "ok": False}}
    extracting = {"pages_per_second": 3.21, "pages_per_cpu_second": 5.43}
    figures |= {"tenax_vs_scrapy": extracting, "tenax_skim_vs_scrapy": ratio}
    measured = {"figures": figures | {"machine": machine}, "bars": bars}
    (tmp_path / "crawl.json").write_text(json.dumps(measured))
    row = "| Scrapy, title and text, `JOBDIR` off | 512 | 1.23 | 99.9 | 3.21× | 6.66× | 5.43× | 12.3× |"
    assert row in from_results.crawl_tables()
    assert "| `speed` | 6.66 | 8 | **missed** |" in from_results.crawl_tables()
    assert "6.66× the pages per second and 12.3× the pages per CPU second" in from_results.speed_claim()
    assert "trafilatura" not in from_results.speed_claim()
    figures |= {"tenax_vs_scrapy_trafilatura": {"pages_per_second": 30.0, "pages_per_cpu_second": 21.4}}
    (tmp_path / "crawl.json").write_text(json.dumps(measured | {"figures": figures | {"machine": machine}}))
    assert "trafilatura: 21.4× the pages per CPU second." in from_results.speed_claim()


def test_the_comparison_shows_stored_figures_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_results, "RESULTS", tmp_path)
    assert from_comparison.comparison_table() == from_results.NOT_MEASURED
    figures = {"tenax": (9.0, 2.5), "tenax_skim": (20.0, 1.5), "scrapy": (4.0, 6.5), "crawlee": (3.0, 7.5)}
    crawl = {
        name: {"pages_per_second": speed, "cpu_seconds_per_1000_pages": cpu, "peak_rss_mb": 99.9}
        for name, (speed, cpu) in {**figures, "scrapy_trafilatura": (1.0, 28.5)}.items()
    }
    sites = {
        "tenax": {"found_share": 1.0, "wasted_share": 0.0073},
        "scrapy": {"found_share": 0.72, "wasted_share": 0.1677},
    }
    (tmp_path / "crawl.json").write_text(json.dumps({"figures": crawl}))
    (tmp_path / "discover.json").write_text(json.dumps({"figures": {"pages_20000": sites}}))
    table = from_comparison.comparison_table()
    assert "| pages per second, title and text | 20 | 4 | 3 |" in table
    assert "| CPU seconds per 1,000 pages, full extraction | 2.5 | 28.5 (with trafilatura) |  |" in table
    assert "| pages found of 20,000, two fifths of them not linked | 100 % | 72 % |  |" in table
    assert "| share of requests wasted on that site | 0.7 % | 16.8 % |  |" in table


# ---- what exists is documented -----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [setting.key for setting in all_settings()])
def test_every_setting_is_documented(key: str) -> None:
    assert f"| `{key}`" in PAGES["docs/configuration.md"]


@pytest.mark.parametrize("name", [metric.name for metric in METRICS])
def test_every_metric_is_documented(name: str) -> None:
    assert f"| `{name}` |" in PAGES["docs/configuration.md"]


@pytest.mark.parametrize("name", [metric.name for metric in PAGE_FETCHER_METRICS])
def test_every_metric_of_the_page_fetcher_is_documented(name: str) -> None:
    assert f"| `{name}` |" in PAGES["docs/page-fetcher.md"]


@pytest.mark.parametrize("verb", [verb.NAME for verb in VERBS])
def test_every_verb_and_every_option_is_documented(verb: str) -> None:
    assert f"| `tenax {verb}" in PAGES["README.md"]
    section = PAGES["docs/commands.md"].partition(f"\n## tenax {verb}\n")[2].partition("\n## ")[0]
    options = [option for action in from_code.verb_parsers()[verb]._actions for option in action.option_strings]
    assert [option for option in options if f"`{option}" not in section] == []


def test_the_sections_that_may_differ_for_a_site_are_named() -> None:
    sentence = PAGES["docs/configuration.md"].partition("## Single sites")[2].partition("may differ for a site.")[0]
    assert re.findall(r"`(\w+)`", sentence) == list(SiteConfig.__struct_fields__)


def test_every_exit_code_is_documented() -> None:
    codes = from_code.exit_codes()
    assert {error.exit_code for error in _errors(TenaxError)} | {0, 130} == codes.keys()
    headings = re.findall(r"^## Exit code (\d+): ", PAGES["docs/troubleshooting.md"], re.MULTILINE)
    assert [int(code) for code in headings] == sorted(codes)
    assert all(f"| `{code}` | {meaning} |" in PAGES["docs/configuration.md"] for code, meaning in codes.items())


def _errors(error: type[TenaxError]) -> Iterator[type[TenaxError]]:
    yield error
    for kind in error.__subclasses__():
        yield from _errors(kind)


def test_the_layout_shows_every_module() -> None:
    layout = from_code.layout()
    for file in (ROOT / "src" / "tenax").rglob("*.py"):
        if not file.stem.startswith("__"):
            assert re.search(rf"(?<!\w){file.stem}(?!\w)", layout), file


def test_every_table_and_view_of_the_database_is_described() -> None:
    created = re.findall(r"^CREATE (TABLE|VIEW) (\w+)", queries()["create"], re.MULTILINE)
    section = PAGES["docs/architecture.md"].partition("## The database's file")[2].partition("\n## ")[0]
    described = section.partition("| table |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", described, re.MULTILINE)) == {n for kind, n in created if kind == "TABLE"}
    assert [name for kind, name in created if kind == "VIEW" and f"`{name}`" not in section] == []


# ---- what is documented exists -----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for match in LINK.finditer(prose(page)):
        target = (ROOT / page).parent / match["target"] if match["target"] else ROOT / page
        assert target.exists(), f"{page} links to {match['target']}"
        if match["anchor"]:
            headings = re.findall(r"^#+ (.+)$", FENCE.sub("", target.read_text(encoding="utf-8")), re.MULTILINE)
            assert match["anchor"] in {_anchor(heading) for heading in headings}, f"{page}: #{match['anchor']}"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES)
def test_flags_settings_and_scripts_exist(page: str) -> None:
    options = {option for one in from_code.verb_parsers().values() for a in one._actions for option in a.option_strings}
    known = options | {"--help", "--version", "--verbose", "--debug"} | OF_SCRIPTS
    keys = {setting.key for setting in all_settings()}
    sections = "|".join(sorted({key.partition(".")[0] for key in keys}))
    for text in [match["text"] for match in CODE.finditer(prose(page))]:
        for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text):
            assert flag in known, f"{page} names {flag}"
        for key in re.findall(rf"^(?:{sections})\.[a-z_]+\b(?![/.(])", text):
            module = ROOT / "src" / "tenax" / key.replace(".", "/")
            is_module = module.is_dir() or module.with_suffix(".py").exists()
            assert key in keys or is_module or key.endswith(".py"), f"{page} names {key}"
        for script in re.findall(r"\bscripts/([a-z]+)\b", text):
            assert (ROOT / "scripts" / script).exists(), f"{page} names scripts/{script}"


def test_every_error_line_of_troubleshooting_is_in_the_source() -> None:
    """`…` is a placeholder, and a line may be composed at its semicolons; each piece is looked up."""
    messages = "\n".join(_message_pieces())
    for row in re.findall(r"^\| (`.+?) \| ", PAGES["docs/troubleshooting.md"], re.MULTILINE):
        for match in CODE.finditer(row):
            for piece in re.split("…|; ", match["text"].strip()):
                assert piece.strip() in messages, f"no message says {piece.strip()!r}"


def _message_pieces() -> Iterator[str]:
    """Every string in the program; a placeholder separates two pieces."""
    for file in (ROOT / "src" / "tenax").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
    yield re.sub(r"\$(?:\{[^}]*\}|\([^)]*\)|\w+)", "…", (ROOT / "scripts" / "_setup.sh").read_text(encoding="utf-8"))


# ---- examples run -------------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command in the documents, by page; `&&` and `|` separate commands."""
    for page in PAGES:
        lines = [line for text in fenced(page, "sh") for line in text.splitlines() if line.strip()]
        lines += [line[2:] for text in fenced(page, "console") for line in text.splitlines() if line.startswith("$ ")]
        for line in lines:
            yield from ((page, words) for words in _simple(line))


def _simple(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in OPERATORS:
            words.append(word)
            continue
        words = words[: words.index(">")] if ">" in words else words
        yield [word for word in words if not re.match(r"[A-Z_]+=", word)]
        words = []


COMMANDS = [pytest.param(words, id=f"{page}: {' '.join(words)}") for page, words in commands()]


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_are_understood(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *arguments = words
    if program in ("tenax", "scripts/tenax"):
        for name in [name for name in os.environ if name.startswith("TENAX_")]:
            monkeypatch.delenv(name)
        monkeypatch.chdir(tmp_path)
        (tmp_path / "site.toml").touch()
        (tmp_path / "seeds.yaml").touch()
        _parse(arguments)
    elif program.startswith("scripts/"):
        assert (ROOT / program).exists()
        if program in ("scripts/bench", "scripts/soak"):
            assert arguments[0] in available(program.removeprefix("scripts/"))


def _parse(arguments: list[str]) -> None:
    """Parse a command like the program, without running it."""
    try:
        args = parser.parse_arguments(VERBS, arguments)
    except SystemExit as ending:  # --version and --help
        assert ending.code == 0
        return
    loaded = settings.load(args) if hasattr(args, "set") else None
    if args.verb == "crawl" and loaded is not None:
        build_rules(args.urls, loaded.config, 2026)
    if args.verb == "export":
        parse_page_filter(args.where)


@pytest.mark.parametrize("text", fenced("docs/configuration.md", "toml"))
def test_settings_can_be_loaded(text: str, tmp_path: Path) -> None:
    file = tmp_path / "tenax.toml"
    file.write_text(text, encoding="utf-8")
    build_rules(["https://example.org"], load_config(file).config, 2026)


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """A website of 24 pages."""
    command = [sys.executable, "-m", "tenax.demo", "--hosts", "1", "--pages", "24", "--no-behaviours"]
    surroundings = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=surroundings) as demo:
        assert demo.stdin is not None and demo.stdout is not None
        yield json.loads(demo.stdout.readline())["origins"][0]
        demo.stdin.close()


EXAMPLES = [
    pytest.param(text, id=f"{page} {number}")
    for page in ("README.md", "docs/library.md")
    for number, text in enumerate(fenced(page, "python"), 1)
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_run(
    text: str, origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unchanged, but against the demo: its address is private and ours, so it is crawled without a rate limit."""
    monkeypatch.chdir(tmp_path)
    code = re.sub(r"https://example\.org/?", f"{origin}/", text).replace("tenax.Crawl(", "crawl_the_demo(")
    exec(compile(code, "example", "exec"), {"__name__": "__main__", "crawl_the_demo": _crawl_the_demo})
    printed = capsys.readouterr()
    assert printed.out and not printed.err


def _crawl_the_demo(seeds: list[str], config: tenax.Config | None = None, **options: Any) -> tenax.Crawl:
    config = config or tenax.Config()
    unlimited = msgspec.structs.replace(config.politeness, rate_per_second=0)
    config = msgspec.structs.replace(config, politeness=unlimited)
    return tenax.Crawl(seeds, config, typed_by_person=True, **options)


def test_the_example_of_the_readme_has_ten_lines() -> None:
    (example,) = fenced("README.md", "python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 10


def test_the_library_page_names_every_export() -> None:
    missing = [name for name in tenax.__all__ if f"tenax.{name}" not in PAGES["docs/library.md"]]
    assert missing == ["__version__"]


def test_the_library_page_describes_every_argument_field_and_ending() -> None:
    page = PAGES["docs/library.md"]
    arguments = list(inspect.signature(tenax.Crawl).parameters)
    fields = [field.name for field in msgspec.structs.fields(tenax.Page)]
    assert [name for name in arguments if f"| `{name}` |" not in page] == []
    assert [name for name in fields if f"`{name}`" not in page.partition("## A page")[2]] == []
    assert [ending.name for ending in tenax.Ending if f"| `{ending.name}` |" not in page] == []


def test_the_library_page_describes_the_content_of_one_page() -> None:
    page = PAGES["docs/library.md"]
    section = page.partition("## One page")[2]
    fields = page.partition("## A page")[2]
    assert [name for name in inspect.signature(tenax.read).parameters if f"| `{name}` |" not in section] == []
    assert [field.name for field in msgspec.structs.fields(tenax.Content) if f"`{field.name}`" not in fields] == []


HOSTILE_WEB = "docs/hostile-web.md"
CASE = re.compile(r"^\| .+ \| (?P<test>[^|]+) \|$", re.MULTILINE)
CITED = re.compile(r"`(?P<file>tests/[a-z0-9_/]+\.py)(?:::(?P<name>test_\w+))?`")


def test_every_hostile_case_has_a_test_that_exists() -> None:
    tests = [row["test"] for row in CASE.finditer(PAGES[HOSTILE_WEB]) if row["test"] not in ("test", "---")]
    assert tests
    for test in tests:
        cited = CITED.fullmatch(test)
        assert cited is not None, test
        source = (ROOT / cited["file"]).read_text(encoding="utf-8")
        assert cited["name"] is None or f"def {cited['name']}(" in source, test
