"""One module per verb: its name, arguments and `run`. `VERBS` has them in the order of `tenax --help`."""

from __future__ import annotations

from tenax.cli.commands import (
    config,
    crawl,
    db,
    dead_letters,
    demo,
    explain,
    export,
    feed,
    fetch,
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
    *(seed, worker, recover, db, page_fetcher, schedule, config),
)
