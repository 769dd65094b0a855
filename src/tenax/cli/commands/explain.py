"""`tenax explain`: the history of a URL, every decision with its reason."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.cli.parser import add_json_argument
from tenax.errors import DatabaseNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenax.cli.views.timeline import Explanation
    from tenax.config import Config, Sites
    from tenax.crawl.location import Location
    from tenax.database import Records
    from tenax.model import HostRecord
    from tenax.urls.normalize import WebUrl

NAME = "explain"
DESCRIPTION = (
    "Explain what happened to a URL, or why it is missing. Shows where it was found, each decision and visit, and what "
    "it waits for. For a URL that was never admitted, shows the rule that refuses it."
)
EXAMPLES = """\
  tenax explain https://example.org/missing
  tenax explain 'https://example.org/?utm_source=x' --dir tenax-example.org
  tenax explain https://example.org/ --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="any URL, as copied from a browser or a page")
    settings.add_crawl_arguments(parser)
    add_json_argument(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax.cli.output import TextStyle, print_lines, to_json
    from tenax.cli.views.timeline import format_timeline

    explanation = asyncio.run(_load_explanation(*settings.resolve_crawl(args, args.url), args.url))
    print_lines([to_json(explanation)] if args.json else format_timeline(explanation, TextStyle.for_stream(sys.stdout)))
    return 0


async def _load_explanation(location: Location, config: Config, typed_url: str) -> Explanation:
    from tenax.crawl.wiring import open_database

    database = await open_database(location, read_only=True, config=config)
    try:
        return await explain_url(database, typed_url)
    finally:
        await database.close()


async def explain_url(records: Records, typed_url: str) -> Explanation:
    """Everything known about this URL: its database records, and the verdicts of the crawl's rules."""
    from tenax.cli.views.format_values import describe_normalization
    from tenax.cli.views.timeline import Explanation
    from tenax.clock import SteadyClock
    from tenax.config.sites import SITE_SETTINGS, decode_site_settings
    from tenax.crawl.cut_offs import search_links
    from tenax.crawl.rules import load_rules
    from tenax.crawl.seeds import load_allowed
    from tenax.text.sanitize import mask_url
    from tenax.urls.describe_admission import rule_verdicts
    from tenax.urls.normalize import normalize_options
    from tenax.urls.scope import parse_seed

    rules = await load_rules(records)
    if rules is None:
        raise DatabaseNotFound("this crawl has no seeds yet; see `tenax seed` and `tenax crawl`")
    url = parse_seed(typed_url, normalize_options(rules.urls))
    history, allowed = await records.url_history(url.url), await load_allowed(records)
    host = history.host if history is not None else await records.host(url.origin)
    sites = decode_site_settings(await records.get_meta(SITE_SETTINGS))
    found = await search_links(records, rules, sites, url.url) if history is None else None
    # If nothing links to the URL, it is judged as if a seed linked to it.
    depth = (
        history.depth if history is not None else found.depth if found is not None and found.depth is not None else 1
    )
    return Explanation(
        typed_url=mask_url(typed_url),
        url=url.url,
        now=SteadyClock().now(),
        normalization_changes=describe_normalization(typed_url, url.url),
        is_seed=url.url in rules.seeds,
        history=history,
        depth=depth,
        links=found,
        cut_off=found.cut_off if found is not None else (),
        # The rules for pages do not apply to a sitemap or a feed.
        verdicts=tuple(rule_verdicts(rules, url, depth)) if found is None or not found.is_url_list else (),
        host=host,
        robots_allows=_is_allowed_by_robots(sites, host, url),
        is_private=url.origin not in allowed.origins and _is_private(url.host, allowed.networks),
    )


def _is_allowed_by_robots(sites: Sites, host: HostRecord | None, url: WebUrl) -> bool | None:
    """The verdict of the stored robots.txt for our User-Agent; None if robots.txt was never fetched."""
    from tenax.fetch.headers import robot_names
    from tenax.hosts.robots import robots_rules

    if host is None or host.robots is None:
        return None
    return robots_rules(host.robots, robot_names(sites.for_origin(url.origin).fetch)).can_fetch(url.url)


def _is_private(host: str, networks: Sequence[str]) -> bool:
    """Whether the host is written as a private address that the settings of the crawl do not allow.

    Names are not resolved.
    """
    from tenax.fetch.addresses import is_public, parse_address, parse_network

    literal = parse_address("127.0.0.1" if host == "localhost" or host.endswith(".localhost") else host.strip("[]"))
    return literal is not None and not is_public(literal, tuple(parse_network(text) for text in networks))
