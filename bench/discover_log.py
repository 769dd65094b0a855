"""What a crawl found on the discovery site and what it wasted, by the log of the site's own server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.discover_answers import Worth
from bench.discover_behaviours import Sitemaps, Trap
from bench.discover_site import PAGED_SECTIONS, Host, Site, Way, page_address
from bench.discover_sitemaps import BAD_SITEMAPS


@dataclass
class Tally:
    """One crawl."""

    requests: int = 0
    real: Counter[Way] = field(default_factory=Counter)
    """Pages there are, by the only way that leads to them, or links."""
    found: Counter[Way] = field(default_factory=Counter)
    wasted: Counter[Worth] = field(default_factory=Counter)
    guesses_wasted: int = 0
    """Those of the wasted that nothing on the site names: whoever asked had guessed."""

    @property
    def found_share(self) -> float:
        return self.found.total() / self.real.total()

    @property
    def wasted_share(self) -> float:
        return self.wasted.total() / max(self.requests, 1)

    @property
    def guesses_wasted_share(self) -> float:
        return self.guesses_wasted / max(self.requests, 1)

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
                result.guesses_wasted += is_guess(site.hosts[int(host)], Worth(worth), target)
    return result


def is_guess(host: Host, worth: Worth, target: str) -> bool:
    """Whether nothing on the site names what was asked for in vain.

    Named are dead entries of sitemaps, all that is in a trap, and the pages that every pager links to, of which a short
    list has fewer. robots.txt is asked for by everyone.
    """
    if worth not in (Worth.GONE, Worth.PAST_END, Worth.SAME):
        return False
    manner = host.manner
    pages = range(2, manner.linked_numbers + 1) if manner.pager else ()
    paged = {page_address(manner, section, number) for section in manner.sections[:PAGED_SECTIONS] for number in pages}
    sitemaps = BAD_SITEMAPS if manner.sitemaps is Sitemaps.HOSTILE else ()
    return target not in {"/robots.txt", *sitemaps, *host.dead, *paged}
