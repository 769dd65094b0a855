"""What a crawl found on the discovery site and what it wasted, by the log of the site's own server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.discover_answers import Worth
from bench.discover_manners import Trap
from bench.discover_site import Site, Way


@dataclass
class Tally:
    """One crawl."""

    requests: int = 0
    real: Counter[Way] = field(default_factory=Counter)
    """Pages there are, by the only way that leads to them, or links."""
    found: Counter[Way] = field(default_factory=Counter)
    wasted: Counter[Worth] = field(default_factory=Counter)

    @property
    def found_share(self) -> float:
        return self.found.total() / self.real.total()

    @property
    def wasted_share(self) -> float:
        return self.wasted.total() / max(self.requests, 1)

    @property
    def hidden_share(self) -> float:
        """Of the pages that no link shows, those that were found."""
        return (self.found.total() - self.found[Way.LINKS]) / (self.real.total() - self.real[Way.LINKS])

    def shares(self) -> Mapping[Way, float]:
        return {way: self.found[way] / self.real[way] for way in Way}

    def in_trap(self, trap: Trap) -> int:
        return self.wasted[Worth(trap.value)]


def tally(site: Site, log: Path) -> Tally:
    """The log must be complete: its server has ended."""
    ways = site.ways()
    result = Tally(real=Counter(ways.values()))
    with log.open(encoding="latin-1") as lines:
        for line in lines:
            worth, _status, host, target, _agent = line.rstrip("\n").split("\t", 4)
            result.requests += 1
            if worth == Worth.PAGE:
                result.found[ways[int(host), target]] += 1
            elif Worth(worth).is_wasted:
                result.wasted[Worth(worth)] += 1
    return result
