"""Sitemaps as servers send them, in a whole crawl: what is taken of one that is larger than it may be."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tenax.model import Ending, Fetched
from tests.hostile.asking import explained, outcome_of
from tests.hostile.crawling import Settings, crawl
from tests.site.hostile import page, serves
from tests.site.server import Behaviour, Exchange, Site

CAP_BYTES = 100_000
SITEMAPS: Settings = {"discovery.sources": ("sitemaps",), "discovery.max_sitemap_bytes": CAP_BYTES}
REMARK = "<!-- so many words to fill it up -->\n"


def url(path: str) -> str:
    return f"<url><loc>{path}</loc></url>\n"


def large_sitemap() -> bytes:
    remarks = REMARK * (CAP_BYTES // len(REMARK))
    return f"<urlset>{url('/first')}{remarks[:-1000]}{url('/last')}{remarks}{url('/beyond')}</urlset>".encode()


def chunked(body: bytes) -> Behaviour:
    async def answer(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/xml\r\n\r\n")
        await exchange.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))

    return answer


@pytest.mark.parametrize(
    "sitemap",
    [
        pytest.param(serves(large_sitemap(), "text/xml"), id="with its length"),
        pytest.param(chunked(large_sitemap()), id="without a length"),
        pytest.param(serves(gzip.compress(large_sitemap()), "application/gzip"), id="a gzip file"),
        pytest.param(
            serves(gzip.compress(large_sitemap()), "text/xml", Content_Encoding="gzip"), id="Content-Encoding"
        ),
    ],
)
async def test_a_sitemap_larger_than_it_may_be_the_rest_is_left_out(tmp_path: Path, sitemap: Behaviour) -> None:
    pages = {path: serves(page(path)) for path in ("/", "/first", "/last", "/beyond")}
    async with Site({**pages, "/sitemap.xml": sitemap}) as site:
        done = await crawl([site.url("/")], tmp_path, SITEMAPS)
        assert done.pages.keys() == {site.url("/"), site.url("/first"), site.url("/last")}
        assert done.ending is Ending.LIMITED
        assert await outcome_of(done, site.url("/sitemap.xml")) == Fetched(200, "sitemap")
        assert done.status.refusals["max_sitemap_bytes"] == 1
        assert f"larger than {CAP_BYTES:,} bytes: the rest was not read" in await explained(
            tmp_path, site.url("/sitemap.xml")
        )
