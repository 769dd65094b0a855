"""Many small hosts for a cluster crawl: the same pages on each, some slow, some linked only from other hosts.

A *guest* is a page that no page of its own host links to. When its link is found, its host may be leased by another
worker, or be finished and leased by none.

Most hosts are IP addresses. The last ones have names, and several of these share an address, which has its own pace.
"""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass
from pathlib import Path

from bench.polite import address_of
from bench.site import WORDS

CHILDREN = 4
GUESTS_A_PAGE = 6
"""Links to other hosts on page n of every host."""
SLOW_EVERY = 7
SLOW_LOCATION = "location ^~ /slow/ { limit_rate 1500; }"
"""For nginx: such a page takes about a second, so that visits are always in flight."""
PROSE_WORDS = 420

PACE_SECONDS = 2.0
"""Minimum interval of requests to one host."""
PER_IP_RATE_FACTOR = 2.5
SHARING = 3
"""Hosts at one address: more than the address's pace allows at full host pace."""
SHARED_PART = 5
"""One in this many hosts shares its address."""


@dataclass(frozen=True)
class Hosts:
    """The hosts and their pages, all on one port."""

    count: int
    pages: int
    port: int

    @property
    def origins(self) -> list[str]:
        return [self._origin(number) for number in range(self.count)]

    def names(self) -> dict[str, str]:
        """Address by name, for hosts with names."""
        return {self._name(number): self._address(number) for number in range(self._named_from, self.count)}

    def expected(self) -> set[str]:
        """Every URL that a complete crawl stores."""
        own = {f"{origin}{path_of(number)}" for origin in self.origins for number in range(self.pages)}
        return own | {guest for number in range(self.pages) for guest in self._guests(number)}

    def write(self, directory: Path) -> None:
        """Writes the files, compressed as the server sends them."""
        _store(directory / "robots.txt", "User-agent: *\nAllow: /\n")
        for number in range(self.pages):
            children = range(CHILDREN * number + 1, CHILDREN * number + CHILDREN + 1)
            links = [path_of(child) for child in children if child < self.pages]
            links += [path_of((number * 3 + 1) % self.pages), *self._guests(number)]
            _store(directory / (path_of(number).lstrip("/") or "index.html"), _page(f"Page {number}", links))
            for guest in range(GUESTS_A_PAGE):
                _store(directory / _guest_path(number, guest).lstrip("/"), _page(f"Guest {number}-{guest}", ["/"]))

    def _guests(self, number: int) -> list[str]:
        dice = random.Random(f"guests {number}")
        hosts = dice.sample(range(self.count), GUESTS_A_PAGE)
        return [f"{self._origin(host)}{_guest_path(number, guest)}" for guest, host in enumerate(hosts)]

    def _origin(self, number: int) -> str:
        called = self._address(number) if number < self._named_from else self._name(number)
        return f"http://{called}:{self.port}"

    @property
    def _named_from(self) -> int:
        return self.count - self.count // SHARED_PART

    def _name(self, number: int) -> str:
        return f"soak-{number}.test"  # each its own domain

    def _address(self, number: int) -> str:
        """Hosts with names share addresses."""
        beyond = max(number - self._named_from, 0)
        return address_of(number - beyond + beyond // SHARING)


def path_of(number: int) -> str:
    if number == 0:
        return "/"
    return f"/slow/{number}.html" if number % SLOW_EVERY == 3 else f"/page/{number}.html"


def _guest_path(number: int, guest: int) -> str:
    return f"/guest/{number}-{guest}.html"


def _page(title: str, links: list[str]) -> str:
    prose = " ".join(random.Random(title).choices(WORDS, k=PROSE_WORDS))
    items = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        f"<body><article><h1>{title}</h1><p>{prose}</p></article><ul>{items}</ul></body></html>"
    )


def _store(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_name(file.name + ".gz").write_bytes(gzip.compress(text.encode(), mtime=0))
