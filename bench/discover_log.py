"""Pages found and requests wasted on the discovery site, from the log of its server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.discover_answers import Worth
from bench.discover_behaviours import Sitemaps, Trap
from bench.discover_site import PAGED_SECTIONS, Host, Site, Source, page_address
from bench.discover_sitemaps import BAD_SITEMAPS


@dataclass
class Tally:
    """One crawl."""

    requests: int = 0
    real: Counter[Source] = field(default_factory=Counter)
    """Existing pages by their only source, or links."""
    found: Counter[Source] = field(default_factory=Counter)
    wasted: Counter[Worth] = field(default_factory=Counter)
    guesses_wasted: int = 0
    """Wasted requests for URLs that the site names nowhere: guesses."""

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
        """Share of pages without links that were found."""
        return (self.found.total() - self.found[Source.LINKS]) / (self.real.total() - self.real[Source.LINKS])

    def shares(self) -> Mapping[Source, float]:
        return {source: self.found[source] / self.real[source] for source in Source}

    def in_trap(self, trap: Trap) -> int:
        return self.wasted[Worth(trap.value)]


def tally(site: Site, log: Path) -> Tally:
    """Reads the complete log of a stopped server."""
    sources = site.sources()
    result = Tally(real=Counter(sources.values()))
    with log.open(encoding="latin-1") as lines:
        for line in lines:
            worth, _status, host, target, _agent = line.rstrip("\n").split("\t", 4)
            result.requests += 1
            if worth == Worth.PAGE:
                result.found[sources[int(host), target]] += 1
            elif Worth(worth).is_wasted:
                result.wasted[Worth(worth)] += 1
                result.guesses_wasted += is_guess(site.hosts[int(host)], Worth(worth), target)
    return result


def is_guess(host: Host, worth: Worth, target: str) -> bool:
    """Whether the site names this wasted URL nowhere.

    Named are dead sitemap entries, everything in a trap, and the pages that every pager links to, even if the list is
    shorter. Everyone requests robots.txt.
    """
    if worth not in (Worth.GONE, Worth.PAST_END, Worth.SAME):
        return False
    behaviour = host.behaviour
    pages = range(2, behaviour.linked_numbers + 1) if behaviour.pager else ()
    paged = {
        page_address(behaviour, section, number) for section in behaviour.sections[:PAGED_SECTIONS] for number in pages
    }
    sitemaps = BAD_SITEMAPS if behaviour.sitemaps is Sitemaps.HOSTILE else ()
    return target not in {"/robots.txt", *sitemaps, *host.dead, *paged}
