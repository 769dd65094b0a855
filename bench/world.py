"""A generated web for database benchmarks: hosts of very different sizes, their URLs and links.

Four links in five stay on the page's host. Six in ten known links are the site's navigation (its first 40 pages), as
menus and footers are; the others lead to any known page of their host with equal probability.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterator
from itertools import accumulate

import msgspec

from tenax.config import Config, PolitenessConfig, Sites
from tenax.hosts.rules import HostPace
from tenax.model import (
    Candidate,
    Claim,
    Done,
    Fetched,
    FetchRecord,
    Page,
    Priority,
    RobotsCopy,
    RobotsVerdict,
    Visit,
)

LINKS, NEW_SHARE, AT_HOME_SHARE = 50, 0.05, 0.8
NAVIGATION_SHARE, NAVIGATION = 0.6, 40
HOSTS_PER_URL = 1 / 1000
WORDS = ("a", "word", "of", "the", "text", "that", "stands", "on", "this", "page", "and", "is", "kept", "with", "it")
PRIORITIES = (Priority(1), Priority(2), Priority(3))
TEXT = " ".join(random.Random(7).choices(WORDS, k=1000))


class World:
    """Hosts, and the URLs known on them: numbers 0 to n of each host."""

    def __init__(self, size: int, new_from: int | None = None) -> None:
        """`new_from`: first number of new URLs, for one of several worlds that share a database."""
        self.random = random.Random(42 if new_from is None else new_from)
        count = max(int(size * HOSTS_PER_URL), 20)
        weights = [1 / (rank + 10) for rank in range(count)]
        scale = size / sum(weights)
        self.known = [int(weight * scale) for weight in weights]
        self.shares = list(accumulate(weights))
        self.hosts = range(count)
        self._new_from = new_from

    def known_candidates(self) -> Iterator[Candidate]:
        for host, known in enumerate(self.known):
            for number in range(known):
                yield candidate_of(host, number)

    def links(self, home: int) -> tuple[Candidate, ...]:
        """The links of a page. Optimized: generating them must not dominate the measurement."""
        roll, known_on, shares = self.random.random, self.known, self.shares
        total, last = shares[-1], len(shares) - 1
        links = []
        for _ in range(LINKS):
            host = home if roll() < AT_HOME_SHARE else bisect(shares, roll() * total, 0, last)
            known = known_on[host]
            if roll() < NEW_SHARE or not known:
                number = self._new(host)
            elif host == home and roll() < NAVIGATION_SHARE:
                number = int(roll() * min(known, NAVIGATION))
            else:
                number = int(roll() * known)
            links.append(candidate_of(host, number))
        return tuple(links)

    def _new(self, host: int) -> int:
        if self._new_from is not None:
            self._new_from += 1
            return self._new_from
        self.known[host] += 1
        return self.known[host] - 1


def candidate_of(host: int, number: int) -> Candidate:
    origin = f"https://www.host-{host}.example"
    url = f"{origin}/section-{number % 40}/2026/an-article-{number}.html"
    return Candidate(url, origin, number % 10, PRIORITIES[number % 3])


def host_number(origin: str) -> int:
    return int(origin.removeprefix("https://www.host-").removesuffix(".example"))


def visit_of(claim: Claim, links: tuple[Candidate, ...], now: float, text: str = TEXT) -> Visit:
    """A typical visit: fetched and done."""
    page = Page(
        url=claim.task.url,
        status=200,
        content_type="text/html",
        content_hash="ab" * 32,
        content_length=30_000,
        fetched_at=now,
        title="A usual title",
        description="And a description",
        text=text,
    )
    robots = claim.host.robots or RobotsCopy(RobotsVerdict.ALLOW_ALL, now, now + 1e6)
    host = msgspec.structs.replace(claim.host, robots=robots, next_at=now, page_count=claim.host.page_count + 1)
    return Visit(
        claim,
        Fetched(200),
        Done(),
        host,
        now,
        now,
        Fetched.label,
        page,
        links,
        fetch=FetchRecord(200, "text/html", 9000, 30000),
    )


def unpaced_hosts() -> HostPace:
    """No pace, so that only the database is measured."""
    return HostPace(Sites(Config(politeness=PolitenessConfig(rate_per_second=0, connections_per_host=8))))
