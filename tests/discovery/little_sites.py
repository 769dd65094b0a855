"""Small websites as functions, and a crawl of them without a network, for the tests of guessing."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from tenax.discovery.archives import build_listing
from tenax.discovery.guesses import GuessLimits, VisitFacts, VisitResult, update_guesses
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


def story(relative_url: str) -> Reply | None:
    """Stories and the common pages of a site exist."""
    is_there = "-story-" in relative_url or relative_url in FRAME[1:]
    return Reply(FRAME, f"all about {relative_url}") if is_there else None


def similarity(one: bytes, other: bytes) -> float:
    words, others = set(one.split()), set(other.split())
    return len(words & others) / max(1, len(words | others))


@dataclass
class Crawl:
    """Visits everything that is linked, then the guesses, as a crawl with priorities does."""

    site: Site
    limits: GuessLimits = field(default_factory=GuessLimits)
    guess_state: GuessState = field(default_factory=GuessState)
    now: float = 1_772_000_000.0
    seconds_per_visit: float = 1.0
    order: list[str] = field(default_factory=list)
    guessed: list[str] = field(default_factory=list)
    wasted: list[str] = field(default_factory=list)
    """Guesses without a page, or without anything new."""
    known: set[str] = field(default_factory=set)

    def run(self, *starts: str, most: int = 5000) -> Crawl:
        linked, guesses = deque((start, Source.SEED) for start in starts), deque[tuple[str, Source]]()
        self.known |= set(starts)
        for _ in range(most):
            if not linked and not guesses:
                return self
            relative_url, source = (linked or guesses).popleft()
            reply = self.site(relative_url)
            fresh = [link for link in dict.fromkeys(reply.links) if link not in self.known]
            self.known |= set(fresh)
            linked.extend((link, Source.LINK) for link in fresh)
            self._count(relative_url, source, reply, len(fresh))
            for guess in self._guesses(relative_url, source, reply, len(fresh), len(linked)):
                if guess not in self.known:
                    self.known.add(guess)
                    guesses.append((guess, self.sources[guess]))
        raise AssertionError("the crawl does not end")

    sources: dict[str, Source] = field(default_factory=dict)

    def _count(self, relative_url: str, source: Source, reply: Reply, fresh: int) -> None:
        self.order.append(relative_url)
        if source in (Source.ARCHIVE, Source.PAGINATION):
            self.guessed.append(relative_url)
            if reply.answer is not VisitResult.PAGE or not fresh:
                self.wasted.append(relative_url)

    def _guesses(self, relative_url: str, source: Source, reply: Reply, fresh: int, waiting: int) -> list[str]:
        self.now += self.seconds_per_visit
        links = [HOST + link for link in reply.links]
        following = HOST + reply.following if reply.following else None
        is_page = reply.answer is VisitResult.PAGE
        facts = VisitFacts(
            HOST + relative_url,
            source,
            reply.answer,
            listing=build_listing(HOST + relative_url, links, following) if is_page and reply.is_list else None,
            content_hash=sha256(reply.text.encode()).hexdigest() if is_page else "",
            fingerprint=reply.text.encode() if is_page else b"",
            new_urls=fresh,
            waiting=waiting,
            waiting_high=waiting,
        )
        self.guess_state, guesses = update_guesses(self.guess_state, facts, self.now, self.limits, similarity)
        for guess in guesses:
            self.sources[guess.url.removeprefix(HOST)] = guess.source
        return [guess.url.removeprefix(HOST) for guess in guesses]


def page_number(relative_url: str, section: str, style: str = "?page=") -> int | None:
    """The page number of a section; None for other paths. The first page has no number."""
    if relative_url == f"/{section}":
        return 1
    found = re.fullmatch(re.escape(f"/{section}{style}") + r"(\d+)/?", relative_url)
    return int(found[1]) if found else None
