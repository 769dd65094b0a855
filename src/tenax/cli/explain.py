"""`tenax explain`: the life of a URL, every decision with its reason."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tenax.cli import place
from tenax.cli.parser import add_json
from tenax.errors import LedgerMissing

if TYPE_CHECKING:
    from tenax.cli.story import Explanation
    from tenax.config import Config
    from tenax.ledger import Ledger
    from tenax.place import Place

NAME = "explain"
SENTENCE = (
    "Tell the life of a URL and why it is missing. Where it was found, each decision about it, what it waits for. "
    "For a URL the crawl never took, say which rule refuses it."
)
EXAMPLES = """\
  tenax explain https://example.org/missing
  tenax explain 'https://example.org/?utm_source=x' --out tenax-example.org
  tenax explain https://example.org/ --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="any URL, as it stands in a browser or a page")
    place.add_arguments(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.documents import as_json
    from tenax.cli.layout import Ink, show
    from tenax.cli.story import told

    explanation = asyncio.run(_explained(*place.of_args(args, args.url), args.url))
    show([as_json(explanation)] if args.json else told(explanation, Ink.on(sys.stdout)))
    return 0


async def _explained(where: Place, config: Config, asked: str) -> Explanation:
    from tenax.wiring import open_ledger

    ledger = await open_ledger(where, read_only=True, config=config)
    try:
        return await explanation_of(ledger, asked)
    finally:
        await ledger.close()


async def explanation_of(ledger: Ledger, asked: str) -> Explanation:
    """All that can be said about this URL: what the ledger holds, and what the crawl's rules say to it."""
    from tenax.cli.spelling import changes
    from tenax.cli.story import Explanation
    from tenax.clock import SteadyClock
    from tenax.logs import masked
    from tenax.rulebook import kept_rules
    from tenax.urls.normalize import spelling_of
    from tenax.urls.seeds import seed_url
    from tenax.urls.verdicts import verdicts

    rules = await kept_rules(ledger)
    if rules is None:
        raise LedgerMissing("this crawl has not begun: nobody gave it a URL yet; see `tenax seed` and `tenax crawl`")
    url = seed_url(asked, spelling_of(rules.urls))
    life = await ledger.life(url.url)
    host = life.host if life is not None else await ledger.host(url.origin)
    # A URL that was never taken is judged as if a seed linked to it.
    depth = life.depth if life is not None else 1
    return Explanation(
        asked=masked(asked),
        url=url.url,
        now=SteadyClock().now(),
        changes=changes(asked, url.url),
        is_seed=url.url in rules.seeds,
        life=life,
        verdicts=tuple(verdicts(rules, url, depth)),
        host=host,
        robots_allows=_robots_allow(host, url.url),
        is_private=_is_private(url.host) and not any(seed.startswith(f"{url.origin}/") for seed in rules.seeds),
    )


def _robots_allow(host: object, url: str) -> bool | None:
    """What the stored robots.txt says; None when it was never asked for."""
    from tenax.hosts.robots import matcher
    from tenax.model import HostRecord

    if not isinstance(host, HostRecord) or host.robots is None:
        return None
    return matcher(host.robots).allows(url)


def _is_private(host: str) -> bool:
    """Whether the host is written as an address that only this machine or network has. Names are not looked up."""
    from tenax.fetch.addresses import address, is_public

    literal = address(host.strip("[]"))
    if literal is None:
        return host == "localhost" or host.endswith(".localhost")
    return not is_public(literal)
