"""The program as a whole: help, mistakes, exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tenax import errors
from tenax.cli import main
from tenax.cli.commands import VERBS
from tenax.cli.parser import EXIT_CODES
from tenax.version import __version__


@pytest.fixture(autouse=True)
def _an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_help_lists_every_verb_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(verb.NAME in text for verb in VERBS)
    assert EXIT_CODES in text


def test_no_words_at_all_is_a_wish_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "first steps" in capsys.readouterr().out


def test_every_error_of_ours_has_a_documented_code() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.TenaxError)]
    listed = {int(line.split()[0]) for line in EXIT_CODES.splitlines()[1:]}
    assert {kind.exit_code for kind in kinds} <= listed
    assert {0, 130} <= listed


@pytest.mark.parametrize("verb", [verb.NAME for verb in VERBS])
def test_every_verb_has_a_sentence_and_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    text = capsys.readouterr().out
    examples = text.partition("examples:\n")[2].strip().splitlines()
    assert 2 <= len(examples) <= 4
    assert all("tenax " in line for line in examples)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tenax {__version__}\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["crwal", "https://example.org"], "unknown verb `crwal`; did you mean `crawl`?"),
        (["zzzzzz"], "unknown verb `zzzzzz`; there are: crawl, demo"),
        (["https://example.org"], "`tenax crawl https://example.org`"),
        (["crawl"], "URL"),
        (
            ["crawl", "https://example.org", "--max-page", "3"],
            "`tenax crawl` has no --max-page; did you mean --max-pages?",
        ),
        (["crawl", "file:///etc/passwd"], "not a supported scheme"),
        (["crawl", "https://example.org", "--rate", "fast"], "--rate: bad value 'fast'"),
        (["crawl", "https://example.org", "--rate=-1"], "`politeness.rate_per_second`: it takes a number, 0 or more"),
        (["crawl", "https://example.org", "--scope", "world"], "it takes host, domain, prefix or any"),
        (["config", "--set", "crawl.concurrency=0"], "it takes a whole number, 1 or more, at most 10000"),
        (["config", "--set", "hosts.throttle_factor=nan"], "it takes a number, more than 0, less than 1"),
        (["config", "--set", "fetch.verify_tls=perhaps"], "it takes true or false"),
        (["config", "--set", "guard.ports=http"], "it takes a list of whole numbers"),
        (["config", "--set", "fetch.fallbacks=wget"], "it takes a list of curl or browser"),
        (["config", "--host", ""], "give a host such as www.example.org"),
        (["config", "--config", "."], ".: cannot be read: Is a directory"),
        (["export", "--format", "pdf"], "pdf"),
        (["export", "--where", "colour=red"], "no field `colour`"),
        (["status"], "no crawl in"),
        (["status", "extra"], "too many for `tenax status`"),
        (["explain", "https://example.org/"], "no crawl in"),
        (["explain", "foo"], "tenax: `foo` is not a URL; write it like https://example.org/"),
        (["dead-letters", "replay"], "their URLs, or --all"),
        (["dead-letters", "list", "--all"], "takes no URL"),
        (["config", "--set", "nonsense"], "SECTION.KEY=VALUE"),
        (["demo", "--hosts", "zero"], "--hosts"),
    ],
)
def test_a_mistake_is_one_clear_line_and_code_2(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tenax: ")
    assert captured.err.count("\n") == 1
    assert says in captured.err


def test_typed_text_cannot_play_with_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["\x1b[2Jcrawl\x07"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(main.__code__.co_filename).parents[2])}


def test_help_imports_no_machinery() -> None:
    program = (
        "import sys\nfrom tenax.cli import main\nmain(['--help'])\n"
        "heavy = {'httptools', 'rich', 'selectolax', 'prometheus_client', 'asyncio', 'logging', 'msgspec'}\n"
        "print(heavy & set(sys.modules), file=sys.stderr)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment()
    )
    assert answer.stderr.strip() == "set()"


def test_a_full_disk_behind_standard_output_is_one_clear_line() -> None:
    with Path("/dev/full").open("wb") as full:
        answer = subprocess.run(
            [sys.executable, "-m", "tenax", "config"], stdout=full, stderr=subprocess.PIPE, check=False,
            env=environment(),
        )  # fmt: skip
    assert answer.stderr == b"tenax: standard output: the disk is full; the crawl itself is unharmed\n"
    assert answer.returncode == errors.StorageFull.exit_code


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"'{sys.executable}' -m tenax config --all | head -n 1"
    answer = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False, env=environment()
    )
    assert answer.stderr == ""
    assert answer.returncode == 0
    assert answer.stdout.startswith("crawl.scope")
