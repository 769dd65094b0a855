"""Scrapy at its fastest on this task: `python scrapy_peer.py URL OUT.jsonl [--jobdir DIR] [--trafilatura]`.

Run in .venv-peers, without anything of Tenax. The fields are those `bench/crawl.py` asks of everyone: title and visible
text, and what stands beside them in the head. With --trafilatura the text is the article that trafilatura finds.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from lxml import etree
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

# lxml's compiled XPath on the tree Scrapy has already built. `response.xpath(...).getall()` makes a Selector object
# per text node and takes four times as long (1.2 against 0.3 ms a page) for the same text.
VISIBLE = etree.XPath("//body//text()[not(parent::script or parent::style or parent::noscript)]", smart_strings=False)
TITLE = etree.XPath("string(//head/title)", smart_strings=False)
DESCRIPTION = etree.XPath("string(//head/meta[@name='description']/@content)", smart_strings=False)
LANGUAGE = etree.XPath("string(/html/@lang)", smart_strings=False)
HREFS = etree.XPath("//a/@href", smart_strings=False)

SETTINGS: dict[str, Any] = {
    # As many requests in flight as everyone has, all to the one host, without any pause.
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    # Everyone asks robots.txt before every request.
    "ROBOTSTXT_OBEY": True,
    # Nothing that this task does not need: no log lines, no console, no cookies, no disk cache.
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "COOKIES_ENABLED": False,
    "HTTPCACHE_ENABLED": False,
    # No one here sends a Referer.
    "REFERER_ENABLED": False,
    # The asyncio reactor on uvloop, not slower than the default loop within the noise of four runs.
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    # Everything else, retries and the duplicate filter included, is as Scrapy ships it.
}


class Site(scrapy.Spider):
    name = "site"

    async def start(self) -> AsyncIterator[scrapy.Request]:
        # Not by `start_urls`, whose requests bypass the duplicate filter: the front page would be visited twice.
        yield scrapy.Request(self.url)

    def parse(self, response: Response) -> Iterator[Any]:
        root = response.selector.root
        hrefs = HREFS(root)
        yield {
            "url": response.url,
            "status": response.status,
            "content_type": response.headers.get("Content-Type", b"").decode(),
            "content_length": len(response.body),
            "title": TITLE(root),
            "description": DESCRIPTION(root),
            "language": LANGUAGE(root),
            **self.content(response),
            "links_count": len(hrefs),
            "depth": response.meta["depth"],
        }
        # A set: no link of this page is offered twice. Duplicates across pages are Scrapy's own filter's work.
        for url in {response.urljoin(href) for href in hrefs}:
            yield scrapy.Request(url)

    def content(self, response: Response) -> dict[str, str]:
        return _texts(" ".join(" ".join(VISIBLE(response.selector.root)).split()))


class SiteToRead(Site):
    """Leaves the text to the pipeline, and looks for none itself."""

    def content(self, response: Response) -> dict[str, str]:
        # Not the tree that Scrapy has built: trafilatura spends as long on it (30 ms a page here, parsing 0.5).
        return {"html": response.text}


class Trafilatura:
    """The pipeline: everything trafilatura finds, with metadata and otherwise as it comes."""

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        # Here, not above: the other forms are not to pay for it.
        from trafilatura import bare_extraction

        found = bare_extraction(item.pop("html"), url=item["url"], with_metadata=True)
        text = found.text if found is not None else ""
        about = {name: getattr(found, name, None) for name in ("author", "date", "sitename", "image")}
        return item | _texts(text) | about


def _texts(text: str) -> dict[str, str]:
    return {"content_hash": hashlib.sha256(text.encode()).hexdigest(), "text": text}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("out")
    parser.add_argument("--jobdir")
    parser.add_argument("--trafilatura", action="store_true")
    chosen = parser.parse_args()
    settings = SETTINGS | {"FEEDS": {chosen.out: {"format": "jsonlines", "encoding": "utf8"}}}
    if chosen.jobdir:
        settings["JOBDIR"] = chosen.jobdir
    if chosen.trafilatura:
        settings["ITEM_PIPELINES"] = {Trafilatura: 0}
    process = CrawlerProcess(settings)
    process.crawl(SiteToRead if chosen.trafilatura else Site, url=chosen.url)
    process.start()


if __name__ == "__main__":
    main()
