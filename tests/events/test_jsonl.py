"""The JSONL sink: each event exactly once in the file, whatever happened to its writer."""

from __future__ import annotations

import asyncio
import json
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.errors import SinkError, StorageFull
from tenax.events import encode_page_line
from tenax.events.jsonl import JsonlSink
from tenax.model import Cursor, Event, Hop, Page, PageKind, PageLink

PAGE = Page(
    url="https://example.org/grüße?a=1",
    status=200,
    content_type="text/html; charset=utf-8",
    content_hash="ab" * 32,
    content_length=1234,
    fetched_at=1_750_000_000.1234,
    title='A "title"\nof two lines\u2028and a separator',
    text="Grüße, мир, 世界",
    kind=PageKind.ARTICLE,
    links_count=7,
    depth=2,
    via="https://example.org/",
    duration_ms=56,
    chain=(Hop("https://example.org/old", 301),),
    authors=("Ada",),
    published="2026-11-16",
    article="Grüße",
    markdown="*Grüße*",
    duplicate_of="https://example.org/first",
    similarity=0.9375,
    links=(PageLink("https://example.org/b", "b", is_in_article=True),),
)


def event(seq: int, title: str = "", text: str = "") -> Event:
    page = Page(
        url=f"https://example.org/{seq}",
        status=200,
        content_type="text/html",
        content_hash="ab" * 32,
        content_length=5,
        fetched_at=0.0,
        title=title,
        text=text,
    )
    return Event(seq=seq, at=0.0, page=page)


def events(first: int, last: int) -> list[Event]:
    return [event(seq) for seq in range(first, last + 1)]


@given(st.text())
def test_a_line_is_one_line_for_every_reader(text: str) -> None:
    text += "\x85\u2028\u2029\x9b2J\u202e\x7f"
    written = encode_page_line(msgspec.structs.replace(PAGE, title=text, text=text), 1).decode()
    assert len(written.splitlines()) == 1
    assert not re.search("[\x7f-\x9f\u2028-\u202e]", written)
    assert (json.loads(written)["title"], json.loads(written)["text"]) == (text, text)


def seqs(file: Path) -> list[int]:
    return [json.loads(line)["seq"] for line in file.read_bytes().splitlines()]


# ---- one line ---------------------------------------------------------------------------------------------


def test_a_line_holds_the_page_in_the_outsides_words() -> None:
    line = json.loads(encode_page_line(PAGE, 12))
    assert line == {
        "url": PAGE.url,
        "url_hash": sha256(PAGE.url.encode()).hexdigest(),
        "status": 200,
        "title": PAGE.title,
        "description": "",
        "kind": "article",
        "language": None,
        "language_confidence": 0.0,
        "headline": "",
        "authors": ["Ada"],
        "published": "2026-11-16",
        "modified": None,
        "site_name": "",
        "section": "",
        "keywords": [],
        "image": None,
        "abstract": "",
        "words": 0,
        "duplicate_of": "https://example.org/first",
        "similarity": 0.9375,
        "canonical": None,
        "content_type": "text/html; charset=utf-8",
        "content_length": 1234,
        "content_hash": "ab" * 32,
        "charset": "utf-8",
        "links_count": 7,
        "links": [
            {"url": "https://example.org/b", "text": "b", "rel": "", "is_nofollow": False, "is_in_article": True}
        ],
        "depth": 2,
        "via": "https://example.org/",
        "redirects": [{"url": "https://example.org/old", "status": 301}],
        "fetched_at": "2025-06-15T15:06:40.123+00:00",
        "duration_ms": 56,
        "seq": 12,
        "text": "Grüße, мир, 世界",
        "article": "Grüße",
        "markdown": "*Grüße*",
    }


def test_every_field_of_a_page_is_written() -> None:
    """Except how it was requested, and what only the database needs."""
    fields = {field.name for field in msgspec.structs.fields(Page)} - {"charset_source", "etag", "last_modified"}
    renamed = {"chain": "redirects"}
    written_events = json.loads(encode_page_line(msgspec.structs.replace(PAGE, stale_since=1.0), 1)).keys()
    assert {renamed.get(name, name) for name in fields} - written_events == {"fingerprint"}


def test_the_text_can_be_left_out_and_nothing_else_changes() -> None:
    whole, short = json.loads(encode_page_line(PAGE, None)), json.loads(encode_page_line(PAGE, None, with_text=False))
    assert (whole.pop("text"), whole.pop("article"), whole.pop("markdown")) == (PAGE.text, PAGE.article, PAGE.markdown)
    assert short == whole


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_stays_on_its_line(title: str, text: str) -> None:
    line = encode_page_line(event(1, title=title, text=text).page, 1)
    assert len(line.splitlines()) == 1  # as bytes: at CR and LF only, and both are escaped
    assert (json.loads(line)["title"], json.loads(line)["text"]) == (title, text)


# ---- the file ---------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pages.jsonl"


def length(file: Path) -> int:
    return file.stat().st_size


def taken_away(file: Path) -> None:
    file.unlink()


def shortened(file: Path, size: int) -> bytes:
    """Cut the file to this size; returns its remaining content."""
    file.write_bytes(left := file.read_bytes()[:size])
    return left


