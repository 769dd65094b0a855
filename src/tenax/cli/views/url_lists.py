"""What `tenax sitemap` and `tenax feed` share: their flags, and how dates and answers are put."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tenax.cli import settings

if TYPE_CHECKING:
    from tenax.model import Outcome

DATE_COLUMNS = 16


def add_arguments(parser: argparse.ArgumentParser, *, url_help: str, limit_help: str, line_noun: str) -> None:
    """`url_help`, `limit_help` and `line_noun` say what is asked for, what --limit does, and what stands on a line of JSON."""
    parser.add_argument("url", metavar="URL", help=url_help)
    parser.add_argument("--limit", metavar="N", type=_positive_int, help=f"{limit_help}; default: all")
    parser.add_argument("--json", action="store_true", help=f"print JSON lines, for programs: one {line_noun} on each")
    parser.add_argument("--proxy", metavar="URL", action="append", help="go through this proxy; may be repeated")
    settings.add_config_arguments(parser)


def _positive_int(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:18])):
        raise argparse.ArgumentTypeError(f"`{text}` is no number from 1 on")
    return int(text[:18])


def is_missing(outcome: Outcome) -> bool:
    """The host has answered, and has nothing of the kind."""
    from tenax.model import Failed, FailureKind, Rejected

    if isinstance(outcome, Failed):
        return outcome.kind in (FailureKind.NOT_FOUND, FailureKind.GONE)
    return isinstance(outcome, Rejected)


def format_date(at: float | None) -> str:
    """In UTC, as sitemaps and feeds are; without a time where there is none."""
    from datetime import UTC, datetime

    if at is None:
        return ""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d" if at % 86_400 == 0 else "%Y-%m-%d %H:%M")
