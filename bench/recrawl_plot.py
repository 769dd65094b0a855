"""The two charts of the simulated year in one SVG file: age of stored pages, and visits by change rate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bench.recrawl_world import YEAR, SimulatedPage
from bench.report import ROOT

PLOT = ROOT / "docs" / "recrawl.svg"
SHOWN = {"fixed": "fixed interval", "oracle": "oracle", "tenax": "Tenax"}
"""The drawn policies: halving and doubling is off the scale."""
WIDTH, HEIGHT = 920, 360
RATES = tuple(10 ** (step / 2) for step in range(-5, 3))
"""Edges between groups of pages, in changes a day; slower ones are in the first."""
FEWEST = 10
"""Minimum pages of a point."""
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #333 } .title { font-size: 14px; font-weight: 600 }
  .grid { stroke: #8884; stroke-width: 1 } .line { fill: none; stroke-width: 2.2; stroke-linejoin: round }
  .fixed { stroke: #8a8a8a } .oracle { stroke: #c77700; stroke-dasharray: 6 4 } .tenax { stroke: #2274d5 }
  .dot { stroke-dasharray: none; stroke-width: 1.5; fill: #fff }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd } .oracle { stroke: #f0a640 } .tenax { stroke: #6aaeff } .dot { fill: #0d1117 }
  }
"""


class DrawnYear(Protocol):
    """The data of a year that the charts need."""

    visits: list[int]
    age: list[float]
    stored_days: list[float]


@dataclass(frozen=True)
class Panel:
    """A chart area with the values at its edges; the x axis may be logarithmic."""

    left: float
    across: tuple[float, float]
    up: tuple[float, float]
    width: float = 370.0
    top: float = 56.0
    height: float = 240.0

    def x(self, value: float) -> float:
        return self.left + self.width * (value - self.across[0]) / (self.across[1] - self.across[0])

    def y(self, value: float) -> float:
        return self.top + self.height * (1 - (value - self.up[0]) / (self.up[1] - self.up[0]))

    def frame(self, title: str, below: str, across: Mapping[float, str], up: Mapping[float, str]) -> list[str]:
        bottom, right = self.top + self.height, self.left + self.width
        parts = [_text(self.left, self.top - 18, title, "start", "title")]
        for value, words in up.items():
            parts.append(f'<path class="grid" d="M{self.left:.1f} {self.y(value):.1f}H{right:.1f}"/>')
            parts.append(_text(self.left - 8, self.y(value) + 4, words, "end"))
        for value, words in across.items():
            parts.append(_text(self.x(value), bottom + 20, words, "middle"))
        return [*parts, _text((self.left + right) / 2, bottom + 42, below, "middle")]

    def line(self, name: str, points: Sequence[tuple[float, float]], has_dots: bool = False) -> list[str]:
        positions = [f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points]
        parts = [f'<path class="line {name}" d="M{"L".join(positions)}"/>']
        if has_dots:
            dots = (position.split() for position in positions)
            parts += [f'<circle class="{name} dot" cx="{x}" cy="{y}" r="3.5"/>' for x, y in dots]
        return parts


def drawn(pages: Sequence[SimulatedPage], years: Mapping[str, DrawnYear]) -> str:
    """The whole file."""
    parts = [*_ages(years), *_visits(pages, years), *_key()]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    title = "<title>A simulated year: the mean age of stored pages, and visits by how often a page changes</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def _ages(years: Mapping[str, DrawnYear]) -> list[str]:
    """The last week of the year is a day long, and left out."""
    lines = {
        name: [(7 * week + 3.5, age / stored_days) for week, (age, stored_days) in enumerate(_weeks(years[name]))]
        for name in SHOWN
    }
    top = math.ceil(10 * max(age for line in lines.values() for _, age in line)) / 10
    panel = Panel(60, (0, YEAR), (0, top))
    up = {tenth / 10: f"{tenth / 10:.1f}" for tenth in range(round(top * 10) + 1)}
    parts = panel.frame(
        "Mean age of stored pages, in days", "day of the year", {float(n): str(n) for n in range(0, 361, 60)}, up
    )
    return [*parts, *(part for name, line in lines.items() for part in panel.line(name, line))]


def _weeks(year: DrawnYear) -> Iterable[tuple[float, float]]:
    return list(zip(year.age, year.stored_days, strict=True))[:-1]


def _visits(pages: Sequence[SimulatedPage], years: Mapping[str, DrawnYear]) -> list[str]:
    panel = Panel(520, (-3.0, 1.5), (0, 0.8))
    across = {-3.0: "0.001", -2.0: "0.01", -1.0: "0.1", 0.0: "1", 1.0: "10"}
    up = {0.0: "0", 0.2: "0.2", 0.4: "0.4", 0.6: "0.6", 0.8: "0.8"}
    parts = panel.frame("Visits a day, by how often a page changes", "changes a day", across, up)
    groups = _groups(pages)
    for name in SHOWN:
        points = [(x, _visits_a_day(pages, members, years[name])) for x, members in groups]
        parts += panel.line(name, [(x, min(y, panel.up[1])) for x, y in points], has_dots=True)
    return parts


def _groups(pages: Sequence[SimulatedPage]) -> list[tuple[float, list[int]]]:
    """Pages grouped by change rate while stored, with the group's position on the axis."""
    groups: list[list[int]] = [[] for _ in range(len(RATES) + 1)]
    for number, page in enumerate(pages):
        changes = sum(at > page.born for at in page.changes) / (YEAR - page.born)
        groups[sum(changes > edge for edge in RATES)].append(number)
    positions = [math.log10(edge) - 0.25 for edge in (*RATES, RATES[-1] * math.sqrt(10))]
    return [(position, members) for position, members in zip(positions, groups, strict=True) if len(members) >= FEWEST]


def _visits_a_day(pages: Sequence[SimulatedPage], members: list[int], year: DrawnYear) -> float:
    return sum(year.visits[number] for number in members) / sum(YEAR - pages[number].born for number in members)


def _key() -> list[str]:
    parts = []
    for position, (name, words) in enumerate(SHOWN.items()):
        x = 270 + position * 150
        parts.append(f'<path class="line {name}" d="M{x} 14h28"/>')
        parts.append(_text(x + 36, 18, words, "start"))
    return parts


def _text(x: float, y: float, words: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
