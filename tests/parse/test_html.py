"""The small interface over the parser, and what it must withstand."""

from __future__ import annotations

from tenax.parse.html import BREAK, TEXT, Dom, Node, tag_number


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


def tags(nodes: list[Node]) -> list[str]:
    names = {tag_number(name): name for name in ["a", "area", "base", "iframe", "link", "meta", "script", "title"]}
    return [names[node.tag_id] for node in nodes]


def test_a_walk_gathers_what_is_seen_and_what_leads_and_tells() -> None:
    html = "<title>t</title><link><meta><p>x <a>y</a> z</p><script>s</script><iframe></iframe>"
    walked = Dom(html).walk
    assert "".join(walked.fragments).strip(BREAK) == "x y z"
    assert tags(walked.leading) == ["link", "a", "iframe"]
    assert tags(walked.telling) == ["title", "link", "meta", "script"]


def test_a_walk_looks_into_what_is_not_seen() -> None:
    html = "<body><noscript>n<a>x</a><base></noscript><svg><a><title>t</title></a></svg><template><a></template><area>"
    walked = Dom(html).walk
    assert "".join(walked.fragments).strip(BREAK) == ""
    assert tags(walked.leading) == ["a", "a", "area"]
    assert tags(walked.telling) == ["base", "title"]


def test_a_walk_goes_as_deep_as_the_page() -> None:
    walked = Dom("<b><p>" * 5_000 + "<a>x").walk
    assert "x" in walked.fragments
    assert len(walked.leading) == 1


def test_bytes_and_text_make_the_same_tree() -> None:
    html = "<p>é 日 \x00 &eacute;<a href=/ü>x</a>"
    assert Dom(html).walk.fragments == Dom(html.encode()).walk.fragments


def test_there_is_always_a_root() -> None:
    for html in ("", "<!-- -->", "\0", "<frameset>", "</html>", "<!doctype html>"):
        assert Dom(html).root is not None
