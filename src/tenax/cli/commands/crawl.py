"""`tenax crawl`: crawl sites, and go on where the last run stopped."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import location, settings
from tenax.cli.parser import program_name
from tenax.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenax.config import LoadedConfig, UrlsConfig
    from tenax.crawl.location import Location

NAME = "crawl"
DESCRIPTION = (
    "Crawl sites into a directory, or go on with it. The same command again resumes where the last run stopped."
)
EXAMPLES = """\
  tenax crawl https://example.org
  tenax crawl https://example.org/docs/ --scope prefix --exclude '*/tag/*' --rate 2 --dir example
  tenax crawl --dir example                     go on with it, with its seeds and its settings
  tenax crawl https://example.org --database postgresql://tenax@db.example/tenax --redis redis://cache.example
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "urls", metavar="URL", nargs="*", help="where to begin, such as https://example.org; none: resume what is there"
    )
    what = parser.add_argument_group("what to visit")
    what.add_argument(
        "--scope",
        metavar="host|domain|prefix|any",
        help="the seeds' hosts, their registered domains, the seeds' paths and below, or anything (default: host)",
    )
    what.add_argument("--max-pages", metavar="N", help="stop after this many pages (default: no limit)")
    what.add_argument("--max-depth", metavar="N", help="links followed from a seed at most (default: 10)")
    pattern = "a glob over the whole URL, or /a regular expression/; may be repeated"
    what.add_argument("--include", metavar="PATTERN", action="append", help=f"only URLs that match: {pattern}")
    what.add_argument("--exclude", metavar="PATTERN", action="append", help="never URLs that match; same forms")
    what.add_argument(
        "--discover",
        metavar="WAYS",
        help="how pages are found: links,sitemaps,feeds,archives,pagination or none (default: all of them; archives "
        "and pagination are guesses, made on news sites and blogs only unless they are named)",
    )
    pace = parser.add_argument_group("how fast")
    pace.add_argument("--rate", metavar="R", help="requests per second to one host (default: 1; 0: no limit)")
    many = "8 to the URLs' hosts with --rate 0"
    pace.add_argument("--per-host", metavar="N", help=f"requests in flight to one host (default: 1; {many})")
    pace.add_argument("--proxy", metavar="URL", action="append", help="go through this proxy; may be repeated")
    pace.add_argument("--concurrency", metavar="N", help="visits in flight, all hosts together (default: 256)")
    where = parser.add_argument_group("output")
    where.add_argument(
        "-C",
        "--dir",
        metavar="DIR",
        help="directory of the crawl (default: tenax-HOST; on a server: no files are written)",
    )
    location.add_database_argument(where)
    where.add_argument("--redis", metavar="URL", help="rate limits shared with other machines: redis://host:6379/0")
    where.add_argument("--restart", action="store_true", help="set the crawl in that directory aside and begin anew")
    where.add_argument(
        "--recrawl", action="store_true", help="visit every page again; unchanged pages cost the site little"
    )
    where.add_argument(
        "--continuous",
        action="store_const",
        const="true",
        help="go on for ever: visit each page again at its own pace, learned from how often it changes",
    )
    where.add_argument("-q", "--quiet", action="store_true", help="no progress and no summary, only problems")
    settings.add_monitoring_arguments(where)
    settings.add_config_arguments(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    import msgspec

    from tenax.cli import run_crawl, stored_options
    from tenax.cli.options import CrawlOptions
    from tenax.text.masking import mask_url

    loaded = settings.load(args)
    location = _crawl_location(args, loaded)
    there = (
        None
        if args.restart
        else asyncio.run(stored_options.load_existing_crawl(location, loaded.config, is_required=not args.urls))
    )
    given = held = settings.flag_settings(args)
    if there is not None:
        held = stored_options.merge_settings(there, given, is_new_round=args.recrawl)
        loaded = settings.load(args, flags=held)
        stored_options.check_secrets(there, loaded.sources)
    if loaded.config.recrawl.continuous and loaded.config.crawl.max_pages:
        raise UsageError("--max-pages ends a crawl and --continuous never does; give one of them")
    seeds = tuple(args.urls) or (there.seeds if there is not None else ())
    if not seeds:
        raise UsageError(f"there is no crawl in {location.name} to go on with; give at least one URL")
    loaded = loaded.with_own_sites(_seed_hosts(seeds, loaded.config.urls))
    to_keep = stored_options.options_to_store(held, args.config)
    options = CrawlOptions(
        seeds=seeds,
        location=location,
        is_restart=args.restart,
        is_recrawl=args.recrawl,
        is_quiet=args.quiet,
        program=program_name(),
        resume_command=stored_options.build_resume_command(location, to_keep),
        examples=((mask_url(seeds[0]), "the life of one URL"),),
        notices=tuple(stored_options.resume_notices(there, held, given)) if there is not None else (),
        settings=msgspec.json.encode(to_keep),
        has_typed_seeds=bool(args.urls) or (there is not None and there.has_typed_seeds),
    )
    return run_crawl.run(run_crawl.run_and_report(options, loaded))


def _seed_hosts(seeds: Sequence[str], urls: UrlsConfig) -> list[str]:
    """The host names of these seeds. One that is no URL is complained of later."""
    from tenax.errors import TenaxError
    from tenax.urls.normalize import normalize_options
    from tenax.urls.seeds import parse_seed

    hosts, spelling = [], normalize_options(urls)
    for seed in seeds:
        with suppress(TenaxError):
            hosts.append(parse_seed(seed, spelling).host)
    return hosts


def _crawl_location(args: argparse.Namespace, loaded: LoadedConfig) -> Location:
    """Where this crawl is, or will be."""
    from tenax.crawl.location import Location

    out = Path(args.dir) if args.dir else None
    if loaded.config.database.url:
        if args.restart:
            raise UsageError(
                "--restart sets a directory aside; for another crawl on the server give another database.schema"
            )
        return location.server_location(loaded, out)
    if out is None and not args.urls:
        return Location(location.find_crawl_directory(None))
    return Location(out or location.seed_directory(args.urls[0]))
