"""What the program can do, in the order of `tenax --help`."""

from __future__ import annotations

from tenax.cli import (
    config,
    crawl,
    dead_letters,
    demo,
    explain,
    export,
    feed,
    fetch,
    ledger,
    links,
    page_fetcher,
    read,
    recover,
    schedule,
    seed,
    sitemap,
    status,
    worker,
)
from tenax.cli.parser import Verb

VERBS: tuple[Verb, ...] = (
    *(crawl, demo, explain, status, export, links, dead_letters, fetch, read, sitemap, feed),
    *(seed, worker, recover, ledger, page_fetcher, schedule, config),
)
