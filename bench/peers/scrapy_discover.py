"""Scrapy with all it has for discovery: `python scrapy_discover.py OUT.jsonl DEPTH URL...`, one URL for each host.

Its SitemapSpider reads robots.txt and /sitemap.xml of every host, and from each page it gets, links are followed as a
CrawlSpider does, by a LinkExtractor. Run in .venv-peers, without anything of Tenax.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import SitemapSpider

SETTINGS: dict[str, Any] = {
    # As many in flight as Tenax has, 16 for each of six hosts, and no pause.
    "CONCURRENT_REQUESTS": 96,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    # Nothing that this task does not need.
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "COOKIES_ENABLED": False,
    "REFERER_ENABLED": False,
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    # Breadth first, as the documentation has it. Otherwise pages are first met at the end of long ways, where the limit
    # of depth cuts off what they link to: one in a hundred linked pages was lost.
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    # Without DEPTH_LIMIT, given below, it would never come back from the places that have no end.
}


class Discover(SitemapSpider):
    name = "discover"
    links = LinkExtractor()

    async def start(self) -> AsyncIterator[Any]:
        for url in self.homes:
            yield scrapy.Request(url, self.parse)
        async for request in super().start():
            yield request

    def parse(self, response: Response) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            return
        yield {"url": response.url, "title": response.xpath("string(//title)").get()}
        for link in self.links.extract_links(response):
            if link.url.startswith(self.homes):
                yield scrapy.Request(link.url, self.parse)


def main() -> None:
    out, depth, *homes = sys.argv[1:]
    settings = SETTINGS | {"DEPTH_LIMIT": int(depth), "FEEDS": {out: {"format": "jsonlines"}}}
    documents = [home + name for home in homes for name in ("robots.txt", "sitemap.xml")]
    process = CrawlerProcess(settings)
    process.crawl(Discover, homes=tuple(homes), sitemap_urls=documents)
    process.start()


if __name__ == "__main__":
    main()
