"""What is done with a site: a few runs of the command, each with rules of its own, some of them killed.

A site has one to three themes. A theme starts with a narrow rule or a low limit, or changes one from run to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from bench.soak_honest_site import Shape, Site, origin_of

NO_DEPTH = 100
MOST_RUNS = 5
FIRST_KILL_SHARE, KILL_SHARE = 0.4, 0.2
THEMES = (
    "plain", "links", "depth", "facets", "hosts", "listed", "sitemaps", "feeds", "pages", "exact", "exclude", "include",
    "scope", "seeds", "moved", "discover", "guard", "dead",
)  # fmt: skip
AS_STORED = -1
"""A page limit that is just reached: as many as are stored already."""
ALWAYS = (
    "--rate", "0",
    "--set", "fetch.retry_base_seconds=0.05", "--set", "fetch.retry_max_seconds=0.2",
    "--set", "hosts.budget_failures=1000", "--set", "crawl.max_idle_seconds=5", "--set", "fetch.fallbacks=",
)  # fmt: skip
"""Short delays before retries, and no fallback transport."""

Step = dict[str, Any]
"""Fields of `Rules` that change, with their new values."""


@dataclass(frozen=True)
class Rules:
    """The options of a run; others have their defaults."""

    seeds: tuple[str, ...]
    scope: str = "host"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_depth: int = NO_DEPTH
    max_pages: int = 0
    links_per_page: int = 1000
    facets_per_path: int = 500
    hosts_per_domain: int = 1000
    sitemap_urls: int = 50_000
    sitemaps: int = 1000
    feeds: int = 100
    discover: tuple[str, ...] = ("links", "sitemaps", "feeds")
    """No guesses at archives and next pages."""
    is_guard_open: bool = True
    breaker_failures: int = 1000

    def flags(self, ports: Sequence[int]) -> list[str]:
        limits = {
            "crawl.max_links_per_page": self.links_per_page,
            "urls.facets_per_path": self.facets_per_path,
            "urls.hosts_per_domain": self.hosts_per_domain,
            "discovery.max_sitemap_urls": self.sitemap_urls,
            "discovery.max_sitemaps": self.sitemaps,
            "discovery.max_feeds": self.feeds,
            "hosts.breaker_failures": self.breaker_failures,
        }
        flags = [*self.seeds, *ALWAYS, "--scope", self.scope, "--max-depth", str(self.max_depth)]
        flags += ["--discover", ",".join(self.discover)]
        # All of them in every run: what is not said is kept from the run before.
        for name, patterns in (("include", self.include), ("exclude", self.exclude)):
            flags += [part for pattern in patterns for part in (f"--{name}", pattern)]
            flags += [] if patterns else ["--set", f"crawl.{name}="]
        flags += ["--max-pages", str(self.max_pages)]
        flags += [part for name, value in limits.items() for part in ("--set", f"{name}={value}")]
        if self.is_guard_open:
            flags += ["--set", "guard.allow_networks=127.0.0.0/17"]
            flags += ["--set", f"guard.ports={','.join(map(str, sorted({8080, *ports})))}"]
        return flags


@dataclass(frozen=True)
class Run:
    rules: Rules
    kill_after: int | None = None
    """Kill it when it has sent so many requests; 0: while it opens its files. None: it ends by itself."""
    kill_delay_seconds: float = 0.0


@dataclass(frozen=True)
class Outline:
    """What is known of a site's plan before its addresses are."""

    themes: tuple[str, ...]
    shape: Shape
    machine: tuple[str, ...]
    """Flags of all its runs that change how, and not what: readers and connections."""


def outline(chance: Random) -> Outline:
    themes = tuple(chance.sample(THEMES, chance.choice((1, 1, 2, 2, 3))))
    if {"moved", "guard"} <= {*themes}:  # a guard that is closed to where the only seed leads leaves nothing to look at
        themes = tuple(theme for theme in themes if theme != "guard")
    extra_ports = chance.randint(4, 6) if "hosts" in themes else 0
    shape = Shape(
        addresses=chance.choice((2, 3) if {"scope", "moved", "guard"} & {*themes} else (1, 1, 2, 3)),
        extra_ports=extra_ports,
        dead_hosts=1 if "dead" in themes else 0,
        has_reset="dead" in themes and chance.random() < 0.3,
        is_tree="depth" in themes,
        core=chance.randint(8, 24),
        fan=chance.randint(14, 30) if "links" in themes or chance.random() < 0.3 else 0,
        noise=42 if "links" in themes and chance.random() < 0.4 else 0,
        facets=chance.randint(8, 16) if "facets" in themes or chance.random() < 0.3 else 0,
        listed=chance.randint(6, 14) if {"listed", "sitemaps", "discover"} & {*themes} else chance.choice((0, 3, 6)),
        is_index="sitemaps" in themes or chance.random() < 0.5,
        fed=4 if "discover" in themes else chance.choice((0, 0, 4)),
        more_feeds=chance.randint(2, 4) if "feeds" in themes else 0,
        deep=chance.randint(5, 14) if "depth" in themes else chance.choice((0, 3)),
        islands=chance.randint(1, 3) if "seeds" in themes else chance.choice((0, 1)),
        is_moved="moved" in themes,
    )
    processes, connections = chance.choice((0, 0, 0, 2)), chance.choice((1, 1, 4))
    return Outline(themes, shape, ("--set", f"pool.processes={processes}", "--per-host", str(connections)))


