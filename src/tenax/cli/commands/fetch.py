"""`tenax fetch`: one URL, fetched by the rules, with each decision told."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tenax.cli import location, settings
from tenax.cli.output import STANDARD_OUTPUT, told_plainly
from tenax.cli.parser import add_json, add_out
from tenax.errors import LedgerMissing, SinkError, UsageError

if TYPE_CHECKING:
    from tenax.cli.views.tables import Ink
    from tenax.crawl.location import Place
    from tenax.model import Way
    from tenax.trace import Step, Trial, Wanted

NAME = "fetch"
SENTENCE = (
    "Fetch one URL and tell each decision about it. For finding out what a site does, and what Tenax makes of it. "
    "robots.txt and the host's pace hold as in a crawl; nothing is written down."
)
EXAMPLES = """\
  tenax fetch https://example.org/page
  tenax fetch https://example.org/app --browser             render it in Chromium
  tenax fetch https://example.org/page --no-cache --json    ask for all of it, whatever is stored
  tenax fetch https://example.org/ --proxy socks5://127.0.0.1:1080 --body page.html
"""

_NAME_COLUMNS = 10
_AT_THE_END = frozenset({"network", "redirect", "validate", "stale"})
"""Told when all of it is there: what came back, and what is made of it."""
_MOST_TEXT_CHARS = 2000
"""Of the page's text in JSON: enough to see what it is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="any URL, as it stands in a browser or a page")
    parser.add_argument("--no-cache", action="store_true", help="ask for the whole page, whatever is stored")
    parser.add_argument(
        "--body", metavar="FILE", help="write the decoded body there; - for standard output, the rest to standard error"
    )
    add_ways(parser)
    add_json(parser)
    settings.add_source_arguments(parser)


