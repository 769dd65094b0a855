"""feedparser, asked for what `bench/feeds.py` compares.

Run in .venv-feeds, without anything of Tenax. It is given bytes as its documentation advises, in a stream and with the
headers of the answer: once as it comes, once without what it does to markup, since nobody asks for that here.
"""

from __future__ import annotations

import calendar
import io
import warnings
from html.parser import HTMLParser
from typing import Any

import feedparser

warnings.simplefilter("ignore")
HTML = ("text/html", "application/xhtml+xml")


def parsed(feed: str, url: str | None) -> dict[str, Any]:
    """As most programs call it."""
    return _answer(feed, url)


def parsed_plainly(feed: str, url: str | None) -> dict[str, Any]:
    """Without its sanitizer, and without resolving links in markup: as cheap as it gets."""
    return _answer(feed, url, sanitize_html=False, resolve_relative_uris=False)


def _answer(feed: str, url: str | None, **options: bool) -> dict[str, Any]:
    headers = {"content-location": url or "", "content-type": "application/xml"}
    read = feedparser.parse(io.BytesIO(feed.encode("latin-1")), response_headers=headers, **options)
    return {
        "links": [dict.get(entry, "link") or "" for entry in read.entries],
        "titles": [_plain(entry) for entry in read.entries],
        "dates": [_dates(entry) for entry in read.entries],
        "of_feed": [dict.get(read.feed, "link") or "", _plain(read.feed), *_dates(read.feed)],
    }


def _dates(holder: dict[str, Any]) -> list[int | None]:
    stamps = (dict.get(holder, name) for name in ("published_parsed", "updated_parsed"))
    return [calendar.timegm(stamp) if stamp else None for stamp in stamps]


def _plain(holder: dict[str, Any]) -> str:
    """The title as text: feedparser leaves the markup that it takes for harmless."""
    title = dict.get(holder, "title") or ""
    if "<" in title or "&" in title:
        detail = dict.get(holder, "title_detail") or {}
        if dict.get(detail, "type") in HTML:
            words = _Words()
            words.feed(title)
            words.close()
            title = "".join(words.said)
    return " ".join(title.split())


class _Words(HTMLParser):
    """What stands between the tags."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.said: list[str] = []

    def handle_data(self, data: str) -> None:
        self.said.append(data)
