"""`tenax crawl`: crawl sites, and go on where the last run stopped."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tenax.cli import place, settings
from tenax.cli.parser import program
from tenax.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "crawl"
SENTENCE = "Crawl sites into a directory, or go on with it. The same command again resumes where the last run stopped."
EXAMPLES = """\
  tenax crawl https://example.org
  tenax crawl https://example.org/docs/ --scope prefix --exclude '*/tag/*' --max-pages 500
  tenax crawl https://example.org --discover links,sitemaps --rate 2 --keep-fresh --out example
  tenax crawl https://example.org --ledger postgresql://tenax@db.example/tenax --hosts redis://cache.example
"""

MOST_COMMAND_CHARS = 1000
"""A command with thousands of seeds is not one to be printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("urls", metavar="URL", nargs="+", help="where to begin, such as https://example.org")
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
        help="how pages are found: links,sitemaps,feeds,archives,pagination or none (default: all of them)",
    )
    pace = parser.add_argument_group("how fast")
    pace.add_argument("--rate", metavar="R", help="requests per second to one host (default: 1; 0: no limit)")
    pace.add_argument("--per-host", metavar="N", help="requests in flight to one host (default: 1)")
    pace.add_argument("--concurrency", metavar="N", help="visits in flight, all hosts together (default: 256)")
    where = parser.add_argument_group("output")
    where.add_argument(
        "--out", metavar="DIR", help="directory of the crawl (default: tenax-HOST; on a server: no files are written)"
    )
    place.add_ledger(where)
    where.add_argument("--hosts", metavar="URL", help="turns shared with other machines: redis://host:6379/0")
    where.add_argument("--fresh", action="store_true", help="set the crawl in that directory aside and begin anew")
    where.add_argument(
        "--revisit", action="store_true", help="visit every page again; unchanged pages cost the site little"
    )
    where.add_argument(
        "--keep-fresh",
        action="store_const",
        const="true",
        help="go on for ever: visit each page again at its own pace, learned from how often it changes",
    )
    where.add_argument("-q", "--quiet", action="store_true", help="no progress and no summary, only problems")
    settings.add_watching_arguments(where)
    settings.add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax.cli import running
    from tenax.cli.orders import Orders
    from tenax.logs import masked
    from tenax.place import Place

    loaded = settings.load(args)
    if loaded.config.freshness.keep and loaded.config.crawl.max_pages:
        raise UsageError("--max-pages ends a crawl and --keep-fresh never does; give one of them")
    out = Path(args.out) if args.out else None
    if not loaded.config.ledger.url:
        where = Place(out or place.of_seed(args.urls[0]))
    elif args.fresh:
        raise UsageError("--fresh sets a directory aside; for another crawl on the server give another ledger.schema")
    else:
        where = place.on_server(loaded, out)
    orders = Orders(
        seeds=tuple(args.urls),
        place=where,
        is_fresh=args.fresh,
        is_revisit=args.revisit,
        is_quiet=args.quiet,
        program=program(),
        resume=command_to_resume(args.argv),
        examples=((masked(args.urls[0]), "the life of one URL"),),
    )
    return running.run(running.crawl_and_tell(orders, loaded))


def command_to_resume(argv: Sequence[str]) -> str:
    """The command that goes on with this crawl: the same one, but that it must not begin anew. It keeps no secret."""
    from tenax.place import shown

    words = [shown(word) for word in argv if word not in ("--fresh", "--revisit")]
    command = shlex.join([*program().split(), *words])
    if len(command) <= MOST_COMMAND_CHARS:
        return command
    seeds = [word for word in words if "://" in word and not word.startswith("-")]
    kept = [word for word in words if word not in seeds[1:]]
    return f"{shlex.join([*program().split(), *kept])[:MOST_COMMAND_CHARS]} … (the command as it was, with every URL)"
