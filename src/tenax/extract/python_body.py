"""Reading the body of a page in Python: the definition of what the kernel does, and what reads where it cannot."""

from __future__ import annotations

from tenax.extract.article.blocks import Blocks
from tenax.extract.article.hints import Hints
from tenax.extract.article.layout import Outline
from tenax.extract.article.page_type import page_kind
from tenax.extract.article.select import abstract_of, article_text, kept_runs, read_article, words_of
from tenax.extract.body import Body, Resolve
from tenax.extract.html.dom import Dom
from tenax.extract.html.links import read_links
from tenax.extract.markdown.render import markdown_of
from tenax.extract.text.fingerprint import near_fingerprint
from tenax.extract.text.visible import MAX_TEXT_CHARS, inert


def read_in_python(dom: Dom, hints: Hints, resolve: Resolve | None = None, *, with_markdown: bool = True) -> Body:
    """See `quick_body.read_body`. No step looks at the page's time, so that is looked at between them."""
    walk = dom.walk
    dom.check("walking through it")
    blocks = Blocks(walk)
    dom.check("parting it into blocks")
    text = inert(blocks.marked)
    # Where nothing but our own marks was taken out, there is nothing to take out of its parts.
    is_clean = len(text) + blocks.marks == len(blocks.marked)
    outline = Outline(blocks, hints)
    kind = page_kind(outline)
    dom.check("outlining it")
    kept = read_article(blocks, outline, kind).kept
    dom.check("judging its blocks")
    article = article_text(blocks, kept)
    article = article if is_clean else inert(article)
    markdown = markdown_of(blocks, kept, resolve) if with_markdown else ""
    dom.check("writing its Markdown")
    links = read_links(dom, kept_runs(blocks, kept))
    dom.check("reading its links")
    return Body(
        text[:MAX_TEXT_CHARS],
        links,
        kind,
        article,
        markdown if is_clean else inert(markdown),
        abstract_of(blocks, outline.tags, kept),
        words_of(blocks, kept),
        near_fingerprint(article),
        len(blocks) if blocks.is_cut else None,
    )
