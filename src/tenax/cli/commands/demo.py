"""`tenax demo`: a website on this machine, with some bad manners, and a crawl of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import location, settings
from tenax.cli.parser import program
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.config import Loaded, Setting
    from tenax.demo import Site

NAME = "demo"
SENTENCE = "Crawl a built-in website on this machine. It takes half a minute, needs no internet, and shows everything."
EXAMPLES = """\
  tenax demo
  tenax demo --hosts 2 --pages 30
  tenax demo --out /tmp/demo && tenax status --out /tmp/demo
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", metavar="DIR", default="tenax-demo", help="directory of the crawl (default: tenax-demo)"
    )
    parser.add_argument(
        "--hosts", metavar="N", dest="host_count", type=int, default=6, help="how many hosts there are (default: 6)"
    )
    parser.add_argument("--pages", metavar="N", type=int, default=64, help="how many pages each has (default: 64)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress and no summary, only problems")
    settings.add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax.cli import run_crawl

    loaded = in_its_directory(settings.load(args, beneath=manners()))
    return run_crawl.run(_demonstrated(args, loaded))


def manners() -> dict[str, Setting]:
    """Faster than we would treat a stranger: the site is ours. What the user sets is stronger."""
    from tenax.config import Setting

    return {
        "politeness.rate_per_second": Setting(20.0, "tenax demo"),
        "fetch.total_timeout_seconds": Setting(5.0, "tenax demo"),
        # Where there are few hosts, each has the failures of many: it would be left alone for minutes.
        "hosts.budget_failures": Setting(1000, "tenax demo"),
    }


def in_its_directory(loaded: Loaded) -> Loaded:
    """Whatever servers a file or a variable names: a demo is kept here, and leaves nothing elsewhere."""
    import msgspec

    config, replace = loaded.config, msgspec.structs.replace
    config = replace(config, ledger=replace(config.ledger, url=""), hosts=replace(config.hosts, url=""))
    return replace(loaded, config=replace(config, events=replace(config.events, kafka="", redis="")))


async def _demonstrated(args: argparse.Namespace, loaded: Loaded) -> int:
    from tenax.cli import run_crawl
    from tenax.cli.options import Orders
    from tenax.crawl.location import Place
    from tenax.demo.process import DemoProcess

    out = Path(args.out)
    await _check_place(out)
    opening = [f"{args.host_count} small websites run on this machine now; some of them have bad manners"]
    if location.has_crawl(out):
        opening.append(f"the earlier demo is set aside, in {out}/previous-…")
    async with DemoProcess(site_of(args.host_count, args.pages)) as demo:
        orders = Orders(
            seeds=tuple(f"{origin}/" for origin in demo.origins),
            place=Place(out),
            is_fresh=True,  # the site has a new port every time: nothing of an earlier demo could go on
            is_quiet=args.quiet,
            program=program(),
            examples=examples(demo.origins),
            opening=tuple(opening),
        )
        return await run_crawl.crawl_and_tell(orders, loaded)


def site_of(hosts: int, pages: int) -> Site:
    """Whoever asks for a few hosts wants to be done sooner: what only takes time is left out there."""
    from tenax.demo import Site
    from tenax.demo.behaviours import HOMES

    return Site(hosts=hosts, pages_per_host=pages, manners="all" if hosts >= HOMES else "quick")


def examples(origins: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """URLs with a story; each host of the demo has its own bad manners."""
    first, third = origins[0], origins[2 % len(origins)]
    return (
        (f"{third}/moody", "failed twice, then stored"),
        (f"{third}/visit?utm_source=letter&sid=1", "one page in many spellings"),
        (f"{first}/private/accounts", "closed by robots.txt"),
    )


async def _check_place(out: Path) -> None:
    """Begin anew over an earlier demo, but never over a crawl of something else."""
    from tenax.crawl.location import Place
    from tenax.crawl.rules import kept_rules
    from tenax.crawl.wiring import open_ledger

    if not location.has_crawl(out):
        return
    ledger = await open_ledger(Place(out), read_only=True)
    try:
        rules = await kept_rules(ledger)
    finally:
        await ledger.close()
    if rules is not None and not all(seed.startswith("http://127.") for seed in rules.seeds):
        raise UsageError(f"{out} holds another crawl; choose another directory for the demo with --out")