def runs_of(outline: Outline, site: Site, chance: Random) -> tuple[Run, ...]:
    """The first run has all the narrow rules, each later one changes some of them; the last may change nothing."""
    rules = Rules(seeds=site.seeds)
    if "dead" in outline.themes:
        rules = replace(rules, scope="any", breaker_failures=5)
    steps: list[Step] = []
    for theme in outline.themes:
        start, *later = _steps(theme, site, chance)
        rules = replace(rules, **start)
        steps += later
    if len(outline.themes) > 1:
        chance.shuffle(steps)
    planned = [rules]
    for step in steps[: MOST_RUNS - 1]:
        planned.append(replace(planned[-1], **step))
    if len(planned) == 1 or (len(planned) < MOST_RUNS and chance.random() < 0.3):
        planned.append(planned[-1])
    runs: list[Run] = []
    for position, one in enumerate(planned):
        if chance.random() < (KILL_SHARE if position else FIRST_KILL_SHARE):
            runs += _killed(one, is_first=position == 0, most=len(site.resources) // 2, chance=chance)
        runs.append(Run(one))
    return tuple(runs)


def _killed(rules: Rules, *, is_first: bool, most: int, chance: Random) -> list[Run]:
    """Up to three attempts at a run that are killed. A later run may have little left to ask for."""
    runs = []
    for _ in range(chance.choice((1, 1, 2, 3) if is_first else (1,))):
        after = 0 if chance.random() < 0.15 else chance.randint(1, most if is_first else 6)
        runs.append(Run(rules, after, chance.uniform(0, 0.4 if after == 0 else 0.02)))
    return runs


def _steps(theme: str, site: Site, chance: Random) -> list[Step]:
    """The options of the first run, then the changes in order."""
    one_step = chance.random() < 0.5
    match theme:
        case "links":
            low = chance.randint(3, 7)
            between: list[Step] = [] if one_step else [{"links_per_page": low + 4}]
            return [{"links_per_page": low}, *between, {"links_per_page": 1000}]
        case "depth":
            low = chance.randint(1, 4)
            return [{"max_depth": low}, *([] if one_step else [{"max_depth": low + 2}]), {"max_depth": NO_DEPTH}]
        case "facets":
            return [{"facets_per_path": chance.randint(2, 6)}, {"facets_per_path": 500}]
        case "hosts":
            wide = chance.choice(("domain", "any"))
            return [{"hosts_per_domain": chance.randint(1, 3), "scope": wide}, {"hosts_per_domain": 1000}]
        case "listed":
            return [{"sitemap_urls": chance.randint(2, 4)}, {"sitemap_urls": 50_000}]
        case "sitemaps":
            return [{"sitemaps": chance.randint(1, 2)}, {"sitemaps": 1000}]
        case "feeds":
            return [{"feeds": chance.randint(1, 2)}, {"feeds": 100}]
        case "exact":
            return [{}, {"max_pages": AS_STORED}, {"max_pages": 0}]
        case "discover":
            lists = {"discover": ("links", "sitemaps", "feeds")}
            return [{"discover": chance.choice((("links",), ("links", "sitemaps"), ("links", "feeds")))}, lists]
        case "guard":
            return [{"scope": "any", "is_guard_open": False}, {"is_guard_open": True}]
        case "pages":
            low = chance.randint(3, 12)
            return [{"max_pages": low}, *([] if one_step else [{"max_pages": low + 5}]), {"max_pages": 0}]
        case "exclude":
            pattern: Step = {"exclude": (chance.choice(("*/x/*", "*/y/*", "*/m/*", "*/r/*")),)}
            return [pattern, {"exclude": ()}] if one_step else [{}, pattern, {"exclude": ()}]
        case "include":
            pattern = {"include": ("*/p/*", "*/x/*", f"{origin_of(site.seeds[0])}/r/*")}
            return [pattern, {"include": ()}] if one_step else [{}, pattern, {"include": ()}]
        case "scope":
            narrow, wide = chance.choice((("host", "domain"), ("host", "any"), ("prefix", "host"), ("prefix", "any")))
            if narrow == "prefix":
                return [{"scope": narrow, "seeds": _below(site)}, {"scope": wide}]
            return [{"scope": narrow}, {"scope": wide}] if one_step else [{"scope": wide}, {"scope": narrow}]
        case "seeds":
            news = list(site.islands) or [site.seeds[0]]
            both = {"seeds": (*site.seeds, *news[:1])}
            return [{}, both] if one_step else [{}, {"seeds": tuple(news[:1])}]
        case _:
            return [{}]


def _below(site: Site) -> tuple[str, ...]:
    """A page in the directory `/p/` of the first host, as a seed whose directory is the scope."""
    first = f"{origin_of(site.seeds[0])}/p/"
    return (next((url for url in site.resources if url.startswith(first)), site.seeds[0]),)
