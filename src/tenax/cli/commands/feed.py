"""`tenax feed`: the entries of a feed as a table or JSON lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tenax.cli import settings
from tenax.cli.commands import sitemap
from tenax.errors import NoSeedReachable, UsageError
from tenax.text.sanitize import mask_text, mask_url

if TYPE_CHECKING:
    from tenax.cli.output import TextStyle
    from tenax.config import Config
    from tenax.discovery.feeds.read import Feed, FeedEntry
    from tenax.trace.url_lists import FetchedDocument, UrlFetcher
    from tenax.urls.normalize import WebUrl

NAME = "feed"
DESCRIPTION = (
    "List the entries of a feed: RSS, RDF, Atom, CDF or JSON Feed. If the URL is a page, list the feed that it "
    "links to. Fetched like `tenax fetch`, with robots.txt and the rate limit; nothing is stored."
)
EXAMPLES = """\
  tenax feed https://example.org/feed.xml
  tenax feed example.org                                 the feed that this page links to
  tenax feed https://example.org/feed.xml --json --limit 20
"""

_MIN_TITLE_COLUMNS = 24
_MAX_FEEDS_SHOWN = 10


class FoundFeed(NamedTuple):
    """The feed that was read, and where it was found."""

    url: str
    feed: Feed
    page_url: str = ""
    """The page that links to the feed; empty if the URL is that of the feed itself."""
    other_feeds: tuple[str, ...] = ()
    """Other feeds that the page links to."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    sitemap.add_url_list_arguments(
        parser,
        url_help="a feed, or a page that links to one",
        limit_help="show at most N entries",
        line_noun="entry",
    )


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax import logs
    from tenax.cli.output import TextStyle, print_lines
    from tenax.urls.normalize import normalize_options
    from tenax.urls.scope import parse_seed

    config = settings.load(args).config
    logs.configure("warning", config.log.format)
    found = asyncio.run(_find_feed(parse_seed(args.url, normalize_options(config.urls)), config))
    entries = found.feed.entries[: args.limit]
    print_lines(
        _format_json(found.url, entries)
        if args.json
        else _format_entries(found, entries, TextStyle.for_stream(sys.stdout))
    )
    print_lines(_format_footer(found, len(entries)), sys.stderr)
    return 0


# ---- fetching ---------------------------------------------------------------------------------------------


async def _find_feed(url: WebUrl, config: Config) -> FoundFeed:
    from tenax.discovery.feeds.read import looks_like_feed
    from tenax.trace.url_lists import open_url_fetcher

    async with open_url_fetcher(url, config, on_wait=_show_wait) as fetcher:
        document = await _fetch_document(fetcher, url)
        if looks_like_feed(document.body, document.content_type):
            return FoundFeed(document.url, _parse_feed(document))
        linked = _linked_feeds(document, config)
        if not linked:
            raise UsageError(f"{document.url}: neither a feed nor a page that links to one")
        first, *others = linked
        feed = await _fetch_document(fetcher, first)
    return FoundFeed(feed.url, _parse_feed(feed), document.url, tuple(other.url for other in others))


async def _fetch_document(fetcher: UrlFetcher, url: WebUrl) -> FetchedDocument:
    from tenax.cli.views.format_visit import outcome_text
    from tenax.model import Fetched

    document = await fetcher.fetch(url)
    if isinstance(document.outcome, Fetched):
        return document
    why = f"{document.url}: {outcome_text(document.outcome)}"
    raise UsageError(why) if sitemap.is_missing(document.outcome) else NoSeedReachable(why)


def _parse_feed(document: FetchedDocument) -> Feed:
    from tenax.clock import SteadyClock
    from tenax.discovery.feeds.read import read_feed

    feed = read_feed(document.body, document.content_type, document.url, SteadyClock().now())
    if not (feed.format or feed.entries):
        raise UsageError(f"{document.url}: {'; '.join(feed.problems)}")
    return feed


def _linked_feeds(page: FetchedDocument, config: Config) -> list[WebUrl]:
    """The feeds that the head of a page links to: absolute URLs, each once."""
    from tenax.crawl.single_page import read
    from tenax.urls.normalize import normalize, normalize_options

    content = read(page.body, page.url, content_type=page.content_type or "")
    spelling = normalize_options(config.urls)
    found = (normalize(href, content.base_href or page.url, spelling) for href in content.feeds)
    return list({one.url: one for one in found if one is not None}.values())


def _show_wait(seconds: float) -> None:
    from tenax.cli.output import print_lines

    if seconds >= 1 and sys.stderr.isatty():
        print_lines([f"{seconds:.0f} s until the next request to the host"], sys.stderr)


# ---- output -----------------------------------------------------------------------------------------------


def _format_json(feed: str, entries: Sequence[FeedEntry]) -> Iterator[str]:
    """Each entry with the URL of its feed; dates are seconds since the epoch."""
    import msgspec

    from tenax.cli.output import to_json

    for one in entries:
        seen = msgspec.structs.replace(one, link=mask_url(one.link), id=mask_text(one.id))
        yield to_json({"link": seen.link, "feed": feed, **msgspec.to_builtins(seen)}, indent=0)


def _format_entries(found: FoundFeed, entries: Sequence[FeedEntry], style: TextStyle) -> Iterator[str]:
    """URL, title and format of the feed, then date, title and link of each entry."""
    from tenax.cli.output import display_width, sanitize_text, terminal_width, truncate_middle

    title = f"“{sanitize_text(found.feed.title)}”, " if found.feed.title else ""
    yield style.bold(sanitize_text(found.url))
    yield f"  {title}{found.feed.format or 'unknown format'}"
    shown = [mask_url(one.link) for one in entries]
    links = max(map(display_width, shown), default=0)
    room = max(terminal_width() - sitemap.DATE_COLUMNS - links - 6, _MIN_TITLE_COLUMNS)
    for one, link in zip(entries, shown, strict=True):
        words = truncate_middle(sanitize_text(one.title), room)
        padding = " " * (room - display_width(words))
        date = sitemap.format_date(one.published if one.published is not None else one.updated)
        yield f"  {style.dim(f'{date:<{sitemap.DATE_COLUMNS}}')}  {words}{padding}  {sanitize_text(link)}".rstrip()


def _format_footer(found: FoundFeed, shown: int) -> Iterator[str]:
    from tenax.cli.output import sanitize_text
    from tenax.cli.views.format_values import pluralize

    feed = found.feed
    some = f"{shown:,} of " if shown < len(feed.entries) else ""
    unlinked = sum(not one.link for one in feed.entries)
    problems = [*feed.problems, *([f"{_pluralize_entries(unlinked)} without a link"] if unlinked else [])]
    heading = f"; {pluralize(len(problems), 'problem')}:" if problems else ""
    yield f"{some}{_pluralize_entries(len(feed.entries))}{heading}"
    yield from (f"  {sanitize_text(problem)}" for problem in problems)
    if found.page_url:
        yield f"read {sanitize_text(found.url)}, linked from {sanitize_text(found.page_url)}"
    if feed.next_link:
        yield f"older entries: tenax feed {sanitize_text(mask_url(feed.next_link))}"
    if found.other_feeds:
        yield "the page links to more feeds:"
        yield from (f"  {sanitize_text(other)}" for other in found.other_feeds[:_MAX_FEEDS_SHOWN])


def _pluralize_entries(number: int) -> str:
    return f"{number:,} {'entry' if number == 1 else 'entries'}"
