"""`tenax schedule`: sends URLs to the queue of the page-fetcher, each at its own interval."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenax.cli import settings
from tenax.errors import ConfigError

if TYPE_CHECKING:
    from tenax.config import Config

NAME = "schedule"
DESCRIPTION = "Put the URLs of a YAML file into the queue of the page-fetcher. Each URL is sent once per interval."
EXAMPLES = """\
  tenax schedule seeds.yaml
  tenax schedule seeds.yaml --once
  tenax schedule seeds.yaml --redis redis://queue.example:6379
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="YAML: a list `seeds` of `url` or `urls` with `every`")
    parser.add_argument("--once", action="store_true", help="send the URLs that are due, and exit")
    parser.add_argument("--redis", metavar="URL", dest="queue_redis", help="Redis for the queue (default: localhost)")
    settings.add_log_arguments(parser)
    settings.add_config_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax import logs
    from tenax.cli import run_crawl

    config = settings.load(args).config
    document = _load_yaml(Path(args.file))
    logs.configure(config.log.level, config.log.format)
    run_crawl.run(_run_schedule(document, args.file, config, is_once=args.once))
    return 0


def _load_yaml(file: Path) -> Any:
    try:
        import yaml
    except ImportError:
        raise ConfigError('a schedule needs an extra: pip install "tenax[schedule]"') from None
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{file}: no such file; give the path of a YAML file") from None
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where is not None else ""
        raise ConfigError(f"{file}: not valid YAML{line}") from None


async def _run_schedule(document: Any, file: str, config: Config, *, is_once: bool) -> None:
    from tenax.cli.run_service import StopSignal, open_when_available, stop_on_signals
    from tenax.services.scheduler import parse_schedule
    from tenax.services.wiring import open_scheduler

    seeds, stopping = parse_schedule(document, file), StopSignal()
    if is_once:
        scheduler, close = await open_scheduler(seeds, config)
        try:
            await scheduler.send_due_seeds()
        finally:
            await close()
        return
    with stop_on_signals(stopping.request, "the send times are stored"):
        ready = await open_when_available(lambda: open_scheduler(seeds, config), stopping)
        if ready is None:
            return
        scheduler, close = ready
        try:
            stopping.set_handler(scheduler.stop)
            await scheduler.run()
        finally:
            await close()
