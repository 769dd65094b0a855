"""`tenax read`: extract one page from a file or the web, or explain the extraction."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tenax.cli import settings
from tenax.cli.commands import fetch
from tenax.errors import NoSeedReachable, UsageError
from tenax.text.sanitize import mask_url

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.extract.document import Content
    from tenax.trace import Step

NAME = "read"
DESCRIPTION = (
    "Extract one page: as text, as Markdown, or as JSON with all fields. Reads a file, standard input or a URL, which "
    "is fetched like `tenax fetch`; nothing is stored."
)
EXAMPLES = """\
  tenax read https://example.org/story
  tenax read story.html --url https://example.org/story --format markdown
  tenax read https://example.org/story --explain        which blocks were kept or dropped, and why
  curl -s https://example.org/story | tenax read - --format json
"""

STANDARD_INPUT = "standard input"
_CONTENT_TYPES = {".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml", ".txt": "text/plain"}


class PageSource(NamedTuple):
    """A page to extract, and where it came from."""

    name: str
    """The name of the source in messages."""
    body: bytes
    content_type: str
    """Empty if it is not declared. Then it is detected from the first bytes."""
    url: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", metavar="FILE|URL", help="a file, - for standard input, or a URL with http(s)://")
    parser.add_argument(
        "--format", choices=("text", "markdown", "json"), default="text", help="default: text; json has all fields"
    )
    parser.add_argument(
        "--explain", action="store_true", help="show every block of the page: kept or dropped, its score, and why"
    )
    parser.add_argument(
        "--url", metavar="URL", help="URL of a file's page: makes its links absolute and helps to date it"
    )
    fetch.add_fetch_arguments(parser)
    settings.add_config_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax import logs
    from tenax.runtime.resources import limit_cpu_time

    if args.explain and args.format == "markdown":
        raise UsageError("--explain needs --format text or json")
    config = settings.load(args).config
    logs.configure("warning", config.log.format)
    source = _fetch_page(args, config) if _is_url(args.page) else _read_file(args.page, args.url, config)
    seconds = config.extract.max_cpu_seconds
    with limit_cpu_time(
        seconds, lambda: UsageError(f"{source.name}: too costly to read: {seconds:g} s of CPU used up")
    ):
        if args.explain:
            _show_explanation(source, args.format, seconds)
        else:
            _show_content(source, args.format, seconds)
    return 0


def _is_url(page: str) -> bool:
    return page.lower().startswith(("http://", "https://"))


# ---- input ------------------------------------------------------------------------------------------------


def _read_file(file: str, url: str | None, config: Config) -> PageSource:
    """A file or standard input, at most `fetch.max_body_bytes` long."""
    # A URL without its scheme looks like a missing file, and its name may contain a password.
    name = STANDARD_INPUT if file == "-" else file if Path(file).is_file() else mask_url(file)
    max_bytes = config.fetch.max_body_bytes
    try:
        if file == "-":
            body = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with Path(file).open("rb") as stream:
                body = stream.read(max_bytes + 1)
    except FileNotFoundError:
        raise UsageError(f"{name}: there is no such file; a page on the web begins with https://") from None
    except (OSError, ValueError) as error:  # ValueError: an invalid file name
        raise UsageError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(body) > max_bytes:
        raise UsageError(f"{name}: larger than {max_bytes} bytes; see `fetch.max_body_bytes`")
    return PageSource(name, body, _CONTENT_TYPES.get(Path(file).suffix.lower(), ""), url)


def _fetch_page(args: argparse.Namespace, config: Config) -> PageSource:
    """Fetch the page within the rate limit of its host."""
    import asyncio

    from tenax.cli.views.format_visit import outcome_text
    from tenax.model import Failed, FailureKind, Fetched, Redirected, Rejected
    from tenax.trace import trace_url

    if args.url is not None:
        raise UsageError("--url is for files; this page is fetched")
    # Always the whole page, because a crawl may have a stored copy.
    request = fetch.build_trace_request(args, args.page, is_unconditional=True)
    trace = asyncio.run(trace_url(request, config, on_step=_show_wait))
    match trace.outcome:
        case Fetched():
            pass
        case Rejected(why) if why.startswith("noindex"):
            pass  # noindex forbids to store the page, not to read it
        case Redirected(to=to):
            raise UsageError(f"{trace.url} redirects to {to}; read that instead")
        case Rejected() | Failed(kind=FailureKind.UNREADABLE):
            raise UsageError(f"{trace.url}: {outcome_text(trace.outcome)}")
        case _:
            raise NoSeedReachable(f"{trace.url}: {outcome_text(trace.outcome)}")
    return PageSource(trace.url, trace.body, trace.fetch.content_type or "", trace.url)


def _show_wait(step: Step) -> None:
    """On a terminal, say for how long the rate limit delays the request."""
    from tenax.cli.output import print_lines, sanitize_text

    if step.name == "wait" and sys.stderr.isatty():
        print_lines([sanitize_text(step.why)], sys.stderr)


# ---- output -----------------------------------------------------------------------------------------------


def _show_content(source: PageSource, format: str, max_cpu_seconds: float) -> None:
    from tenax.cli.output import TextStyle, print_json, print_lines, sanitize_text
    from tenax.cli.views.pages import content_fields, format_content
    from tenax.crawl.single_page import read

    content = read(source.body, source.url, content_type=source.content_type, max_cpu_seconds=max_cpu_seconds)
    _check_content(source, content)
    if format == "json":
        print_json(content_fields(content, source.url))
        return
    text = _select_text(source, content, format)
    if format == "text" and sys.stdout.isatty():
        print_lines(format_content(content, text, TextStyle.for_stream(sys.stdout)))
    else:
        print_lines([sanitize_text(text, keep_lines=True)])


def _check_content(source: PageSource, content: Content) -> None:
    if content.media == "other":
        raise UsageError(f"{source.name}: cannot be read as a page: {content.media_reason}")
    if not content.text:
        raise UsageError(f"{source.name}: it has no text")
    if content.truncated_reason:
        from tenax.cli.output import print_lines, sanitize_text

        print_lines(
            [f"tenax: {sanitize_text(source.name)}: too long, {content.truncated_reason}"],
            sys.stderr,
        )


def _select_text(source: PageSource, content: Content, format: str) -> str:
    """The text in the wanted format. Plain text is returned unchanged."""
    if content.media == "text":
        return content.text
    text = content.markdown if format == "markdown" else content.article
    if not text:
        raise UsageError(f"{source.name}: no article found; --format json has all of its text")
    return text


def _show_explanation(source: PageSource, format: str, max_cpu_seconds: float) -> None:
    from tenax.cli.output import TextStyle, print_json, print_lines
    from tenax.cli.views.pages import format_blocks
    from tenax.crawl.single_page import explain_page, read

    blocks = explain_page(source.body, source.url, content_type=source.content_type, max_cpu_seconds=max_cpu_seconds)
    if not blocks:
        content = read(source.body, source.url, content_type=source.content_type, max_cpu_seconds=max_cpu_seconds)
        _check_content(source, content)
        raise UsageError(f"{source.name}: plain text: nothing is dropped")
    if format == "json":
        print_json(blocks)
    else:
        print_lines(format_blocks(blocks, TextStyle.for_stream(sys.stdout)))
