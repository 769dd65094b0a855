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
    settings.add_watching_arguments(parser)
    settings.add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax import logs
    from tenax.cli import running

    config = settings.load(args).config
    logs.configure(config.log.level, config.log.format)
    running.run(_fetch(config))
    return 0


async def _fetch(config: Config) -> None:
    """The exporter answers from the beginning: a fetcher that waits for a server is alive, and not ready."""
    from tenax.cli.signals import stopped_by_signals
    from tenax.logs import logger
    from tenax.metrics import PAGE_FETCHER_METRICS, serving
    from tenax.services.page_fetcher.numbers import PageFetcherNumbers
    from tenax.services.starting import Stopping, opened
    from tenax.wiring_services import open_page_fetcher

    numbers, stopping, own = PageFetcherNumbers(), Stopping(), config.page_fetcher
    with (
        serving(numbers, PAGE_FETCHER_METRICS, config.metrics.port, config.metrics.host) as readiness,
        stopped_by_signals(stopping.ask, "what it held goes back to the queue in two minutes"),
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
