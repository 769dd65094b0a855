"""The selection of blocks, and the values derived from it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tenax.extract import extract_content
from tenax.extract.article.blocks import Blocks
from tenax.extract.article.features import compute_features, plan_scoring
from tenax.extract.article.layout import PageLayout
from tenax.extract.article.select import (
    MIN_ABSTRACT_CHARS,
    Selection,
    article_text,
    count_words,
    first_paragraph,
    kept_runs,
    select_blocks,
)
from tenax.extract.article.select import select_by_scores as judged_by
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import PageHints
from tenax.model import PageKind
from tests.extract.markup import MARKUP

SENTENCES = (
    "The ferry left the harbour an hour late on Monday, because nobody, not even the captain, had found the key.",
    "It had been under the mat all along, said the cook, who puts it there every evening before she goes home.",
    "Passengers on the pier were given tea, and most of them, by their own account, enjoyed the wait very much.",
    "The company promised that a second key would be cut, and that it would hang on a nail beside the first one.",
    "Nobody on the island remembers a delay like this one, although the boat has been late in every winter so far.",
)
STORY = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
MENU = "<nav><ul>" + "".join(f"<li><a href=/{n}>Section {n}</a></li>" for n in range(9)) + "</ul></nav>"
FOOTER = "<footer><p>© 2025 The Harbour Post. All rights reserved.</p></footer>"


def score_page(html: str, kind: PageKind = PageKind.ARTICLE) -> tuple[Blocks, PageLayout, Selection]:
    blocks = Blocks(Dom(html).walk)
    layout = PageLayout(blocks, PageHints(title="The key of the ferry"))
    return blocks, layout, select_blocks(blocks, compute_features(blocks, layout), kind)


def kept_of(html: str) -> list[str]:
    blocks, _, judgement = score_page(html)
    return [text for text, is_kept in zip(blocks.texts, judgement.kept, strict=True) if is_kept]


def page(inside: str) -> str:
    return f"{MENU}<article><h1>The key of the ferry</h1>{inside}</article>{FOOTER}"


def test_article_without_boilerplate() -> None:
    kept = kept_of(page(STORY))
    assert [text for text in kept if text in SENTENCES] == list(SENTENCES)
    assert not [text for text in kept if text.startswith(("Section", "©"))]


def test_hidden_text_is_dropped() -> None:
    hidden = "The harbour master keeps a spare key in his desk, which nobody but the printer of this page is told."
    assert hidden in kept_of(page(STORY + f"<p>{hidden}</p>"))
    assert hidden not in kept_of(page(STORY + f"<p hidden>{hidden}</p>"))
    assert hidden not in kept_of(page(STORY + f"<div style='display:none'><div><p>{hidden}</p></div></div>"))


def test_hidden_text_is_kept_when_there_is_no_other() -> None:
    """Some pages show their text only after scripts have run."""
    assert set(SENTENCES) <= set(kept_of(f"<div style='visibility: hidden'>{page(STORY)}</div>"))


@pytest.mark.parametrize("field", ["<button>{}</button>", "<select><option>{}</select>", "<textarea>{}</textarea>"])
def test_buttons_and_fields_are_never_kept(field: str) -> None:
    sentence = (
        "Whoever presses here is told at once, and in a whole sentence, where the key of the ferry has been found."
    )
    assert sentence in kept_of(page(STORY + f"<p>{sentence}</p>" + STORY))
    assert sentence not in kept_of(page(STORY + field.format(sentence) + STORY))


@pytest.mark.parametrize(
    ("html", "kept"),
    [
        ("", []),
        ("<div><img></div>", []),
        ("<p>Hello.", ["Hello."]),
        ("<p>One<p>Two<p>Three", ["One", "Two", "Three"]),
        ("<button>Press</button>", []),
    ],
)
def test_tiny_pages(html: str, kept: list[str]) -> None:
    assert kept_of(html) == kept


def test_scores_are_probabilities() -> None:
    _, _, judgement = score_page(page(STORY))
    assert all(0 <= score <= 1 for score in judgement.scores)
    least = min(score for score, is_kept in zip(judgement.scores, judgement.kept, strict=True) if is_kept)
    most = max(score for score, is_kept in zip(judgement.scores, judgement.kept, strict=True) if not is_kept)
    assert most < least


def test_text_words_and_runs_of_kept_blocks() -> None:
    blocks = Blocks(Dom("<p>one<br><br>two words<p>three<p>日本語です").walk)
    kept = [False, True, False, True]
    assert article_text(blocks, kept) == "two words\n日本語です"
    assert count_words(blocks, kept) == 2 + 3
    assert kept_runs(blocks, kept) == [True, False, True]
    assert (article_text(blocks, [False] * 4), count_words(blocks, [False] * 4)) == ("", 0)


LONG = "x" * (MIN_ABSTRACT_CHARS + 1)


@pytest.mark.parametrize(
    ("html", "dropped", "abstract"),
    [
        (f"<p>short<p>{LONG}", (), LONG),
        (f"<h1>{LONG}</h1><p>{LONG} too", (), f"{LONG} too"),
        (f"<p>{'x' * MIN_ABSTRACT_CHARS}", (), ""),
        (f"<p>{LONG}<p>{LONG} too", (0,), f"{LONG} too"),
        (f"<p>{LONG}<br>and on", (), f"{LONG} and on"),
        ("", (), ""),
    ],
    ids=["first long one", "no heading", "too short", "only kept ones", "one line", "nothing"],
)
def test_abstract(html: str, dropped: tuple[int, ...], abstract: str) -> None:
    blocks, layout, _ = score_page(html)
    kept = [at not in dropped for at in range(len(blocks))]
    assert first_paragraph(blocks, layout.block_tags, kept) == abstract


def test_certain_blocks_of_an_article_are_not_scored() -> None:
    blocks = Blocks(Dom(page(STORY)).walk)
    layout = PageLayout(blocks, PageHints())
    plain = compute_features(blocks, layout, plan_scoring(blocks, layout, is_article=True))
    all_of_them = compute_features(blocks, layout)
    skipped = [text for text, row in zip(blocks.texts, plain.block_values, strict=True) if not row]
    assert skipped == [f"Section {n}" for n in range(9)] + list(SENTENCES)
    assert [blocks.texts[at] for at in sorted(plain.plan.certain)] == list(SENTENCES)
    assert all(all_of_them.block_values)
    assert not all_of_them.plan.certain
    judgement = select_blocks(blocks, plain, PageKind.ARTICLE)
    assert [judgement.scores[blocks.texts.index(text)] for text in skipped] == [0.0] * 9 + [0.97] * 5
    assert judgement.kept == select_blocks(blocks, all_of_them, PageKind.ARTICLE).kept


@pytest.mark.parametrize(
    "html",
    [
        f"<div>{STORY}</div>",
        f"<div><h2>Related stories</h2>{STORY}</div>",
        f"<div class=comments><div><div><div>{STORY}</div></div></div></div>",
        f"<div class=sidebar>{STORY}</div>",
        f"<div hidden>{STORY}</div>",
        "".join(f"<div><a href=/x>{sentence}</a></div>" for sentence in SENTENCES),
    ],
    ids=["an article", "after a turn", "comments", "beside it", "not shown", "links"],
)
def test_uncertain_blocks_are_scored(html: str) -> None:
    blocks = Blocks(Dom(html).walk)
    certain = plan_scoring(blocks, PageLayout(blocks, PageHints()), is_article=True).certain
    assert len(certain) == (5 if html == f"<div>{STORY}</div>" else 0)


def kept_by_scores(html: str, scores: list[float]) -> list[bool]:
    """What is kept of a page whose blocks have these scores."""
    blocks = Blocks(Dom(html).walk)
    return judged_by(scores, blocks, compute_features(blocks, PageLayout(blocks, PageHints()))).kept


SURE = f"<p>{SENTENCES[0]}<p>{SENTENCES[1]}"


@pytest.mark.parametrize(
    ("html", "scores", "kept"),
    [
        ("<ul><li>ten chars.<li>ten chars.<li>ten chars.</ul>", [0.9, 0.9, 0.2], [True, True, True]),
        ("<ul><li>ten chars.<li>ten chars.<li>ten chars.</ul>", [0.1, 0.6, 0.1], [False, False, False]),
        ("<ol><li>one<ul><li>inner<li>inner</ul></ol>", [0.9, 0.1, 0.1], [True, False, False]),
        ("<table><tr><td>one<td>two<tr><td>three<td>four</table>", [0.9, 0.3, 0.9, 0.9], [True] * 4),
        (f"<table><tr><td>{'long ' * 50}<td>short</table>", [0.9, 0.1], [True, False]),
        ("<ul><li>ten chars.<li><button>press</button><li>ten chars.</ul>", [0.9, 0.0, 0.9], [True, False, True]),
        ("<p>ten chars.<p>ten chars.<p>ten chars.", [0.9, 0.9, 0.2], [True, True, False]),
    ],
    ids=["kept whole", "dropped whole", "inner list", "a table", "columns", "but for buttons", "paragraphs"],
)
def test_lists_and_tables_are_kept_whole_or_not_at_all(html: str, scores: list[float], kept: list[bool]) -> None:
    assert kept_by_scores(SURE + html, [0.97, 0.97, *scores])[2:] == kept


def test_profiles_beside_posts_are_dropped_in_threads_only() -> None:
    post = f"<div class=post><div class=author>wobblepot, 41 posts</div><p>{SENTENCES[0]}</p></div>"
    dropped = {
        kind: score_page(post * 3, kind)[2].scores[0] == 0
        for kind in (PageKind.FORUM, PageKind.ARTICLE, PageKind.OTHER)
    }
    assert dropped == {PageKind.FORUM: True, PageKind.ARTICLE: False, PageKind.OTHER: False}


@settings(deadline=None, max_examples=100)
@given(MARKUP)
def test_article_of_any_markup_is_from_its_page(html: str) -> None:
    content = extract_content(html.encode(), "text/html; charset=utf-8")
    lines = {line for text in Blocks(Dom(html).walk).texts for line in text.split("\n")}
    assert set(filter(None, content.article.split("\n"))) <= lines
    words = iter(content.text.split())
    assert all(word in words for word in content.article.split())  # and in order
    assert content.kind in PageKind


COMMENTED = (
    "<h1>A walk along the wall</h1><article>"
    + "".join(f"<p>On day {n} we walked from one gate to the next, and the rain came twice.</p>" for n in range(6))
    + "</article><section id=comments><h2>Comments</h2><ol>"
    + "".join(
        f"<li><p>Reader {n} thinks that the rain, which came twice, was lovely to read of.</p></li>" for n in range(9)
    )
    + "</ol></section>"
)


def test_comments_below_an_article_are_dropped() -> None:
    content = extract_content(
        f"<title>A walk along the wall</title><meta property=og:type content=article>{COMMENTED}".encode(),
        "text/html; charset=utf-8",
        url="https://example.org/blog/2026/01/a-walk-along-the-wall",
    )
    assert content.kind is PageKind.ARTICLE
    assert "On day 5" in content.article
    assert "Reader" not in content.article


def test_main_text_named_comment_is_kept() -> None:
    prose = "".join(
        f"<p>On day {n} we walked from one gate to the next, and the rain came twice.</p>" for n in range(6)
    )
    content = extract_content(
        f"<title>A walk</title><body><div class=comment>{prose}</div>".encode(), "text/html; charset=utf-8"
    )
    assert "On day 5" in content.article
