"""Flags and formats shared by `tenax sitemap` and `tenax feed`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tenax.cli import settings

if TYPE_CHECKING:
    from tenax.model import Outcome

DATE_COLUMNS = 16


def add_arguments(parser: argparse.ArgumentParser, *, url_help: str, limit_help: str, line_noun: str) -> None:
    """`line_noun` names what one line of JSON contains."""
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
    """Whether the host answered that there is no such document."""
    from tenax.model import Failed, FailureKind, Rejected

    if isinstance(outcome, Failed):
        return outcome.kind in (FailureKind.NOT_FOUND, FailureKind.GONE)
    return isinstance(outcome, Rejected)


def format_date(at: float | None) -> str:
    """In UTC; without the time at midnight, which means a plain date. Empty for None."""
    from datetime import UTC, datetime

    if at is None:
        return ""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d" if at % 86_400 == 0 else "%Y-%m-%d %H:%M")
