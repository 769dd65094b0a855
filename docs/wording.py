"""Formats figures and tables for the documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Row = Sequence[str]


def number(value: float) -> str:
    """Three significant digits at most, never an exponent."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def times(value: float | None) -> str:
    return "" if value is None else f"{number(value)}×"


def counted(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"{count} {noun}s"


def table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
