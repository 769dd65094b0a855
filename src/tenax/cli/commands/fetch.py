"""`tenax fetch`: fetch one URL by the rules and print each decision."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tenax.cli import settings
from tenax.cli.parser import add_directory_argument, add_json_argument
from tenax.errors import DatabaseNotFound, SinkError, UsageError

if TYPE_CHECKING:
    from tenax.cli.output import TextStyle
    from tenax.crawl.location import Location
    from tenax.model import TransportKind
    from tenax.trace import Step, Trace, TraceRequest

NAME = "fetch"
DESCRIPTION = (
    "Fetch one URL and show each decision about it. Use it to see how a site answers and what a crawl would do. "
    "robots.txt and the rate limit apply as in a crawl; nothing is stored."
)
EXAMPLES = """\
  tenax fetch https://example.org/page
  tenax fetch https://example.org/app --browser             render it in Chromium
  tenax fetch https://example.org/page --no-cache --json    ignore the stored copy
  tenax fetch https://example.org/ --proxy socks5://127.0.0.1:1080 --body page.html
"""

_NAME_COLUMNS = 10
_FINAL_STEPS = frozenset({"network", "redirect", "validate", "stale"})
"""Printed at the end: the response and its validation."""
_MAX_TEXT_CHARS = 2000
"""Maximum length of the page's text in the JSON output."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="any URL, as copied from a browser or a page")
    parser.add_argument("--no-cache", action="store_true", help="fetch the whole page and ignore the stored copy")
    parser.add_argument(
        "--body",
        metavar="FILE",
        help="write the decoded body to FILE; - for standard output, other output goes to standard error",
    )
    add_fetch_arguments(parser)
    add_json_argument(parser)
    settings.add_config_arguments(parser)


