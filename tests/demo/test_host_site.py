"""The number of pages comes out exactly, whatever was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.demo import MIN_PAGES_PER_HOST, Site
from tenax.demo.host_site import build_host_site, page_paths, tag_articles


@given(pages=st.integers(MIN_PAGES_PER_HOST, 600), index=st.integers(0, 5))
def test_a_host_has_as_many_pages_as_asked(pages: int, index: int) -> None:
    assert len(page_paths(Site(pages_per_host=pages), index)) == pages


@pytest.mark.parametrize("index", range(6))
def test_every_tag_has_articles(index: int) -> None:
    host = build_host_site(Site(pages_per_host=MIN_PAGES_PER_HOST), index)
    assert all(tag_articles(host, tag) for tag in range(len(host.theme.tags)))


def test_hosts_beyond_the_themes_are_other_towns() -> None:
    assert build_host_site(Site(hosts=12), 0).name != build_host_site(Site(hosts=12), 6).name
