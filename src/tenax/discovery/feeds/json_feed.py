"""JSON Feed, 1 and 1.1: https://www.jsonfeed.org/version/1.1/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tenax.discovery.feeds.dates import parse_date
from tenax.discovery.feeds.scope import ElementScope
from tenax.discovery.feeds.values import MAX_ENTRIES, MAX_JSON_PARTS, MAX_JSON_QUOTES, Feed, FeedEntry

VERSION: Final = "jsonfeed.org/version/"


def read_json(text: str, url: str, now: float) -> Feed:
    """Values of the wrong type are ignored."""
    if text.count("{") + text.count("[") > MAX_JSON_PARTS:
        return Feed(problems=(f"JSON of more than {MAX_JSON_PARTS:,} lists and objects: it was not read",))
    if text.count('"') > MAX_JSON_QUOTES:
        return Feed(problems=(f"JSON of more than {MAX_JSON_QUOTES // 2:,} texts: it was not read",))
    try:
        root = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return Feed(problems=(f"not JSON: {error}",))
    version = _text_value(root, "version") if isinstance(root, dict) else ""
    items = root.get("items") if isinstance(root, dict) else None
    if VERSION not in version or not isinstance(items, list):
        return Feed(problems=("JSON, but not a JSON Feed",))
    scope = ElementScope(url)
    entries = tuple(_parse_entry(item, scope, now) for item in items[:MAX_ENTRIES] if isinstance(item, dict))
    hubs = root.get("hubs")
    return Feed(
        format=f"json feed {version.partition(VERSION)[2][:8]}",
        title=_line_value(root, "title"),
        link=_resolve_link(_text_value(root, "home_page_url"), scope),
        language=_text_value(root, "language"),
        entries=entries,
        next_link=_resolve_link(_text_value(root, "next_url"), scope),
        hub=next((_text_value(hub, "url") for hub in hubs if isinstance(hub, dict)), "")
        if isinstance(hubs, list)
        else "",
        problems=(f"more than {MAX_ENTRIES} entries: the rest was not read",) if len(items) > MAX_ENTRIES else (),
    )


def _parse_entry(item: Mapping[str, object], scope: ElementScope, now: float) -> FeedEntry:
    identity = item.get("id")
    link = _text_value(item, "url") or _text_value(item, "external_url")
    return FeedEntry(
        link=_resolve_link(link, scope),
        id=str(identity) if isinstance(identity, (str, int, float)) else "",
        title=_line_value(item, "title"),
        published=parse_date(_text_value(item, "date_published"), now),
        updated=parse_date(_text_value(item, "date_modified"), now),
    )


def _text_value(holder: Mapping[str, object], name: str) -> str:
    value = holder.get(name)
    return value.strip() if isinstance(value, str) else ""


def _line_value(holder: Mapping[str, object], name: str) -> str:
    return " ".join(_text_value(holder, name).split())


def _resolve_link(link: str, scope: ElementScope) -> str:
    return scope.resolve(link) if link else ""