def add_ways(parser: argparse.ArgumentParser) -> None:
    """The flags of a verb that fetches one URL: how, and by the rules of which crawl."""
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--browser", action="store_true", help="render it in Chromium (extra `browser`)")
    way.add_argument("--curl", action="store_true", help="fetch it by curl, with HTTP/2 (extra `curl`)")
    parser.add_argument("--proxy", metavar="URL", action="append", help="go through this proxy; may be repeated")
    add_out(parser, "crawl whose rules, host record and stored copy are used; found when one knows the host")
    location.add_ledger(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax import logs
    from tenax.cli.views.tables import Ink, show
    from tenax.trace import tried
    from tenax.urls.normalize import spelling_of
    from tenax.urls.seeds import seed_url

    config = settings.load(args).config
    logs.configure("warning", config.log.format)
    wanted = wanted_of(args, args.url, is_unconditional=args.no_cache)
    # Whoever wants the body on standard output wants nothing else there.
    stream = sys.stderr if args.body == "-" else sys.stdout
    ink = Ink.on(stream)
    if args.json:
        trial = asyncio.run(tried(wanted, config))
        show([_document(trial)], stream)
    else:
        url = seed_url(args.url, spelling_of(config.urls)).url
        trial = asyncio.run(tried(wanted, config, on_step=_teller(args.url, url, stream, ink)))
        show(ending(trial, ink), stream)
    if args.body:
        _write(args.body, trial)
    return exit_code(trial)


def exit_code(trial: Trial) -> int:
    """0 when a page came, or what leads to one; a 404, a refusal or a page that is not kept is told, and no success."""
    from tenax.errors import NoSeedReachable
    from tenax.model import Fetched, Redirected, Unchanged

    match trial.outcome:
        case Fetched() | Unchanged() | Redirected(why=""):
            return 0
        case _:
            return NoSeedReachable.exit_code


def wanted_of(args: argparse.Namespace, url: str, *, is_unconditional: bool) -> Wanted:
    """This URL by the flags of `add_ways`."""
    from tenax.trace import Wanted

    is_crawl_given = args.out is not None or args.ledger is not None
    return Wanted(url, _way(args), is_unconditional, _crawl_of(args, url), is_crawl_given)


def _way(args: argparse.Namespace) -> Way | None:
    from tenax.model import Way

    return Way.BROWSER if args.browser else Way.CURL if args.curl else None


def _crawl_of(args: argparse.Namespace, url: str) -> Place | None:
    """The crawl that a person means; without one named there need not be any."""
    try:
        return location.of_args(args, url)[0]
    except (LedgerMissing, UsageError):
        if args.out is not None or args.ledger is not None:
            raise
        return None


def _write(file: str, trial: Trial) -> None:
    if not trial.body:
        raise SinkError(f"nothing came that could be written to {STANDARD_OUTPUT if file == '-' else file}")
    if file == "-":
        with told_plainly(STANDARD_OUTPUT):
            sys.stdout.buffer.write(trial.body)
            sys.stdout.buffer.flush()
        return
    with told_plainly(file, "; choose another with --body"):
        Path(file).write_bytes(trial.body)


def _document(trial: Trial) -> str:
    import msgspec

    from tenax.cli.views.json_output import as_json

    stale = msgspec.structs.replace(trial.stale, text="") if trial.stale is not None else None
    return as_json(msgspec.structs.replace(trial, body=b"", text=trial.text[:_MOST_TEXT_CHARS], stale=stale))


# ---- in words ---------------------------------------------------------------------------------------------


def _teller(asked: str, url: str, stream: TextIO, ink: Ink) -> Callable[[Step], None]:
    """Prints each decision as it falls: a host's turn may be a minute away, and nobody likes to look at nothing."""
    from tenax.cli.views.tables import plain, show
    from tenax.cli.views.url_spelling import changes

    head = [ink.bold(plain(url))]

    def tell(step: Step) -> None:
        if step.name in _AT_THE_END:
            return
        while head:  # not before the first decision: what cannot be tried at all is a line on standard error
            show([head.pop()], stream)
        more = ["; ".join(changes(asked, url))] if step.name == "normalise" else []
        show(row(step.name, [step.why, *more], ink, step.passed), stream)

    return tell


def row(name: str, texts: Sequence[str], ink: Ink, passed: bool | None = None) -> list[str]:
    """A name and what is to be said about it, in lines that fit; ✓ and ✗ stand before a decision."""
    from tenax.cli.views.tables import columns, plain, wrapped

    indent = " " * (_NAME_COLUMNS + 5)
    lines = [part for text in texts for part in wrapped(plain(text), indent, max(columns(), 80))]
    mark = " " if passed is None else ink.good("✓") if passed else ink.bad("✗")
    first, *rest = lines or [indent]
    return [f"  {ink.cool(f'{name:<{_NAME_COLUMNS}}')} {mark} {first.removeprefix(indent)}", *rest]


def ending(trial: Trial, ink: Ink) -> list[str]:
    """What was measured, what the page holds, how it ended and what a crawl would do now."""
    from tenax.cli.views.format_fetch import measured
    from tenax.cli.views.format_visit import error_body_lines, header_lines, outcome_text
    from tenax.model import Fetched, Redirected, Unchanged

    lines = []
    for step in [step for step in trial.steps if step.name in _AT_THE_END]:
        facts = measured(trial.fetch) if step.name == "network" else []
        lines += row(step.name, facts or [step.why], ink, step.passed)
        if step.name == "network":
            lines += row("headers", header_lines(trial.fetch), ink) if trial.fetch.headers else []
            lines += row("body", error_body_lines(trial.fetch), ink) if trial.fetch.error_body else []
    if trial.title or trial.text:
        lines += row("page", _page(trial), ink)
    is_good = isinstance(trial.outcome, (Fetched, Unchanged, Redirected))
    outcome, *more = row("outcome", [outcome_text(trial.outcome)], ink, is_good)
    return [*lines, ink.bold(outcome), *map(ink.bold, more), *row("next", next_words(trial), ink)]


def _page(trial: Trial) -> list[str]:
    from tenax.cli.views.format_fetch import charset_words
    from tenax.cli.views.format_values import count, several

    title = f"“{trial.title}”" if trial.title else "without a title"
    facts = f"{title}, {count(len(trial.text))} characters of text, {several(trial.links_count, 'link')}"
    return [facts, *charset_words(trial.fetch.charset_source, trial.charset)]


def next_words(trial: Trial) -> list[str]:
    """What a crawl would do with the URL, and with its host."""
    from tenax.cli.views.format_values import moment

    start = "a crawl with this seed" if trial.is_private else "a crawl"
    lines = [f"{start} would {_plan_words(trial)}"]
    if trial.is_private:
        lines.append("a link or a redirect to it is refused by the guard, because its address is private")
    if trial.rest is not None:
        lines.append(f"and leave the host alone until {moment(trial.rest.until)}: {trial.rest.why}")
    return lines


def _plan_words(trial: Trial) -> str:
    from tenax.cli.views.format_fetch import WAYS
    from tenax.cli.views.format_values import moment, several
    from tenax.model import Again, DeadLetter, Fetched, Park, Redirected, Refused, Unchanged

    match trial.plan, trial.outcome:
        case Again(at=at, spends_attempt=spends, way=way, is_unconditional=is_whole), _:
            how = f" {WAYS[way]}" if way is not None else ""
            whole = ", asking for the whole page" if is_whole else ""
            spent = ", with one attempt less" if spends else ""
            return f"visit it again from {moment(at)} on{how}{whole}{spent}"
        case DeadLetter(needs_browser=True), _:
            return "put it aside, as a dead letter, until a run has a browser"
        case DeadLetter(cause=cause), _:
            return f"give it up, as a dead letter: {cause}"
        case Park(cause=cause), _ if cause.startswith("robots:"):
            return "leave it at that"
        case Park(cause=cause), _:
            return f"keep it back until a run allows it: {cause}"
        case _, Fetched():
            return f"store it and go on to {several(trial.offered, 'link')}"
        case _, Unchanged():
            return "keep the stored copy"
        case _, Redirected(to=to, why=""):
            return f"visit {to}, in its own host's turn"
        case _, Redirected() | Refused():
            return "leave it at that"
        case _ if trial.offered:
            return f"store nothing, and go on to {several(trial.offered, 'link')}"
        case _:
            return "store nothing, and not ask again"
