"""Crawlee for Python at its fastest on this task: `python crawlee_peer.py URL OUT.jsonl`.

Run in .venv-peers, without anything of Tenax. The fields are those `bench/crawl.py` asks of everyone.

Chosen by measuring 500 pages of this site, three runs each, median CPU seconds: ParselCrawler 5.3,
BeautifulSoupCrawler 14.0; the default HTTP client (impit) 5.3, httpx 6.0, curl-impersonate 6.2. uvloop made no
difference beyond the noise, so the loop is the default one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sys
from pathlib import Path

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient
from lxml import etree

# lxml's compiled XPath on the tree Crawlee has already built, for the same reason as in scrapy_peer.py.
VISIBLE = etree.XPath("//body//text()[not(parent::script or parent::style or parent::noscript)]", smart_strings=False)
TITLE = etree.XPath("string(//head/title)", smart_strings=False)
DESCRIPTION = etree.XPath("string(//head/meta[@name='description']/@content)", smart_strings=False)
LANGUAGE = etree.XPath("string(/html/@lang)", smart_strings=False)
LINKS = etree.XPath("count(//a/@href)")


async def crawl(url: str, out: Path) -> None:
    crawler = ParselCrawler(
        # Nothing of the crawl is kept on disk: Crawlee's fastest storage.
        storage_client=MemoryStorageClient(),
        # As many requests in flight as everyone has, from the start, without a limit per minute.
        concurrency_settings=ConcurrencySettings(min_concurrency=64, max_concurrency=64, desired_concurrency=64),
        respect_robots_txt_file=True,
        # No one here searches the pages for signs of being blocked.
        retry_on_blocked=False,
        # No log lines; the statistics that it would log anyway once a minute are cheap.
        configure_logging=False,
    )
    with out.open("w", encoding="utf-8") as file:

        @crawler.router.default_handler
        async def handle(context: ParselCrawlingContext) -> None:
            root = context.selector.root
            text = " ".join(" ".join(VISIBLE(root)).split())
            page = {
                "url": context.request.loaded_url,
                "status": context.http_response.status_code,
                "content_type": context.http_response.headers.get("content-type", ""),
                "content_length": len(await context.http_response.read()),
                "content_hash": hashlib.sha256(text.encode()).hexdigest(),
                "title": TITLE(root),
                "description": DESCRIPTION(root),
                "language": LANGUAGE(root),
                "text": text,
                "links_count": int(LINKS(root)),
                "depth": context.request.crawl_depth,
            }
            # Written here and not by way of Crawlee's dataset, which has no JSONL and would only add work.
            file.write(json.dumps(page, ensure_ascii=False) + "\n")
            await context.enqueue_links()

        await crawler.run([url])


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)
    asyncio.run(crawl(sys.argv[1], Path(sys.argv[2])))
