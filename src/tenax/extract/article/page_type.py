"""Classifies a page: an article, a list of pages, a product, a thread, documentation, or something else."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from tenax.extract.article.decision_trees import FeatureValues, compile_sum, load_tables
from tenax.extract.article.layout import PAGE_FEATURES, PAGE_FRACTION_FEATURES, PageLayout
from tenax.extract.html.head import ADDRESS_WORDS, PageHints, address_word_values
from tenax.model import PageKind

TABLES_FILE: Final = "kinds.json"
_BLOCK_COUNT_INDEX: Final = PAGE_FEATURES.index("page blocks")
KIND_FEATURES: Final = (*PAGE_FEATURES, *(f"{word} in address" for word in ADDRESS_WORDS))


def classify_page(layout: PageLayout) -> PageKind:
    """The most likely kind; `other` for a page without text."""
    if not layout.page_values[_BLOCK_COUNT_INDEX]:
        return PageKind.OTHER
    numbers = kind_feature_values(layout.page_values, layout.hints)
    tables = _kind_sums()
    return max(tables, key=lambda kind: tables[kind](numbers))


def kind_feature_values(page_values: FeatureValues, hints: PageHints) -> FeatureValues:
    return (*page_values, *address_word_values(hints))


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
