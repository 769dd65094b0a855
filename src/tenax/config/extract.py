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
            description="Extract the main content, authors, dates and page type; off: title, description, text and "
            "links only, which is faster."
        ),
    ] = True
    markdown: Annotated[bool, Meta(description="Store the main content as Markdown too, beside its plain text.")] = True
    keep_links: Annotated[
        bool,
        Meta(
            description="Put the links into the page record and its events: each with its text, its `rel` and "
            "whether it is in the article."
        ),
    ] = False
    link_graph: Annotated[
        bool,
        Meta(
            description="Store the links of each page, for `tenax links` and for later runs: with other rules or "
            "limits, a run without stored links fetches the pages again. Not in events."
        ),
    ] = True
    native: Annotated[
        bool,
        Meta(
            description="Use the native code for extraction where it was built; off: Python, with the same results but "
            "slower."
        ),
    ] = True
    max_cpu_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="Maximum CPU time to extract one page; a page that needs more is a failed URL. An ordinary "
            "page takes a few milliseconds.",
        ),
    ] = 2.0
    max_links: Annotated[
        int, Meta(ge=1, description="Maximum links that `keep_links` stores of one page; the first ones are kept.")
    ] = 1000


class DuplicatesConfig(Section, frozen=True):
    """What happens to pages whose text is the same or nearly the same as that of an earlier page."""

    find: Annotated[
        bool, Meta(description="Look for an earlier page with the same or nearly the same text; sets `duplicate_of`.")
    ] = True
    store: Annotated[
        bool, Meta(description="Store the texts of a duplicate; off: everything but its texts is stored.")
    ] = True
    follow: Annotated[
        bool,
        Meta(description="Follow the links of a duplicate; off: they are refused with the reason `duplicate`."),
    ] = True
    min_similarity: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="Minimum share of character windows (shingles) that two texts have in common to count as "
            "duplicates.",
        ),
    ] = 0.5
    min_words: Annotated[
        int, Meta(ge=0, description="A main text with fewer words is a duplicate only of exactly the same text.")
    ] = 30
