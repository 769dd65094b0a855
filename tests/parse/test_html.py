"""The small interface over the parser, and what it must withstand."""

from __future__ import annotations

from tenax.parse.html import TEXT, Dom, tag_number


def test_selection_is_in_document_order() -> None:
    dom = Dom("<link href=1><a href=2></a><link href=3>")
    assert [node.attributes["href"] for node in dom.select("a, link")] == ["1", "2", "3"]


def test_nodes_answer() -> None:
    dom = Dom("<p ID=x data>text<!-- c --></p>")
    paragraph = dom.first("p")
    assert paragraph is not None
    assert paragraph.tag_id == tag_number("p")
    assert dict(paragraph.attributes) == {"id": "x", "data": None}
    text = paragraph.first_child
    assert text is not None
    assert (text.tag_id, text.text_content, text.next is not None) == (TEXT, "text", True)
    assert dom.first("table") is None


def test_numbers_are_the_same_in_every_document() -> None:
    first, second = Dom("<x-a><section>").first("section"), Dom("<section>").first("section")
    assert first is not None
    assert second is not None
    assert first.tag_id == second.tag_id == tag_number("section") != tag_number("div")


def test_there_is_always_a_root() -> None:
    for html in ("", "<!-- -->", "\0", "<frameset>", "</html>", "<!doctype html>"):
        assert Dom(html).root is not None
