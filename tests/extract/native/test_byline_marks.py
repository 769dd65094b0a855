"""The native code misses no element that may mark an author or a date."""

from __future__ import annotations

import pytest

from tenax.extract.html.dom import Dom
from tenax.extract.metadata.authors import AUTHOR_SELECTORS, DATE_SELECTORS
from tenax.extract.native.binding import open_page
from tests.pages.written import written_pages

CLAUSES = (*AUTHOR_SELECTORS, *DATE_SELECTORS)
MADE = {
    "<p itemprop='x author'>": "[itemprop~=author]",
    "<a rel='me author'>": "[rel~=author]",
    "<p class=theByLine>": "[class*=byline i]",
    "<body class='x POST-AUTHOR'>": "[class*=author i]",
    "<p class=a&#117;thor>": "[class*=author i]",
    "<i class=usernames>": "[class*=username i]",
    "<a href=//x/author/y>": "a[href*='/author']",
    "<svg><a xlink:href=/authors>": "a[href*='/author']",
    "<TIME>": "time",
    "<meta itemprop=datePublished>": "[itemprop~=datePublished]",
    "<p itemprop=dateCreated>": "[itemprop~=dateCreated]",
    "<x-y class=updated>": "[class*=date i]",
    "<html class=Republic>": "[class*=publi i]",
    "<math><link><p class=posted>": "[class*=posted i]",
}


def found_clauses(dom: Dom) -> set[str]:
    native_page = open_page(dom.root.mem_id) if dom.root is not None else None
    assert native_page is not None
    native_page.close()
    return {clause for bit, clause in enumerate(CLAUSES) if native_page.scan.byline_clauses >> bit & 1}


@pytest.mark.parametrize(("html", "clause"), MADE.items())
def test_each_clause_is_found(html: str, clause: str) -> None:
    dom = Dom(html)
    assert found_clauses(dom) == {clause}
    assert dom.select(clause)


@pytest.mark.parametrize("html", ["", "<p class>", "<p class=autho>", "<template><p class=author></template>"])
def test_other_elements_match_no_clause(html: str) -> None:
    assert found_clauses(Dom(html)) == set()


def test_no_clause_is_missed() -> None:
    for page in written_pages():
        dom = Dom(page.html)
        assert {clause for clause in CLAUSES if dom.select(clause)} <= found_clauses(dom)
