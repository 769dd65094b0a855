"""Reads the body of a page in Python: the reference for the native code, and the fallback where that cannot read it."""

from __future__ import annotations

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.layout import PageLayout
from tenax.extract.article.page_type import classify_page
from tenax.extract.article.select import article_text, count_words, first_paragraph, kept_runs, select_article
from tenax.extract.body import PageBody, ResolveUrl
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import PageHints
from tenax.extract.html.links import read_links
from tenax.extract.markdown.render import render_markdown
from tenax.extract.text.fingerprint import near_fingerprint
from tenax.extract.text.visible import MAX_TEXT_CHARS, strip_controls


def read_body_in_python(
    dom: Dom, hints: PageHints, resolve: ResolveUrl | None = None, *, with_markdown: bool = True
) -> PageBody:
    """See `native_body.read_body`. No step checks the CPU budget itself, so it is checked between them."""
    walk = dom.walk
    dom.check_budget("walking through it")
    blocks = Blocks(walk)
    dom.check_budget("splitting it into blocks")
    text = strip_controls(blocks.marked)
    # If only our own marks were removed, the parts need no cleaning.
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
        article,
        markdown if is_clean else strip_controls(markdown),
        first_paragraph(blocks, layout.block_tags, kept),
        count_words(blocks, kept),
        near_fingerprint(article),
        len(blocks) if blocks.is_truncated else None,
    )
