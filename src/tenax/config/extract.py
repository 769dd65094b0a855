"""Settings of extraction and of duplicates."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tenax.config.fetch import Section


class ExtractConfig(Section, frozen=True):
    """What is extracted from a page and stored."""

    articles: Annotated[
        bool,
        Meta(
            description="Extract the main content, authors, dates and kind of page. Off: only title, "
            "description, text and links, which is faster."
        ),
    ] = True
    markdown: Annotated[bool, Meta(description="Store the main content also as Markdown.")] = True
    keep_links: Annotated[
        bool,
        Meta(
            description="Store the links in the page record and its events: each with its text, its `rel` and "
            "whether it is in the article."
        ),
    ] = False
    link_graph: Annotated[
        bool,
        Meta(
            description="Store the links of each page, for `tenax links`, and for later runs with other rules "
            "or limits: without stored links, these runs fetch the pages again. Not in events."
        ),
    ] = True
    native: Annotated[
        bool,
        Meta(
            description="Use native code for extraction if it was built. Off: Python, which is slower and gives"
            " the same results."
        ),
    ] = True
    max_cpu_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="Maximum CPU time to extract one page; a page that needs more becomes a failed URL. An "
            "ordinary page takes a few milliseconds.",
        ),
    ] = 2.0
    max_links: Annotated[
        int, Meta(ge=1, description="Maximum links of one page that `keep_links` stores; the first ones are stored.")
    ] = 1000


class DuplicatesConfig(Section, frozen=True):
    """What happens to pages whose text is the same or nearly the same as that of an earlier page."""

    find: Annotated[
        bool,
        Meta(
            description="Look for an earlier page with the same or nearly the same text, and name it in `duplicate_of`."
        ),
    ] = True
    store: Annotated[
        bool, Meta(description="Store the texts of a duplicate. Off: all other fields of a duplicate are stored.")
    ] = True
    follow: Annotated[
        bool,
        Meta(description="Follow the links of a duplicate. Off: they are refused with the reason `duplicate`."),
    ] = True
    min_similarity: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="Texts are duplicates if they have at least this share of their character windows "
            "(shingles) in common.",
        ),
    ] = 0.5
    min_words: Annotated[
        int,
        Meta(
            ge=0, description="A page with fewer words in its main text is a duplicate only of exactly the same text."
        ),
    ] = 30