def add_fetch_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of a verb that fetches one URL: the transport, and the crawl whose rules apply."""
    transport = parser.add_mutually_exclusive_group()
    transport.add_argument("--browser", action="store_true", help="render it in Chromium (extra `browser`)")
    transport.add_argument("--curl", action="store_true", help="fetch it with curl and HTTP/2 (extra `curl`)")
    parser.add_argument("--proxy", metavar="URL", action="append", help="use this proxy; may be repeated")
    add_directory_argument(
        parser, "crawl whose rules, host record and stored copy are used (default: one that knows the host)"
    )
    settings.add_database_argument(parser)


def run(args: argparse.Namespace) -> int:
    import asyncio

    from tenax import logs
    from tenax.cli.output import TextStyle, print_lines
    from tenax.trace import trace_url
    from tenax.urls.normalize import normalize_options
    from tenax.urls.scope import parse_seed

    config = settings.load(args).config
    logs.configure("warning", config.log.format)
    request = build_trace_request(args, args.url, is_unconditional=args.no_cache)
    # If the body goes to standard output, everything else goes to standard error.
    stream = sys.stderr if args.body == "-" else sys.stdout
    style = TextStyle.for_stream(stream)
    if args.json:
        trace = asyncio.run(trace_url(request, config))
        print_lines([_trace_to_json(trace)], stream)
    else:
        url = parse_seed(args.url, normalize_options(config.urls)).url
        trace = asyncio.run(trace_url(request, config, on_step=_make_step_printer(args.url, url, stream, style)))
        print_lines(format_result(trace, style), stream)
    if args.body:
        _write_body(args.body, trace)
    return exit_code(trace)


def exit_code(trace: Trace) -> int:
    """0 for a page, an unchanged page or an allowed redirect; 3 for a 404, a refusal or a rejected page."""
    from tenax.errors import NoSeedReachable
    from tenax.model import Fetched, Redirected, Unchanged

    match trace.outcome:
        case Fetched() | Unchanged() | Redirected(why=""):
            return 0
        case _:
            return NoSeedReachable.exit_code


def build_trace_request(args: argparse.Namespace, url: str, *, is_unconditional: bool) -> TraceRequest:
    """A request for this URL with the flags of `add_fetch_arguments`."""
    from tenax.trace import TraceRequest

    is_crawl_given = args.dir is not None or args.database is not None
    return TraceRequest(url, _transport_kind(args), is_unconditional, _find_crawl_location(args, url), is_crawl_given)


def _transport_kind(args: argparse.Namespace) -> TransportKind | None:
    from tenax.model import TransportKind

    return TransportKind.BROWSER if args.browser else TransportKind.CURL if args.curl else None


def _find_crawl_location(args: argparse.Namespace, url: str) -> Location | None:
    """The crawl that the flags name, or one that is found by the URL; None if there is neither."""
    try:
        return settings.resolve_crawl(args, url)[0]
    except (DatabaseNotFound, UsageError):
        if args.dir is not None or args.database is not None:
            raise
        return None


def _write_body(file: str, trace: Trace) -> None:
    from tenax.cli.output import STANDARD_OUTPUT, translate_os_errors

    if not trace.body:
        raise SinkError(f"there is no body to write to {STANDARD_OUTPUT if file == '-' else file}")
    if file == "-":
        with translate_os_errors(STANDARD_OUTPUT):
            sys.stdout.buffer.write(trace.body)
            sys.stdout.buffer.flush()
        return
    with translate_os_errors(file, "; choose another with --body"):
        Path(file).write_bytes(trace.body)


def _trace_to_json(trace: Trace) -> str:
    import msgspec

    from tenax.cli.output import to_json

    stale = msgspec.structs.replace(trace.stale_page, text="") if trace.stale_page is not None else None
    return to_json(msgspec.structs.replace(trace, body=b"", text=trace.text[:_MAX_TEXT_CHARS], stale_page=stale))


# ---- text output ------------------------------------------------------------------------------------------


def _make_step_printer(typed_url: str, url: str, stream: TextIO, style: TextStyle) -> Callable[[Step], None]:
    """Print each decision as it is made, because the rate limit may delay the request by a minute."""
    from tenax.cli.output import print_lines, sanitize_text
    from tenax.cli.views.format_values import describe_normalization

    head = [style.bold(sanitize_text(url))]

    def print_step(step: Step) -> None:
        if step.name in _FINAL_STEPS:
            return
        while head:  # only with the first decision: an error before it prints one line on standard error
            print_lines([head.pop()], stream)
        more = ["; ".join(describe_normalization(typed_url, url))] if step.name == "normalize" else []
        print_lines(format_row(step.name, [step.why, *more], style, step.passed), stream)

    return print_step


def format_row(name: str, texts: Sequence[str], style: TextStyle, passed: bool | None = None) -> list[str]:
    """A name and its texts, wrapped; a decision is marked ✓ or ✗."""
    from tenax.cli.output import sanitize_text, terminal_width, wrap_paragraph

    indent = " " * (_NAME_COLUMNS + 5)
    lines = [part for text in texts for part in wrap_paragraph(sanitize_text(text), indent, max(terminal_width(), 80))]
    mark = " " if passed is None else style.green("✓") if passed else style.red("✗")
    first, *rest = lines or [indent]
    return [f"  {style.cyan(f'{name:<{_NAME_COLUMNS}}')} {mark} {first.removeprefix(indent)}", *rest]


def format_result(trace: Trace, style: TextStyle) -> list[str]:
    """Measurements, page facts, outcome, and what a crawl would do next."""
    from tenax.cli.views.format_visit import error_body_lines, format_measurements, header_lines, outcome_text
    from tenax.model import Fetched, Redirected, Unchanged

    lines = []
    for step in [step for step in trace.steps if step.name in _FINAL_STEPS]:
        facts = format_measurements(trace.fetch) if step.name == "network" else []
        lines += format_row(step.name, facts or [step.why], style, step.passed)
        if step.name == "network":
            lines += format_row("headers", header_lines(trace.fetch), style) if trace.fetch.headers else []
            lines += format_row("body", error_body_lines(trace.fetch), style) if trace.fetch.error_body else []
    if trace.title or trace.text:
        lines += format_row("page", _describe_page(trace), style)
    is_good = isinstance(trace.outcome, (Fetched, Unchanged, Redirected))
    outcome, *more = format_row("outcome", [outcome_text(trace.outcome)], style, is_good)
    return [*lines, style.bold(outcome), *map(style.bold, more), *format_row("next", describe_next(trace), style)]


def _describe_page(trace: Trace) -> list[str]:
    from tenax.cli.views.format_values import format_count, pluralize
    from tenax.cli.views.format_visit import describe_charset

    title = f"“{trace.title}”" if trace.title else "without a title"
    facts = f"{title}, {format_count(len(trace.text))} characters of text, {pluralize(trace.links_count, 'link')}"
    return [facts, *describe_charset(trace.fetch.charset_source, trace.charset)]


def describe_next(trace: Trace) -> list[str]:
    """What a crawl would do with the URL and its host."""
    from tenax.cli.views.format_values import format_time

    start = "a crawl with this seed" if trace.is_private else "a crawl"
    lines = [f"{start} would {_describe_plan(trace)}"]
    if trace.is_private:
        lines.append("the SSRF guard refuses links and redirects to it: its address is private")
    if trace.backoff is not None:
        lines.append(f"and back off from the host until {format_time(trace.backoff.until)}: {trace.backoff.why}")
    return lines


def _describe_plan(trace: Trace) -> str:
    from tenax.cli.views.format_values import format_time, pluralize
    from tenax.cli.views.format_visit import TRANSPORT_PHRASES
    from tenax.model import DeadLetter, Fetched, Park, Redirected, Refused, Reschedule, Unchanged

    match trace.plan, trace.outcome:
        case Reschedule(at=at, spends_attempt=spends, transport=transport, is_unconditional=is_whole), _:
            how = f" {TRANSPORT_PHRASES[transport]}" if transport is not None else ""
            whole = ", without the stored copy" if is_whole else ""
            spent = ", and count one failed attempt" if spends else ""
            return f"visit it again after {format_time(at)}{how}{whole}{spent}"
        case DeadLetter(needs_browser=True), _:
            return "list it as a failed URL until a run has a browser"
        case DeadLetter(cause=cause), _:
            return f"give up and list it as a failed URL: {cause}"
        case Park(cause=cause), _ if cause.startswith("robots:"):
            return "do nothing more"
        case Park(cause=cause), _:
            links = f", and follow {pluralize(trace.candidate_count, 'link')}" if trace.candidate_count else ""
            return f"keep it back until the settings allow it: {cause}{links}"
        case _, Fetched():
            return f"store it and follow {pluralize(trace.candidate_count, 'link')}"
        case _, Unchanged():
            return "keep the stored copy"
        case _, Redirected(to=to, why=""):
            return f"visit {to}, at the rate limit of its host"
        case _, Redirected() | Refused():
            return "do nothing more"
        case _ if trace.candidate_count:
            return f"store nothing, and follow {pluralize(trace.candidate_count, 'link')}"
        case _:
            return "store nothing, and not visit it again"
