"""Tenax as one of the extractors that `bench/read.py` compares, and the parser alone, below which no one can get."""

from __future__ import annotations

import time
from typing import Any

from tenax.extract import read_document
from tenax.extract.html.dom import Dom
from tenax.runtime.memory import settle_memory

settle_memory()  # as the readers of a crawl do


def extract(html: str, url: str | None) -> dict[str, Any]:
    """Everything a page yields: text, title, authors, date, image, kind, markdown."""
    body = html.encode("utf-8", "replace")
    document = read_document(body, "text/html; charset=utf-8", url=url, now=time.time())
    return {
        "text": document.article,
        "title": document.headline,
        "authors": list(document.authors),
        "date": document.published,
        "image": document.image,
        "kind": document.kind,
        "markdown": document.markdown,
    }


def parse_only(html: str, url: str | None) -> dict[str, Any]:
    """The floor of the cost: a tree, and nothing taken from it."""
    Dom(html)
    return {}
