"""Random small websites of which everything is known: each URL, what it answers, and what it names.

A site is built from parts, each in a directory of its own: a core of linked pages, a fan (one page with many links),
facets, redirects, errors, lists, islands that no link leads to, and so on. Links of a deep part go to its children and
ancestors only, so that the depth of its pages is the same in whatever order they are visited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random
from urllib.parse import urlsplit

SITEMAP_GUESSES = ("/sitemap.xml", "/sitemap_index.xml")
FEED_GUESSES = ("/feed", "/rss.xml", "/atom.xml", "/feed.xml", "/index.xml")
GUESSES = SITEMAP_GUESSES + FEED_GUESSES
"""Where a crawl may look for lists that nobody named."""
FOREIGN = "http://127.0.200.1:8080"
"""A host that is in no site; nothing listens there."""
SYLLABLES = tuple(
    "ba ce di fo gu ha ke li mo nu pa re si to vu wa xe zi bro cla dre fli gno kri plo ste tru".split()  # noqa: SIM905
)


class Kind(StrEnum):
    PAGE = "page"
    REDIRECT = "redirect"
    MISSING = "missing"
    """404."""
    GONE = "gone"
    """410."""
    BROKEN = "broken"
    """500, always."""
    SHAKY = "shaky"
    """500 for `failures` times, then a page."""
    RESET = "reset"
    """The connection is closed without an answer, always."""
    SITEMAP = "sitemap"
    SITEMAP_INDEX = "sitemap_index"
    FEED = "feed"


LISTS = frozenset({Kind.SITEMAP, Kind.SITEMAP_INDEX, Kind.FEED})
PAGES = frozenset({Kind.PAGE, Kind.SHAKY})


@dataclass(frozen=True)
class Link:
    url: str
    is_nofollow: bool = False


@dataclass(frozen=True)
class Resource:
    """A URL of the site, and what a request for it brings."""

    url: str
    kind: Kind = Kind.PAGE
    links: tuple[Link, ...] = ()
    """Of a page, in its order; of a list, what it names."""
    feeds: tuple[str, ...] = ()
    is_noindex: bool = False
    is_nofollow: bool = False
    """The whole page says nofollow."""
    to: str = ""
    """Where a redirect leads."""
    text_of: str = ""
    """The URL whose text it has; its own when empty."""
    failures: int = 0
    is_gzip: bool = False


@dataclass(frozen=True)
class Host:
    origin: str
    disallowed: tuple[str, ...] = ()
    """Prefixes of paths that robots.txt closes."""
    sitemaps: tuple[str, ...] = ()
    """Those that robots.txt names."""
    has_robots: bool = True
    is_dead: bool = False
    """Nothing listens there."""


@dataclass(frozen=True)
class Site:
    hosts: tuple[Host, ...]
    resources: dict[str, Resource]
    seeds: tuple[str, ...]
    islands: tuple[str, ...]
    """Pages that nothing links to, fit to be seeds of a later run."""
    traps: dict[str, str] = field(default_factory=dict)
    """URLs that look like traps, each with the setting that refuses it."""

    def host_of(self, url: str) -> Host | None:
        origin = origin_of(url)
        return next((host for host in self.hosts if host.origin == origin), None)

    def named(self) -> Iterator[str]:
        """Every URL that exists, or that something names."""
        yield from self.seeds
        for one in self.resources.values():
            yield one.url
            yield from (link.url for link in one.links)
            yield from one.feeds
            yield from [one.to] if one.to else []
        for host in self.hosts:
            yield from host.sitemaps


@dataclass(frozen=True)
class Shape:
    """What a site is to have; chosen before its addresses are known."""

    addresses: int = 1
    extra_ports: int = 0
    """Further hosts at the first address: the registered domain of an address is the address."""
    dead_hosts: int = 0
    is_tree: bool = False
    """All links go to children and ancestors, for limits of depth."""
    has_reset: bool = False
    core: int = 12
    fan: int = 0
    noise: int = 0
    """Links out of scope that stand before two good ones on a page."""
    facets: int = 0
    listed: int = 0
    """Pages that only the sitemap names."""
    is_index: bool = False
    """The sitemap is an index of two, one of them gzipped."""
    fed: int = 0
    """Pages that only a feed names."""
    more_feeds: int = 0
    """Feeds besides that one, with a page each."""
    deep: int = 0
    islands: int = 0
    is_moved: bool = False
    """The seed is a redirect to another host."""


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def path_of(url: str) -> str:
    """The path, with the query."""
    return url.removeprefix(origin_of(url))


def words(chance: Random, count: int) -> str:
    return " ".join("".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(count))


def build(shape: Shape, origins: Sequence[str], dead: Sequence[str], chance: Random) -> Site:
    """`origins` are those of the addresses, then the extra ports at the first address; nothing listens at `dead`."""
    return _Builder(shape, origins, dead, chance).site()


class _Builder:
    def __init__(self, shape: Shape, origins: Sequence[str], dead: Sequence[str], chance: Random) -> None:
        self.shape, self.chance = shape, chance
        self.mains, self.extras, self.dead = origins[: shape.addresses], origins[shape.addresses :], dead
        self.resources: dict[str, Resource] = {}
        self.traps: dict[str, str] = {}
        self.disallowed: dict[str, tuple[str, ...]] = {}
        self.sitemaps: dict[str, tuple[str, ...]] = {}

    def site(self) -> Site:
        first = self.mains[0]
        for number, origin in enumerate(self.mains):
            self.core(origin, self.shape.core if number == 0 else self.chance.randint(3, 8))
        for origin in self.extras:
            self.page(f"{origin}/", [f"{origin}/inside.html"])
            self.page(f"{origin}/inside.html")
            self.link(first, f"{origin}/")
        for origin in self.dead:
            for number in range(2):
                self.link(first, f"{origin}/lost/{number}.html")
        self.fan(first)
        self.facets(first)
        self.deep(first)
        self.redirects(first)
        self.troubles(first)
        self.special_pages(first)
        self.lists(first)
        islands = self.islands(first)
        hosts = tuple(self.host(origin) for origin in (*self.mains, *self.extras))
        closed = tuple(Host(origin, is_dead=True) for origin in self.dead)
        seed = f"{first}/"
        if self.shape.is_moved:
            seed = f"{self.mains[-1]}/moved"
            self.redirect(seed, f"{first}/")
        return Site((*hosts, *closed), self.resources, (seed,), islands, self.traps)

    def host(self, origin: str) -> Host:
        sitemaps, disallowed = self.sitemaps.get(origin, ()), self.disallowed.get(origin, ())
        return Host(origin, disallowed, sitemaps, bool(sitemaps or disallowed) or self.chance.random() < 0.5)

    # -- parts ------------------------------------------------------------------------------------------------

    def core(self, origin: str, size: int) -> None:
        """A tree of pages; unless depth counts, with links across it and to other hosts."""
        urls = [f"{origin}/", *(f"{origin}/{self.chance.choice('pxy')}/{number}.html" for number in range(size))]
        parents = {
            url: urls[self.chance.randrange(max(1, position // 2 + 1))] for position, url in enumerate(urls) if position
        }
        for url in urls:
            children = [child for child, parent in parents.items() if parent == url]
            self.page(url, [*children, *([f"{origin}/"] if self.chance.random() < 0.7 else [])])
        if self.shape.is_tree:
            if origin != self.mains[0]:
                self.link(self.mains[0], f"{origin}/", self.mains[0] + "/")
            return
        everything = list(self.resources)
        for _ in range(size):
            self.add(self.chance.choice(urls), self.chance.choice(everything))
        for _ in range(2 if origin != self.mains[0] else 0):
            self.link(self.mains[0], self.chance.choice(urls))
        self.add(self.chance.choice(urls), f"{FOREIGN}/far.html")

    def fan(self, origin: str) -> None:
        if self.shape.fan:
            leaves = [f"{origin}/fan/{number}.html" for number in range(self.shape.fan)]
            self.page(f"{origin}/fan/", leaves)
            for leaf in leaves:
                self.page(leaf, [f"{origin}/"])
            # A leaf that another page names as well is not lost when the fan is cut.
            if not self.shape.is_tree:
                self.link(origin, leaves[-1])
            self.link(origin, f"{origin}/fan/")

        if self.shape.noise:
            behind = [f"{origin}/fan/behind-{number}.html" for number in range(2)]
            noise = [f"{FOREIGN}/noise/{number}.html" for number in range(self.shape.noise)]
            self.page(f"{origin}/fan/noise.html", [*noise, *behind])
            for url in behind:
                self.page(url)
            self.link(origin, f"{origin}/fan/noise.html")

    def facets(self, origin: str) -> None:
        if self.shape.facets:
            chosen = [f"{origin}/shop?f={number}" for number in range(self.shape.facets)]
            self.page(f"{origin}/shop", chosen)
            for url in chosen:
                self.page(url, [f"{origin}/shop"])
            self.link(origin, f"{origin}/shop")

    def deep(self, origin: str) -> None:
        """A chain, with a leaf at some of its pages."""
        before = f"{origin}/"
        for number in range(self.shape.deep):
            url = f"{origin}/deep/{number}.html"
            self.page(url)
            self.add(before, url)
            if self.chance.random() < 0.4:
                self.page(f"{origin}/deep/{number}-leaf.html")
                self.add(url, f"{origin}/deep/{number}-leaf.html")
            before = url

    def redirects(self, origin: str) -> None:
        goal = f"{origin}/r/goal.html"
        self.page(goal)
        # No budget is asked for what a redirect leads to, so it leads to no facet and to none of the extra hosts.
        others = [url for url in self.resources if "?" not in url and origin_of(url) not in self.extras]
        inside = [goal] if self.shape.is_tree else others
        outside, closed = f"{FOREIGN}/out.html", f"{origin}/private/r.html"
        for name, to in (("in", self.chance.choice(inside)), ("out", outside), ("closed", closed)):
            if self.chance.random() < 0.6:
                self.redirect(f"{origin}/r/{name}", to)
                self.link(origin, f"{origin}/r/{name}")
        if self.chance.random() < 0.6:
            length = self.chance.randint(2, 7)
            for number in range(length):
                self.redirect(f"{origin}/r/chain{number}", f"{origin}/r/chain{number + 1}")
            self.page(f"{origin}/r/chain{length}")
            self.link(origin, f"{origin}/r/chain0")
        if self.chance.random() < 0.6:
            self.redirect(f"{origin}/r/round", f"{origin}/r/and-round")
            self.redirect(f"{origin}/r/and-round", f"{origin}/r/round")
            self.link(origin, f"{origin}/r/round")
        if len(self.mains) > 1 and self.chance.random() < 0.6:
            self.redirect(f"{origin}/r/other", f"{self.mains[1]}/r-goal.html")
            self.page(f"{self.mains[1]}/r-goal.html")
            self.link(origin, f"{origin}/r/other")

    def troubles(self, origin: str) -> None:
        for kind in (Kind.MISSING, Kind.GONE, Kind.BROKEN, Kind.SHAKY):
            if self.chance.random() < 0.5:
                url = f"{origin}/e/{kind}.html"
                self.put(Resource(url, kind, failures=self.chance.randint(1, 2) if kind is Kind.SHAKY else 0))
                self.link(origin, url)
        if self.shape.has_reset:
            self.put(Resource(f"{origin}/e/reset.html", Kind.RESET))
            self.link(origin, f"{origin}/e/reset.html")

    def special_pages(self, origin: str) -> None:
        """robots.txt, noindex, nofollow, duplicates, and what looks like a trap."""
        if self.chance.random() < 0.7:
            self.disallowed[origin] = ("/private/",)
            self.page(f"{origin}/private/a.html")
            self.link(origin, f"{origin}/private/a.html")
        if self.chance.random() < 0.6:
            self.page(f"{origin}/m/noindex.html", [f"{origin}/m/behind.html"], is_noindex=True)
            self.page(f"{origin}/m/behind.html")
            self.link(origin, f"{origin}/m/noindex.html")
        if self.chance.random() < 0.6:
            self.page(f"{origin}/m/nofollow.html", [f"{origin}/m/unfollowed.html"], is_nofollow=True)
            self.page(f"{origin}/m/unfollowed.html")
            self.link(origin, f"{origin}/m/nofollow.html")
        if self.chance.random() < 0.6:
            self.page(f"{origin}/m/marked.html")
            self.link(origin, f"{origin}/m/marked.html", is_nofollow=True)
        if self.chance.random() < 0.6:
            original = self.chance.choice([url for url, one in self.resources.items() if one.kind is Kind.PAGE])
            self.put(Resource(f"{origin}/m/twin.html", text_of=original))
            self.link(origin, f"{origin}/m/twin.html")
        if self.chance.random() < 0.5:
            long = f"{origin}/t/again/again/again/again"
            many = f"{origin}/t?" + "&".join(f"q{number:02}=1" for number in range(14))
            self.traps |= {long: "max_repeated_segments", many: "max_query_params"}
            for url in (long, many):
                self.page(url)
                self.link(origin, url)

    def lists(self, origin: str) -> None:
        listed = [f"{origin}/s/{number}.html" for number in range(self.shape.listed)]
        for url in listed:
            self.page(url)
        extra = [] if self.shape.is_tree else self.chance.sample([*self.resources], 2)
        names = [*listed, *extra, f"{FOREIGN}/listed.html"]
        if listed and self.shape.is_index:
            half = len(names) // 2
            parts = (f"{origin}/sm/one.xml", f"{origin}/sm/two.xml.gz")
            self.sitemap(parts[0], names[:half])
            self.sitemap(parts[1], names[half:], is_gzip=True)
            self.put(Resource(f"{origin}/sm/index.xml", Kind.SITEMAP_INDEX, tuple(map(Link, parts))))
            self.sitemaps[origin] = (f"{origin}/sm/index.xml",)
        elif listed:
            self.sitemap(f"{origin}/sm/all.xml", names)
            self.sitemaps[origin] = (f"{origin}/sm/all.xml",)
        if self.shape.fed:
            fed = [f"{origin}/f/{number}.html" for number in range(self.shape.fed)]
            for url in fed:
                self.page(url)
            self.put(Resource(f"{origin}/news/feed.xml", Kind.FEED, tuple(map(Link, fed))))
            home = self.resources[f"{origin}/"]
            self.put(replace(home, feeds=(f"{origin}/news/feed.xml",)))
        for number in range(self.shape.more_feeds):
            feed, page = f"{origin}/news/{number}.xml", f"{origin}/f/more-{number}.html"
            self.page(page)
            self.put(Resource(feed, Kind.FEED, (Link(page),)))
            namer = self.resources[self.chance.choice(self._core(origin))]
            self.put(replace(namer, feeds=(*namer.feeds, feed)))

    def islands(self, origin: str) -> tuple[str, ...]:
        roots = []
        for number in range(self.shape.islands):
            at = self.mains[-1 - number % len(self.mains)]
            root, leaf = f"{at}/island/{number}/", f"{at}/island/{number}/leaf.html"
            self.page(root, [leaf, f"{at}/island/missing.html"])
            self.page(leaf)
            roots.append(root)
        return tuple(roots)

    # -- single things ----------------------------------------------------------------------------------------

    def put(self, resource: Resource) -> None:
        self.resources[resource.url] = resource

    def page(self, url: str, links: Sequence[str] = (), *, is_noindex: bool = False, is_nofollow: bool = False) -> None:
        named = tuple(Link(one) for one in dict.fromkeys(links) if one != url)
        self.put(Resource(url, links=named, is_noindex=is_noindex, is_nofollow=is_nofollow))

    def redirect(self, url: str, to: str) -> None:
        self.put(Resource(url, Kind.REDIRECT, to=to))

    def sitemap(self, url: str, named: Sequence[str], *, is_gzip: bool = False) -> None:
        self.put(Resource(url, Kind.SITEMAP, tuple(Link(one) for one in dict.fromkeys(named)), is_gzip=is_gzip))

    def add(self, page: str, url: str, *, is_nofollow: bool = False) -> None:
        """A link of this page, at a place of its list that chance chooses."""
        one = self.resources[page]
        if one.kind is Kind.PAGE and url != page and all(link.url != url for link in one.links):
            links = list(one.links)
            links.insert(self.chance.randint(0, len(links)), Link(url, is_nofollow))
            self.put(replace(one, links=tuple(links)))

    def link(self, origin: str, url: str, page: str = "", *, is_nofollow: bool = False) -> None:
        """A link of some core page of this host."""
        self.add(page or self.chance.choice(self._core(origin)), url, is_nofollow=is_nofollow)

    def _core(self, origin: str) -> list[str]:
        core = [one for one in self.resources if one.startswith((f"{origin}/p/", f"{origin}/y/"))]
        return [f"{origin}/", *core]
