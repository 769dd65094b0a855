"""Reads the body of a page: with the native code, or in Python where that does not support the page."""

from __future__ import annotations

from contextlib import suppress

from tenax.extract.article.page_type import address_word_values, kind_order
from tenax.extract.body import PageBody, ResolveUrl
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import PageHints, page_hint_values
from tenax.extract.html.links import read_links
from tenax.extract.markdown.escape import format_href
from tenax.extract.native.binding import NativePage, Unsupported
from tenax.extract.text.visible import page_text, strip_controls
from tenax.model import PageKind


def skim_body(dom: Dom, native_page: NativePage | None = None) -> PageBody:
    """Only text and links."""
    if native_page is not None:
        with suppress(Unsupported):
            skimmed = native_page.skim()
            return PageBody(skimmed.text, skimmed.links)
    return PageBody(page_text(dom), read_links(dom))


def read_body(
    dom: Dom,
    native_page: NativePage | None,
    hints: PageHints,
    resolve: ResolveUrl | None = None,
    *,
    with_markdown: bool = True,
) -> PageBody:
    """The whole body. `resolve` makes the URLs in the Markdown absolute; without it they are as written."""
    if native_page is not None:
        try:  # `suppress` would cost a microsecond a page
            return _read_body_native(dom, native_page, hints, resolve, with_markdown)
        except Unsupported:
            pass
    from tenax.extract.python_body import (
        read_body_in_python,  # a third of the import cost; most pages never need it
    )

    return read_body_in_python(dom, hints, resolve, with_markdown=with_markdown)


def _read_body_native(
    dom: Dom, native_page: NativePage, hints: PageHints, resolve: ResolveUrl | None, with_markdown: bool
) -> PageBody:
    answer = native_page.read(hints.title.lower(), (*page_hint_values(hints), *address_word_values(hints)))
    dom.check_budget("scoring its blocks")
    markdown = ""
    if with_markdown:
        hrefs = answer.hrefs if resolve is None else map(resolve, answer.hrefs)
        addresses = list(map(format_href, hrefs))
        dom.check_budget("resolving its URLs")
        markdown = native_page.markdown(addresses)
    return PageBody(
        answer.text,
        answer.links,
        kind_order()[answer.kind_index] if answer.kind_index >= 0 else PageKind.OTHER,
        answer.article,
        markdown if answer.is_clean else strip_controls(markdown),
        answer.abstract or "",
        answer.words,
        answer.fingerprint,
        answer.truncated_at_block,
    )
