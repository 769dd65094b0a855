"""`tenax page-fetcher`: URLs from a Redis list in, pages in Redis and events in Kafka out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tenax.cli import settings

if TYPE_CHECKING:
    from tenax.config import Config

NAME = "page-fetcher"
SENTENCE = "Fetch what a Redis list asks for: pages go to Redis, events to Kafka. SIGTERM or Ctrl-C ends it gently."
EXAMPLES = """\
  tenax page-fetcher
  tenax page-fetcher --redis redis://queue.example:6379 --kafka broker.example:9092
  PAGE_FETCHER_RATE_LIMIT_PER_SECOND=0.5 tenax page-fetcher --metrics-port 9464
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--redis", metavar="URL", help="Redis of the queue and the pages (default: localhost)")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="Kafka that events are sent to (default: localhost)")
    parser.add_argument("--metrics-port", metavar="P", help="serve Prometheus metrics on this port of 127.0.0.1")
    parser.add_argument("--log-format", metavar="auto|text|json", help="how log lines look (default: auto)")
    parser.add_argument("--log-level", metavar="debug|info|warning|error", help="least important message shown")
    settings.add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax import logs
    from tenax.cli import running

    config = settings.load(args).config
    logs.configure(config.log.level, config.log.format)
    running.run(_fetch(config))
    return 0


async def _fetch(config: Config) -> None:
    from tenax import metrics
    from tenax.cli.signals import stopped_by_signals
    from tenax.logs import logger
    from tenax.wiring_services import open_page_fetcher

    log = logger("tenax.cli")
    app = await open_page_fetcher(config)
    server = None
    try:
        if config.metrics.port:
            table = metrics.PAGE_FETCHER_METRICS
            server = metrics.serve(app.fetcher.numbers, table, config.metrics.port, config.metrics.host)
        own = config.page_fetcher
        log.info("page-fetcher started", queue=own.input_queue, topic=own.webpage_log_topic)
        with stopped_by_signals(app.fetcher.stop, "what it held goes back to the queue in two minutes"):
            await app.fetcher.run()
    finally:
        if server is not None:
            server.close()
        await app.close()
