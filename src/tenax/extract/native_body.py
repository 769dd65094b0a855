"""Reading the body of a page as quickly as can be: by the kernel, or in Python where it has not got the page."""

from __future__ import annotations

from contextlib import suppress

from tenax.extract.article.hints import Hints, hint_numbers
from tenax.extract.article.page_type import address_numbers, kind_order
from tenax.extract.body import Body, Resolve
from tenax.extract.html.dom import Dom
from tenax.extract.html.links import read_links
from tenax.extract.markdown.escape import address
from tenax.extract.native.binding import GaveUp, Sheet
from tenax.extract.text.visible import inert, page_text
from tenax.model import PageKind


def skim_body(dom: Dom, sheet: Sheet | None = None) -> Body:
    """The text and the links."""
    if sheet is not None:
        with suppress(GaveUp):
            skimmed = sheet.skim()
            return Body(skimmed.text, skimmed.links)
    return Body(page_text(dom), read_links(dom))


def read_body(
    dom: Dom, sheet: Sheet | None, hints: Hints, resolve: Resolve | None = None, *, with_markdown: bool = True
) -> Body:
    """All of it. `resolve` makes the addresses in the Markdown absolute; without one they are as written."""
    if sheet is not None:
        with suppress(GaveUp):
            return _read_by_kernel(dom, sheet, hints, resolve, with_markdown)
    from tenax.extract.python_body import read_in_python  # a third of all that reading loads; most pages never need it

    return read_in_python(dom, hints, resolve, with_markdown=with_markdown)


def _read_by_kernel(dom: Dom, sheet: Sheet, hints: Hints, resolve: Resolve | None, with_markdown: bool) -> Body:
    answer = sheet.read(hints.title.lower(), (*hint_numbers(hints), *address_numbers(hints)))
    dom.check("judging its blocks")
    markdown = ""
    if with_markdown:
        hrefs = answer.hrefs if resolve is None else map(resolve, answer.hrefs)
        addresses = list(map(address, hrefs))
        dom.check("resolving its addresses")
        markdown = sheet.markdown(addresses)
    return Body(
        answer.text,
        answer.links,
        kind_order()[answer.kind] if answer.kind >= 0 else PageKind.OTHER,
        answer.article,
        markdown if answer.is_clean else inert(markdown),
        answer.abstract or "",
        answer.words,
        answer.fingerprint,
        answer.cut_at,
    )
