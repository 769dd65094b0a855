"""`tenax explain`: the life of a URL, every decision with its reason."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tenax.cli import location
from tenax.cli.parser import add_json
from tenax.errors import LedgerMissing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenax.cli.views.timeline import Explanation
    from tenax.config import Config, Sites
    from tenax.crawl.location import Place
    from tenax.database import Ledger
    from tenax.model import HostRecord
    from tenax.urls.normalize import WebUrl

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
    location.add_arguments(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.views.json_output import as_json
    from tenax.cli.views.tables import Ink, show
    from tenax.cli.views.timeline import told

    explanation = asyncio.run(_explained(*location.of_args(args, args.url), args.url))
    show([as_json(explanation)] if args.json else told(explanation, Ink.on(sys.stdout)))
    return 0


async def _explained(where: Place, config: Config, asked: str) -> Explanation:
    from tenax.crawl.wiring import open_ledger

    ledger = await open_ledger(where, read_only=True, config=config)
    try:
        return await explanation_of(ledger, asked)
    finally:
        await ledger.close()


async def explanation_of(ledger: Ledger, asked: str) -> Explanation:
    """All that can be said about this URL: what the ledger holds, and what the crawl's rules say to it."""
    from tenax.cli.link_search import search_links
    from tenax.cli.views.timeline import Explanation
    from tenax.cli.views.url_spelling import changes
    from tenax.clock import SteadyClock
    from tenax.config.site_settings import SITE_SETTINGS, decode_site_settings
    from tenax.crawl.rules import kept_rules
    from tenax.crawl.seed_check import allowed_in
    from tenax.text.masking import mask_url
    from tenax.urls.describe_admission import verdicts
    from tenax.urls.normalize import spelling_of
    from tenax.urls.seeds import seed_url

    rules = await kept_rules(ledger)
    if rules is None:
        raise LedgerMissing("this crawl has not begun: nobody gave it a URL yet; see `tenax seed` and `tenax crawl`")
    url = seed_url(asked, spelling_of(rules.urls))
    life, allowed = await ledger.life(url.url), await allowed_in(ledger)
    host = life.host if life is not None else await ledger.host(url.origin)
    sites = decode_site_settings(await ledger.recall(SITE_SETTINGS))
    found = await search_links(ledger, rules, sites, url.url) if life is None else None
    # A URL that nobody links to is judged as if a seed did.
    depth = life.depth if life is not None else found.depth if found is not None and found.depth is not None else 1
    return Explanation(
        asked=mask_url(asked),
        url=url.url,
        now=SteadyClock().now(),
        changes=changes(asked, url.url),
        is_seed=url.url in rules.seeds,
        life=life,
        depth=depth,
        links=found,
        cut_off=found.cut_off if found is not None else (),
        # A sitemap or a feed is no page: no rule for pages is asked.
        verdicts=tuple(verdicts(rules, url, depth)) if found is None or not found.is_url_list else (),
        host=host,
        robots_allows=_robots_allow(sites, host, url),
        is_private=url.origin not in allowed.origins and _is_private(url.host, allowed.networks),
    )


def _robots_allow(sites: Sites, host: HostRecord | None, url: WebUrl) -> bool | None:
    """What the stored robots.txt says to the crawl, by the name that it sends; None when it was never asked for."""
    from tenax.fetch.headers import robot_names
    from tenax.hosts.robots import matcher

    if host is None or host.robots is None:
        return None
    return matcher(host.robots, robot_names(sites.of_origin(url.origin).fetch)).allows(url.url)


def _is_private(host: str, networks: Sequence[str]) -> bool:
    """Whether the host is written as an address that only this machine or network has, and that the crawl's settings do
    not allow. Names are not looked up."""
    from tenax.fetch.addresses import address, is_public, network

    literal = address("127.0.0.1" if host == "localhost" or host.endswith(".localhost") else host.strip("[]"))
    return literal is not None and not is_public(literal, tuple(network(text) for text in networks))
