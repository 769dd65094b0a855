"""The extractors that others wrote, each as one function from HTML to text and metadata; run by `bench/read_worker.py`.

Run in .venv-readers (rs-trafilatura in .venv-readers-rust), without anything of Tenax. Imports stand in the functions:
a process serves one extractor, and is not to pay for the others. Whoever gives authors as one string separates them
by semicolons.
"""

from __future__ import annotations

from typing import Any

_BLOCKS = ("p", "div", "br", "li", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "tr", "td", "th", "section")


def trafilatura(html: str, url: str | None) -> dict[str, Any]:
    """With metadata and otherwise as it comes. `.text` leaves out comments, which its own text output appends."""
    return _trafilatura(html, url)


def trafilatura_fast(html: str, url: str | None) -> dict[str, Any]:
    return _trafilatura(html, url, fast=True)


def trafilatura_precision(html: str, url: str | None) -> dict[str, Any]:
    return _trafilatura(html, url, favor_precision=True)


def _trafilatura(html: str, url: str | None, **options: bool) -> dict[str, Any]:
    from trafilatura import bare_extraction

    found = bare_extraction(html, url=url, with_metadata=True, **options)
    if found is None:
        return {}
    return {
        "text": found.text,
        "title": found.title,
        "authors": _people(found.author),
        "date": found.date,
        "image": found.image,
    }


def trafilatura_markdown(html: str, url: str | None) -> dict[str, Any]:
    """Text, and Markdown with formatting and links."""
    from trafilatura import extract

    markdown = extract(html, url=url, output_format="markdown", include_formatting=True, include_links=True)
    return _trafilatura(html, url) | {"markdown": markdown or ""}


def rs_trafilatura(html: str, url: str | None) -> dict[str, Any]:
    import rs_trafilatura as rust

    found = rust.extract(html, url=url)
    return {
        "text": found.main_content,
        "title": found.title,
        "authors": _people(found.author),
        "date": found.date,
        "kind": found.page_type,
    }


def resiliparse(html: str, url: str | None) -> dict[str, Any]:
    """Has no metadata but the title. Without the bullets and link targets that it would write into the text."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(html)
    text = extract_plain_text(tree, main_content=True, list_bullets=False, links=False, alt_texts=False)
    return {"text": text, "title": tree.title}


def newspaper4k(html: str, url: str | None) -> dict[str, Any]:
    """Without fetching the images of the page to weigh them; the lead image is what the metadata says."""
    from newspaper import Article

    article = Article(url or "https://example.org/", fetch_images=False)
    article.download(input_html=html)
    article.parse()
    return {
        "text": article.text,
        "title": article.title,
        "authors": article.authors,
        "date": article.publish_date and str(article.publish_date),
        "image": article.top_image,
    }


def readability_lxml(html: str, url: str | None) -> dict[str, Any]:
    """It gives HTML; the text is that of its elements, with a line break after each block."""
    from lxml.html import fromstring
    from readability import Document

    document = Document(html, url=url)
    summary = document.summary(html_partial=True)
    text = ""
    if summary.strip():
        tree = fromstring(summary)
        for element in tree.iter(*_BLOCKS):
            element.tail = f"\n{element.tail or ''}"
        text = tree.text_content()
    return {"text": text, "title": document.short_title(), "authors": _people(document.author())}


def _people(names: str | None) -> list[str]:
    return [name.strip() for name in (names or "").split(";") if name.strip()]
