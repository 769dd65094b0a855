"""`tenax feed`: what a feed lists, as a table or JSON lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tenax.cli import settings
from tenax.cli.views import url_lists
from tenax.errors import NoSeedReachable, UsageError
from tenax.text.masking import mask_text, mask_url

if TYPE_CHECKING:
    from tenax.cli.views.tables import Ink
    from tenax.config import Config
    from tenax.discovery.feeds.read import Feed, FeedEntry
    from tenax.trace.fetch_many import Delivered, Errands
    from tenax.urls.normalize import WebUrl

NAME = "feed"
SENTENCE = (
    "List what a feed names: RSS, RDF, Atom, CDF or JSON Feed. Given a page, the feed that it names. Fetched as "
    "`tenax fetch` does, in the host's turn; nothing is written down."
)
EXAMPLES = """\
  tenax feed https://example.org/feed.xml
  tenax feed example.org                                 the feed that this page names
  tenax feed https://example.org/feed.xml --json --limit 20
"""

_LEAST_TITLE_COLUMNS = 24
_MOST_FEEDS_NAMED = 10


class Found(NamedTuple):
    """The feed that was read, and how it was come by."""

    url: str
    feed: Feed
    page: str = ""
    """Where it was named; empty when a person named it."""
    others: tuple[str, ...] = ()
    """What else that page names."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    url_lists.add_arguments(
        parser, url="a feed, or a page that names one", limit="show so many entries at most", line="entry"
    )


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax import logs
    from tenax.cli.views.tables import Ink, show
    from tenax.urls.normalize import spelling_of
    from tenax.urls.seeds import seed_url

    config = settings.load(args).config
    logs.configure("warning", config.log.format)
    found = asyncio.run(_found(seed_url(args.url, spelling_of(config.urls)), config))
    entries = found.feed.entries[: args.limit]
    show(_json(found.url, entries) if args.json else _table(found, entries, Ink.on(sys.stdout)))
    show(_ending(found, len(entries)), sys.stderr)
    return 0


# ---- where it comes from ----------------------------------------------------------------------------------


async def _found(url: WebUrl, config: Config) -> Found:
    from tenax.discovery.feeds.read import looks_like_feed
    from tenax.trace.fetch_many import errands

    async with errands(url, config, on_wait=_tell_of_waiting) as going:
        brought = await _brought(going, url)
        if looks_like_feed(brought.body, brought.content_type):
            return Found(brought.url, _read(brought))
        named = _named(brought, config)
        if not named:
            raise UsageError(f"{brought.url}: neither a feed nor a page that names one")
        first, *others = named
        feed = await _brought(going, first)
    return Found(feed.url, _read(feed), brought.url, tuple(other.url for other in others))


async def _brought(going: Errands, url: WebUrl) -> Delivered:
    from tenax.cli.views.format_visit import outcome_text
    from tenax.model import Fetched

    brought = await going.bring(url)
    if isinstance(brought.outcome, Fetched):
        return brought
    why = f"{brought.url}: {outcome_text(brought.outcome)}"
    raise UsageError(why) if url_lists.is_missing(brought.outcome) else NoSeedReachable(why)


def _read(brought: Delivered) -> Feed:
    from tenax.clock import SteadyClock
    from tenax.discovery.feeds.read import read_feed

    feed = read_feed(brought.body, brought.content_type, brought.url, SteadyClock().now())
    if not (feed.format or feed.entries):
        raise UsageError(f"{brought.url}: {'; '.join(feed.problems)}")
    return feed


def _named(page: Delivered, config: Config) -> list[WebUrl]:
    """The feeds that a page names in its head, absolute, each once."""
    from tenax.crawl.single_page import read
    from tenax.urls.normalize import normalize, spelling_of

    document = read(page.body, page.url, content_type=page.content_type or "")
    spelling = spelling_of(config.urls)
    found = (normalize(href, document.base_href or page.url, spelling) for href in document.feeds)
    return list({one.url: one for one in found if one is not None}.values())


def _tell_of_waiting(seconds: float) -> None:
    from tenax.cli.views.tables import show

    if seconds >= 1 and sys.stderr.isatty():
        show([f"{seconds:.0f} s until the host's turn"], sys.stderr)


# ---- what is shown ----------------------------------------------------------------------------------------


def _json(feed: str, entries: Sequence[FeedEntry]) -> Iterator[str]:
    """An entry and the feed it stands in; dates are seconds since the epoch."""
    import msgspec

    from tenax.cli.views.json_output import as_json

    for one in entries:
        seen = msgspec.structs.replace(one, link=mask_url(one.link), id=mask_text(one.id))
        yield as_json({"link": seen.link, "feed": feed, **msgspec.to_builtins(seen)}, indent=0)


def _table(found: Found, entries: Sequence[FeedEntry], ink: Ink) -> Iterator[str]:
    """A head that says which feed this is, then date, title and link of each entry."""
    from tenax.cli.views.tables import columns, plain, shortened, width

    title = f"“{plain(found.feed.title)}”, " if found.feed.title else ""
    yield ink.bold(plain(found.url))
    yield f"  {title}{found.feed.format or 'of no known format'}"
    shown = [mask_url(one.link) for one in entries]
    links = max(map(width, shown), default=0)
    room = max(columns() - url_lists.DATE_COLUMNS - links - 6, _LEAST_TITLE_COLUMNS)
    for one, link in zip(entries, shown, strict=True):
        words = shortened(plain(one.title), room)
        padding = " " * (room - width(words))
        date = (
            f"{url_lists.date(one.published if one.published is not None else one.updated):<{url_lists.DATE_COLUMNS}}"
        )
        yield f"  {ink.dim(date)}  {words}{padding}  {plain(link)}".rstrip()


def _ending(found: Found, shown: int) -> Iterator[str]:
    from tenax.cli.views.format_values import several
    from tenax.cli.views.tables import plain

    feed = found.feed
    some = f"{shown:,} of " if shown < len(feed.entries) else ""
    unlinked = sum(not one.link for one in feed.entries)
    problems = [*feed.problems, *([f"{_entries(unlinked)} without a link"] if unlinked else [])]
    told = f"; {several(len(problems), 'problem')}:" if problems else ""
    yield f"{some}{_entries(len(feed.entries))}{told}"
    yield from (f"  {plain(problem)}" for problem in problems)
    if found.page:
        yield f"read {plain(found.url)}, named by {plain(found.page)}"
    if feed.next_link:
        yield f"older entries: tenax feed {plain(mask_url(feed.next_link))}"
    if found.others:
        yield "the page names more feeds:"
        yield from (f"  {plain(other)}" for other in found.others[:_MOST_FEEDS_NAMED])


def _entries(number: int) -> str:
    return f"{number:,} {'entry' if number == 1 else 'entries'}"
