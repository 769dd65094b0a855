"""The reasons for kept and dropped blocks."""

from __future__ import annotations

import pytest

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.class_hints import BEGINNING_PATTERNS, classify_beginning
from tenax.extract.article.explain import MAX_REASONS, NO_SINGLE_REASON, explain_blocks
from tenax.extract.article.features import compute_features
from tenax.extract.article.layout import PageLayout
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import PageHints
from tests.pages.written import WrittenPage, written_pages

PROSE = "the ferry left the harbour an hour late, because nobody, not even the captain, had found the key."
PAGE = f"""
<title>The key of the ferry</title>
<header><a href="/">The Harbour Post</a></header>
<div id="main">
 <h1>The key of the ferry</h1>
 <p>First {PROSE}</p>
 <p>So it went.</p>
 <p>Then {PROSE}</p>
 <h2>Where it was</h2>
 <ul><li>under the mat</li></ul>
 <pre>key = find()</pre>
 <table><tr><td>keys lost</td><td>1</td></tr></table>
 <blockquote>It was not me.</blockquote>
 <p>At last {PROSE}</p>
 <button>Press here to find more keys</button>
 <p style="display: none">Nobody sees this.</p>
 <p><a href="/rope">Seven kinds of rope</a>, read</p>
</div>
<div><p>Again and again it says just this</p><p>Again and again it says just this</p>
<p>Again and again it says just this</p></div>
<div>
 <p>Related stories</p>
 <p>Tar and its smell, a history in parts that nobody asked for.</p>
</div>
<div class="comment"><p>First!</p></div>
"""
HINTS = PageHints(title="The key of the ferry")


def explain(html: str, kept: dict[str, bool], hints: PageHints = HINTS) -> dict[str, str]:
    """The reasons by the texts of the blocks; blocks not named are dropped."""
    blocks = Blocks(Dom(html).walk)
    decided = [kept.get(text, False) for text in blocks.texts]
    features = compute_features(blocks, PageLayout(blocks, hints))
    return dict(zip(blocks.texts, explain_blocks(blocks, features, decided), strict=True))


CASES = [
    ("The key of the ferry", True, "the title"),
    (f"First {PROSE}", True, "prose in the main part"),
    (f"Then {PROSE}", True, "prose in the main part"),
    ("So it went.", True, "short, between kept paragraphs"),
    ("Where it was", True, "a heading above kept text"),
    ("under the mat", True, "a list item in the main part"),
    ("key = find()", True, "code in the main part"),
    ("keys lost", True, "part of a table in the main part"),
    ("It was not me.", True, "a quotation in the main part"),
    ("Seven kinds of rope, read", True, "in the main part"),
    ("The key of the ferry", False, "the title, which is stored separately; only a few words"),
    ("The Harbour Post", False, "in the page header; 100 % links"),
    ("Press here to find more keys", False, "a button or a field"),
    ("Nobody sees this.", False, "hidden; only a few words"),
    ("Seven kinds of rope, read", False, "76 % links; short, between dropped blocks"),
    ("Related stories", False, "begins like links to other pages; after the main part"),
    (
        "Tar and its smell, a history in parts that nobody asked for.",
        False,
        "under the heading “Related stories”; after the main part",
    ),
    ("First!", False, "in a part named as comments; under the heading “Related stories”"),
    ("Again and again it says just this", False, "after the main part; 3 times on the page"),
    (f"First {PROSE}", False, NO_SINGLE_REASON),
    ("First!", True, NO_SINGLE_REASON),
]
DECIDED = {text: is_kept for text, is_kept, _ in reversed(CASES)} | {f"At last {PROSE}": True, "1": True}
"""The expected decisions; of two cases with one block the first."""


@pytest.mark.parametrize(("text", "is_kept", "why"), CASES, ids=[f"{text[:20]} {kept}" for text, kept, _ in CASES])
def test_reasons(text: str, is_kept: bool, why: str) -> None:
    assert explain(PAGE, DECIDED | {text: is_kept})[text] == why


def test_nearest_hint_wins() -> None:
    html = f"<nav><div><div><div class='footer'><p>Hello, harbour.</p></div></div></div></nav><p>{PROSE}</p>"
    assert explain(html, {PROSE: True})["Hello, harbour."].startswith("in a footer;")


def test_hidden_ancestor_is_a_reason_at_any_distance() -> None:
    html = f"<div hidden><div><div><div class='footer'><p>Hello, harbour.</p></div></div></div></div><p>{PROSE}</p>"
    assert explain(html, {PROSE: True})["Hello, harbour."].startswith("hidden;")


def test_long_link_list_is_not_short() -> None:
    links = " ".join(f'<a href="/{number}">Story number {number}</a>' for number in range(9))
    html = f"<div><p>First {PROSE}</p><p>{links}</p><p>Then {PROSE}</p></div>"
    text = " ".join(f"Story number {number}" for number in range(9))
    assert explain(html, dict.fromkeys((f"First {PROSE}", text, f"Then {PROSE}"), True))[text] == "in the main part"
    assert explain(html, {})[text] == "94 % links"


def test_hints_on_body_are_no_reason() -> None:
    html = f"<body class='footer'><div><p>{PROSE}</p></div><div class='share'><p>Hello, harbour people.</p></div>"
    assert explain(html, {})["Hello, harbour people."].startswith("among share buttons;")
    assert explain(html, {})[PROSE] == NO_SINGLE_REASON


def test_long_heading_is_shortened() -> None:
    html = f"<div><p>{PROSE}</p></div><h3>Related stories from all over the coast</h3><p>Of tar and glass, say.</p>"
    assert explain(html, {})["Of tar and glass, say."].startswith("under the heading “Related stories from all…”")


BEGUN = {
    "Share this story": "sharing",
    "Subscribe to our letter": "a subscription",
    "More from the harbour": "links to other pages",
    "3 comments": "comments",
    "About the author": "a note about the author",
    "Updated yesterday": "a byline or a date",
    "Photo: somebody": "a credit",
    "All rights reserved": "a legal notice",
    "Advertisement": "an advertisement",
    "Filed under: ropes": "a list of tags",
    "Load more": "a menu or a button",
    "External links": "references",
}


@pytest.mark.parametrize("text", BEGUN)
def test_beginning_labels(text: str) -> None:
    assert f"begins like {BEGUN[text]}" in explain(f"<p>{PROSE}</p><p>{text}</p>", {})[text]


def test_every_beginning_has_a_label() -> None:
    assert sorted(classify_beginning(text.lower()) for text in BEGUN) == list(range(1, len(BEGINNING_PATTERNS) + 1))


@pytest.mark.parametrize("page", written_pages(), ids=lambda page: page.name)
def test_every_block_has_one_or_two_reasons(page: WrittenPage) -> None:
    blocks = Blocks(Dom(page.html).walk)
    features = compute_features(blocks, PageLayout(blocks, PageHints(title=page.about.title)))
    for is_kept in (True, False):
        found = explain_blocks(blocks, features, [is_kept] * len(blocks))
        assert len(found) == len(blocks)
        assert all(why and why.count("; ") < MAX_REASONS for why in found)
