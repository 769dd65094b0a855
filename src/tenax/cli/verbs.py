"""What the program can do, in the order of `tenax --help`."""

from __future__ import annotations

from tenax.cli import config, crawl, dead_letters, demo, explain, export, fetch, page_fetcher, schedule, status
from tenax.cli.parser import Verb

VERBS: tuple[Verb, ...] = (crawl, demo, explain, status, export, dead_letters, fetch, page_fetcher, schedule, config)
