"""The bad behaviours of the demo site: names, hosts, links, and the pages a correct crawl stores."""

from __future__ import annotations

from functools import lru_cache

from tenax.demo import Site
from tenax.model import Value

CALENDAR_YEAR = 2061
"""First year of the endless calendar, far in the future."""
RATE_LIMITED_REQUEST = 40
FACETS = {"colour": ("blue", "green", "red"), "size": ("large", "medium", "small")}

COUNTED_PATHS = frozenset({"/moody"})
"""Paths whose answer depends on the number of requests."""
REDIRECT_CHAIN = {"/old-address": "/older-address", "/older-address": "/found-at-last"}
REDIRECT_LOOP = {"/round": "/and-round", "/and-round": "/round"}


class Behaviour(Value, frozen=True):
    """One behaviour of one host."""

    name: str
    home_host: int
    links: tuple[str, ...] = ()
    """Links on the curiosities page of its host."""
    expected_paths: tuple[str, ...] = ()
    """Paths with query that a correct crawl stores because of it."""
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

BEHAVIOUR_HOSTS = 1 + max(behaviour.home_host for behaviour in BEHAVIOURS)
"""With this many hosts each behaviour has its own home host; with fewer, hosts share them."""


@lru_cache(maxsize=1024)
def host_behaviours(site: Site, index: int) -> dict[str, Behaviour]:
    """The behaviours of this host, by name."""
    if site.behaviours == "none":
        return {}
    wanted = (behaviour for behaviour in BEHAVIOURS if site.behaviours == "all" or not behaviour.is_slow)
    return {behaviour.name: behaviour for behaviour in wanted if behaviour.home_host % site.hosts == index}


def stored_paths(site: Site, index: int) -> set[str]:
    """Paths that a correct crawl stores because of this host's behaviours."""
    behaviours = host_behaviours(site, index)
    paths = {path for behaviour in behaviours.values() for path in behaviour.expected_paths}
    return paths | {"/curiosities"} if behaviours else paths


def robots_txt(site: Site, index: int) -> str:
    behaviours = host_behaviours(site, index)
    lines = ["# Welcome, and mind the steps.", "User-agent: *"]
    lines.append("Disallow: /private/" if "disallowed" in behaviours else "Disallow:")
    if "crawl-delay" in behaviours:
        lines.append(f"Crawl-delay: {crawl_delay_seconds(site)}")
    return "\n".join(lines) + "\n"


def crawl_delay_seconds(site: Site) -> float:
    """Shorter for `quick`, so that hosts with many pages do not take long."""
    return 0.2 if site.behaviours == "all" else 0.05


def is_rate_limited(site: Site, index: int, path: str, host_requests: int) -> bool:
    """Whether this request gets a 429. Never the front page: all other pages are found from it."""
    return (
        host_requests == RATE_LIMITED_REQUEST
        and path not in ("/", "/robots.txt")
        and "rate-limited" in host_behaviours(site, index)
    )
