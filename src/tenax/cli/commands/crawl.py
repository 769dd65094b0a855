"""`tenax crawl`: crawl sites, or resume a crawl."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.cli.parser import program_name
from tenax.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenax.config import LoadedConfig, UrlsConfig
    from tenax.crawl.location import Location

NAME = "crawl"
DESCRIPTION = "Crawl sites into a directory, or resume a crawl. The same command resumes where the last run stopped."
EXAMPLES = """\
  tenax crawl https://example.org
  tenax crawl https://example.org/docs/ --scope prefix --exclude '*/tag/*' --rate 2 --dir example
  tenax crawl --dir example                     resume with the stored seeds and settings
  tenax crawl https://example.org --database postgresql://tenax@db.example/tenax --redis redis://cache.example
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "urls", metavar="URL", nargs="*", help="start URLs (seeds), such as https://example.org; none: resume the crawl"
    )
    what = parser.add_argument_group("what to visit")
    what.add_argument(
        "--scope",
        metavar="host|domain|prefix|any",
        help="hosts of the seeds, their registered domains, paths below the seeds, or everything (default: host)",
    )
    what.add_argument("--max-pages", metavar="N", help="stop after this many pages (default: no limit)")
    what.add_argument("--max-depth", metavar="N", help="maximum number of links from a seed (default: 10)")
    pattern = "a glob for the whole URL, or /a regular expression/; may be repeated"
    what.add_argument("--include", metavar="PATTERN", action="append", help=f"visit only URLs that match: {pattern}")
    what.add_argument("--exclude", metavar="PATTERN", action="append", help="never visit URLs that match; same syntax")
    what.add_argument(
        "--discover",
        metavar="SOURCES",
        help="how URLs are found: links,sitemaps,feeds,archives,pagination, or none (default: all; archives and "
        "pagination are guesses, made only on news sites and blogs unless you name them here)",
    )
    pace = parser.add_argument_group("how fast")
    pace.add_argument("--rate", metavar="R", help="requests per second to one host (default: 1; 0: no limit)")
    many = "8 for the hosts of the seeds with --rate 0"
    pace.add_argument("--per-host", metavar="N", help=f"concurrent requests to one host (default: 1; {many})")
    pace.add_argument("--proxy", metavar="URL", action="append", help="use this proxy; may be repeated")
    pace.add_argument("--concurrency", metavar="N", help="concurrent visits, all hosts together (default: 256)")
    where = parser.add_argument_group("output")
    where.add_argument(
        "-C",
        "--dir",
        metavar="DIR",
        help="directory of the crawl (default: tenax-HOST; with --database: none, no files are written)",
    )
    settings.add_database_argument(where)
    where.add_argument("--redis", metavar="URL", help="share rate limits with other machines: redis://host:6379/0")
    where.add_argument(
        "--restart", action="store_true", help="start again; the earlier crawl is moved to DIR/previous-…"
    )
    where.add_argument("--recrawl", action="store_true", help="visit every page again, with conditional requests")
    where.add_argument(
        "--continuous",
        action="store_const",
        const="true",
        help="never end: visit each page again, as often as it changes",
    )
    where.add_argument("-q", "--quiet", action="store_true", help="print no progress and no summary, only problems")
    settings.add_monitoring_arguments(where)
    settings.add_config_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import msgspec

    from tenax.cli import run_crawl
    from tenax.cli.options import (
        CrawlOptions,
        build_resume_command,
        check_secrets,
        load_existing_crawl,
        merge_settings,
        options_to_store,
        resume_notices,
    )
    from tenax.text.sanitize import mask_url

    loaded = settings.load(args)
    location = _crawl_location(args, loaded)
    existing = (
        None if args.restart else run_crawl.run(load_existing_crawl(location, loaded.config, is_required=not args.urls))
    )
    given = effective = settings.flag_settings(args)
    if existing is not None:
        effective = merge_settings(existing, given, is_new_round=args.recrawl)
        loaded = settings.load(args, flags=effective)
        check_secrets(existing, loaded.sources)
    if loaded.config.recrawl.continuous and loaded.config.crawl.max_pages:
        raise UsageError("--max-pages ends a crawl and --continuous never does; give one of them")
    seeds = tuple(args.urls) or (existing.seeds if existing is not None else ())
    if not seeds:
        raise UsageError(f"there is no crawl in {location.name} to resume; give at least one URL")
    loaded = loaded.with_own_sites(_seed_hosts(seeds, loaded.config.urls))
    to_keep = options_to_store(effective, args.config)
    options = CrawlOptions(
        seeds=seeds,
        location=location,
        is_restart=args.restart,
        is_recrawl=args.recrawl,
        is_quiet=args.quiet,
        program=program_name(),
        resume_command=build_resume_command(location, to_keep),
        examples=((mask_url(seeds[0]), "the history of one URL"),),
        notices=tuple(resume_notices(existing, effective, given)) if existing is not None else (),
        settings=msgspec.json.encode(to_keep),
        has_typed_seeds=bool(args.urls) or (existing is not None and existing.has_typed_seeds),
    )
    return run_crawl.run(run_crawl.run_and_report(options, loaded))


def _seed_hosts(seeds: Sequence[str], urls: UrlsConfig) -> list[str]:
    """The host names of these seeds. An invalid seed is reported elsewhere."""
    from tenax.errors import TenaxError
    from tenax.urls.normalize import normalize_options
    from tenax.urls.scope import parse_seed

    hosts, spelling = [], normalize_options(urls)
    for seed in seeds:
        with suppress(TenaxError):
            hosts.append(parse_seed(seed, spelling).host)
    return hosts


def _crawl_location(args: argparse.Namespace, loaded: LoadedConfig) -> Location:
    """The location of this crawl. It need not exist yet."""
    from tenax.crawl.location import Location

    out = Path(args.dir) if args.dir else None
    if loaded.config.database.url:
        if args.restart:
            raise UsageError(
                "--restart needs a directory; for another crawl on the server choose another database.schema"
            )
        return settings.server_location(loaded, out)
    if out is None and not args.urls:
        return Location(settings.find_crawl_directory(None))
    return Location(out or settings.seed_directory(args.urls[0]))
