"""The county's bad behaviour: their names, where they live, and what a crawl must make of them."""

from __future__ import annotations

from functools import lru_cache

from tenax.demo import Site
from tenax.model import Value

CALENDAR_YEAR = 2061
"""Where the endless calendar begins: further ahead than anyone plans."""
RATE_LIMITED_REQUEST = 40
FACETS = {"colour": ("blue", "green", "red"), "size": ("large", "medium", "small")}

COUNTED_PATHS = frozenset({"/moody"})
"""Paths whose answer depends on how often they were asked for."""
REDIRECT_CHAIN = {"/old-address": "/older-address", "/older-address": "/found-at-last"}
REDIRECT_LOOP = {"/round": "/and-round", "/and-round": "/round"}


class Behaviour(Value, frozen=True):
    """One habit of one host."""

    name: str
    home_host: int
    links: tuple[str, ...] = ()
    """What the curiosities page of its host links to."""
    expected_paths: tuple[str, ...] = ()
    """Paths, with their query, that a correct crawl stores because of it."""
    is_slow: bool = False


def _facet_paths() -> tuple[str, ...]:
    colours = ("", *(f"colour={colour}" for colour in FACETS["colour"]))
    sizes = ("", *(f"size={size}" for size in FACETS["size"]))
    queries = ("&".join(part for part in (colour, size) if part) for colour in colours for size in sizes)
    return tuple(f"/finder?{query}" if query else "/finder" for query in queries)


BEHAVIOURS = (
    Behaviour("disallowed", 0, ("/private/accounts", "/private/letters")),
    Behaviour("redirect-disallowed", 0, ("/side-door",)),
    Behaviour("missing", 0, ("/lost", "/lost/and-not-found")),
    Behaviour("gone", 0, ("/closed-for-ever",)),
    Behaviour(
        "schemes", 0, ("mailto:editor@example.org", "javascript:void(0)", "tel:+441632960001", "data:text/html,hi")
    ),
    Behaviour("title", 0, ("/headline",), ("/headline",)),
    Behaviour("slow", 0, ("/patience",), ("/patience",), is_slow=True),
    Behaviour("crawl-delay", 1),
    Behaviour("noindex", 1, ("/unlisted",), ("/quiet/garden",)),
    Behaviour("nofollow", 1, ("/no-further",), ("/no-further",)),
    Behaviour("nofollow-links", 1),
    Behaviour("flaky", 2, ("/moody",), ("/moody",)),
    Behaviour(
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
    Behaviour("facets", 2, ("/finder",), _facet_paths()),
    Behaviour("truncated", 2, ("/cut-short",)),
    Behaviour("rate-limited", 3),
    Behaviour("picture", 3, ("/picture",)),
    Behaviour("empty", 3, ("/empty",)),
    Behaviour("tag-soup", 3, ("/soup",), ("/soup", "/soup/spoon", "/soup/bowl")),
    Behaviour("echo", 4, ("/echo/",), ("/echo/", "/echo/a/b/", "/echo/a/b/a/b/")),
    Behaviour("bomb", 4, ("/bomb",)),
    Behaviour("feed", 4, ("/feed.xml",)),
    Behaviour("drip", 4, ("/drip",), is_slow=True),
    Behaviour("redirect-chain", 5, ("/old-address",), ("/found-at-last",)),
    Behaviour("redirect-loop", 5, ("/round",)),
    Behaviour("redirect-inside", 5, ("/cloud",)),
    Behaviour("redirect-file", 5, ("/passwords",)),
    Behaviour("calendar", 5, ("/calendar",), ("/calendar",)),
    Behaviour("many-links", 5, ("/almanac",), ("/almanac",)),
)

BEHAVIOUR_HOSTS = 1 + max(manner.home_host for manner in BEHAVIOURS)
"""With so many hosts each manner has the home it was made for; with fewer, one host has those of several."""


@lru_cache(maxsize=1024)
def host_behaviours(site: Site, index: int) -> dict[str, Behaviour]:
    """The manners of this host, by name."""
    if site.behaviours == "none":
        return {}
    wanted = (manner for manner in BEHAVIOURS if site.behaviours == "all" or not manner.is_slow)
    return {manner.name: manner for manner in wanted if manner.home_host % site.hosts == index}


def stored_paths(site: Site, index: int) -> set[str]:
    """What a correct crawl stores of this host because of its manners."""
    manners = host_behaviours(site, index)
    paths = {path for manner in manners.values() for path in manner.expected_paths}
    return paths | {"/curiosities"} if manners else paths


def robots_txt(site: Site, index: int) -> str:
    manners = host_behaviours(site, index)
    lines = ["# Welcome, and mind the steps.", "User-agent: *"]
    lines.append("Disallow: /private/" if "disallowed" in manners else "Disallow:")
    if "crawl-delay" in manners:
        lines.append(f"Crawl-delay: {crawl_delay_seconds(site)}")
    return "\n".join(lines) + "\n"


def crawl_delay_seconds(site: Site) -> float:
    """Shorter when quick, for hosts with many pages."""
    return 0.2 if site.behaviours == "all" else 0.05


def is_rate_limited(site: Site, index: int, path: str, host_requests: int) -> bool:
    """Whether this request gets a 429. The front page never does: everything hangs on it."""
    return (
        host_requests == RATE_LIMITED_REQUEST
        and path not in ("/", "/robots.txt")
        and "rate-limited" in host_behaviours(site, index)
    )
