"""What a page is there for: an article, a list of pages, a product, a thread, documentation, or something else."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from tenax.model import PageKind
from tenax.parse.hints import Hints
from tenax.parse.outline import FRACTIONS_OF_PAGE, OF_PAGE, Outline
from tenax.parse.trees import Numbers, compiled_sum, load

TABLES: Final = "kinds.json"
_BLOCKS: Final = OF_PAGE.index("page blocks")
# What the address of a page calls it, in its host or its path.
_ADDRESS_WORDS: Final = {
    "docs": (
        r"\bdocs?\b|documentation|reference|manual|\bguides?\b|\bapi\b|readthedocs|\bhelp\b|\bkb\b|developer|tutorial"
    ),
    "forum": r"forum|thread|\btopics?\b|community|discuss|viewtopic|questions?\b|answers?\b|\bboards?\b|/t/|/r/",
    "product": r"products?\b|/p/|\bitems?\b|\bshop\b|\bstore\b|/dp/|\bbuy\b",
    "hub": r"categor|\btags?\b|collections?\b|\bsearch\b|archive|\bindex\b|\blist|\bbrowse\b|/page/\d|blog/?$|news/?$",
    "article": r"\bblog\b|\bnews\b|article|story|\bposts?\b|/\d\d(?<=\d{4}/\d\d)",
    "service": r"services?\b|solutions?\b|pricing|\babout\b|platform|features?\b|contact",
}
# Where each alternative begins with a plain letter, a search leaps to where one may be: five times as quick.
_WORD_BEGINS = re.compile(r"\\b([a-z])")
_PATTERNS: Final = tuple(re.compile(_WORD_BEGINS.sub(r"\1(?<!\\w\1)", words)) for words in _ADDRESS_WORDS.values())
OF_KIND: Final = (*OF_PAGE, *(f"{word} in address" for word in _ADDRESS_WORDS))


def page_kind(outline: Outline) -> PageKind:
    """The likeliest; of a page without text that is `other`."""
    if not outline.numbers[_BLOCKS]:
        return PageKind.OTHER
    numbers = kind_numbers(outline.numbers, outline.hints)
    tables = _tables()
    return max(tables, key=lambda kind: tables[kind](numbers))


def kind_numbers(of_page: Numbers, hints: Hints) -> Numbers:
    address = (hints.host + hints.path).lower()
    return (*of_page, *(1 if pattern.search(address) else 0 for pattern in _PATTERNS))


@cache
def _tables() -> dict[PageKind, Callable[[Numbers], float]]:
    return {PageKind(name): compiled_sum(table, OF_KIND, FRACTIONS_OF_PAGE) for name, table in load(TABLES).items()}
