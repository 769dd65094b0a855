"""The feeds of the discovery site, in the four common formats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime

from bench.discover_behaviours import FeedForm
from bench.discover_site import Article, Host, Source

LINKED_A_FEED = 8
"""Entries that are also linked."""


def feed(host: Host, target: str, origin: str) -> tuple[str, str] | None:
    """Text and media type of the feed at this URL, if any."""
    behaviour = host.behaviour
    sections = behaviour.sections if "{section}" in behaviour.feed else (None,)
    for section in sections if behaviour.feed else ():
        if target == behaviour.feed.format(section=section):
            entries = [one for one in host.articles[Source.FEEDS] if section in (None, one.section)]
            entries += [one for one in host.linked if section in (None, one.section)][:LINKED_A_FEED]
            return _WRITERS[behaviour.feed_form](entries, origin), behaviour.feed_form.value
    return None


def rss(entries: Sequence[Article], origin: str) -> str:
    items = "".join(
        f"<item><title>{one.title}</title><link>{origin}{one.path}</link><guid>{origin}{one.path}</guid>"
        f"<pubDate>{_rfc822(one)}</pubDate></item>\n"
        for one in entries
    )
    head = f"<title>News</title><link>{origin}/</link><description>What is new</description>"
    return f'{_XML}<rss version="2.0"><channel>{head}\n{items}</channel></rss>\n'


def _atom(entries: Sequence[Article], origin: str) -> str:
    items = "".join(
        f'<entry><title>{one.title}</title><link rel="alternate" href="{one.path}"/><id>{origin}{one.path}</id>'
        f"<updated>{one.day}T08:00:00Z</updated></entry>\n"
        for one in entries
    )
    head = f'<title>News</title><id>{origin}/</id><link rel="self" href="{origin}/feed"/>'
    return f'{_XML}<feed xmlns="http://www.w3.org/2005/Atom">{head}\n{items}</feed>\n'


def _rdf(entries: Sequence[Article], origin: str) -> str:
    items = "".join(
        f'<item rdf:about="{origin}{one.path}"><title>{one.title}</title><link>{origin}{one.path}</link>'
        f"<dc:date>{one.day}</dc:date></item>\n"
        for one in entries
    )
    names = (
        'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    )
    channel = f'<channel rdf:about="{origin}/"><title>News</title><link>{origin}/</link></channel>'
    return f"{_XML}<rdf:RDF {names}>{channel}\n{items}</rdf:RDF>\n"


def _json(entries: Sequence[Article], origin: str) -> str:
    items = [
        {
            "id": origin + one.path,
            "url": origin + one.path,
            "title": one.title,
            "date_published": f"{one.day}T08:00:00Z",
        }
        for one in entries
    ]
    about = {"version": "https://jsonfeed.org/version/1.1", "title": "News", "home_page_url": f"{origin}/"}
    return json.dumps(about | {"items": items})


def _rfc822(article: Article) -> str:
    return format_datetime(datetime(article.day.year, article.day.month, article.day.day, 8, tzinfo=UTC))


_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_WRITERS = {FeedForm.RSS: rss, FeedForm.ATOM: _atom, FeedForm.RDF: _rdf, FeedForm.JSON: _json}
