"""Little websites that exist only as functions, and a crawl of them without a network, for the tests of guessing."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from tenax.discovery.guesses import GuessLimits, VisitFacts, VisitResult, update_guesses
from tenax.discovery.listing import build_listing
from tenax.model import GuessState, Source

HOST = "https://example.org"


@dataclass(frozen=True)
class Reply:
    links: tuple[str, ...] = ()
    text: str = ""
    is_list: bool = False
    answer: VisitResult = VisitResult.PAGE
    following: str | None = None


Site = Callable[[str], Reply]
NOTHING = Reply(answer=VisitResult.NO_PAGE)
FRAME = ("/", "/about", "/contact", "/login")


def listing(*links: str, text: str = "", following: str | None = None) -> Reply:
    words = text or " ".join(links)
    return Reply((*FRAME, *links), words, is_list=True, following=following)


def stories(section: str, page: int, count: int = 10) -> tuple[str, ...]:
    return tuple(f"/{section}/{letter}-story-of-page-{page}" for letter in "abcdefghijklmnopqrst"[:count])


def story(place: str) -> Reply | None:
    """Whatever is a story, or in the frame of each page, exists."""
    is_there = "-story-" in place or place in FRAME[1:]
    return Reply(FRAME, f"all about {place}") if is_there else None


def similarity(one: bytes, other: bytes) -> float:
    words, others = set(one.split()), set(other.split())
    return len(words & others) / max(1, len(words | others))


@dataclass
class Crawl:
    """Visits everything that is linked, then what is guessed, as a crawl with priorities does."""

    site: Site
    limits: GuessLimits = field(default_factory=GuessLimits)
    finds: GuessState = field(default_factory=GuessState)
    now: float = 1_772_000_000.0
    seconds_per_visit: float = 1.0
    order: list[str] = field(default_factory=list)
    guessed: list[str] = field(default_factory=list)
    wasted: list[str] = field(default_factory=list)
    """Guesses that were no page, or led to nothing new."""
    known: set[str] = field(default_factory=set)

    def run(self, *starts: str, most: int = 5000) -> Crawl:
        linked, guesses = deque((start, Source.SEED) for start in starts), deque[tuple[str, Source]]()
        self.known |= set(starts)
        for _ in range(most):
            if not linked and not guesses:
                return self
            place, source = (linked or guesses).popleft()
            reply = self.site(place)
            fresh = [link for link in dict.fromkeys(reply.links) if link not in self.known]
            self.known |= set(fresh)
            linked.extend((link, Source.LINK) for link in fresh)
            self._count(place, source, reply, len(fresh))
            for guess in self._guesses(place, source, reply, len(fresh), len(linked)):
                if guess not in self.known:
                    self.known.add(guess)
                    guesses.append((guess, self.sources[guess]))
        raise AssertionError("the crawl does not end")

    sources: dict[str, Source] = field(default_factory=dict)

    def _count(self, place: str, source: Source, reply: Reply, fresh: int) -> None:
        self.order.append(place)
        if source in (Source.ARCHIVE, Source.PAGINATION):
            self.guessed.append(place)
            if reply.answer is not VisitResult.PAGE or not fresh:
                self.wasted.append(place)

    def _guesses(self, place: str, source: Source, reply: Reply, fresh: int, waiting: int) -> list[str]:
        self.now += self.seconds_per_visit
        links = [HOST + link for link in reply.links]
        following = HOST + reply.following if reply.following else None
        is_page = reply.answer is VisitResult.PAGE
        facts = VisitFacts(
            HOST + place,
            source,
            reply.answer,
            listing=build_listing(HOST + place, links, following) if is_page and reply.is_list else None,
            content_hash=sha256(reply.text.encode()).hexdigest() if is_page else "",
            fingerprint=reply.text.encode() if is_page else b"",
            new_urls=fresh,
            waiting=waiting,
            waiting_high=waiting,
        )
        self.finds, guesses = update_guesses(self.finds, facts, self.now, self.limits, similarity)
        for guess in guesses:
            self.sources[guess.url.removeprefix(HOST)] = guess.source
        return [guess.url.removeprefix(HOST) for guess in guesses]


def page_number(place: str, section: str, style: str = "?page=") -> int | None:
    """Which page of a section this is; None for other places. The first has no number."""
    if place == f"/{section}":
        return 1
    found = re.fullmatch(re.escape(f"/{section}{style}") + r"(\d+)/?", place)
    return int(found[1]) if found else None
