"""`tenax demo`: a website on this machine, with some bad behaviour, and a crawl of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import location, settings
from tenax.cli.parser import program_name
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.config import LoadedConfig, SettingValue
    from tenax.demo import Site

NAME = "demo"
DESCRIPTION = (
    "Crawl a built-in website on this machine. It takes half a minute, needs no internet, and shows everything."
)
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
        "--hosts", metavar="N", dest="host_count", type=int, default=6, help="how many hosts there are (default: 6)"
    )
    parser.add_argument("--pages", metavar="N", type=int, default=64, help="how many pages each has (default: 64)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress and no summary, only problems")
    settings.add_config_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax.cli import run_crawl

    loaded = disable_servers(settings.load(args, default_overrides=demo_settings()))
    return run_crawl.run(_run_demo(args, loaded))


def demo_settings() -> dict[str, SettingValue]:
    """Faster than we would treat a stranger: the site is ours. What the user sets is stronger."""
    from tenax.config import SettingValue

    return {
        "politeness.rate_per_second": SettingValue(20.0, "tenax demo"),
        "fetch.total_timeout_seconds": SettingValue(5.0, "tenax demo"),
        # Where there are few hosts, each has the failures of many: it would be left alone for minutes.
        "hosts.budget_failures": SettingValue(1000, "tenax demo"),
    }


def disable_servers(loaded: LoadedConfig) -> LoadedConfig:
    """Whatever servers a file or a variable names: a demo is kept here, and leaves nothing elsewhere."""
    import msgspec

    config, replace = loaded.config, msgspec.structs.replace
    config = replace(config, database=replace(config.database, url=""), hosts=replace(config.hosts, url=""))
    return replace(loaded, config=replace(config, events=replace(config.events, kafka="", redis="")))


async def _run_demo(args: argparse.Namespace, loaded: LoadedConfig) -> int:
    from tenax.cli import run_crawl
    from tenax.cli.options import CrawlOptions
    from tenax.crawl.location import Location
    from tenax.demo.process import DemoProcess

    out = Path(args.dir)
    await _check_directory(out)
    opening = [f"{args.host_count} small websites run on this machine now; some of them have bad behaviour"]
    if location.has_crawl(out):
        opening.append(f"the earlier demo is set aside, in {out}/previous-…")
    async with DemoProcess(demo_site(args.host_count, args.pages)) as demo:
        options = CrawlOptions(
            seeds=tuple(f"{origin}/" for origin in demo.origins),
            location=Location(out),
            is_restart=True,  # the site has a new port every time: nothing of an earlier demo could go on
            is_quiet=args.quiet,
            program=program_name(),
            examples=example_urls(demo.origins),
            opening_notices=tuple(opening),
        )
        return await run_crawl.run_and_report(options, loaded)


def demo_site(hosts: int, pages: int) -> Site:
    """Whoever asks for a few hosts wants to be done sooner: what only takes time is left out there."""
    from tenax.demo import Site
    from tenax.demo.behaviours import BEHAVIOUR_HOSTS

    return Site(hosts=hosts, pages_per_host=pages, behaviours="all" if hosts >= BEHAVIOUR_HOSTS else "quick")


def example_urls(origins: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """URLs with a story; each host of the demo has its own bad behaviour."""
    first, third = origins[0], origins[2 % len(origins)]
    return (
        (f"{third}/moody", "failed twice, then stored"),
        (f"{third}/visit?utm_source=letter&sid=1", "one page in many spellings"),
        (f"{first}/private/accounts", "closed by robots.txt"),
    )


async def _check_directory(out: Path) -> None:
    """Begin anew over an earlier demo, but never over a crawl of something else."""
    from tenax.crawl.location import Location
    from tenax.crawl.rules import load_rules
    from tenax.crawl.wiring import open_database

    if not location.has_crawl(out):
        return
    database = await open_database(Location(out), read_only=True)
    try:
        rules = await load_rules(database)
    finally:
        await database.close()
    if rules is not None and not all(seed.startswith("http://127.") for seed in rules.seeds):
        raise UsageError(f"{out} holds another crawl; choose another directory for the demo with --dir")
