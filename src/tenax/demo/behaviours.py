"""The county's bad manners: their names, where they live, and what a crawl must make of them."""

from __future__ import annotations

from functools import lru_cache

from tenax.demo import Site
from tenax.model import Value

CALENDAR_YEAR = 2061
"""Where the endless calendar begins: further ahead than anyone plans."""
TURNED_AWAY_AT = 40
FACETS = {"colour": ("blue", "green", "red"), "size": ("large", "medium", "small")}

COUNTED_PATHS = frozenset({"/moody"})
"""Paths whose answer depends on how often they were asked for."""
CHAIN = {"/old-address": "/older-address", "/older-address": "/found-at-last"}
LOOP = {"/round": "/and-round", "/and-round": "/round"}


class Manner(Value, frozen=True):
    """One habit of one host."""

    name: str
    home: int
    links: tuple[str, ...] = ()
    """What the curiosities page of its host links to."""
    stored: tuple[str, ...] = ()
    """Paths, with their query, that a correct crawl stores because of it."""
    is_slow: bool = False


def _facet_paths() -> tuple[str, ...]:
    colours = ("", *(f"colour={colour}" for colour in FACETS["colour"]))
    sizes = ("", *(f"size={size}" for size in FACETS["size"]))
    queries = ("&".join(part for part in (colour, size) if part) for colour in colours for size in sizes)
    return tuple(f"/finder?{query}" if query else "/finder" for query in queries)


MANNERS = (
    Manner("disallowed", 0, ("/private/accounts", "/private/letters")),
    Manner("redirect-disallowed", 0, ("/side-door",)),
    Manner("missing", 0, ("/lost", "/lost/and-not-found")),
    Manner("gone", 0, ("/closed-for-ever",)),
    Manner("schemes", 0, ("mailto:editor@example.org", "javascript:void(0)", "tel:+441632960001", "data:text/html,hi")),
    Manner("title", 0, ("/headline",), ("/headline",)),
    Manner("slow", 0, ("/patience",), ("/patience",), is_slow=True),
    Manner("crawl-delay", 1),
    Manner("noindex", 1, ("/unlisted",), ("/quiet/garden",)),
    Manner("nofollow", 1, ("/no-further",), ("/no-further",)),
    Manner("nofollow-links", 1),
    Manner("flaky", 2, ("/moody",), ("/moody",)),
    Manner(
        "spellings",
        2,
        (
            "/visit",
            "/visit#map",
            "/./visit",
            "/tags/../visit",
            "/%76isit",
            "/visit?utm_source=letter&utm_medium=mail",
            "/visit?sid=8f14e45f",
            "/visit;jsessionid=0A1B2C3D",
            "/visit?fbclid=IwAR0&gclid=Cj0K",
        ),
        ("/visit",),
    ),
    Manner("facets", 2, ("/finder",), _facet_paths()),
    Manner("truncated", 2, ("/cut-short",)),
    Manner("rate-limited", 3),
    Manner("picture", 3, ("/picture",)),
    Manner("empty", 3, ("/empty",)),
    Manner("tag-soup", 3, ("/soup",), ("/soup", "/soup/spoon", "/soup/bowl")),
    Manner("echo", 4, ("/echo/",), ("/echo/", "/echo/a/b/", "/echo/a/b/a/b/")),
    Manner("bomb", 4, ("/bomb",)),
    Manner("feed", 4, ("/feed.xml",)),
    Manner("drip", 4, ("/drip",), is_slow=True),
    Manner("redirect-chain", 5, ("/old-address",), ("/found-at-last",)),
    Manner("redirect-loop", 5, ("/round",)),
    Manner("redirect-inside", 5, ("/cloud",)),
    Manner("redirect-file", 5, ("/passwords",)),
    Manner("calendar", 5, ("/calendar",), ("/calendar",)),
    Manner("many-links", 5, ("/almanac",), ("/almanac",)),
)

HOMES = 1 + max(manner.home for manner in MANNERS)
"""With so many hosts each manner has the home it was made for; with fewer, one host has those of several."""


@lru_cache(maxsize=1024)
def manners_of(site: Site, index: int) -> dict[str, Manner]:
    """The manners of this host, by name."""
    if site.manners == "none":
        return {}
    wanted = (manner for manner in MANNERS if site.manners == "all" or not manner.is_slow)
    return {manner.name: manner for manner in wanted if manner.home % site.hosts == index}


def stored_paths(site: Site, index: int) -> set[str]:
    """What a correct crawl stores of this host because of its manners."""
    manners = manners_of(site, index)
    paths = {path for manner in manners.values() for path in manner.stored}
    return paths | {"/curiosities"} if manners else paths


def robots_txt(site: Site, index: int) -> str:
    manners = manners_of(site, index)
    lines = ["# Welcome, and mind the steps.", "User-agent: *"]
    lines.append("Disallow: /private/" if "disallowed" in manners else "Disallow:")
    if "crawl-delay" in manners:
        lines.append(f"Crawl-delay: {crawl_delay_seconds(site)}")
    return "\n".join(lines) + "\n"


def crawl_delay_seconds(site: Site) -> float:
    """Shorter when quick, for hosts with many pages."""
    return 0.2 if site.manners == "all" else 0.05


def is_turned_away(site: Site, index: int, path: str, host_requests: int) -> bool:
    """Whether this request gets a 429. The front page never does: everything hangs on it."""
    return (
        host_requests == TURNED_AWAY_AT
        and path not in ("/", "/robots.txt")
        and "rate-limited" in manners_of(site, index)
    )
