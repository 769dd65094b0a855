"""Classifies a page: an article, a list of pages, a product, a thread, documentation, or something else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

from tenax.extract.article.decision_trees import FeatureValues, compile_sum, load_tables
from tenax.extract.article.layout import PAGE_FEATURES, PAGE_FRACTION_FEATURES, PageLayout
from tenax.extract.html.head import PageHints
from tenax.model import PageKind

TABLES_FILE: Final = "kinds.json"
_BLOCK_COUNT_INDEX: Final = PAGE_FEATURES.index("page blocks")
# Words in the host or path of a URL, by kind of page.
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
_NO_ADDRESS_WORDS: Final = (0,) * len(_ADDRESS_WORDS)
# The prefix of an alternative without its borders: letters, slashes and digits, up to an optional part or a lookaround.
_ALTERNATIVE_PREFIX = re.compile(r"(?:^|\|)([a-z/])((?:[a-z/](?!\?)|\\d)*)")
KIND_FEATURES: Final = (*PAGE_FEATURES, *(f"{word} in address" for word in _ADDRESS_WORDS))


def _any_word_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """A pattern that matches wherever one of these does, and maybe elsewhere: most URLs contain none of the words.

    Prefixes with the same first letter are grouped, so few are tried at each position.
    """
    beginnings: dict[str, list[str]] = {}
    for first, rest in _ALTERNATIVE_PREFIX.findall("|".join(words).replace(r"\b", "")):
        beginnings.setdefault(first, []).append(rest)
    return re.compile("|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in beginnings.items()))


_ANY_WORD: Final = _any_word_pattern(_ADDRESS_WORDS.values())


def classify_page(layout: PageLayout) -> PageKind:
    """The most likely kind; `other` for a page without text."""
    if not layout.page_values[_BLOCK_COUNT_INDEX]:
        return PageKind.OTHER
    numbers = kind_feature_values(layout.page_values, layout.hints)
    tables = _kind_sums()
    return max(tables, key=lambda kind: tables[kind](numbers))


def kind_feature_values(page_values: FeatureValues, hints: PageHints) -> FeatureValues:
    return (*page_values, *address_word_values(hints))


def address_word_values(hints: PageHints) -> tuple[int, ...]:
    """For each kind of word, whether the page's URL contains one: 1, else 0."""
    address = (hints.host + hints.path).lower()
    if not _ANY_WORD.search(address):
        return _NO_ADDRESS_WORDS
    return tuple([1 if pattern.search(address) else 0 for pattern in address_patterns()])


@cache
def address_patterns() -> tuple[re.Pattern[str], ...]:
    """The patterns of `_ADDRESS_WORDS`."""
    # Where each alternative begins with a plain letter, a search skips to candidates: five times faster.
    return tuple(re.compile(re.sub(r"\\b([a-z])", r"\1(?<!\\w\1)", words)) for words in _ADDRESS_WORDS.values())


@cache
def kind_order() -> tuple[PageKind, ...]:
    """The kinds in the order of the table."""
    return tuple(map(PageKind, load_tables(TABLES_FILE)))


@cache
def _kind_sums() -> dict[PageKind, Callable[[FeatureValues], float]]:
    return {
        PageKind(name): compile_sum(table, KIND_FEATURES, PAGE_FRACTION_FEATURES)
        for name, table in load_tables(TABLES_FILE).items()
    }
