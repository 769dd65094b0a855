"""The disturbances of a cluster soak, drawn from a seed so that a run can be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

WORKERS = 4
SERVERS = ("postgres restart", "postgres crash", "redis restart", "redis crash", "redis flush", "broker restart")
"""`restart`: clean stop and start; `crash`: all connections break at once, and Redis loses its data."""
AWAY_SECONDS = (1.0, 4.0)
REPLACED_SECONDS = (0.0, 3.0)
SPARED_SECONDS = 8.0
"""Minimum seconds between a kill and a pause of the same worker."""
PAST_SECONDS = 6.0
"""A worker is paused this much longer than its lease."""


@dataclass(frozen=True)
class Shape:
    """Number and length of the disturbances."""

    begin_seconds: float
    end_seconds: float
    kills: int
    naps: int
    dead_after_seconds: float

    @property
    def pause_seconds(self) -> float:
        return self.dead_after_seconds + PAST_SECONDS


@dataclass(frozen=True, order=True)
class Disturbance:
    """One disturbance."""

    at_seconds: float
    what: str
    """One of `SERVERS`; `kill`, `pause` or `nap` for a worker."""
    slot: int = -1
    """The worker's slot, for a disturbance of a worker."""
    seconds: float = 0.0
    """How long a server is down or a worker paused; after a kill, the delay until its replacement starts."""

    @property
    def end_seconds(self) -> float:
        return self.at_seconds + self.seconds

    def __str__(self) -> str:
        who = f" of worker {self.slot}" if self.slot >= 0 else ""
        return f"{self.at_seconds:6.1f} s  {self.what}{who}" + (f", {self.seconds:.1f} s" if self.seconds else "")


def plan(seed: int, shape: Shape) -> tuple[Disturbance, ...]:
    """In order of time. Servers fail one at a time, workers at any time; a paused worker is not killed."""
    dice = Random(f"cluster {seed}")
    asleep = list(_sleeps(dice, shape))
    return tuple(sorted([*_servers(dice, shape), *asleep, *_kills(dice, shape, asleep)]))


def _servers(dice: Random, shape: Shape) -> Iterator[Disturbance]:
    order = dice.sample(SERVERS, len(SERVERS))
    step = (shape.end_seconds - shape.begin_seconds) / len(order)
    for number, what in enumerate(order):
        at = shape.begin_seconds + step * number + dice.uniform(0.0, max(step - AWAY_SECONDS[1], 0.0))
        away = 0.0 if what == "redis flush" else dice.uniform(*AWAY_SECONDS)
        yield Disturbance(at, what, seconds=away)


def _sleeps(dice: Random, shape: Shape) -> Iterator[Disturbance]:
    """One pause longer than the lease, the others shorter."""
    at = shape.begin_seconds + dice.uniform(0.0, (shape.end_seconds - shape.begin_seconds) / 4)
    yield Disturbance(at, "pause", dice.randrange(WORKERS), shape.pause_seconds)
    for _ in range(shape.naps):
        seconds = dice.uniform(0.2, 0.8) * shape.dead_after_seconds
        at = dice.uniform(shape.begin_seconds + shape.pause_seconds, shape.end_seconds)
        yield Disturbance(at, "nap", dice.randrange(WORKERS), seconds)


def _kills(dice: Random, shape: Shape, asleep: list[Disturbance]) -> Iterator[Disturbance]:
    for _ in range(shape.kills):
        at, seconds = dice.uniform(shape.begin_seconds, shape.end_seconds), dice.uniform(*REPLACED_SECONDS)
        spared = {
            one.slot for one in asleep if one.at_seconds - SPARED_SECONDS <= at <= one.end_seconds + SPARED_SECONDS
        }
        yield Disturbance(at, "kill", dice.choice([slot for slot in range(WORKERS) if slot not in spared]), seconds)
