"""What is done to a cluster while it crawls, and when: drawn from a seed, so that the same trouble can be had again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

WORKERS = 4
SERVERS = ("postgres restart", "postgres crash", "redis restart", "redis crash", "redis flush", "broker restart")
"""`restart`: it ends as it should and comes back; `crash`: all its connections are gone at once, and Redis forgets."""
AWAY_SECONDS = (1.0, 4.0)
REPLACED_SECONDS = (0.0, 3.0)
SPARED_SECONDS = 8.0
"""A worker that is put to sleep was not killed for so long, so that it is there, and is not killed when it wakes."""
PAST_SECONDS = 6.0
"""A worker is paused for so much longer than it takes to be dead."""


@dataclass(frozen=True)
class Shape:
    """How much of it there is."""

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
    """One thing that happens."""

    at_seconds: float
    what: str
    """One of `SERVERS`; `kill`, `pause` or `nap` for a worker."""
    slot: int = -1
    """Which worker, if it is one."""
    seconds: float = 0.0
    """How long a server is away or a worker asleep; after a kill, how long it takes until there is another."""

    @property
    def end_seconds(self) -> float:
        return self.at_seconds + self.seconds

    def __str__(self) -> str:
        who = f" of worker {self.slot}" if self.slot >= 0 else ""
        return f"{self.at_seconds:6.1f} s  {self.what}{who}" + (f", {self.seconds:.1f} s" if self.seconds else "")


def plan(seed: int, shape: Shape) -> tuple[Disturbance, ...]:
    """In order of time. Servers fail one after the other, workers at any moment; one that sleeps is not killed too."""
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
    """One for long enough to be dead, others for less."""
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
