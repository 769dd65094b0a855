"""The interface over the parser, and its limits."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from tenax.extract.html.dom import Dom
from tenax.extract.html.tree import BREAK, TEXT, Node, Walk, tag_number
from tests.extract.markup import MARKUP


def test_selection_is_in_document_order() -> None:
    dom = Dom("<link href=1><a href=2></a><link href=3>")
    assert [node.attributes["href"] for node in dom.select("a, link")] == ["1", "2", "3"]


def test_node_interface() -> None:
    dom = Dom("<p ID=x data>text<!-- c --></p>")
    (paragraph,) = dom.select("p")
    assert paragraph.tag_id == tag_number("p")
    assert dict(paragraph.attributes) == {"id": "x", "data": None}
    text = paragraph.first_child
    assert text is not None
    assert (text.tag_id, text.text_content, text.next is not None) == (TEXT, "text", True)
    assert not dom.select("table")


def test_tag_numbers_are_the_same_in_every_document() -> None:
    (first,), (second,) = Dom("<x-a><section>").select("section"), Dom("<section>").select("section")
    assert first.tag_id == second.tag_id == tag_number("section") != tag_number("div")


def test_select_with_ancestor() -> None:
    """Same as the selectors `main img, figure img`, in document order, at any depth."""
    page = "<img id=a><main><div><img id=b><figure><img id=c></figure><img id=d></div></main><div><img id=e></div>"
    assert [
        (node.attributes["id"], is_inside) for node, is_inside in Dom(page).select_with_ancestor("img", "main, figure")
    ] == [
        *(("a", False), ("b", True), ("c", True), ("d", True), ("e", False)),
    ]
    assert [is_inside for _, is_inside in Dom("<p><img><img>").select_with_ancestor("img", "main")] == [False, False]
    assert list(Dom("<main>").select_with_ancestor("img", "main")) == []


@pytest.mark.parametrize("around", ["<div>", "<article>", "<figure>"])
def test_select_with_ancestor_is_fast_on_deep_pages(around: str, within: Callable[[float], None]) -> None:
    """Selectors took 9 seconds for a page of 345 kB like this one, and 85 for one of 3 MB."""
    dom = Dom(around + "<div>" * 9_000 + "<img>" * 60_000)
    assert (
        sum(is_inside for _, is_inside in dom.select_with_ancestor("img", "article, figure"))
        == (around != "<div>") * 60_000
    )
    within(5.0)


def tags(nodes: list[Node]) -> list[str]:
    names = {tag_number(name): name for name in ["a", "area", "base", "iframe", "link", "meta", "script", "title"]}
    return [names[node.tag_id] for node in nodes]


def test_walk_collects_texts_links_and_metadata() -> None:
    html = "<title>t</title><link><meta><p>x <a>y</a> z</p><script>s</script><iframe></iframe>"
    walked = Dom(html).walk
    assert "".join(walked.fragments).strip(BREAK) == "x y z"
    assert tags(walked.link_nodes) == ["link", "a", "iframe"]
    assert tags(walked.metadata_nodes) == ["title", "link", "meta", "script"]


def test_walk_enters_hidden_elements() -> None:
    html = "<body><noscript>n<a>x</a><base></noscript><svg><a><title>t</title></a></svg><template><a></template><area>"
    walked = Dom(html).walk
    assert "".join(walked.fragments).strip(BREAK) == ""
    assert tags(walked.link_nodes) == ["a", "a", "area"]
    assert tags(walked.metadata_nodes) == ["base", "title"]


def test_metadata_elements() -> None:
    html = (
        "<html lang=de xml:lang=en><title id=x>T</title><link rel=next href=/2 id=x><base href><meta name=a content>"
        "<script type=APPLICATION/LD+JSON>{}</script><script>s</script><script type=ld+json></script>"
        "<body><meta itemprop=b><svg><title><b>t</b></title></svg>"
    )
    dom = Dom(html)
    element = [(one.is_in_head, dict(one.attributes), one.text) for one in dom.metadata_elements]
    assert [one.tag for one in dom.metadata_elements] == [node.tag_id for node in dom.walk.metadata_nodes]
    assert element == [
        (True, {}, "T"),
        (True, {"rel": "next", "href": "/2"}, None),
        (True, {"href": None}, None),
        (True, {"name": "a", "content": None}, None),
        (True, {"type": "APPLICATION/LD+JSON"}, "{}"),
        (True, {}, None),
        (True, {"type": "ld+json"}, None),
        (False, {"itemprop": "b"}, None),
        (False, {}, None),
    ]
    assert dom.languages == ("de", "en")


def test_headings_are_limited() -> None:
    dom = Dom("<h2>a <b>b</b><br>c</h2><h1>d</h1>" + "".join(f"<h3>{at}</h3><h1> {at}\n</h1>" for at in range(20)))
    assert list(dom.h1_texts) == ["d", *map(str, range(9))]
    assert list(dom.subheading_texts) == ["a b c", *map(str, range(9))]
    assert (list(Dom("").h1_texts), list(Dom("").subheading_texts)) == ([], [])


def boxes_of(walk: Walk) -> list[tuple[str, int, tuple[int, int]]]:
    """Name, parent and runs of each box, without the root and the body."""
    names = {tag_number(name): name for name in ["div", "p", "ul", "li", "td", "button", "section", "noscript"]}
    columns = zip(walk.box_tags, walk.box_parents, walk.box_starts, walk.box_ends, strict=True)
    return [(names[tag], parent, (first, end)) for tag, parent, first, end in columns if tag in names]


def runs_of(walk: Walk) -> list[tuple[int, str]]:
    """The box and the text of each run."""
    ends = [*walk.run_starts[1:], len(walk.fragments)]
    texts = ["".join(walk.fragments[start:end]) for start, end in zip(walk.run_starts, ends, strict=True)]
    return list(zip(walk.run_boxes, (text.replace(BREAK, " ").strip() for text in texts), strict=True))


def test_boxes_and_runs() -> None:
    walk = Dom("<body><div>a <b>b</b><p>c</p> d</div><ul><li>e<li></ul><section> </section>").walk
    assert boxes_of(walk) == [
        ("div", 1, (0, 3)),
        ("p", 2, (1, 2)),
        ("ul", 1, (3, 4)),
        ("li", 4, (3, 4)),
        ("li", 4, (4, 4)),
        ("section", 1, (4, 4)),
    ]
    assert runs_of(walk) == [(2, "a b"), (3, "c"), (2, "d"), (5, "e")]
    assert walk.box_parents[:2] == [0, 0]
    assert (walk.box_starts[0], walk.box_ends[0]) == (0, 4)


def test_run_nodes() -> None:
    walk = Dom("<p> <b>bold</b> rest</p><p><!-- c --><i>next</i>").walk
    assert [node.text_content for node in walk.run_nodes] == ["bold", "next"]


def test_cells_and_buttons_are_inline_boxes() -> None:
    walk = Dom("<table><tr><td>a<td>b</table><p>c <button>d</button> e").walk
    assert [text for _, text in runs_of(walk)] == ["a", "b", "c", "d", "e"]
    assert [name for name, *_ in boxes_of(walk)] == ["td", "td", "p", "button"]
    assert "".join(walk.fragments).split(BREAK).count("c  d  e") == 1


@pytest.mark.parametrize(
    ("html", "texts"),
    [
        ("<p>x <a>y</a> z <a></a>", ["y", ""]),
        ("<a>x<div>y</div>z</a>", ["x y z"]),
        ("<a>x<br>y <img></a>", ["x y"]),
        ("<a><b>x</b></a><area><link><iframe>i</iframe>", ["x", "", "", ""]),
        ("<a>unclosed <p>x", ["unclosed x"]),
        ("<body><noscript><a>unseen</a></noscript><p>x", [""]),
    ],
)
def test_link_fragments(html: str, texts: list[str]) -> None:
    walk = Dom(html).walk
    spans = zip(walk.link_starts, walk.link_ends, strict=True)
    link_texts = ["".join(walk.fragments[start:end]).replace(BREAK, " ") for start, end in spans]
    assert [" ".join(text.split()) for text in link_texts] == texts
    assert len(walk.link_nodes) == len(texts)


def test_image_positions() -> None:
    walk = Dom("<img id=a><p>x<img id=b>y</p><noscript><img id=c></noscript><img id=d>").walk
    assert [node.attributes["id"] for node in walk.images] == ["a", "b", "d"]
    before = ["".join(walk.fragments[:position]).replace(BREAK, "").strip() for position in walk.image_positions]
    assert before == ["", "x", "x y"]


def test_box_text() -> None:
    walk = Dom("<body><div>a <b>b</b><p>c<br>d</p> e</div><p></p>f").walk
    assert [walk.box_text(box) for box in range(1, 5)] == ["a b c d e f", "a b c d e", "c d", ""]


LONG = "This page keeps its words for those who read without scripts. " * 10


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (f"<noscript>{LONG}</noscript><div id=app>Wait</div>", f"{LONG}Wait"),
        ("<noscript>Please switch on JavaScript.</noscript><p>Wait", "Wait"),
        (f"<noscript>{LONG}</noscript><p>{LONG}", LONG),
        ("<p>Wait", "Wait"),
    ],
    ids=["all of the page", "a notice", "beside the page", "none"],
)
def test_noscript_page(html: str, text: str) -> None:
    walk = Dom(f"<body>{html}").walk
    assert "".join(walk.fragments).replace(BREAK, " ").split() == text.split()


@settings(deadline=None, max_examples=150)
@given(MARKUP)
def test_columns_have_equal_length(html: str) -> None:
    walk = Dom(html).walk
    boxes = (walk.box_tags, walk.box_nodes, walk.box_parents, walk.box_starts, walk.box_ends)
    assert len({len(column) for column in boxes}) == 1
    assert len({len(column) for column in (walk.run_starts, walk.run_boxes, walk.run_nodes)}) == 1
    assert len({len(column) for column in (walk.link_nodes, walk.link_starts, walk.link_ends)}) == 1
    assert len(walk.images) == len(walk.image_positions)
    assert walk.run_starts == sorted(set(walk.run_starts))
    assert all(parent < box for box, parent in enumerate(walk.box_parents) if box)
    for box, parent in enumerate(walk.box_parents):
        assert walk.box_starts[parent] <= walk.box_starts[box] <= walk.box_ends[box] <= walk.box_ends[parent]
    for run, box in enumerate(walk.run_boxes):
        assert walk.box_starts[box] <= run < walk.box_ends[box]


def test_walk_of_a_deep_page() -> None:
    walked = Dom("<b><p>" * 5_000 + "<a>x").walk
    assert "x" in walked.fragments
    assert len(walked.link_nodes) == 1


def test_bytes_and_text_build_the_same_tree() -> None:
    html = "<p>é 日 \x00 &eacute;<a href=/ü>x</a>"
    assert Dom(html).walk.fragments == Dom(html.encode()).walk.fragments


def test_there_is_always_a_root() -> None:
    for html in ("", "<!-- -->", "\0", "<frameset>", "</html>", "<!doctype html>"):
        assert Dom(html).root is not None
