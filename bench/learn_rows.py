"""Training rows from labelled pages: the features of each block, its label and its weight."""

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
from tenax.extract.article.layout import PageLayout
from tenax.extract.article.page_type import KIND_FEATURES, kind_feature_values
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import read_head, read_page_hints
from tenax.model import PageKind
from tenax.urls.scope import registered_domain

FOLDS = 5
KEPT_SHARE = 0.5
"""A block is kept when more than this share of its words is in the labelled text."""
RUN_WORDS = 4
"""Words match in runs of this length; single words of a menu are in every text."""
PAGE_WEIGHT, MOST_OF_PAGE, LEAST_PAGE_WORDS = 100.0, 3.0, 30
"""A block's weight is its words divided by those of the page's text, so that pages count equally, as in the score. The
cap limits the boilerplate of pages with little text."""
SNIPPET_WEIGHT = 8.0
"""Weight of a block with a snippet, about that of a paragraph of a short article. Other blocks of a page with only
snippets have no weight."""

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
"""Weight of pages in corpora without kinds: they count as articles, and there are many articles already."""
FEATURES = (*BLOCK_FEATURES, *BOX_FEATURES, *PAGE_FEATURES)


class BlockLabel(NamedTuple):
    """Label and weight of a block."""

    is_kept: bool
    weight: float
    """0: not used for training."""


@dataclass(frozen=True)
class Parsed:
    blocks: Blocks
    layout: PageLayout
    features: Features


def parsed(html: str, url: str | None) -> Parsed:
    """Extract a page with the features of every block; none is skipped."""
    dom = Dom(html)
    blocks = Blocks(dom.walk)
    layout = PageLayout(blocks, read_page_hints(read_head(dom), url))
    return Parsed(blocks, layout, compute_features(blocks, layout))


def rows_of(file: Path) -> Iterator[Mapping[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def lay_out_rows(pages: Sequence[Page], file: Path, out: Path) -> int:
    """Write the input of `bench/peers/learn_trees.py` to `out`; returns the number of blocks.

    blocks.f32 has the features, labels.f64 label and weight of each block, pages.f64 the features of each page;
    layout.json describes them.
    """
    with_kinds = {page.corpus for page in pages if page.kind != "article"}
    with_texts = {page.corpus for page in pages if page.text}
    about: list[dict[str, float]] = []
    with (out / "blocks.f32").open("wb") as blocks, (out / "labels.f64").open("wb") as labels_file:
        numbers = array("d")
        for page, row in zip(pages, rows_of(file), strict=True):
            one = parsed(row["html"], row["url"])
            _features_in_a_row(one).tofile(blocks)
            labels = block_labels(one.blocks.texts, page, with_texts)
            array("d", (number for visit_update in labels for number in visit_update)).tofile(labels_file)
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
    """Single precision, as LightGBM uses."""
    found = array("f")
    for numbers, box in zip(one.features.block_values, one.blocks.boxes, strict=True):
        found.extend(numbers)
        found.extend(one.features.box_values[box])
        found.extend(one.features.page_values)
    return found


def block_labels(texts: Sequence[str], page: Page, with_texts: set[str]) -> list[BlockLabel]:
    """By the full text, or by snippets in a corpus without texts; elsewhere a page without text is unlabelled."""
    if page.text:
        return block_labels_of_text(texts, page.text)
    if page.corpus in with_texts:
        return [BlockLabel(False, 0.0)] * len(texts)
    return block_labels_of_snippets(texts, page.wanted, page.unwanted)


def block_labels_of_text(texts: Sequence[str], gold: str) -> list[BlockLabel]:
    words = [words_of(text) for text in texts]
    shares = _shares(words, words_of(gold))
    kept = [share > KEPT_SHARE for share in shares]
    whole = max(LEAST_PAGE_WORDS, sum(len(some) for some, is_kept in zip(words, kept, strict=True) if is_kept))
    weights = [min(len(some) / whole, MOST_OF_PAGE) * PAGE_WEIGHT for some in words]
    return [BlockLabel(is_kept, weight) for is_kept, weight in zip(kept, weights, strict=True)]


def block_labels_of_snippets(texts: Sequence[str], wanted: Sequence[str], unwanted: Sequence[str]) -> list[BlockLabel]:
    """A block with both a wanted and an unwanted snippet is kept."""
    wanted_flat, unwanted_flat = [_flat(one) for one in wanted], [_flat(one) for one in unwanted]
    found = []
    for text in map(_flat, texts):
        is_kept = any(snippet in text for snippet in wanted_flat)
        is_known = is_kept or any(snippet in text for snippet in unwanted_flat)
        found.append(BlockLabel(is_kept, SNIPPET_WEIGHT if is_known else 0.0))
    return found


def fold_of(url: str | None, name: str) -> int:
    """The same for all pages of a site, so that no site is scored with its own training data.

    A page without a URL uses its name without a trailing number.
    """
    host = urlsplit(url or "").hostname or ""
    site = registered_domain(host) if "." in host else name.rstrip("-0123456789")
    return int(hashlib.md5(site.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


def kind_weight(page: Page, with_kinds: set[str]) -> float:
    if page.corpus in with_kinds:
        return 1.0
    return TEXT_KIND_WEIGHT if page.text else SNIPPET_KIND_WEIGHT


def _shares(blocks: Sequence[Sequence[str]], gold: Sequence[str]) -> list[float]:
    """Share of each block that is in the gold text; a block shorter than a run must match entirely."""
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
