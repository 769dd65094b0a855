"""`tenax demo`: start websites with bad behaviour on this machine and crawl them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.cli.parser import program_name
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.config import LoadedConfig, SettingValue
    from tenax.demo import Site

NAME = "demo"
DESCRIPTION = "Crawl built-in websites on this machine. It takes half a minute and needs no internet."
EXAMPLES = """\
  tenax demo
  tenax demo --hosts 2 --pages 30
  tenax demo --dir /tmp/demo && tenax status --dir /tmp/demo
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-C", "--dir", metavar="DIR", default="tenax-demo", help="directory of the crawl (default: tenax-demo)"
    )
    parser.add_argument(
        "--hosts", metavar="N", dest="host_count", type=int, default=6, help="number of hosts (default: 6)"
    )
    parser.add_argument("--pages", metavar="N", type=int, default=64, help="pages of each host (default: 64)")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress and no summary, only problems")
    settings.add_config_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax.cli import run_crawl

    loaded = disable_servers(settings.load(args, default_overrides=demo_settings()))
    return run_crawl.run(_run_demo(args, loaded))


def demo_settings() -> dict[str, SettingValue]:
    """Defaults of the demo. They are faster than those for real sites. The user's settings override them."""
    from tenax.config import SettingValue

    return {
        "politeness.rate_per_second": SettingValue(20.0, "tenax demo"),
        "fetch.total_timeout_seconds": SettingValue(5.0, "tenax demo"),
        # With few hosts, each host has the failures of several, and would back off for minutes.
        "hosts.budget_failures": SettingValue(1000, "tenax demo"),
    }


def disable_servers(loaded: LoadedConfig) -> LoadedConfig:
    """Ignore servers that a file or a variable names: a demo writes only to its directory."""
    import msgspec

    config, replace = loaded.config, msgspec.structs.replace
    config = replace(config, database=replace(config.database, url=""), redis=replace(config.redis, url=""))
    return replace(loaded, config=replace(config, events=replace(config.events, kafka="", redis="")))


async def _run_demo(args: argparse.Namespace, loaded: LoadedConfig) -> int:
    from tenax.cli import run_crawl
    from tenax.cli.options import CrawlOptions
    from tenax.crawl.location import Location
    from tenax.demo import DemoProcess

    out = Path(args.dir)
    await _check_directory(out)
    opening = [f"{args.host_count} small websites run on this machine now; some of them behave badly"]
    if settings.has_crawl(out):
        opening.append(f"the earlier demo was moved to {out}/previous-…")
    async with DemoProcess(demo_site(args.host_count, args.pages)) as demo:
        options = CrawlOptions(
            seeds=tuple(f"{origin}/" for origin in demo.origins),
            location=Location(out),
            is_restart=True,  # the site has a new port every time, so an earlier demo cannot be resumed
            is_quiet=args.quiet,
            program=program_name(),
            examples=example_urls(demo.origins),
            opening_notices=tuple(opening),
        )
        return await run_crawl.run_and_report(options, loaded)


def demo_site(hosts: int, pages: int) -> Site:
    """The demo site. With few hosts, slow behaviours are left out, so that the demo ends sooner."""
    from tenax.demo import Site
    from tenax.demo.behaviours import BEHAVIOUR_HOSTS

    return Site(hosts=hosts, pages_per_host=pages, behaviours="all" if hosts >= BEHAVIOUR_HOSTS else "quick")


def example_urls(origins: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """URLs worth explaining, each with what happened to it."""
    first, third = origins[0], origins[2 % len(origins)]
    return (
        (f"{third}/moody", "failed twice, then stored"),
        (f"{third}/visit?utm_source=letter&sid=1", "one page with many URLs"),
        (f"{first}/private/accounts", "closed by robots.txt"),
    )


async def _check_directory(out: Path) -> None:
    """Raise `UsageError` if the directory has a crawl that is not a demo."""
    from tenax.crawl.location import Location
    from tenax.crawl.rules import load_rules
    from tenax.crawl.wiring import open_database

    if not settings.has_crawl(out):
        return
    database = await open_database(Location(out), read_only=True)
    try:
        rules = await load_rules(database)
    finally:
        await database.close()
    if rules is not None and not all(seed.startswith("http://127.") for seed in rules.seeds):
        raise UsageError(f"{out} holds another crawl; choose another directory for the demo with --dir")
