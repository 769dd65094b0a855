"""`tenax sitemap`: the URLs in a site's sitemaps as a table or JSON lines. Its flags are shared with `tenax feed`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from tenax.cli import settings
from tenax.errors import NoSeedReachable, UsageError

if TYPE_CHECKING:
    from tenax.cli.output import TextStyle
    from tenax.config import Config
    from tenax.discovery.sitemaps.read import SitemapEntry
    from tenax.model import Outcome
    from tenax.trace.url_lists import ListedUrl, SitemapResult, SitemapWalk
    from tenax.urls.normalize import NormalizeOptions, WebUrl


DATE_COLUMNS = 16


def add_url_list_arguments(parser: argparse.ArgumentParser, *, url_help: str, limit_help: str, line_noun: str) -> None:
    """Add the arguments of a verb that lists URLs. `line_noun` names what one line of JSON contains."""
    parser.add_argument("url", metavar="URL", help=url_help)
    parser.add_argument("--limit", metavar="N", type=_positive_int, help=f"{limit_help} (default: all)")
    parser.add_argument("--json", action="store_true", help=f"print JSON lines, one {line_noun} per line")
    parser.add_argument("--proxy", metavar="URL", action="append", help="use this proxy; may be repeated")
    settings.add_config_arguments(parser)


def _positive_int(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:18])):
        raise argparse.ArgumentTypeError(f"`{text}` is not a number from 1")
    return int(text[:18])


def is_missing(outcome: Outcome) -> bool:
    """Whether the host responded that there is no such document."""
    from tenax.model import Failed, FailureKind, Rejected

    if isinstance(outcome, Failed):
        return outcome.kind in (FailureKind.NOT_FOUND, FailureKind.GONE)
    return isinstance(outcome, Rejected)


def format_date(at: float | None) -> str:
    """The date and time in UTC; only the date if the time is midnight, which means that only a date was given. Empty
    for None."""
    from datetime import UTC, datetime

    if at is None:
        return ""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d" if at % 86_400 == 0 else "%Y-%m-%d %H:%M")


NAME = "sitemap"
DESCRIPTION = (
    "List the URLs in a site's sitemaps. For the root of a site it reads the sitemaps in robots.txt, or else at the "
    "well-known paths; indexes are followed. Fetched like `tenax fetch`, with robots.txt and the rate limit; nothing "
    "is stored."
)
EXAMPLES = """\
  tenax sitemap https://example.org/
  tenax sitemap https://example.org/sitemap-news.xml.gz
  tenax sitemap example.org --json --limit 1000 > urls.jsonl
"""

_MAX_PROBLEMS_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_url_list_arguments(
        parser, url_help="the root of a site, or a sitemap", limit_help="stop after N URLs", line_noun="URL"
    )


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax import logs
    from tenax.urls.normalize import normalize_options
    from tenax.urls.scope import parse_seed

    config = settings.load(args).config
    logs.configure("warning", config.log.format)
    url = parse_seed(args.url, normalize_options(config.urls))
    return asyncio.run(_list_sitemaps(url, config, args.limit, is_json=args.json))


async def _list_sitemaps(url: WebUrl, config: Config, limit: int | None, *, is_json: bool) -> int:
    from tenax.cli.output import TextStyle
    from tenax.trace.url_lists import SitemapWalk, open_url_fetcher
    from tenax.urls.normalize import normalize_options

    progress = _Progress()
    printer = _SitemapPrinter(limit, normalize_options(config.urls), TextStyle.for_stream(sys.stdout), is_json=is_json)
    async with open_url_fetcher(url, config, on_wait=progress.on_wait) as fetcher:
        walk = SitemapWalk(url, fetcher, config, progress.on_sitemap)
        async for result in walk:
            progress.clear()
            printer.add_sitemap(result)
            if printer.is_full:
                break
    progress.clear()
    printer.print_summary(url, walk)
    return 0


class _Progress:
    """One line on a terminal that is redrawn. A site may have hundreds of sitemaps, which take a second each."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._line = ""

    def on_sitemap(self, url: str, number: int, known: int) -> None:
        self._line = f"sitemap {number:,} of {known:,}: {url}"
        self._draw(self._line)

    def on_wait(self, seconds: float) -> None:
        if seconds >= 1:
            self._draw(f"{seconds:.0f} s until the next request to the host; {self._line or 'robots.txt'}")

    def clear(self) -> None:
        self._draw("")

    def _draw(self, line: str) -> None:
        from tenax.cli.output import sanitize_text, terminal_width, truncate_middle

        if self._is_shown:
            sys.stderr.write(f"\r\x1b[K{truncate_middle(sanitize_text(line), terminal_width() - 1)}")
            sys.stderr.flush()


