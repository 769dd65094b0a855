"""`tenax worker`: one of many that crawl into a ledger on a server."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from tenax.cli import location, settings
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.config import Config

NAME = "worker"
SENTENCE = (
    "Crawl what waits in a ledger on a server, beside any number of other workers. Runs until it is stopped; "
    "SIGTERM or Ctrl-C ends it gently. A server that is away is waited for."
)
EXAMPLES = """\
  tenax worker --ledger postgresql://tenax@db.example/tenax --hosts redis://cache.example
  TENAX_LEDGER_URL=postgresql://… TENAX_HOSTS_URL=redis://… tenax worker --metrics-port 9464
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    location.add_ledger(parser)
    parser.add_argument("--hosts", metavar="URL", help="turns shared by all workers: redis://host:6379/0")
    parser.add_argument("--concurrency", metavar="N", help="visits in flight, all hosts together (default: 256)")
    settings.add_watching_arguments(parser)
    settings.add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax import logs
    from tenax.cli import run_crawl

    config = settings.load(args).config
    if not config.ledger.url:
        raise UsageError("a worker needs a ledger on a server: --ledger postgresql://host/database, or ledger.url")
    logs.configure(config.log.level, config.log.format)
    run_crawl.run(_work(config))
    return 0


async def _work(config: Config) -> None:
    """The exporter answers from the beginning: a worker that waits for a server is alive, and not ready."""
    from tenax.cli.signals import stopped_by_signals
    from tenax.logs import logger
    from tenax.metrics import METRICS, serving
    from tenax.services.startup import Stopping, opened
    from tenax.services.wiring import open_worker
    from tenax.services.worker import Counting

    counting, stopping = Counting(), Stopping()
    seconds = f"{config.ledger.dead_after_seconds:g} seconds"
    with (
        serving(counting.metrics, METRICS, config.metrics.port, config.metrics.host) as readiness,
        stopped_by_signals(stopping.ask, f"others take over what it held in {seconds}", config.worker.grace_seconds),
    ):
        worker = await opened(lambda: open_worker(config, counting), stopping)
        if worker is None:
            return
        try:
            readiness.is_ready = True
            _tell(config)
            worker.own_process(os._exit)
            stopping.hand_over(worker.stop)
            await worker.run()
            logger("tenax.cli").info("worker stopped")
        finally:
            await worker.close()


def _tell(config: Config) -> None:
    from tenax.crawl.location import place_of
    from tenax.logs import logger

    log = logger("tenax.cli")
    log.info("worker started", ledger=place_of(config, None).name)
    if not config.hosts.url:
        log.info("hosts.url names no Redis: a host is asked by one worker at a time, addresses are not shared")
