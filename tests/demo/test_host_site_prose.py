"""Every theme can be read, every slot in it can be filled, and its words fit its charset."""

from __future__ import annotations

import re
from random import Random

import pytest

from tenax.demo.host_site import THEMES, fill_template, format_date, load_theme, write_article


@pytest.mark.parametrize("index", range(len(THEMES)))
def test_every_template_can_be_filled_and_sent(index: int) -> None:
    theme = load_theme(index)
    for template in (*theme.titles, *theme.leads, *theme.sentences, *theme.closings):
        said = fill_template(theme, (template,), Random(1))
        assert "{" not in said
        assert said.encode(theme.charset)


@pytest.mark.parametrize("index", range(len(THEMES)))
def test_every_phrase_is_used_and_every_path_is_plain(index: int) -> None:
    theme = load_theme(index)
    text = " ".join((*theme.titles, *theme.leads, *theme.sentences, *theme.closings))
    assert set(re.findall(r"\{\^?(\w+)\}", text)) == theme.slots.keys()
    for path in (*theme.slugs, *(heading.path for heading in (*theme.sections, *theme.tags))):
        assert re.fullmatch(r"[a-z-]+", path)


def test_a_story_opens_with_its_lead_and_has_some_length() -> None:
    texts = write_article(load_theme(0), "It rained.", Random(3))
    assert texts[0].startswith("It rained. ")
    assert 6 <= len(texts) <= 9


@pytest.mark.parametrize(("index", "line"), [(0, "7 March 2024"), (2, "7. März 2024"), (3, "2024年3月7日")])
def test_dates_are_written_as_people_there_do(index: int, line: str) -> None:
    assert format_date(load_theme(index), "2024-03-07") == line
