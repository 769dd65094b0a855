"""JSON Feed, 1 and 1.1: https://www.jsonfeed.org/version/1.1/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tenax.discovery.feeds.dates import date_of
from tenax.discovery.feeds.scope import Scope
from tenax.discovery.feeds.values import MAX_ENTRIES, MAX_JSON_PARTS, MAX_JSON_QUOTES, Feed, FeedEntry

VERSION: Final = "jsonfeed.org/version/"


def read_json(text: str, url: str, now: float) -> Feed:
    """Whatever is of the wrong type is as if it were not there."""
    if text.count("{") + text.count("[") > MAX_JSON_PARTS:
        return Feed(problems=(f"JSON of more than {MAX_JSON_PARTS:,} lists and objects: it was not read",))
    if text.count('"') > MAX_JSON_QUOTES:
        return Feed(problems=(f"JSON of more than {MAX_JSON_QUOTES // 2:,} texts: it was not read",))
    try:
        root = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return Feed(problems=(f"not JSON: {error}",))
    version = _text(root, "version") if isinstance(root, dict) else ""
    items = root.get("items") if isinstance(root, dict) else None
    if VERSION not in version or not isinstance(items, list):
        return Feed(problems=("JSON, but not a JSON Feed",))
    scope = Scope(url)
    entries = tuple(_entry(item, scope, now) for item in items[:MAX_ENTRIES] if isinstance(item, dict))
    hubs = root.get("hubs")
    return Feed(
        format=f"json feed {version.partition(VERSION)[2][:8]}",
        title=_line(root, "title"),
        link=_resolved(_text(root, "home_page_url"), scope),
        language=_text(root, "language"),
        entries=entries,
        next_link=_resolved(_text(root, "next_url"), scope),
        hub=next((_text(hub, "url") for hub in hubs if isinstance(hub, dict)), "") if isinstance(hubs, list) else "",
        problems=(f"more than {MAX_ENTRIES} entries: the rest was not read",) if len(items) > MAX_ENTRIES else (),
    )


def _entry(item: Mapping[str, object], scope: Scope, now: float) -> FeedEntry:
    identity = item.get("id")
    link = _text(item, "url") or _text(item, "external_url")
    return FeedEntry(
        link=_resolved(link, scope),
        id=str(identity) if isinstance(identity, (str, int, float)) else "",
        title=_line(item, "title"),
        published=date_of(_text(item, "date_published"), now),
        updated=date_of(_text(item, "date_modified"), now),
    )


def _text(holder: Mapping[str, object], name: str) -> str:
    value = holder.get(name)
    return value.strip() if isinstance(value, str) else ""


def _line(holder: Mapping[str, object], name: str) -> str:
    return " ".join(_text(holder, name).split())


def _resolved(link: str, scope: Scope) -> str:
    return scope.resolved(link) if link else ""
