"""`tenax worker`: one of many processes that crawl with a database on a server."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.config import Config

NAME = "worker"
DESCRIPTION = (
    "Crawl with a database on a server, together with other workers. Runs until stopped; SIGTERM or Ctrl-C finishes "
    "the visits in flight. Waits for servers that are unavailable."
)
EXAMPLES = """\
  tenax worker --database postgresql://tenax@db.example/tenax --redis redis://cache.example
  TENAX_DATABASE_URL=postgresql://… TENAX_REDIS_URL=redis://… tenax worker --metrics-port 9464
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    settings.add_database_argument(parser)
    parser.add_argument("--redis", metavar="URL", help="share rate limits between workers: redis://host:6379/0")
    parser.add_argument("--concurrency", metavar="N", help="concurrent visits, all hosts together (default: 256)")
    settings.add_monitoring_arguments(parser)
    settings.add_config_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax import logs
    from tenax.cli import run_crawl

    config = settings.load(args).config
    if not config.database.url:
        raise UsageError(
            "a worker needs a database on a server: --database postgresql://host/database, or database.url"
        )
    logs.configure(config.log.level, config.log.format)
    run_crawl.run(_run_worker(config))
    return 0


async def _run_worker(config: Config) -> None:
    """Run the worker. Metrics are served from the start: while it waits for a server, it is alive but not ready."""
    from tenax.cli.run_service import StopSignal, open_when_available, stop_on_signals
    from tenax.logs import logger
    from tenax.metrics import METRICS, Metrics, run_metrics_server
    from tenax.services.wiring import open_worker

    counting, stopping = Metrics(), StopSignal()
    seconds = f"{config.database.dead_after_seconds:g} seconds"
    with (
        run_metrics_server(counting, METRICS, config.metrics.port, config.metrics.host) as readiness,
        stop_on_signals(
            stopping.request, f"other workers take over its hosts within {seconds}", config.worker.grace_seconds
        ),
    ):
        worker = await open_when_available(lambda: open_worker(config, counting), stopping)
        if worker is None:
            return
        try:
            readiness.is_ready = True
            _log_start(config)
            worker.set_exit_handler(os._exit)
            stopping.set_handler(worker.stop)
            await worker.run()
            logger("tenax.cli").info("worker stopped")
        finally:
            await worker.close()


def _log_start(config: Config) -> None:
    from tenax.crawl.location import crawl_location
    from tenax.logs import logger

    log = logger("tenax.cli")
    log.info("worker started", database=crawl_location(config, None).name)
    if not config.redis.url:
        log.info("no redis.url: one worker per host at a time, per-address limits are not shared")
