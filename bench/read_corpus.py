"""Labelled pages: the corpora of a directory, and the copy of their pages for the extractors."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from bench.read_score import METADATA
from bench.report import BenchError

QUICK_EVERY = 10
WHAT_IT_NEEDS = (
    "read needs --corpus DIR: a directory of pages-NAME.jsonl[.xz], a page a line with id, url, html and what is known "
    "of it (text, with, without, page_type, title, authors, date, image)"
)


@dataclass(frozen=True)
class Page:
    """The labels of one page; its HTML stays on disk."""

    corpus: str
    kind: str
    text: str
    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]
    metadata: dict[str, Any]


def lay_out(directory: Path, file: Path, is_quick: bool) -> list[Page]:
    """Write the pages of all corpora to one file, one per line; returns their labels in the same order."""
    pages = []
    with file.open("w", encoding="utf-8") as out:
        for source in _sources(directory):
            for number, row in enumerate(_rows(source)):
                if is_quick and number % QUICK_EVERY:
                    continue
                pages.append(_page(_name(source), row))
                out.write(json.dumps({"id": row.get("id"), "url": row.get("url") or None, "html": row["html"]}) + "\n")
    return pages


def pages_of(directory: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every page of all corpora, with the name of its corpus."""
    for source in _sources(directory):
        yield from ((_name(source), row) for row in _rows(source))


def _name(source: Path) -> str:
    return source.name.removeprefix("pages-").partition(".")[0]


def _sources(directory: Path) -> list[Path]:
    found = sorted([*directory.glob("pages-*.jsonl"), *directory.glob("pages-*.jsonl.xz")])
    if not found:
        raise BenchError(f"{directory} holds no pages: {WHAT_IT_NEEDS}")
    return found


def _rows(source: Path) -> Iterator[dict[str, Any]]:
    with _opened(source) as lines:
        for line in lines:
            yield json.loads(line)


def _opened(source: Path) -> TextIO:
    return lzma.open(source, "rt", encoding="utf-8") if source.suffix == ".xz" else source.open(encoding="utf-8")


def _page(corpus: str, row: dict[str, Any]) -> Page:
    return Page(
        corpus,
        row.get("page_type") or "article",
        row.get("text") or "",
        tuple(row.get("with") or ()),
        tuple(row.get("without") or ()),
        {name: row[name] for name in METADATA if row.get(name)},
    )
