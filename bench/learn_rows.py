"""Pages with answers as rows to learn from: the numbers of each block, whether to keep it, and how much that counts."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench.read_corpus import Page
from bench.read_score import words_of
from tenax.extract.article.blocks import Blocks
from tenax.extract.article.features import BLOCK_FEATURES, BOX_FEATURES, PAGE_FEATURES, Features, compute_features
from tenax.extract.article.hints import read_page_hints
from tenax.extract.article.layout import PageLayout
from tenax.extract.article.page_type import KIND_FEATURES, kind_feature_values
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import read_head
from tenax.model import PageKind
from tenax.urls.scope import registered_domain

FOLDS = 5
KEPT_SHARE = 0.5
"""A block is to be kept when more than this share of its words stands in the text that people marked."""
RUN_WORDS = 4
"""Words count as standing there in runs of so many; single words of a menu stand in every text."""
PAGE_WEIGHT, MOST_OF_PAGE, LEAST_PAGE_WORDS = 100.0, 3.0, 30
"""A block weighs its words by those of its page's text: every page counts alike, as in the score. The cap keeps a page
with little text from drowning the others by its boilerplate."""
SNIPPET_WEIGHT = 8.0
"""Of a block that holds a snippet, about what a paragraph of a short article weighs. The other blocks of a page that is
known by snippets alone teach nothing."""

KINDS: dict[str, PageKind] = {
    "article": PageKind.ARTICLE,
    "listing": PageKind.HUB,
    "collection": PageKind.HUB,
    "product": PageKind.PRODUCT,
    "forum": PageKind.FORUM,
    "documentation": PageKind.DOCUMENTATION,
    "service": PageKind.OTHER,
}
KIND_ORDER = tuple(dict.fromkeys(KINDS.values()))
TEXT_KIND_WEIGHT, SNIPPET_KIND_WEIGHT = 0.25, 0.2
"""Of pages in corpora that name no kinds: they are taken for articles, and of articles there are many already."""
FEATURES = (*BLOCK_FEATURES, *BOX_FEATURES, *PAGE_FEATURES)


class VisitUpdate(NamedTuple):
    """What a block teaches."""

    is_kept: bool
    weight: float
    """0: nothing."""


@dataclass(frozen=True)
class Parsed:
    blocks: Blocks
    layout: PageLayout
    features: Features


def parsed(html: str, url: str | None) -> Parsed:
    """As a page is read, but with the numbers of every block: none is passed over."""
    dom = Dom(html)
    blocks = Blocks(dom.walk)
    layout = PageLayout(blocks, read_page_hints(read_head(dom), url))
    return Parsed(blocks, layout, compute_features(blocks, layout))


def rows_of(file: Path) -> Iterator[Mapping[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def lay_out_rows(pages: Sequence[Page], file: Path, out: Path) -> int:
    """Write what `bench/peers/learn_trees.py` reads into the directory `out`, and give the number of blocks.

    blocks.f32 has the features, lessons.f64 for each block whether to keep it and its weight, pages.f64 the numbers of
    each page; layout.json says whose they are.
    """
    with_kinds = {page.corpus for page in pages if page.kind != "article"}
    with_texts = {page.corpus for page in pages if page.text}
    about: list[dict[str, float]] = []
    with (out / "blocks.f32").open("wb") as blocks, (out / "lessons.f64").open("wb") as visit_updates_file:
        numbers = array("d")
        for page, row in zip(pages, rows_of(file), strict=True):
            one = parsed(row["html"], row["url"])
            _features_in_a_row(one).tofile(blocks)
            taught = visit_updates(one.blocks.texts, page, with_texts)
            array("d", (number for visit_update in taught for number in visit_update)).tofile(visit_updates_file)
            numbers.extend(kind_feature_values(one.layout.page_values, one.layout.hints))
            about.append({
                "blocks": len(one.blocks),
                "fold": fold_of(row["url"], row["id"]),
                "kind": KIND_ORDER.index(KINDS.get(page.kind, PageKind.OTHER)),
                "kind_weight": kind_weight(page, with_kinds) if len(one.blocks) else 0.0,
            })  # fmt: skip
    (out / "pages.f64").write_bytes(numbers.tobytes())
    names = {
        "features": FEATURES, "page_features": KIND_FEATURES, "kinds": len(KIND_ORDER), "folds": FOLDS,
        "article": KIND_ORDER.index(PageKind.ARTICLE),
    }  # fmt: skip
    (out / "layout.json").write_text(json.dumps(names | {"pages": about}), encoding="utf-8")
    return int(sum(one["blocks"] for one in about))


def _features_in_a_row(one: Parsed) -> array[float]:
    """Single precision: what LightGBM would make of them anyway."""
    found = array("f")
    for numbers, box in zip(one.features.block_values, one.blocks.boxes, strict=True):
        found.extend(numbers)
        found.extend(one.features.box_values[box])
        found.extend(one.features.page_values)
    return found


def visit_updates(texts: Sequence[str], page: Page, with_texts: set[str]) -> list[VisitUpdate]:
    """By the full text, or by snippets in a corpus of no texts; elsewhere a page without one was left unmarked."""
    if page.text:
        return visit_updates_of_text(texts, page.text)
    if page.corpus in with_texts:
        return [VisitUpdate(False, 0.0)] * len(texts)
    return visit_updates_of_snippets(texts, page.wanted, page.unwanted)


def visit_updates_of_text(texts: Sequence[str], gold: str) -> list[VisitUpdate]:
    words = [words_of(text) for text in texts]
    shares = _shares(words, words_of(gold))
    kept = [share > KEPT_SHARE for share in shares]
    whole = max(LEAST_PAGE_WORDS, sum(len(some) for some, is_kept in zip(words, kept, strict=True) if is_kept))
    weights = [min(len(some) / whole, MOST_OF_PAGE) * PAGE_WEIGHT for some in words]
    return [VisitUpdate(is_kept, weight) for is_kept, weight in zip(kept, weights, strict=True)]


def visit_updates_of_snippets(
    texts: Sequence[str], wanted: Sequence[str], unwanted: Sequence[str]
) -> list[VisitUpdate]:
    """A block that holds both a wanted and an unwanted snippet is kept: the wanted one would be lost with it."""
    wanted_flat, unwanted_flat = [_flat(one) for one in wanted], [_flat(one) for one in unwanted]
    found = []
    for text in map(_flat, texts):
        is_kept = any(snippet in text for snippet in wanted_flat)
        is_known = is_kept or any(snippet in text for snippet in unwanted_flat)
        found.append(VisitUpdate(is_kept, SNIPPET_WEIGHT if is_known else 0.0))
    return found


def fold_of(url: str | None, name: str) -> int:
    """The same for all pages of a site, so that no site is judged by what was learned from it.

    A page without an address of its own goes by its name, without a number at the end.
    """
    host = urlsplit(url or "").hostname or ""
    site = registered_domain(host) if "." in host else name.rstrip("-0123456789")
    return int(hashlib.md5(site.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


def kind_weight(page: Page, with_kinds: set[str]) -> float:
    if page.corpus in with_kinds:
        return 1.0
    return TEXT_KIND_WEIGHT if page.text else SNIPPET_KIND_WEIGHT


def _shares(blocks: Sequence[Sequence[str]], gold: Sequence[str]) -> list[float]:
    """How much of each block stands in the gold; a block shorter than a run must stand there whole."""
    runs = {
        size: {tuple(gold[at : at + size]) for at in range(len(gold) - size + 1)} for size in range(1, RUN_WORDS + 1)
    }
    found = []
    for words in blocks:
        size = min(len(words), RUN_WORDS)
        covered: set[int] = set()
        for at in range(len(words) - size + 1 if words else 0):
            if tuple(words[at : at + size]) in runs[size]:
                covered.update(range(at, at + size))
        found.append(len(covered) / len(words) if words else 0.0)
    return found


def _flat(text: str) -> str:
    return " ".join(text.split())