class _SitemapPrinter:
    """Prints each sitemap as it arrives, and counts for the summary."""

    def __init__(self, limit: int | None, spelling: NormalizeOptions, style: TextStyle, *, is_json: bool) -> None:
        self._limit = limit
        self._spelling = spelling
        self._style = style
        self._is_json = is_json
        self._url_count = 0
        self._sitemap_count = 0
        self._problems: list[str] = []
        self._failures: list[tuple[str, Outcome | None]] = []
        """Documents that are not sitemaps, and why. Without an outcome, the document was fetched but is not a
        sitemap."""

    @property
    def is_full(self) -> bool:
        return self._limit is not None and self._url_count >= self._limit

    def add_sitemap(self, result: SitemapResult) -> None:
        from tenax.cli.output import print_lines
        from tenax.cli.views.format_visit import outcome_text

        sitemap = result.sitemap
        if sitemap is None or sitemap.form == "none":
            why = outcome_text(result.outcome) if sitemap is None else "; ".join(sitemap.problems)
            self._failures.append((f"{result.url}: {why}", result.outcome if sitemap is None else None))
            return
        self._sitemap_count += 1
        self._problems += [f"{result.url}: {problem}" for problem in sitemap.problems]
        if sitemap.form != "index":
            listed = list(self._listed_urls(result, sitemap.entries))
            print_lines(map(self._format_json, listed) if self._is_json else self._format_urls(result, listed))

    def _listed_urls(self, result: SitemapResult, entries: tuple[SitemapEntry, ...]) -> Iterator[ListedUrl]:
        from tenax.cli.views.format_values import pluralize
        from tenax.trace.url_lists import ListedUrl
        from tenax.urls.normalize import normalize

        invalid = 0
        for entry in entries:
            if self.is_full:
                break
            found = normalize(entry.url, result.url, self._spelling)
            if found is None:
                invalid += 1
                continue
            self._url_count += 1
            alternates = (normalize(url, result.url, self._spelling) for url in entry.alternates)
            yield ListedUrl(
                found.url,
                result.url,
                entry.lastmod,
                changefreq=entry.changefreq,
                priority=entry.priority,
                alternates=tuple(one.url for one in alternates if one is not None),
                title=entry.title,
                published=entry.published,
            )
        if invalid:
            self._problems.append(f"{result.url}: it has {pluralize(invalid, 'invalid URL')}")

    def _format_json(self, listed: ListedUrl) -> str:
        from tenax.cli.output import to_json

        return to_json(listed, indent=0)

    def _format_urls(self, result: SitemapResult, listed: list[ListedUrl]) -> Iterator[str]:
        """The URL of the sitemap, and then a line for each URL with its last change."""
        from tenax.cli.output import sanitize_text

        via = f", listed in {sanitize_text(result.via)}" if result.via else ""
        yield f"{self._style.bold(sanitize_text(result.url))}{self._style.dim(via)}"
        for one in listed:
            date = f"{format_date(one.lastmod):<{DATE_COLUMNS}}"
            yield f"  {self._style.dim(date)}  {sanitize_text(one.url)}"

    # -- summary --------------------------------------------------------------------------------------------

    def print_summary(self, url: WebUrl, walk: SitemapWalk) -> None:
        from tenax.cli.output import print_lines, sanitize_text
        from tenax.cli.views.format_values import pluralize

        if not self._sitemap_count:
            self._raise_not_found(url)
        problems = [*(why for why, _ in self._failures), *self._problems]
        if walk.unread_count:
            problems.append(f"{pluralize(walk.unread_count, 'sitemap')} not read: too many, or nested too deeply")
        stopped = f", stopped at --limit {self._limit:,}" if self.is_full else ""
        heading = f"; {pluralize(len(problems), 'problem')}:" if problems else ""
        counts = f"{pluralize(self._url_count, 'URL')} in {pluralize(self._sitemap_count, 'sitemap')}"
        lines = [f"{counts}{stopped}{heading}"]
        lines += [f"  {sanitize_text(problem)}" for problem in problems[:_MAX_PROBLEMS_SHOWN]]
        if len(problems) > _MAX_PROBLEMS_SHOWN:
            lines.append(f"  and {len(problems) - _MAX_PROBLEMS_SHOWN:,} more")
        print_lines(lines, sys.stderr)

    def _raise_not_found(self, url: WebUrl) -> NoReturn:
        """Raise the error for "no sitemap". Its exit code is 3 if a host was unreachable, else 2."""
        why = "; ".join(dict.fromkeys(why for why, _ in self._failures))
        if any(outcome is not None and not is_missing(outcome) for _, outcome in self._failures):
            raise NoSeedReachable(why)
        whole = f"; for all of the site: tenax sitemap {url.origin}/" if url.path != "/" else ""
        raise UsageError(f"no sitemap found: {why}{whole}")
