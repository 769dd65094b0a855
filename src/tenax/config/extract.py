"""What is kept of a page that was read, and what is done about one that is there already."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tenax.config.fetching import Section


class ExtractConfig(Section, frozen=True):
    """What is read in a page, and kept of it."""

    articles: Annotated[
        bool,
        Meta(
            description="Tell the clean part of a page from the rest, and read who wrote it, when, and what kind of "
            "page it is; off: title, description, text and links only, which is quicker."
        ),
    ] = True
    markdown: Annotated[
        bool, Meta(description="Keep the clean part of a page as Markdown too, beside its plain text.")
    ] = True
    keep_links: Annotated[
        bool,
        Meta(description="Keep every link of a page with what it says, its `rel` and whether it is in the article."),
    ] = False
    link_graph: Annotated[
        bool,
        Meta(
            description="Keep where each page leads and with which words: for `tenax links`, and for a run with other "
            "rules or limits, which otherwise fetches pages again. Not in events."
        ),
    ] = True
    native: Annotated[
        bool,
        Meta(description="Let the kernel in C read, where it was built; off: Python reads, alike but slower."),
    ] = True
    max_cpu_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="CPU time that reading one page may take; one that takes longer is a failed URL. An ordinary "
            "page takes a few thousandths of a second.",
        ),
    ] = 2.0
    max_links: Annotated[
        int, Meta(ge=1, description="Links that `keep_links` keeps of one page at most, the first ones.")
    ] = 1000


class DuplicatesConfig(Section, frozen=True):
    """What is done about pages whose text is, or nearly is, that of a page stored before."""

    find: Annotated[
        bool, Meta(description="Look for an earlier page with the same or nearly the same text: `duplicate_of`.")
    ] = True
    store: Annotated[bool, Meta(description="Keep the texts of a duplicate; off: everything else of it is kept.")] = (
        True
    )
    follow: Annotated[
        bool, Meta(description="Follow the links of a duplicate; off: they are counted as refused, by `duplicate`.")
    ] = True
    min_similarity: Annotated[
        float,
        Meta(
            gt=0, le=1, description="Share of their windows of letters that two texts have in common to be duplicates."
        ),
    ] = 0.5
    min_words: Annotated[
        int, Meta(ge=0, description="A clean text with fewer words is a duplicate only of exactly the same text.")
    ] = 30
