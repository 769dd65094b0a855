"""Parses `--where FIELD=VALUE`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from tenax.database import PageFilter
from tenax.errors import UsageError
from tenax.model import PageKind

FIELDS = ("host", "status", "kind", "language", "url", "since")


def parse_page_filter(conditions: Iterable[str]) -> PageFilter:
    """A filter of all conditions; each field may be given once. Raises `UsageError`."""
    values: dict[str, Any] = {}
    for condition in conditions:
        field, sign, value = (part.strip() for part in condition.partition("="))
        if not sign or not value:
            raise UsageError(f"--where {condition}: write it as FIELD=VALUE, such as host=example.org")
        if field not in FIELDS:
            close = difflib.get_close_matches(field, FIELDS, n=1)
            advice = f"did you mean {close[0]}? " if close else ""
            raise UsageError(f"--where {condition}: there is no field `{field}`; {advice}fields: {', '.join(FIELDS)}")
        name = "url_glob" if field == "url" else field
        if name in values:
            raise UsageError(f"--where {condition}: `{field}` is given twice; all conditions must hold at once")
        values[name] = _parse_field(field, value)
    return PageFilter(**values)


def _parse_field(field: str, value: str) -> str | int | float:
    if field == "status":
        if not (value.isascii() and value.isdigit()):
            raise UsageError(f"--where status={value}: give a number, such as status=200")
        return int(value)
    if field == "since":
        try:
            return datetime.fromisoformat(value).astimezone().timestamp()
        except (ValueError, OverflowError, OSError):
            raise UsageError(f"--where since={value}: give a date, such as since=2026-01-31") from None
    if field == "kind" and value not in tuple(PageKind):
        *kinds, last = PageKind
        raise UsageError(f"--where kind={value}: there are {', '.join(kinds)} and {last}")
    return value.lower() if field in ("host", "language") else value
