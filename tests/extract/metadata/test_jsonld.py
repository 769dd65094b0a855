"""JSON-LD as found on the web."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.extract.metadata.jsonld import MAX_NODES, JsonLdMetadata, parse_nodes, read_jsonld, read_strings

URL = "https://h.example/a/story?x=1"
WHOLE = {
    "@context": "https://schema.org",
    "@graph": [
        {"@type": "WebSite", "name": "The Site"},
        {"@type": "Person", "@id": "#ann", "name": "Ann Lee", "url": "/ann"},
        {"@type": "ImageObject", "@id": "#lead", "url": "https://h.example/lead.jpg"},
        {
            "@type": ["Article", "NewsArticle"],
            "headline": "A &amp; B",
            "author": [{"@id": "#ann"}, {"@type": "Person", "name": "Bo Ek"}, "Cy Dow"],
            "datePublished": "2025-08-25",
            "dateModified": "2025-08-26",
            "image": {"@id": "#lead"},
            "articleSection": ["News", "World"],
            "keywords": ["one", "two"],
            "inLanguage": "en",
            "description": "What it is about.",
        },
    ],
}


def test_complete_node() -> None:
    assert read_jsonld([json.dumps(WHOLE)], URL) == JsonLdMetadata(
        types=("Article", "NewsArticle"),
        headline="A & B",
        description="What it is about.",
        authors=("Ann Lee", "Bo Ek", "Cy Dow"),
        published="2025-08-25",
        modified="2025-08-26",
        image="https://h.example/lead.jpg",
        site_name="The Site",
        section="News",
        keywords=("one", "two"),
        language="en",
    )


@pytest.mark.parametrize(
    "script",
    [
        '{"@type": "Article", "headline": "H",}',
        '[{"@type": "Article", "headline": "H"},]',
        '{"@type": "Article", /* why */ "headline": "H"}',
        '{"@type": "Article", // why\n"headline": "H"}',
        '<!-- {"@type": "Article", "headline": "H"} -->',
        '//<![CDATA[\n{"@type": "Article", "headline": "H"}\n//]]>',
        '{"@type": "Article", "headline": "H", "text": "two\nlines\tand\x01more"}',
        '{"@type": "Article", "headline": "H", "text": "bad \\\' escape"}',
        "{&quot;@type&quot;: &quot;Article&quot;, &quot;headline&quot;: &quot;H&quot;}",
        '{"@type": "Article", "headline": "H"};',
        '{"@type": "WebSite"}{"@type": "Article", "headline": "H"}',
        '{"@type": "https://schema.org/Article", "headline": "H"}',
        '{"@type": "WebPage", "mainEntity": {"@type": "Article", "headline": "H"}}',
        '{"@type": "Article", "headline": {"@value": "H"}}',
    ],
)
def test_broken_json_is_repaired(script: str) -> None:
    assert read_jsonld([script]).headline == "H"


@pytest.mark.parametrize(
    "script", ["", "null", "1", "[]", "{", '"x"', "[[[[", "{]", '{"@type": 1}', '{"@graph": [null, 1]}']
)
def test_irrelevant_nodes(script: str) -> None:
    assert read_jsonld([script]) == JsonLdMetadata()


def test_node_is_chosen_by_url() -> None:
    other = {"@type": "Article", "url": "https://h.example/a/other", "headline": "Other"}
    ours = {"@type": "Article", "mainEntityOfPage": {"@id": "https://h.example/a/story/"}, "headline": "Ours"}
    assert read_jsonld([json.dumps([other, ours])], URL).headline == "Ours"


def test_article_wins_over_page_and_job_is_ignored() -> None:
    page, job = {"@type": "WebPage", "name": "Page"}, {"@type": "JobPosting", "headline": "Job"}
    article = {"@type": "BlogPosting", "headline": "Article"}
    assert read_jsonld([json.dumps([job, page, article])]).headline == "Article"
    assert read_jsonld([json.dumps([job])]).headline == ""


@pytest.mark.parametrize(
    "script",
    [
        "[" * 100_000,
        '{"@graph":' * 10_000,
        '\\"' * 150_000,
        "/*" * 150_000,
        ", " * 150_000,
        "{} " * 100_000,
        '{"a": "&#' + "9" * 10_000 + ';",}',
        '{"@type": "Article", "text": "' + "x" * 10_000_000 + '"}',
    ],
    ids=["arrays", "graphs", "quotes", "comments", "commas", "objects", "reference", "ten megabytes"],
)
def test_hostile_scripts_are_ignored(script: str) -> None:
    assert read_jsonld([script] * 3).headline == ""


def test_nodes_are_limited() -> None:
    assert len(parse_nodes(json.dumps([{"@type": "Article"}] * 2_000))) == MAX_NODES


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["@type", "@graph", "@id", "name", "author", "image", "headline", "publisher", "url"]),
            inner | st.sampled_from(["Article", "WebPage", "WebSite"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_read(value: object) -> None:
    described = read_jsonld([json.dumps(value)], URL)
    assert all(isinstance(name, str) for name in (described.headline, described.image, *described.authors))
    assert all(text.strip() for text in read_strings(value))
