"""The texts of a page as one string, deflated: what is empty at the end is left out, and no part poses as another."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.ledger.contents import Texts, pack, unpack
from tenax.model import PageLink

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
    assert zlib.decompress(pack(*parts)).decode() == written


TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXT, TEXT, TEXT, st.sampled_from([(), (LINK,)]))
def test_what_was_packed_is_unpacked(text: str, article: str, markdown: str, links: tuple[PageLink, ...]) -> None:
    inert = [part.replace("\0", "\ufffd") for part in (text, article, markdown)]
    assert unpack(pack(text, article, markdown, links)) == Texts(inert[0], inert[1], inert[2], links)


def test_without_a_body_there_are_no_texts() -> None:
    assert unpack(None) == Texts()
