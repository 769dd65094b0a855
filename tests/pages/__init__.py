"""Pages for tests of the validation: 300 good short ones and 60 block pages (walls), after real ones.

`texts` has the texts of the good pages, `tricky` good pages about block pages, `layouts` the markup around them,
`walls` the block pages. `hard` has more good pages, found by searching for what the rules would reject. Every third
text and every third wall is held out: the rules were written without looking at the results for those.

`written` is for extraction, not for validation: whole pages, and which parts of them should be kept.
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
    """Each text in three of the layouts, so that each layout gets many kinds and languages.

    Some are boards with several notices: those are the longer ones.
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
    """Each in every layout; they are not part of the 300."""
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
