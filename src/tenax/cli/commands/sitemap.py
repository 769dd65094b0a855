"""`tenax sitemap`: what a site's sitemaps list, as a table or JSON lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from tenax.cli import settings
from tenax.cli.views import url_lists
from tenax.errors import NoSeedReachable, UsageError

if TYPE_CHECKING:
    from tenax.cli.views.tables import Ink
    from tenax.config import Config
    from tenax.discovery.sitemaps.read import SitemapEntry
    from tenax.model import Outcome
    from tenax.trace.sitemaps import ListedUrl, ReadSitemap, SitemapWalk
    from tenax.urls.normalize import Spelling, WebUrl

NAME = "sitemap"
SENTENCE = (
    "List what a site's sitemaps name. For the root of a site, those in its robots.txt, or else at the usual places; "
    "indexes are followed. Fetched as `tenax fetch` does, one after the other in the host's turn; nothing is written "
    "down."
)
EXAMPLES = """\
  tenax sitemap https://example.org/
  tenax sitemap https://example.org/sitemap-news.xml.gz
  tenax sitemap example.org --json --limit 1000 > urls.jsonl
"""

_MOST_PROBLEMS_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    url_lists.add_arguments(parser, url="the root of a site, or a sitemap", limit="stop after so many URLs", line="URL")


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax import logs
    from tenax.urls.normalize import spelling_of
    from tenax.urls.seeds import seed_url

    config = settings.load(args).config
    logs.configure("warning", config.log.format)
    url = seed_url(args.url, spelling_of(config.urls))
    return asyncio.run(_list(url, config, args.limit, is_json=args.json))


async def _list(url: WebUrl, config: Config, limit: int | None, *, is_json: bool) -> int:
    from tenax.cli.views.tables import Ink
    from tenax.trace.fetch_many import errands
    from tenax.trace.sitemaps import SitemapWalk
    from tenax.urls.normalize import spelling_of

    progress = _Progress()
    listing = _Listing(limit, spelling_of(config.urls), Ink.on(sys.stdout), is_json=is_json)
    async with errands(url, config, on_wait=progress.waits) as going:
        walk = SitemapWalk(url, going, config, progress.goes_on)
        async for read in walk:
            progress.clear()
            listing.take(read)
            if listing.is_full:
                break
    progress.clear()
    listing.close(url, walk)
    return 0


class _Progress:
    """One line on a terminal, written over again and again: a site may have hundreds of sitemaps, a second each."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._line = ""

    def goes_on(self, url: str, number: int, known: int) -> None:
        self._line = f"sitemap {number:,} of {known:,}: {url}"
        self._draw(self._line)

    def waits(self, seconds: float) -> None:
        if seconds >= 1:
            self._draw(f"{seconds:.0f} s until the host's turn; {self._line or 'robots.txt'}")

    def clear(self) -> None:
        self._draw("")

    def _draw(self, line: str) -> None:
        from tenax.cli.views.tables import columns, plain, shortened

        if self._is_shown:
            sys.stderr.write(f"\r\x1b[K{shortened(plain(line), columns() - 1)}")
            sys.stderr.flush()


class _Listing:
    """Shows each sitemap as it comes, and keeps count of what is to be said in the end."""

    def __init__(self, limit: int | None, spelling: Spelling, ink: Ink, *, is_json: bool) -> None:
        self._limit = limit
        self._spelling = spelling
        self._ink = ink
        self._is_json = is_json
        self._urls = 0
        self._sitemaps = 0
        self._problems: list[str] = []
        self._failures: list[tuple[str, Outcome | None]] = []
        """Why there was nothing to read in some; without an outcome: it is no sitemap."""

    @property
    def is_full(self) -> bool:
        return self._limit is not None and self._urls >= self._limit

    def take(self, read: ReadSitemap) -> None:
        from tenax.cli.views.format_visit import outcome_text
        from tenax.cli.views.tables import show

        sitemap = read.sitemap
        if sitemap is None or sitemap.form == "none":
            why = outcome_text(read.outcome) if sitemap is None else "; ".join(sitemap.problems)
            self._failures.append((f"{read.url}: {why}", read.outcome if sitemap is None else None))
            return
        self._sitemaps += 1
        self._problems += [f"{read.url}: {problem}" for problem in sitemap.problems]
        if sitemap.form != "index":
            listed = list(self._listed(read, sitemap.entries))
            show(map(self._json, listed) if self._is_json else self._table(read, listed))

    def _listed(self, read: ReadSitemap, entries: tuple[SitemapEntry, ...]) -> Iterator[ListedUrl]:
        from tenax.cli.views.format_values import several
        from tenax.trace.sitemaps import ListedUrl
        from tenax.urls.normalize import normalize

        nowhere = 0
        for entry in entries:
            if self.is_full:
                break
            found = normalize(entry.url, read.url, self._spelling)
            if found is None:
                nowhere += 1
                continue
            self._urls += 1
            near = (normalize(url, read.url, self._spelling) for url in entry.alternates)
            yield ListedUrl(
                found.url,
                read.url,
                entry.lastmod,
                entry.changefreq,
                entry.priority,
                tuple(one.url for one in near if one is not None),
                entry.title,
                entry.published,
            )
        if nowhere:
            self._problems.append(f"{read.url}: {several(nowhere, 'URL')} in it cannot be read")

    def _json(self, listed: ListedUrl) -> str:
        from tenax.cli.views.json_output import as_json

        return as_json(listed, indent=0)

    def _table(self, read: ReadSitemap, listed: list[ListedUrl]) -> Iterator[str]:
        """A head that says which sitemap this is, then a line for each URL with the time of its last change."""
        from tenax.cli.views.tables import plain

        via = f", named by {plain(read.via)}" if read.via else ""
        yield f"{self._ink.bold(plain(read.url))}{self._ink.dim(via)}"
        for one in listed:
            yield f"  {self._ink.dim(f'{url_lists.date(one.lastmod):<{url_lists.DATE_COLUMNS}}')}  {plain(one.url)}"

    # -- in the end -----------------------------------------------------------------------------------------

    def close(self, url: WebUrl, walk: SitemapWalk) -> None:
        from tenax.cli.views.format_values import several
        from tenax.cli.views.tables import plain, show

        if not self._sitemaps:
            self._complain(url)
        problems = [*(why for why, _ in self._failures), *self._problems]
        if walk.unread:
            problems.append(f"{several(walk.unread, 'sitemap')} not read: too many, or nested too deeply")
        stopped = f", stopped at --limit {self._limit:,}" if self.is_full else ""
        told = f"; {several(len(problems), 'problem')}:" if problems else ""
        lines = [f"{several(self._urls, 'URL')} in {several(self._sitemaps, 'sitemap')}{stopped}{told}"]
        lines += [f"  {plain(problem)}" for problem in problems[:_MOST_PROBLEMS_SHOWN]]
        if len(problems) > _MOST_PROBLEMS_SHOWN:
            lines.append(f"  and {len(problems) - _MOST_PROBLEMS_SHOWN:,} more")
        show(lines, sys.stderr)

    def _complain(self, url: WebUrl) -> NoReturn:
        """Nothing was found: exit code 3 when some host could not be asked, else 2."""
        why = "; ".join(dict.fromkeys(why for why, _ in self._failures))
        if any(outcome is not None and not url_lists.is_missing(outcome) for _, outcome in self._failures):
            raise NoSeedReachable(why)
        whole = f"; for all of the site: tenax sitemap {url.origin}/" if url.path != "/" else ""
        raise UsageError(f"no sitemap found: {why}{whole}")
