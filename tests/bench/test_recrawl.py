"""The simulated year counts ages as they are defined, and everyone gets the same."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

import pytest

from bench.recrawl import POLICIES, Year, year_of
from bench.recrawl_plot import drawn
from bench.recrawl_policies import RoundRobin
from bench.recrawl_world import YEAR, Phase, SimulatedPage, world
from tenax.model import PageKind

PAGES, PER_DAY = 120, 24


@pytest.fixture(scope="module")
def pages() -> list[SimulatedPage]:
    return world(5, PAGES)


@pytest.fixture(scope="module")
def years(pages: Sequence[SimulatedPage]) -> dict[str, Year]:
    return {name: year_of(pages, policy(pages, PER_DAY), PER_DAY) for name, policy in POLICIES.items()}


def test_the_world_is_the_same_for_the_same_seed() -> None:
    assert [page.changes for page in world(5, 20)] == [page.changes for page in world(5, 20)]
    assert [page.changes for page in world(5, 20)] != [page.changes for page in world(6, 20)]


def test_nobody_has_more_requests(years: dict[str, Year]) -> None:
    most = sum(years["fixed"].visits)
    assert most == YEAR * PER_DAY
    assert all(sum(year.visits) <= most for year in years.values())


def test_knowing_more_makes_what_is_held_younger(years: dict[str, Year]) -> None:
    fixed, ours, oracle = (years[name].mean_age() for name in ("fixed", "tenax", "oracle"))
    assert oracle < ours < fixed


def test_an_age_is_counted_from_the_first_change_not_seen() -> None:
    """Two pages, one visit a day: each is visited every other day, on the days 1, 3, 5 … and 2, 4, 6 …"""
    changes = [1.5, 1.75, 7.0, 7.5]
    page = SimulatedPage(0, PageKind.OTHER, "", 0.0, changes, (Phase(0.0, 1.0),))
    other = SimulatedPage(0, PageKind.OTHER, "", 0.0, [], (Phase(0.0, 0.0),))
    year = year_of([page, other], RoundRobin(), 1)
    # Unseen from 1.5 until the visit on day 3, and from 7.5 until that on day 9: the change on day 7 was seen that day.
    assert year.age[0] == pytest.approx(1.5**2 / 2)
    assert year.age[1] == pytest.approx(1.5**2 / 2)
    assert year.visits == [183, 182]
    assert sum(year.stored_days) == pytest.approx(364 + 363)


def test_an_age_is_shared_out_among_weeks() -> None:
    year = Year([0])
    year.stale(6.0, 15.0)
    assert year.age[:3] == pytest.approx([0.5, (8**2 - 1) / 2, (9**2 - 8**2) / 2])


def test_the_plot_is_well_formed(pages: Sequence[SimulatedPage], years: dict[str, Year]) -> None:
    root = ElementTree.fromstring(drawn(pages, years))
    lines = [part for part in root if "line" in part.get("class", "").split()]
    assert len(lines) == 9  # three policies: in each picture, and in the key
