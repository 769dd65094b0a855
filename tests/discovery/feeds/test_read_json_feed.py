"""JSON Feed, and JSON that is none."""

from __future__ import annotations

import json

import pytest

from tenax.discovery.feeds.read import Feed, FeedEntry, read_feed
from tenax.discovery.feeds.values import MAX_ENTRIES, MAX_JSON_PARTS

URL = "https://example.org/feed.json"
NOW = 1_790_000_000.0
VERSION = "https://jsonfeed.org/version/1.1"


def read(**root: object) -> Feed:
    return read_feed(json.dumps(root).encode(), "application/feed+json", URL, NOW)


def test_a_whole_one() -> None:
    feed = read(
        version=VERSION,
        title="Harbour  Post",
        home_page_url="/",
        language="en",
        next_url="feed.json?page=2",
        hubs=[{"type": "WebSub", "url": "https://hub.example/"}],
        items=[
            {
                "id": "1",
                "url": "/1",
                "title": "The key",
                "date_published": "2026-01-01T01:00:00+01:00",
                "date_modified": "2026-01-02T00:00:00Z",
            },
            {"id": 2, "external_url": "https://other.example/2"},
        ],
    )
    assert feed == Feed(
        format="json feed 1.1",
        title="Harbour Post",
        link="https://example.org/",
        language="en",
        entries=(
            FeedEntry("https://example.org/1", "1", "The key", 1_767_225_600.0, 1_767_312_000.0),
            FeedEntry("https://other.example/2", "2"),
        ),
        next_link="https://example.org/feed.json?page=2",
        hub="https://hub.example/",
    )


def test_json_of_too_many_parts_is_not_taken_apart() -> None:
    feed = read(version=VERSION, items=[[]] * MAX_JSON_PARTS)
    assert feed.problems == (f"JSON of more than {MAX_JSON_PARTS:,} lists and objects: it was not read",)


def test_wrong_types_are_as_if_they_were_not_there() -> None:
    feed = read(
        version=VERSION, title=["x"], hubs="no", items=["x", None, {"id": {}, "url": 5, "date_published": 2026}]
    )
    assert feed == Feed(format="json feed 1.1", entries=(FeedEntry(),))


def test_a_link_that_is_none() -> None:
    assert read(version=VERSION, items=[{"url": "https://[broken"}]).entries == (FeedEntry(),)


def test_too_many_entries() -> None:
    feed = read(version=VERSION, items=[{"url": "/x"}] * (MAX_ENTRIES + 1))
    assert len(feed.entries) == MAX_ENTRIES
    assert feed.problems == (f"more than {MAX_ENTRIES} entries: the rest was not read",)


@pytest.mark.parametrize(
    "root", [{"version": VERSION}, {"version": VERSION, "items": {}}, {"version": "1", "items": []}, {"items": []}]
)
def test_json_that_is_no_feed(root: dict[str, object]) -> None:
    assert read(**root) == Feed(problems=("JSON, but not a JSON Feed",))


@pytest.mark.parametrize("body", [b"{", b'{"a": ' + b"[" * 100_000, b'{"version": "https://jsonfeed.org/version/1"'])
def test_what_is_not_even_json(body: bytes) -> None:
    feed = read_feed(body, "application/json", URL, NOW)
    assert feed.format == ""
    assert feed.problems[0].startswith("not JSON: ")


def test_it_may_begin_with_a_byte_order_mark() -> None:
    body = "\ufeff" + json.dumps({"version": VERSION, "items": []})
    assert read_feed(body.encode(), "application/json", URL, NOW).format == "json feed 1.1"
