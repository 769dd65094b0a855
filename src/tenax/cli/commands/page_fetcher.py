"""`tenax page-fetcher`: takes URLs from a Redis list, writes pages to Redis and events to Kafka."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.cli.parser import add_json_argument
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.cli.output import TextStyle
    from tenax.config import Config
    from tenax.services.page_fetcher.status import FetcherStatus, HostStatus, QueueStatus

NAME = "page-fetcher"
DESCRIPTION = (
    "Fetch the URLs of a Redis list: pages go to Redis, events to Kafka. SIGTERM or Ctrl-C finishes the visits in "
    "flight and stops."
)
EXAMPLES = """\
  tenax page-fetcher
  tenax page-fetcher --redis redis://queue.example:6379 --kafka broker.example:9092
  PAGE_FETCHER_RATE_LIMIT_PER_SECOND=0.5 tenax page-fetcher --metrics-port 9464
  tenax page-fetcher status            queue, hosts and fetchers, and why nothing moves
"""
MAX_HOSTS_SHOWN = 20
"""Maximum hosts in the table. `--json` has more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("status",), metavar="status", help="show the state of the queue and exit"
    )
    add_json_argument(parser)
    parser.add_argument(
        "--redis", metavar="URL", dest="queue_redis", help="Redis for the queue and the pages (default: localhost)"
    )
    parser.add_argument("--kafka", metavar="HOST:PORT", help="Kafka for the events (default: localhost)")
    settings.add_monitoring_arguments(parser)
    settings.add_config_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax import logs
    from tenax.cli import run_crawl

    config = settings.load(args).config
    if args.action == "status":
        return _show_status(config, args.json)
    if args.json:
        raise UsageError("--json needs `tenax page-fetcher status`")
    logs.configure(config.log.level, config.log.format)
    run_crawl.run(_run_page_fetcher(config))
    return 0


async def _run_page_fetcher(config: Config) -> None:
    """Run the page-fetcher. Metrics are served from the start: while it waits for a server, it is alive but not
    ready."""
    from tenax.cli.run_service import StopSignal, open_when_available, stop_on_signals
    from tenax.logs import logger
    from tenax.metrics import PAGE_FETCHER_METRICS, run_metrics_server
    from tenax.services.page_fetcher.in_flight import PageFetcherMetrics
    from tenax.services.wiring import open_page_fetcher

    numbers, stopping, own = PageFetcherMetrics(), StopSignal(), config.page_fetcher
    seconds = f"{own.dead_after_seconds:g} seconds"
    with (
        run_metrics_server(numbers, PAGE_FETCHER_METRICS, config.metrics.port, config.metrics.host) as readiness,
        stop_on_signals(stopping.request, f"its URLs return to the queue within {seconds}", own.grace_seconds),
    ):
        app = await open_when_available(lambda: open_page_fetcher(config, numbers), stopping)
        if app is None:
            return
        try:
            readiness.is_ready = True
            logger("tenax.cli").info("page-fetcher started", queue=own.input_queue, topic=own.webpage_log_topic)
            stopping.set_handler(app.fetcher.stop)
            await app.fetcher.run()
        finally:
            await app.close()


def _show_status(config: Config, is_json: bool) -> int:
    import asyncio
    import sys

    from tenax.cli.output import TextStyle, print_lines, to_json
    from tenax.services.wiring import page_fetcher_status

    status = asyncio.run(page_fetcher_status(config))
    print_lines([to_json(status)] if is_json else format_status(status, TextStyle.for_stream(sys.stdout)))
    return 0


def format_status(status: QueueStatus, style: TextStyle) -> list[str]:
    """The summary, then the figures that it is based on."""
    from tenax.cli.output import format_pairs, format_table
    from tenax.cli.views.format_values import format_count
    from tenax.logs import sanitize_text

    facts = [
        ("queue", f"{format_count(status.queue_length)} URLs in {status.queue}"),
        ("in flight", format_count(status.in_flight)),
        ("to be retried", format_count(status.retried)),
        ("failed URLs", format_count(status.dead_letters)),
        ("last activity", status.last_activity or "none yet"),
    ]
    lines = [sanitize_text(status.summary), "", *format_pairs(facts, style)]
    if status.fetchers:
        rows = [_fetcher_row(fetcher) for fetcher in status.fetchers]
        lines += [
            "",
            *format_table(("page-fetcher", "in flight", "last heartbeat", "fetching"), rows, style, right_aligned=(1,)),
        ]
    if status.hosts:
        rows = [_host_row(host) for host in status.hosts[:MAX_HOSTS_SHOWN]]
        lines += ["", *format_table(("host", "URLs", "next request", "waits because"), rows, style, right_aligned=(1,))]
    if len(status.hosts) > MAX_HOSTS_SHOWN:
        lines += [f"  and {format_count(len(status.hosts) - MAX_HOSTS_SHOWN)} more hosts: --json has them"]
    if status.counted_urls < status.queue_length:
        lines += ["", f"The hosts are those of the first {format_count(status.counted_urls)} URLs of the queue."]
    return lines


def _fetcher_row(fetcher: FetcherStatus) -> tuple[str, str, str, str]:
    from tenax.cli.views.format_values import format_count
    from tenax.logs import sanitize_text

    seen = fetcher.last_heartbeat or "none: considered dead"
    return sanitize_text(fetcher.name), format_count(fetcher.in_flight), seen, sanitize_text(fetcher.url)


def _host_row(host: HostStatus) -> tuple[str, str, str, str]:
    from tenax.cli.views.format_values import format_count
    from tenax.logs import sanitize_text

    return sanitize_text(host.host), format_count(host.urls), host.until or "at its rate limit", sanitize_text(host.why)
