"""The command that goes on with a crawl."""

from __future__ import annotations

import pytest

from tenax.cli.crawl import command_to_resume


def test_a_command_with_thousands_of_seeds_is_not_printed_whole() -> None:
    seeds = [f"https://{number}.example/" for number in range(2000)]
    command = command_to_resume(["crawl", "--max-pages", "5", *seeds, "--rate", "2"])
    assert command.endswith("crawl --max-pages 5 https://0.example/ --rate 2 … (the command as it was, with every URL)")


@pytest.mark.parametrize("flag", ["--fresh", "--revisit"])
def test_going_on_begins_nothing_anew(flag: str) -> None:
    command = command_to_resume(["crawl", "https://example.org", flag, "--max-pages", "5"])
    assert command.endswith(" crawl https://example.org --max-pages 5")
