"""Classification of whole pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.extract import extract_content
from tenax.extract.article.blocks import Blocks
from tenax.extract.article.layout import PageLayout
from tenax.extract.article.page_type import (
    KIND_FEATURES,
    classify_page,
    kind_feature_values,
)
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import PageHints, address_patterns, address_word_values
from tenax.model import PageKind

WORDS = "The ferry left the harbour an hour late, because nobody, not even the captain, had found the key. " * 2
MENU = "<nav><a href=/>Home</a> <a href=/about>About</a></nav>"
STORY = f"<article><h1>The key of the ferry</h1>{f'<p>{WORDS}</p>' * 8}</article>"
TEASERS = "".join(
    f"<li class=result-item><h3><a href=/s/{n}>Story number {n} of the harbour</a></h3>" for n in range(40)
)
POSTS = "".join(
    f"<div class='post message' id=post{n}><a class=author href=/u/{n}>user{n}</a> <span>#{n}</span>"
    f"<div class=message-body>I had the same question, and this helped me: turn it off. Thanks {n}!</div></div>"
    for n in range(12)
)


def ld(kind: str) -> str:
    return f'<script type="application/ld+json">{{"@context": "https://schema.org", "@type": "{kind}"}}</script>'


PAGES = {
    PageKind.ARTICLE: (
        "/2025/08/the-key-of-the-ferry",
        f"<meta property=og:type content=article>{ld('NewsArticle')}{MENU}{STORY}",
    ),
    PageKind.HUB: ("/news/", f"<title>News</title>{ld('CollectionPage')}{MENU}<ul class=results>{TEASERS}</ul>"),
    PageKind.PRODUCT: (
        "/products/brass-key",
        f"<meta property=og:type content=product>{ld('Product')}{MENU}<div class=product><h1>A brass key</h1>"
        f"<p class=price>12.00</p><button>Add to cart</button><p class=product-description>{WORDS}</p>"
        "<table class=product-specs><tr><td>Length<td>5 cm<tr><td>Weight<td>40 g</table></div>",
    ),
    PageKind.FORUM: (
        "/threads/lost-key.1234/",
        f"<title>Lost key | Forum</title>{ld('DiscussionForumPosting')}{MENU}<h1>Lost key</h1>"
        f"<div class='forum thread'>{POSTS}</div>",
    ),
}


@pytest.mark.parametrize("kind", PAGES)
def test_clear_cases(kind: PageKind) -> None:
    path, html = PAGES[kind]
    assert extract_content(html.encode(), "text/html", url=f"https://h.example{path}").kind is kind


@pytest.mark.parametrize("html", ["", "<div><img></div>", "<script>x</script>"])
def test_page_without_text_has_no_kind(html: str) -> None:
    assert classify_page(PageLayout(Blocks(Dom(html).walk), PageHints(og_type="article"))) is PageKind.OTHER
    assert extract_content(html.encode(), "text/html").kind is PageKind.OTHER


def test_other_media_have_no_kind() -> None:
    assert extract_content(b"just text", "text/plain").kind is PageKind.OTHER


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("docs.example/x", {"docs"}),
        ("mydocs.example/x", set()),
        ("a.example/docsy", set()),
        ("a.example/mydocumentation", {"docs"}),
        ("a.example/Questions/7", {"forum"}),
        ("a.example/t/7", {"forum"}),
        ("a.example/shopping/re-buy", {"product"}),
        ("a.example/listing", {"hub"}),
        ("a.example/playlist", set()),
        ("a.example/mynews/", {"hub"}),
        ("a.example/news/", {"hub", "article"}),
        ("a.example/page/2", {"hub"}),
        ("a.example/x2024/05-y", {"article"}),
        ("a.example/024/05", set()),
        ("a.example/2024/5", set()),
        ("a.example/blog/our-services", {"article", "service"}),
    ],
)
def test_url_words(address: str, words: set[str]) -> None:
    host, slash, path = address.partition("/")
    numbers = kind_feature_values((), PageHints(host=host, path=slash + path))
    names = [name.partition(" ")[0] for name in KIND_FEATURES[-len(numbers) :]]
    assert {name for name, number in zip(names, numbers, strict=True) if number} == words


PIECES = """
doc documentation reference manual guide api readthedocs help kb developer tutorial forum thread topic community discuss
viewtopic question answer board /t/ /r/ product /p/ item shop store /dp/ buy categor tag collection search archive index
list browse /page/ blog news article story post service solution pricing about platform feature contact
s / - 2 2024/05 x y
""".strip().split()


@given(st.lists(st.sampled_from(PIECES), max_size=3).map("".join))
def test_prefilter_of_url_words(path: str) -> None:
    found = address_word_values(PageHints(path=path))
    assert found == tuple(int(pattern.search(path) is not None) for pattern in address_patterns())
