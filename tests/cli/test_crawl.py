"""The command that goes on with a crawl."""

from __future__ import annotations

import pytest

from tenax.cli.crawl import command_to_resume


@pytest.mark.parametrize("flag", ["--fresh", "--revisit"])
def test_going_on_begins_nothing_anew(flag: str) -> None:
    command = command_to_resume(["crawl", "https://example.org", flag, "--max-pages", "5"])
    assert command.endswith(" crawl https://example.org --max-pages 5")
