"""The command that goes on with a crawl."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.cli.crawl import command_to_resume, run
from tenax.cli.parser import parse
from tenax.cli.verbs import VERBS
from tenax.errors import UsageError


def test_a_command_with_thousands_of_seeds_is_not_printed_whole() -> None:
    seeds = [f"https://{number}.example/" for number in range(2000)]
    command = command_to_resume(["crawl", "--max-pages", "5", *seeds, "--rate", "2"])
    assert command.endswith("crawl --max-pages 5 https://0.example/ --rate 2 … (the command as it was, with every URL)")


@pytest.mark.parametrize("flag", ["--fresh", "--revisit"])
def test_going_on_begins_nothing_anew(flag: str) -> None:
    command = command_to_resume(["crawl", "https://example.org", flag, "--max-pages", "5"])
    assert command.endswith(" crawl https://example.org --max-pages 5")


def test_what_ends_and_what_never_does_are_not_asked_for_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    args = parse(VERBS, ["crawl", "https://example.org", "--keep-fresh", "--max-pages", "5"])
    with pytest.raises(UsageError, match="--max-pages ends a crawl and --keep-fresh never does"):
        run(args)
    assert list(tmp_path.iterdir()) == []
