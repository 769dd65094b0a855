"""The body of a page in Python: its text, its article as text and Markdown, its links.

This is the reference. `document` uses the native code where that supports the page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.layout import PageLayout
from tenax.extract.article.page_type import classify_page
from tenax.extract.article.select import article_text, count_words, first_paragraph, kept_runs, select_article
from tenax.extract.html.dom import Dom, strip_controls
from tenax.extract.html.head import PageHints
from tenax.extract.html.links import Links, read_links
from tenax.extract.html.visible import MAX_TEXT_CHARS
from tenax.model import PageKind, Value
from tenax.text.fingerprint import near_fingerprint

ResolveUrl: TypeAlias = Callable[[str], str]
"""Makes a URL of the page absolute."""


class PageBody(Value, frozen=True):
    text: str
    """All visible text."""
    links: Links
    kind: PageKind = PageKind.OTHER
    article: str = ""
    markdown: str = ""
    abstract: str = ""
    """The first kept paragraph with real content."""
    words: int = 0
    fingerprint: bytes = b""
    truncated_at_block: int | None = None
    """How many blocks were scored; None: all."""


def read_body_in_python(
    dom: Dom, hints: PageHints, resolve: ResolveUrl | None = None, *, with_markdown: bool = True
) -> PageBody:
    """The whole body. `resolve` makes the URLs in the Markdown absolute; without it they are as written.

    No step checks the CPU budget itself, so it is checked between them."""
    # The writer of Markdown takes a third of the import time of extraction, and most pages never need it.
    from tenax.extract.markdown.render import render_markdown

    walk = dom.walk
    dom.check_budget("walking through it")
    blocks = Blocks(walk)
    dom.check_budget("splitting it into blocks")
    text = strip_controls(blocks.marked)
    # If only marks of our own were removed, the parts need no cleaning.
    is_clean = len(text) + blocks.mark_count == len(blocks.marked)
    layout = PageLayout(blocks, hints)
    kind = classify_page(layout)
    dom.check_budget("computing its layout")
    kept = select_article(blocks, layout, kind).kept
    dom.check_budget("scoring its blocks")
    article = article_text(blocks, kept)
    article = article if is_clean else strip_controls(article)
    markdown = render_markdown(blocks, kept, resolve) if with_markdown else ""
    dom.check_budget("writing its Markdown")
    links = read_links(dom, kept_runs(blocks, kept))
    dom.check_budget("reading its links")
    return PageBody(
        text[:MAX_TEXT_CHARS],
        links,
        kind,
        article=article,
        markdown=markdown if is_clean else strip_controls(markdown),
        abstract=first_paragraph(blocks, layout.block_tags, kept),
        words=count_words(blocks, kept),
        fingerprint=near_fingerprint(article),
        truncated_at_block=len(blocks) if blocks.is_truncated else None,
    )
