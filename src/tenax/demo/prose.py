"""Generates text from the themes in `words/`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from random import Random
from typing import TypeAlias

import msgspec

from tenax.model import Value

THEMES = ("courier", "museum", "shop", "weather", "library", "council")

Slots: TypeAlias = Mapping[str, Sequence[str]]

_SLOT = re.compile(r"\{(\^?)(\w+)\}")


class Heading(Value, frozen=True):
    """A section or a tag: its path segment and its title."""

    path: str
    title: str


class Labels(Value, frozen=True):
    """Labels of navigation and frame, in the theme's language."""

    home: str
    latest: str
    about: str
    contact: str
    join: str
    tags: str
    privacy: str
    related: str
    neighbours: str
    curiosities: str
    previous: str
    next: str
    page: str
    by: str
    read: str


class Theme(Value, frozen=True):
    """One kind of website: language, charset, templates and phrases.

    `{slot}` in a template is replaced by one of that slot's phrases, `{^slot}` by the same with a capital letter.
    """

    language: str
    charset: str
    declared_in: str
    """Where the charset is declared: `header`, `meta` or `nothing`."""
    schema: str
    """The schema.org type of its articles."""
    colour: str
    joiner: str
    """The separator between two sentences."""
    names: tuple[str, ...]
    towns: tuple[str, ...]
    tagline: str
    authors: tuple[str, ...]
    date: str
    months: tuple[str, ...]
    slugs: tuple[str, ...]
    titles: tuple[str, ...]
    leads: tuple[str, ...]
    sentences: tuple[str, ...]
    closings: tuple[str, ...]
    slots: dict[str, tuple[str, ...]]
    labels: Labels
    sections: tuple[Heading, ...]
    tags: tuple[Heading, ...]


@lru_cache
def load_theme(host_index: int) -> Theme:
    """The theme of this host; with more hosts than themes, themes repeat."""
    name = THEMES[host_index % len(THEMES)]
    file = resources.files("tenax.demo") / "words" / f"{name}.toml"
    return msgspec.toml.decode(file.read_bytes(), type=Theme)


def fill_template(theme: Theme, templates: Sequence[str], rng: Random, slots: Slots | None = None) -> str:
    """One of these templates with its slots filled."""
    phrases = theme.slots if slots is None else slots

    def fill(match: re.Match[str]) -> str:
        phrase = rng.choice(phrases[match[2]])
        return phrase[0].upper() + phrase[1:] if match[1] else phrase

    return _SLOT.sub(fill, rng.choice(templates))


def write_paragraph(theme: Theme, rng: Random) -> str:
    """Three to five different sentences."""
    chosen = rng.sample(theme.sentences, rng.randint(3, 5))
    return theme.joiner.join(fill_template(theme, (sentence,), rng) for sentence in chosen)


def write_article(theme: Theme, lead: str, rng: Random) -> list[str]:
    """Several paragraphs that start with `lead`. Few phrases per slot and no early repetition keep it readable."""
    cast = {slot: rng.sample(phrases, min(4, len(phrases))) for slot, phrases in theme.slots.items()}
    unused: list[str] = []
    texts = []
    for _ in range(rng.randint(5, 8)):
        if len(unused) < 5:
            unused = rng.sample(theme.sentences, len(theme.sentences)) + unused
        count = rng.randint(3, 5)
        unused, chosen = unused[:-count], unused[-count:]
        texts.append(theme.joiner.join(fill_template(theme, (sentence,), rng, cast) for sentence in chosen))
    texts[0] = lead + theme.joiner + texts[0]
    return [*texts, fill_template(theme, theme.closings, rng, cast)]


def format_date(theme: Theme, iso_date: str) -> str:
    """A date in the format of the theme."""
    year, month, day = iso_date.split("-")
    return theme.date.format(year=int(year), month=theme.months[int(month) - 1], day=int(day))
