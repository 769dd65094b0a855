"""`tenax page-fetcher`: URLs from a Redis list in, pages in Redis and events in Kafka out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.cli.parser import add_json
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.cli.views.tables import Ink
    from tenax.config import Config
    from tenax.services.page_fetcher.status import FetcherStatus, HostStatus, QueueStatus

NAME = "page-fetcher"
SENTENCE = "Fetch what a Redis list asks for: pages go to Redis, events to Kafka. SIGTERM or Ctrl-C ends it gently."
EXAMPLES = """\
  tenax page-fetcher
  tenax page-fetcher --redis redis://queue.example:6379 --kafka broker.example:9092
  PAGE_FETCHER_RATE_LIMIT_PER_SECOND=0.5 tenax page-fetcher --metrics-port 9464
  tenax page-fetcher status            the queue, its hosts and fetchers; and if nothing is moving: why
"""
MOST_SHOWN = 20
"""Hosts in the table; `--json` has more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("status",), metavar="status", help="show how the queue stands, and end"
    )
    add_json(parser)
    parser.add_argument("--redis", metavar="URL", help="Redis of the queue and the pages (default: localhost)")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="Kafka that events are sent to (default: localhost)")
    settings.add_watching_arguments(parser)
    settings.add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax import logs
    from tenax.cli import run_crawl

    config = settings.load(args).config
    if args.action == "status":
        return _show_status(config, args.json)
    if args.json:
        raise UsageError("--json goes with `tenax page-fetcher status`")
    logs.configure(config.log.level, config.log.format)
    run_crawl.run(_fetch(config))
    return 0


async def _fetch(config: Config) -> None:
    """The exporter answers from the beginning: a fetcher that waits for a server is alive, and not ready."""
    from tenax.cli.signals import stopped_by_signals
    from tenax.logs import logger
    from tenax.metrics import PAGE_FETCHER_METRICS, serving
    from tenax.services.page_fetcher.counters import PageFetcherNumbers
    from tenax.services.startup import Stopping, opened
    from tenax.services.wiring import open_page_fetcher

    numbers, stopping, own = PageFetcherNumbers(), Stopping(), config.page_fetcher
    seconds = f"{own.dead_after_seconds:g} seconds"
    with (
        serving(numbers, PAGE_FETCHER_METRICS, config.metrics.port, config.metrics.host) as readiness,
        stopped_by_signals(stopping.ask, f"what it held goes back to the queue in {seconds}", own.grace_seconds),
    ):
        app = await opened(lambda: open_page_fetcher(config, numbers), stopping)
        if app is None:
            return
        try:
            readiness.is_ready = True
            logger("tenax.cli").info("page-fetcher started", queue=own.input_queue, topic=own.webpage_log_topic)
            stopping.hand_over(app.fetcher.stop)
            await app.fetcher.run()
        finally:
            await app.close()


def _show_status(config: Config, is_json: bool) -> int:
    import asyncio
    import sys

    from tenax.cli.views.json_output import as_json
    from tenax.cli.views.tables import Ink, show
    from tenax.services.wiring import page_fetcher_status

    status = asyncio.run(page_fetcher_status(config))
    show([as_json(status)] if is_json else status_lines(status, Ink.on(sys.stdout)))
    return 0


def status_lines(status: QueueStatus, ink: Ink) -> list[str]:
    """For a person: the answer first, then what it rests on."""
    from tenax.cli.views.format_values import count
    from tenax.cli.views.tables import pairs, table
    from tenax.logs import plain

    facts = [
        ("queue", f"{count(status.queue_length)} URLs in {status.queue}"),
        ("in flight", count(status.in_flight)),
        ("to be retried", count(status.retried)),
        ("dead letters", count(status.dead_letters)),
        ("last activity", status.last_activity or "none yet"),
    ]
    lines = [plain(status.sentence), "", *pairs(facts, ink)]
    if status.fetchers:
        rows = [_fetcher_row(fetcher) for fetcher in status.fetchers]
        lines += ["", *table(("page-fetcher", "holds", "last sign of life", "fetches"), rows, ink, right=(1,))]
    if status.hosts:
        rows = [_host_row(host) for host in status.hosts[:MOST_SHOWN]]
        lines += ["", *table(("host", "URLs", "asked again", "why it waits"), rows, ink, right=(1,))]
    if len(status.hosts) > MOST_SHOWN:
        lines += [f"  and {count(len(status.hosts) - MOST_SHOWN)} more hosts: --json has them"]
    if status.looked_at < status.queue_length:
        lines += ["", f"Hosts are those of the first {count(status.looked_at)} URLs of the queue."]
    return lines


def _fetcher_row(fetcher: FetcherStatus) -> tuple[str, str, str, str]:
    from tenax.cli.views.format_values import count
    from tenax.logs import plain

    seen = fetcher.last_sign_of_life or "none: counts as dead"
    return plain(fetcher.name), count(fetcher.held), seen, plain(fetcher.url)


def _host_row(host: HostStatus) -> tuple[str, str, str, str]:
    from tenax.cli.views.format_values import count
    from tenax.logs import plain

    return plain(host.host), count(host.urls), host.until or "at its pace", plain(host.why)
