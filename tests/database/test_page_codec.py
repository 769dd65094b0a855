"""The texts of a page as one deflated string: trailing empty parts are dropped, and parts are never confused."""

from __future__ import annotations

import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.database.page_codec import (
    MAX_EVENT_BYTES,
    MAX_RECENT_EVENTS,
    PageTexts,
    RecentEvents,
    decode_events,
    encode_content,
    pack_texts,
    page_text_bytes,
    unpack_texts,
)
from tenax.model import Event, Page, PageLink

LINK = PageLink("https://a.example/", "a", "", is_nofollow=False, is_in_article=True)


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        (("", "", ""), ""),
        (("seen", "", ""), "seen"),
        (("seen", "clean", ""), "seen\0clean"),
        (("seen", "", "# clean"), "seen\0\0# clean"),
        (("", "clean", ""), "\0clean"),
        (("one\0two", "", ""), "one\ufffdtwo"),
        (("seen\0", "", ""), "seen\ufffd"),
        (("\0\0\0\0", "clean", ""), "\ufffd\ufffd\ufffd\ufffd\0clean"),
        (("half \ud800", "", ""), "half ?"),
    ],
    ids=["nothing", "text", "article", "no article", "no text", "NUL", "NUL at the end", "NULs", "no Unicode"],
)
def test_any_tool_that_inflates_can_read_them(parts: tuple[str, str, str], written: str) -> None:
    assert zlib.decompress(pack_texts(*parts)).decode() == written


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXT, TEXT, TEXT, st.sampled_from([(), (LINK,)]))
def test_what_was_packed_is_unpacked(text: str, article: str, markdown: str, links: tuple[PageLink, ...]) -> None:
    inert = [part.replace("\0", "\ufffd") for part in (text, article, markdown)]
    assert unpack_texts(pack_texts(text, article, markdown, links)) == PageTexts(inert[0], inert[1], inert[2], links)


def test_without_a_body_there_are_no_texts() -> None:
    assert unpack_texts(None) == PageTexts()


# ---- events in memory -------------------------------------------------------------------------------------


def long_event(seq: int, text_bytes: int) -> Event:
    page = Page(
        url=f"https://a.example/{seq}",
        status=200,
        content_type="text/html",
        content_hash="ab" * 32,
        content_length=5,
        fetched_at=0.0,
        text="x" * text_bytes,
    )
    return Event(seq=seq, at=1.0, page=page)


@pytest.mark.parametrize(
    ("text_bytes", "count"),
    [(100, 10), (MAX_EVENT_BYTES // 4, 4), (MAX_EVENT_BYTES * 2, 1)],
    ids=["short", "some are too long together", "one is too long"],
)
def test_events_are_as_many_as_are_not_too_long_together(text_bytes: int, count: int) -> None:
    events = [long_event(seq, text_bytes) for seq in range(1, 11)]
    rows = [(event.seq, event.at, *encode_content(event.page)) for event in events]
    assert decode_events(rows) == events[:count]


def test_recent_events_are_bounded_in_number_and_in_bytes() -> None:
    recent = RecentEvents()
    recent.add([long_event(seq, 10) for seq in range(1, MAX_RECENT_EVENTS + 11)])
    assert recent.events_after(0, 100) == [], "the first ones are gone"
    assert [event.seq for event in recent.events_after(MAX_RECENT_EVENTS, 3)] == [
        MAX_RECENT_EVENTS + number for number in (1, 2, 3)
    ]
    last = MAX_RECENT_EVENTS + 10
    recent.add([long_event(last + number, MAX_EVENT_BYTES // 2) for number in (1, 2, 3)])
    assert recent.events_after(last, 100) == []
    assert [event.seq for event in recent.events_after(last + 2, 100)] == [last + 3]
    assert recent.events_after(last + 3, 100) == []


def test_the_memory_of_a_text_is_not_its_length() -> None:
    plain = long_event(1, 1000).page
    with_one_sign = msgspec.structs.replace(plain, text="x" * 999 + "\U0001f600")
    assert page_text_bytes(plain) < 1500
    assert page_text_bytes(with_one_sign) > 4000
