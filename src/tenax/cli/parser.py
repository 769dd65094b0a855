"""The argument parser: verbs, shared flags, and one-line errors for mistakes."""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NoReturn, Protocol

from tenax.errors import UsageError
from tenax.version import __version__


class Verb(Protocol):
    """The module of a verb. Its import must be cheap: `run` imports what it needs."""

    NAME: str
    DESCRIPTION: str
    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


EXIT_CODES = """\
exit codes:
    0  done
    1  internal error
    2  wrong usage or configuration, or no crawl found
    3  no seed could be reached, or the URL gave no page
    4  the database is in use by another process
    5  the database cannot be used: corrupt, of another program, not writable
    6  the disk is full
    7  an output file cannot be written
    8  the network was down for longer than resilience.max_network_outage_seconds
    9  the database does not answer
   10  the crawl made no progress for an unknown reason
   11  nothing was stored: every page failed, was refused or was rejected
   12  the memory limit was exceeded
   13  the database file was deleted, moved or replaced while the crawl ran
  130  interrupted; the same command resumes
"""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `UsageError` instead of printing its usage."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def parse_arguments(verbs: Sequence[Verb], argv: Sequence[str]) -> argparse.Namespace:
    """The arguments, with `run` set to the function of the verb. Raises `UsageError`. --help and --version end the
    program."""
    parser, parsers = _build_parser(verbs)
    flags = list(takewhile(lambda word: word.startswith("-"), argv))
    if "--version" in flags:
        print("\n".join(_describe_version(is_verbose="--verbose" in flags)))
        parser.exit()
    _check_verb(argv, parsers)
    args, rest = parser.parse_known_args(argv)
    if rest:
        raise UsageError(_unknown_argument_message(rest, parsers[args.verb], args.verb))
    args.argv = list(argv)
    return args


def _build_parser(verbs: Iterable[Verb]) -> tuple[Parser, dict[str, Parser]]:
    parser = Parser(
        prog="tenax",
        description="A web crawler: polite, fast, crash-safe, and able to explain every decision about a URL.",
        epilog="first steps:\n"
        "  tenax demo                        crawl built-in websites; needs no internet\n"
        "  tenax crawl https://example.org   crawl a site; the same command resumes it\n\n" + EXIT_CODES,
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="show the version")
    parser.add_argument("--verbose", action="store_true", help="with --version: also show what Tenax runs on")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an internal error")
    choices = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True, parser_class=Parser)
    parsers = {}
    for verb in verbs:
        one = choices.add_parser(
            verb.NAME,
            help=verb.DESCRIPTION.split(". ")[0].rstrip("."),
            description=verb.DESCRIPTION,
            epilog=f"examples:\n{verb.EXAMPLES}",
            formatter_class=_HelpFormatter,
            allow_abbrev=False,
        )
        verb.add_arguments(one)
        one.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        one.set_defaults(run=verb.run)
        parsers[verb.NAME] = one
    return parser, parsers


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help with wide columns for flags, and with examples printed unchanged."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=min(shutil.get_terminal_size((100, 24)).columns, 100) - 2)
        self._action_max_length = 16

    def _format_action(self, action: argparse.Action) -> str:
        """Format the verbs without the line that only says VERB."""
        if isinstance(action, argparse._SubParsersAction):
            return "".join(self._format_action(verb) for verb in action._get_subactions())
        return super()._format_action(action)


def add_directory_argument(
    parser: argparse.ArgumentParser, help_text: str = "directory of the crawl (default: the only crawl here)"
) -> None:
    parser.add_argument("-C", "--dir", metavar="DIR", help=help_text)


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def program_name() -> str:
    """How to call this program from the current directory, in commands that are printed."""
    script = os.environ.get("CALLED_AS")
    if script:
        return script
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return "python -m tenax"
    found = shutil.which("tenax")
    if found is None and called.name == "tenax" and called.exists():
        return os.path.relpath(called) if called.is_absolute() else str(called)
    return "tenax"


def _describe_version(*, is_verbose: bool) -> list[str]:
    lines = [f"tenax {__version__}"]
    if is_verbose:
        import platform

        from tenax.extract.native.binding import native_refusal

        why = native_refusal()
        lines += [f"Python {platform.python_version()}, {platform.platform()}"]
        lines += [f"extraction: in Python, several times slower: {why}" if why else "extraction: by native code"]
    return lines


def _check_verb(argv: Sequence[str], parsers: dict[str, Parser]) -> None:
    first = next((word for word in argv if not word.startswith("-")), None)
    if first is None or first in parsers:
        return
    if "://" in first:
        raise UsageError(f"a URL needs a verb: `tenax crawl {first}` or `tenax explain {first}`")
    close = difflib.get_close_matches(first, parsers, n=1, cutoff=0.4)
    advice = f"did you mean `{close[0]}`?" if close else f"there are: {', '.join(parsers)}"
    raise UsageError(f"unknown verb `{first}`; {advice}")


def _unknown_argument_message(rest: Sequence[str], parser: Parser, verb: str) -> str:
    flag = next((word for word in rest if word.startswith("-")), None)
    if flag is None:
        return f"`{' '.join(rest)}` is one argument too many for `tenax {verb}`; see `tenax {verb} --help`"
    known = [option for action in parser._actions for option in action.option_strings]
    close = difflib.get_close_matches(flag.partition("=")[0], known, n=1)
    advice = f"did you mean {close[0]}?" if close else f"see `tenax {verb} --help`"
    return f"`tenax {verb}` has no {flag.partition('=')[0]}; {advice}"
