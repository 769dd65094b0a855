"""Pages to try the validation on: 300 good short ones and 60 walls, from patterns of real ones.

`texts` holds what the good pages say, `tricky` those that speak of walls without being one, `layouts` what they are
dressed in, `walls` the walls. `hard` holds more good pages, found by looking for what the rules would turn away.
Every third text and every third wall is held out: the rules were written without looking at how those fare.

`written` is for the reading, not for the validation: whole pages, and what of them should be kept.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.pages.hard import HARD
from tests.pages.layouts import LAYOUTS
from tests.pages.texts import TEXTS
from tests.pages.tricky import TRICKY
from tests.pages.walls import WALLS

LAYOUTS_PER_TEXT = 3


class GoodPage(NamedTuple):
    name: str
    html: str
    is_held_out: bool


class WallPage(NamedTuple):
    name: str
    expected: str
    """`soft` or `hard`."""
    html: str
    is_held_out: bool


def good_pages() -> list[GoodPage]:
    """Each text in three of the layouts, so that each layout meets many kinds and languages.

    Some of them are boards, on which several notices stand: those are the longer ones.
    """
    pages = []
    layouts = list(LAYOUTS.items())
    texts = [*TEXTS, *TRICKY]
    for number, (kind, language, title, _) in enumerate(texts):
        for turn in range(LAYOUTS_PER_TEXT):
            notices = 3 + number % 4 if turn == 2 and number % 2 else 1
            body = "".join(text[3] for text in texts[number : number + notices])
            dress, layout = layouts[(number + 3 * turn) % len(layouts)]
            name = f"{number:03} {kind} {language} {dress}: {title}"
            pages.append(GoodPage(name, layout(language, title, body), number % 3 == 2))
    return pages


def hard_pages() -> list[GoodPage]:
    """Each in every layout; they are beside the 300."""
    return [
        GoodPage(f"{language} {dress}: {title}", layout(language, title, body), False)
        for language, title, body in HARD
        for dress, layout in LAYOUTS.items()
    ]


def wall_pages() -> list[WallPage]:
    return [
        WallPage(f"{number:02} {name}", expected, html, number % 3 == 2)
        for number, (name, expected, html) in enumerate(WALLS)
    ]