async def written(file: Path, cursor: Cursor, written_events: list[Event]) -> Cursor:
    """One run that opens the file, writes these events and ends."""
    sink = JsonlSink(file, with_text=True)
    try:
        await sink.open(cursor, is_behind=True)
        return await sink.write(written_events) if written_events else cursor
    finally:
        await sink.close()


@pytest.mark.parametrize("count", [1, 2, 200, 5000])
async def test_any_number_of_events_is_written_in_order(file: Path, count: int) -> None:
    cursor = await written(file, Cursor(), events(1, count))
    assert cursor == Cursor(count, length(file))
    assert await written(file, cursor, events(count + 1, 2 * count)) == Cursor(2 * count, length(file))
    assert seqs(file) == list(range(1, 2 * count + 1))


async def test_the_cursor_is_the_last_number_and_the_length(file: Path) -> None:
    first = await written(file, Cursor(), events(1, 3))
    assert first == Cursor(seq=3, position=length(file))
    second = await written(file, first, events(4, 4))
    assert second == Cursor(seq=4, position=length(file))
    assert seqs(file) == [1, 2, 3, 4]


@pytest.mark.parametrize("cut_bytes", [0, 1, 40, 10_000])
async def test_bytes_after_the_cursor_are_cut_off_and_written_again(file: Path, cut_bytes: int) -> None:
    """Killed after the write and before the cursor was stored: whole lines, half a line, or nothing follow it."""
    kept = await written(file, Cursor(), events(1, 3))
    await written(file, kept, events(4, 9))
    shortened(file, max(kept.position, length(file) - cut_bytes))
    last = await written(file, kept, events(4, 6))
    assert seqs(file) == [1, 2, 3, 4, 5, 6]
    assert last == Cursor(seq=6, position=length(file))


async def test_a_removed_file_is_started_again(file: Path) -> None:
    kept = await written(file, Cursor(), events(1, 3))
    taken_away(file)
    last = await written(file, kept, events(4, 5))
    assert seqs(file) == [4, 5]
    assert last.position == length(file)
    await written(file, last, events(6, 6))
    assert seqs(file) == [4, 5, 6]


async def test_a_file_that_is_shorter_than_it_was_left_is_not_touched(file: Path) -> None:
    kept = await written(file, Cursor(), events(1, 3))
    before = shortened(file, kept.position - 5)
    with pytest.raises(SinkError, match="is shorter than this crawl left it; put it back, or move it away"):
        await written(file, kept, [])
    assert shortened(file, kept.position) == before


async def test_foreign_lines_are_not_cut_off(file: Path) -> None:
    """No event waits, so what follows the cursor was not written by a run that was killed."""
    kept = await written(file, Cursor(), events(1, 3))
    await written(file, kept, events(4, 4))
    whole = length(file)
    for cursor in (kept, Cursor()):
        sink = JsonlSink(file, with_text=True)
        with pytest.raises(SinkError, match="has lines that this crawl did not write; move it away"):
            await sink.open(cursor, is_behind=False)
        await sink.close()
    assert length(file) == whole


async def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"cannot be written: Is a directory"):
        await written(tmp_path, Cursor(), [])
    (tmp_path / "a file").touch()
    with pytest.raises(SinkError, match=r"cannot be written: File exists"):
        await written(tmp_path / "a file" / "pages.jsonl", Cursor(), [])


async def test_a_directory_that_is_not_there_is_made(tmp_path: Path) -> None:
    await written(tmp_path / "new" / "pages.jsonl", Cursor(), events(1, 2))
    assert seqs(tmp_path / "new" / "pages.jsonl") == [1, 2]


async def test_two_never_write_the_same_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A former leader may not have noticed yet that it lost the lead."""
    monkeypatch.setattr("tenax.events.jsonl.LOCK_TIMEOUT_SECONDS", 60.0)
    one, two = JsonlSink(file, with_text=True), JsonlSink(file, with_text=True)
    await one.open(Cursor(), is_behind=True)
    opening = asyncio.ensure_future(two.open(Cursor(), is_behind=True))
    kept = await one.write(events(1, 3))
    done, _ = await asyncio.wait([opening], timeout=0.2)
    assert not done
    await one.close()
    await opening
    assert seqs(file) == [], "its cursor is from before: what came after is written again"
    monkeypatch.setattr("tenax.events.jsonl.LOCK_TIMEOUT_SECONDS", 0.0)
    with pytest.raises(SinkError, match="is being written by another crawl; use another file"):
        await one.open(kept, is_behind=True)
    await one.close()
    await two.close()


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file of this process may grow beyond this size; Python ignores the signal, so a write fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("text", ["short", "long " * 10_000], ids=["short", "long"])
async def test_a_full_disk_is_said_and_the_file_is_whole_again_later(file: Path, text: str) -> None:
    kept = await written(file, Cursor(), events(1, 3))
    sink = JsonlSink(file, with_text=True)
    await sink.open(kept, is_behind=True)
    with room_for(kept.position + 100):
        with pytest.raises(StorageFull, match="everything committed is safe: free some space"):
            await sink.write([event(4, text=text)])
        await sink.close()
    assert length(file) >= kept.position
    await written(file, kept, [event(4, text=text)])
    assert seqs(file) == [1, 2, 3, 4]
