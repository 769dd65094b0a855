"""The sitemaps of a site listed by the program, into a pipe as programs have it."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from pathlib import Path

from tests.e2e.program import tenax
from tests.site.hostile import serves
from tests.site.server import Site

HURRIED = ("--set", "politeness.rate_per_second=0")
URLS = 20_000


async def test_a_large_sitemap_behind_an_index(tmp_path: Path) -> None:
    rows = "".join(f"<url><loc>/page/{number}</loc><lastmod>2026-01-31</lastmod></url>" for number in range(URLS))
    behaviours = {
        "/robots.txt": serves(b"Sitemap: /index.xml", "text/plain"),
        "/index.xml": serves(b"<sitemapindex><sitemap><loc>/large.xml.gz</loc></sitemap></sitemapindex>", "text/xml"),
        "/large.xml.gz": serves(gzip.compress(f"<urlset>{rows}</urlset>".encode()), "application/x-gzip"),
    }
    async with Site(behaviours) as site:
        done = await asyncio.to_thread(tenax, "sitemap", site.origin, "--json", *HURRIED, cwd=tmp_path)
        assert (done.code, done.err) == (0, f"{URLS:,} URLs in 2 sitemaps\n")
        listed = [json.loads(line) for line in done.out.splitlines()]
        assert [line["url"] for line in listed] == [site.url(f"/page/{number}") for number in range(URLS)]
        assert {line["sitemap"] for line in listed} == {site.url("/large.xml.gz")}
        assert {line["lastmod"] for line in listed} == {1769817600.0}
    assert await asyncio.to_thread(os.listdir, tmp_path) == [], "nothing is written down"


async def test_nothing_found(tmp_path: Path) -> None:
    async with Site({}) as site:
        done = await asyncio.to_thread(tenax, "sitemap", site.origin, *HURRIED, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"tenax: no sitemap found: {site.url('/sitemap.xml')}: failed, not found: HTTP 404; "
        f"{site.url('/sitemap_index.xml')}: failed, not found: HTTP 404\n"
    )
