"""Tenax as an extractor for `bench/read.py`, and the parser alone as the lower bound."""

from __future__ import annotations

import time
from typing import Any

from tenax.extract import extract_content
from tenax.extract.html.dom import Dom
from tenax.runtime.resources import configure_memory

configure_memory()  # as the readers of a crawl do


def extract(html: str, url: str | None) -> dict[str, Any]:
    """All fields: text, title, authors, date, image, kind, markdown."""
    body = html.encode("utf-8", "replace")
    content = extract_content(body, "text/html; charset=utf-8", url=url, now=time.time())
    return {
        "text": content.article,
        "title": content.headline,
        "authors": list(content.authors),
        "date": content.published,
        "image": content.image,
        "kind": content.kind,
        "markdown": content.markdown,
    }


def parse_only(html: str, url: str | None) -> dict[str, Any]:
    """The lower bound of the cost: parsing only."""
    Dom(html)
    return {}
