"""Choice of the page title."""

from __future__ import annotations

import pytest

from tenax.extract.metadata.titles import choose_title


@pytest.mark.parametrize(
    ("headings", "metadata_titles", "document_title", "chosen"),
    [
        ([], [], "", ""),
        ([], [], "A story", "A story"),
        (["A story"], [], "A story | The Site", "A story"),
        (["The Site", "A story of some length"], [], "A story of some length - The Site", "A story of some length"),
        (["Unrelated"], ["A story"], "A story | The Site", "A story"),
        ([], ["A story | The Site"], "", "A story"),
        ([], [], "The Site: A story", "The Site: A story"),
        ([], [], "The Site » A story", "A story"),
        ([], [], "Story | h.example", "Story"),
        ([], [], "Story | The-Host", "Story"),
        ([], [], "One two three four five - Some Section", "One two three four five"),
        ([], [], "One two - three", "One two - three"),
        (["Flexbox"], [], "Flexbox - Learn layout", "Flexbox"),
        (["Only a heading"], [], "", "Only a heading"),
        ([], [], "The Site", "The Site"),
        (["Story, told in full and at length"], ["Story told in full"], "", "Story, told in full and at length"),
    ],
)
def test_choose_title(headings: list[str], metadata_titles: list[str], document_title: str, chosen: str) -> None:
    assert choose_title(headings, metadata_titles, document_title, ["The Site", "h.example", "thehost"]) == chosen


def test_subheading_completes_the_title() -> None:
    lower = iter(["Something else", "A story of some length"])
    assert choose_title(["Blog"], [], "Blog - a story of some length", [], lower) == "A story of some length"
    assert next(lower, None) is None


def test_subheadings_are_read_lazily() -> None:
    lower = iter(["Below"])
    assert choose_title(["A story"], ["A story"], "A story | The Site", ["The Site"], lower) == "A story"
    assert next(lower) == "Below"
