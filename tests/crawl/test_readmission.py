"""No limit and no setting loses a URL: cut-offs are reported, and admitted when a later run allows them.

Real crawls of a small site that counts requests: each is run with a low limit, again with the same one, then with a
higher one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from tenax.cli.commands.explain import explain_url
from tenax.cli.views.timeline import Explanation, headline
from tenax.clock import ManualClock
from tenax.config import Config, DatabaseConfig, PolitenessConfig, PoolConfig
from tenax.crawl.api import Crawl
from tenax.crawl.cut_offs import recount_cut_offs
from tenax.crawl.location import Location
from tenax.crawl.readmission import admission_bounds, readmit
from tenax.crawl.wiring import open_database
from tenax.database import Status, TaskState
from tenax.database.page_codec import pack_urls
from tenax.database.sqlite import SqliteDatabase
from tenax.model import Ending
from tenax.urls import FoundOn
from tenax.urls.admit import admit_links, build_rules
from tests.contracts.database import FixedPace, candidate, claimed, visit_of
from tests.site.hostile import moves, page, serves
from tests.site.server import Behaviour, Exchange, Site

FAST = Config(
    politeness=PolitenessConfig(rate_per_second=0, connections_per_host=4),
    pool=PoolConfig(processes=0),
    database=DatabaseConfig(fsync=False),
)


def config(settings: Mapping[str, Any]) -> Config:
    """The fast config, with settings by name; pages are found by links unless the settings say otherwise."""
    sections: dict[str, dict[str, Any]] = {"discovery": {"sources": ("links",)}}
    for key, value in settings.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = value
    changed = {name: msgspec.structs.replace(getattr(FAST, name), **new) for name, new in sections.items()}
    return msgspec.structs.replace(FAST, **changed)


def own(title: str, *links: str, head: str = "") -> Behaviour:
    """A page with words of its own, which is no duplicate."""
    words = " ".join(f"{title}word{number}" for number in range(80))
    return serves(page(f"{title}{head}", links, words=words))


async def lists(exchange: Exchange) -> None:
    """Another page for every query."""
    await own(f"list{exchange.path[-1]}")(exchange)


def urlset(*urls: str, padding: int = 0) -> Behaviour:
    entries = "".join(f"<url><loc>{url}</loc></url>{' ' * padding}" for url in urls)
    return serves(
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'.encode(), "text/xml"
    )


def feed(*urls: str) -> Behaviour:
    items = "".join(f"<item><title>t</title><link>{url}</link></item>" for url in urls)
    return serves(f'<rss version="2.0"><channel><title>f</title>{items}</channel></rss>'.encode(), "text/xml")


def named(*hrefs: str) -> str:
    """In the head of a page: these feeds."""
    return "</title>" + "".join(f'<link rel=alternate type="application/rss+xml" href="{href}">' for href in hrefs)


class Outcome(NamedTuple):
    ending: Ending
    status: Status
    asked: list[str]
    """Requested paths, without robots.txt."""


class SiteCrawl:
    """A site and a crawl of it, run any number of times."""

    def __init__(self, site: Site, out: Path) -> None:
        self.site = site
        self.out = out

    async def run(self, settings: Mapping[str, Any], *seeds: str, recrawl: bool = False) -> Outcome:
        before = len(self.site.hits)
        urls = [seed if "://" in seed else self.site.origin + seed for seed in seeds or ("/",)]
        crawl = Crawl(urls, config(settings), directory=self.out, typed_by_person=True, recrawl=recrawl)
        async with crawl:
            ending = await crawl.run()
            status = await crawl.status()
        asked = sorted(hit.path for hit in self.site.hits[before:] if hit.path != "/robots.txt")
        return Outcome(ending, status, asked)

    async def stored(self) -> list[str]:
        lines = (self.out / "pages.jsonl").read_bytes().splitlines()
        return sorted(msgspec.json.decode(line)["url"].removeprefix(self.site.origin) for line in lines)

    async def explain(self, path: str) -> Explanation:
        database = await open_database(Location(self.out), read_only=True)
        try:
            return await explain_url(database, self.site.origin + path if path.startswith("/") else path)
        finally:
            await database.close()


@asynccontextmanager
async def site_crawl(behaviours: Mapping[str, Behaviour], out: Path) -> AsyncIterator[SiteCrawl]:
    async with Site({"/robots.txt": serves(b"", "text/plain", "404 Not Found"), **behaviours}) as site:
        yield SiteCrawl(site, out)


def small_site(origin: str) -> dict[str, Behaviour]:
    """Everything that a limit can cut off."""
    return {
        "/robots.txt": serves(
            f"Sitemap: {origin}/map1.xml\nSitemap: {origin}/map2.xml\nSitemap: {origin}/index.xml\n".encode(),
            "text/plain",
        ),
        "/map1.xml": urlset(*(f"{origin}/m{number}" for number in range(3)), padding=1000),
        "/map2.xml": urlset(f"{origin}/m4"),
        "/index.xml": serves(
            f"<sitemapindex><sitemap><loc>{origin}/map3.xml</loc></sitemap></sitemapindex>".encode(), "text/xml"
        ),
        "/map3.xml": urlset(f"{origin}/m5"),
        **{f"/m{number}": own(f"mapped{number}") for number in (0, 1, 2, 4, 5)},
        "/": own("home", "/a", "/b", "/c", "/list?v=1", "/list?v=2", "/list?v=3", head=named("/f1.xml", "/f2.xml")),
        "/a": own("first", "/deep"),
        "/b": own("second"),
        "/c": own("third"),
        "/deep": own("deep", "/deeper"),
        "/deeper": own("deeper"),
        "/list": lists,
        "/f1.xml": feed(f"{origin}/n1"),
        "/f2.xml": feed(f"{origin}/n2"),
        "/n1": own("newsone"),
        "/n2": own("newstwo"),
    }


YEARS = range(2022, 1998, -1)


def guessable_site() -> dict[str, Behaviour]:
    """A list of five pages, two of them linked, and an archive of many years, one of them linked."""
    site = {"/": own("home", "/list/", "/news/2022/")}
    site["/list/"] = own("list1", "/list/page/2/", "/i1a", "/i1b")
    for number in range(2, 6):
        site[f"/list/page/{number}/"] = own(f"list{number}", f"/i{number}a", f"/i{number}b")
    for year in YEARS:
        site[f"/news/{year}/"] = own(f"year{year}", f"/y{year}a", f"/y{year}b")
    items = [f"/i{number}{letter}" for number in range(1, 6) for letter in "ab"]
    items += [f"/y{year}{letter}" for year in YEARS for letter in "ab"]
    return site | {path: own(path[1:]) for path in items}


ALLOWED = {"guard.allow_networks": ("127.0.0.0/8",), "guard.ports": tuple(range(1, 65536))}
SHORT_BACKOFFS = {
    "hosts.budget_failures": 1000,
    "hosts.breaker_first_seconds": 0.01,
    "hosts.breaker_max_seconds": 0.02,
}
LISTS = ("links", "sitemaps", "feeds")
# The setting, a low value, the URLs that are then missing, and what is fetched again once more is allowed.
LIMITS: dict[str, tuple[dict[str, Any], Any, list[str], list[str]]] = {
    "crawl.max_links_per_page": ({}, 4, ["/list?v=2", "/list?v=3"], []),
    "crawl.max_depth": ({}, 1, ["/deep", "/deeper"], []),
    "urls.facets_per_path": ({}, 1, ["/list?v=2", "/list?v=3"], []),
    "discovery.max_sitemaps": ({"discovery.sources": LISTS}, 2, ["/index.xml", "/map3.xml", "/m5"], []),
    "discovery.max_sitemap_urls": ({"discovery.sources": LISTS}, 2, ["/m2"], []),
    "discovery.max_sitemap_bytes": ({"discovery.sources": LISTS}, 1024, ["/m1", "/m2"], ["/map1.xml"]),
    "discovery.max_feeds": ({"discovery.sources": LISTS}, 1, ["/f2.xml", "/n2"], []),
}


@pytest.mark.parametrize("setting", LIMITS)
async def test_what_a_limit_cuts_off_is_said_and_taken_up(setting: str, tmp_path: Path) -> None:
    around, low, missing, again = LIMITS[setting]
    async with Site({}) as empty:
        port = empty.port
    async with Site(small_site(f"http://127.0.0.1:{port}"), port=port) as site:
        crawl = SiteCrawl(site, tmp_path)
        selections = {f"/list?v={number}" for number in (1, 2, 3)}
        there = {*small_site(""), *selections} - {"/robots.txt", "/list"}
        listed = {path for path in there if path.endswith(".xml") or path.startswith(("/m", "/n"))}
        whole = sorted(there if around else there - listed)
        first = await crawl.run({**around, setting: low})
        assert first.ending is Ending.LIMITED
        assert first.asked == sorted(set(whole) - set(missing))
        kept_out = next(iter(first.status.cut_off))
        pages = [path for path in missing if not path.endswith(".xml")]
        explanation = await crawl.explain(pages[0])
        assert setting in headline(explanation), kept_out
        same = await crawl.run({**around, setting: low})
        assert (same.ending, same.asked) == (Ending.LIMITED, []), "nothing is fetched again, and nothing is forgotten"
        assert same.status.cut_off == first.status.cut_off
        more = await crawl.run(around)
        assert more.ending is Ending.COMPLETE
        assert more.asked == sorted([*missing, *again])
        assert (more.status.cut_off, more.status.parked) == ({}, {})
        assert await crawl.stored() == [path for path in whole if not path.endswith(".xml")]


def pages_of_list(first: int) -> list[str]:
    """From this one on, with what they list."""
    numbers = range(first, 6)
    items = [f"/i{number}{mark}" for number in numbers for mark in "ab"]
    return [f"/list/page/{number}/" for number in numbers] + items


class GuessLimit(NamedTuple):
    source: str
    """Besides links."""
    low: dict[str, Any]
    more: dict[str, Any]
    setting: str
    """The one that is named."""
    missing: list[str]
    """The first guess that is not made, and what is found by it."""


OLDEST_YEARS = [f"/news/{year}/" for year in YEARS[12:]]
NO_SHARE = {"discovery.guess_ratio": 0.0}
GUESS_LIMITS = {
    "pages of a list": GuessLimit(
        "pagination",
        NO_SHARE | {"discovery.min_guesses": 0},
        NO_SHARE,
        "discovery.min_guesses",
        pages_of_list(3),
    ),
    "archives": GuessLimit(
        "archives",
        NO_SHARE | {"discovery.min_guesses": 0},
        NO_SHARE | {"discovery.min_guesses": 40},
        "discovery.min_guesses",
        OLDEST_YEARS,  # successful guesses continue, up to a quarter of all requests
    ),
    "the share": GuessLimit(
        "pagination",
        NO_SHARE | {"discovery.min_guesses": 0},
        {"discovery.min_guesses": 0, "discovery.guess_ratio": 1.0},
        "discovery.min_guesses",
        pages_of_list(3),
    ),
    "of one list": GuessLimit(
        "pagination",
        {"discovery.max_guessed_pages": 1},
        {},
        "discovery.max_guessed_pages",
        pages_of_list(4),
    ),
}


@pytest.mark.parametrize("name", GUESS_LIMITS)
async def test_guesses_that_a_limit_keeps_back_are_said_and_made_later(name: str, tmp_path: Path) -> None:
    source, low, more, setting, missing = GUESS_LIMITS[name]
    around = {"discovery.sources": ("links", source), "discovery.guesses": "always"}
    async with site_crawl(guessable_site(), tmp_path) as crawl:
        first = await crawl.run({**around, **low})
        assert first.ending is Ending.LIMITED
        assert not set(missing) & set(first.asked)
        for path in missing[:2]:
            assert setting in headline(await crawl.explain(path)), "it is the next guess, or may be found by it"
        same = await crawl.run({**around, **low})
        assert (same.ending, same.asked) == (Ending.LIMITED, [])
        assert same.status.cut_off == first.status.cut_off
        assert sum(count.links for count in same.status.cut_off.values()) == 1
        later = await crawl.run({**around, **more})
        assert set(missing) <= set(later.asked)
        assert not set(first.asked) & set(later.asked), "nothing is fetched again"
        assert (later.ending, later.status.cut_off) == (Ending.COMPLETE, {})


async def test_no_limit_keeps_back_what_is_not_guessed_at_all(tmp_path: Path) -> None:
    async with site_crawl(guessable_site(), tmp_path) as crawl:
        never = {"discovery.sources": ("links", "pagination"), "discovery.min_guesses": 0, "discovery.guess_ratio": 0.0}
        own_site = await crawl.run(never)
        assert (own_site.ending, own_site.status.cut_off) == (Ending.COMPLETE, {})
    async with site_crawl(guessable_site(), tmp_path / "never") as crawl:
        refused = await crawl.run({**never, "discovery.guesses": "never"})
        assert (refused.ending, refused.status.cut_off) == (Ending.COMPLETE, {})


async def test_feeds_of_pages_that_were_too_deep(tmp_path: Path) -> None:
    async with site_crawl({"/": own("home", head=named("/f.xml")), "/f.xml": serves(b"")}, tmp_path) as crawl:
        crawl.site._behaviours |= {"/f.xml": feed(f"{crawl.site.origin}/n"), "/n": own("news")}
        first = await crawl.run({"discovery.sources": ("links", "feeds"), "crawl.max_depth": 0})
        assert (first.ending, first.asked) == (Ending.LIMITED, ["/"])
        assert "`crawl.max_depth`" in headline(await crawl.explain("/f.xml"))
        more = await crawl.run({"discovery.sources": ("links", "feeds")})
        assert (more.ending, more.asked) == (Ending.COMPLETE, ["/f.xml", "/n"])


async def test_a_link_that_one_page_lost_and_another_had_is_not_missing(tmp_path: Path) -> None:
    behaviours = {"/": own("home", "/a", "/b", "/c"), "/a": own("first", "/b", "/c")}
    behaviours |= {"/b": own("second"), "/c": own("third")}
    async with site_crawl(behaviours, tmp_path) as crawl:
        found = await crawl.run({"crawl.max_links_per_page": 2})
        assert (found.ending, found.asked, found.status.cut_off) == (Ending.COMPLETE, ["/", "/a", "/b", "/c"], {})


async def test_a_higher_limit_may_still_be_one(tmp_path: Path) -> None:
    links = [f"/{number}" for number in range(9)]
    async with site_crawl({"/": own("home", *links), **{path: own(path[1:] * 4) for path in links}}, tmp_path) as crawl:
        assert (await crawl.run({"crawl.max_links_per_page": 2})).status.cut_off["max_links_per_page"].links == 7
        more = await crawl.run({"crawl.max_links_per_page": 5})
        assert (more.ending, more.asked) == (Ending.LIMITED, ["/2", "/3", "/4"])
        assert more.status.cut_off["max_links_per_page"].links == 4


async def test_documents_without_stored_links_are_fetched_again(tmp_path: Path) -> None:
    behaviours = {"/": own("home", "/a", "/b"), "/a": own("first"), "/b": own("second")}
    async with site_crawl(behaviours, tmp_path) as crawl:
        without = {"extract.link_graph": False}
        first = await crawl.run({**without, "crawl.max_links_per_page": 1})
        assert first.ending is Ending.LIMITED
        assert "links of 1 stored page are not stored" in headline(await crawl.explain("/b"))
        assert (await crawl.run(without)).asked == ["/", "/b"]


# ---- rules ----------------------------------------------------------------------------------------------------


RULES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str], str]] = {
    "scope": ({"crawl.scope": "prefix"}, {"crawl.scope": "host"}, ["/out", "/out/more"], "`scope`"),
    "exclude": ({"crawl.exclude": ("*/out*",)}, {}, ["/out", "/out/more"], "`exclude`"),
    "include": ({"crawl.include": ("*/in/*",)}, {}, ["/out", "/out/more"], "`include`"),
    "trap": ({"urls.max_path_segments": 1}, {}, ["/in/a", "/out/more"], "trap:max_path_segments"),
}


@pytest.mark.parametrize("rule", RULES)
async def test_what_a_rule_refused_is_taken_up_when_it_is_dropped(rule: str, tmp_path: Path) -> None:
    before, after, missing, why = RULES[rule]
    behaviours = {"/in/": own("home", "/in/a", "/out"), "/in/a": own("first"), "/out": own("out", "/out/more")}
    async with site_crawl({**behaviours, "/out/more": own("more")}, tmp_path) as crawl:
        first = await crawl.run(before, "/in/")
        assert first.ending is Ending.COMPLETE, "a rule says what the crawl is about"
        linked = missing[0]
        assert why in headline(await crawl.explain(linked))
        more = await crawl.run(after, "/in/")
        assert (more.ending, more.asked) == (Ending.COMPLETE, missing)
        refused = 2 if rule == "trap" else 1
        assert (first.status.refusals, more.status.refusals) == ({why.strip("`"): refused}, {})


async def test_what_a_new_rule_refuses_waits_for_another(tmp_path: Path) -> None:
    behaviours = {"/": own("home", "/a", "/b", "/c"), **{f"/{name}": own(name * 5) for name in "abc"}}
    async with site_crawl(behaviours, tmp_path) as crawl:
        assert (await crawl.run({"crawl.max_pages": 1})).ending is Ending.PAGE_LIMIT
        second = await crawl.run({"crawl.exclude": ("*/b",)})
        assert (second.ending, second.asked, second.status.parked) == (Ending.COMPLETE, ["/a", "/c"], {"rules": 1})
        explanation = await crawl.explain("/b")
        assert explanation.history is not None and explanation.history.state is TaskState.PARKED
        assert "exclude" in headline(explanation)
        third = await crawl.run({})
        assert (third.ending, third.asked, third.status.parked) == (Ending.COMPLETE, ["/b"], {})


async def test_a_redirect_out_of_the_rules_is_followed_when_they_are_wider(tmp_path: Path) -> None:
    behaviours = {"/in/": own("home", "/in/gone"), "/in/gone": moves("/out"), "/out": own("out")}
    async with site_crawl(behaviours, tmp_path) as crawl:
        first = await crawl.run({"crawl.scope": "prefix"}, "/in/")
        assert (first.asked, first.status.parked) == (["/in/", "/in/gone"], {"redirect": 1})
        more = await crawl.run({}, "/in/")
        assert (more.ending, more.asked) == (Ending.COMPLETE, ["/out"]), "it is known where it leads"
        assert more.status.parked == {}


async def test_links_of_duplicates_are_followed_when_that_is_wanted(tmp_path: Path) -> None:
    behaviours = {"/": own("home", "/a", "/b"), "/a": own("same", "/x"), "/b": own("same", "/y")}
    async with site_crawl({**behaviours, "/x": own("exes"), "/y": own("wise")}, tmp_path) as crawl:
        first = await crawl.run({"duplicates.follow": False})
        assert len({"/x", "/y"} - set(first.asked)) == 1
        more = await crawl.run({})
        assert (more.ending, len(more.asked)) == (Ending.COMPLETE, 1)


async def test_feeds_that_were_not_wanted_are_read_when_they_are(tmp_path: Path) -> None:
    async with site_crawl({"/": own("home", head=named("/f.xml")), "/n": own("news")}, tmp_path) as crawl:
        crawl.site._behaviours |= {"/f.xml": feed(f"{crawl.site.origin}/n")}
        first = await crawl.run({})
        assert (first.ending, first.asked, first.status.cut_off) == (Ending.COMPLETE, ["/"], {})
        assert "`discovery.sources`" in headline(await crawl.explain("/f.xml"))
        assert (await crawl.run({})).asked == []
        more = await crawl.run({"discovery.sources": ("links", "feeds")})
        assert (more.ending, more.asked) == (Ending.COMPLETE, ["/f.xml", "/n"]), "it is known who names it"


async def test_links_of_a_noindex_page(tmp_path: Path) -> None:
    head = "</title><meta name=robots content=noindex>"
    async with site_crawl(
        {"/": own("home", "/a"), "/a": own("first", "/b", head=head), "/b": own("more")}, tmp_path
    ) as crawl:
        first = await crawl.run({"crawl.max_depth": 1})
        assert (first.ending, first.asked) == (Ending.LIMITED, ["/", "/a"])
        assert "`crawl.max_depth`" in headline(await crawl.explain("/b"))
        assert "/a links to it" in headline(await crawl.explain("/b"))
        more = await crawl.run({})
        assert (more.ending, more.asked) == (Ending.COMPLETE, ["/b"])


async def test_a_link_that_robots_would_close_is_not_cut_off(tmp_path: Path) -> None:
    robots = serves(b"User-agent: *\nDisallow: /closed", "text/plain")
    async with site_crawl({"/robots.txt": robots, "/": own("home", "/closed")}, tmp_path) as crawl:
        found = await crawl.run({"crawl.max_depth": 0})
        assert (found.ending, found.asked, found.status.cut_off) == (Ending.COMPLETE, ["/"], {})
        assert "robots.txt would also refuse it" in headline(await crawl.explain("/closed"))


async def test_other_rules_without_stored_links(tmp_path: Path) -> None:
    behaviours = {"/in/": own("home", "/in/a", "/out"), "/in/a": own("first"), "/out": own("out")}
    async with site_crawl(behaviours, tmp_path) as crawl:
        without = {"extract.link_graph": False}
        first = await crawl.run({**without, "crawl.scope": "prefix"}, "/in/")
        assert first.ending is Ending.COMPLETE
        assert (await crawl.run({**without, "crawl.scope": "prefix"}, "/in/")).asked == []
        more = await crawl.run(without, "/in/")
        assert (more.ending, more.asked) == (Ending.COMPLETE, ["/in/", "/out"]), "only what led out of the scope"


async def test_why_a_link_is_not_followed(tmp_path: Path) -> None:
    behaviours = {"/": own("home", "/a", "/b"), "/a": own("same", "/x"), "/b": own("same", "/y")}
    async with site_crawl({**behaviours, "/x": own("exes"), "/y": own("wise")}, tmp_path) as crawl:
        first = await crawl.run({"duplicates.follow": False})
        left = next(iter({"/x", "/y"} - set(first.asked)))
        assert "`duplicates.follow`" in headline(await crawl.explain(left))
    async with site_crawl(behaviours, tmp_path / "other") as crawl:
        await crawl.run({"discovery.sources": ("none",)})
        assert "`discovery.sources`" in headline(await crawl.explain("/a"))


async def test_another_discovery_source_uses_what_is_stored_already(tmp_path: Path) -> None:
    async with site_crawl({"/": own("home", "/a"), "/a": own("first")}, tmp_path) as crawl:
        assert (await crawl.run({"discovery.sources": ("none",)})).asked == ["/"]
        assert (await crawl.run({})).asked == ["/a"]


# ---- what a person allowed ------------------------------------------------------------------------------------


async def test_a_second_seed_leaves_the_first_one_as_it_was(tmp_path: Path) -> None:
    links = [f"/in/{number}" for number in range(6)]
    behaviours = {"/in/": own("home", *links), **{path: own(path[4:] * 5) for path in links}}
    async with (
        site_crawl(behaviours, tmp_path) as crawl,
        Site({"/": own("other"), "/robots.txt": behaviours["/in/"]}) as other,
    ):
        first = await crawl.run({"crawl.scope": "prefix", "crawl.max_pages": 3}, "/in/")
        assert first.ending is Ending.PAGE_LIMIT
        second = await crawl.run({"crawl.scope": "prefix", "crawl.max_pages": 4}, f"{other.origin}/")
        assert second.ending is Ending.PAGE_LIMIT
        assert (second.status.parked, second.status.dead) == ({}, 0)
        third = await crawl.run({"crawl.scope": "prefix"}, "/in/")
        assert third.ending is Ending.COMPLETE
        assert third.status.pages == 8, "both sites, whole"


async def test_what_the_guard_closes_waits_until_a_person_opens_it(tmp_path: Path) -> None:
    private_site = Site({"/": own("other"), "/robots.txt": serves(b"", "text/plain")}, "127.0.0.2")
    async with private_site as other, site_crawl({"/": own("home", f"{other.origin}/")}, tmp_path) as crawl:
        first = await crawl.run({"crawl.scope": "any"})
        assert (first.ending, first.status.parked, other.hits) == (Ending.COMPLETE, {"guard": 1}, [])
        explanation = await crawl.explain(f"{other.origin}/")
        assert "`guard`" in headline(explanation)
        assert (await crawl.run({"crawl.scope": "any"})).status.parked == {"guard": 1}
        more = await crawl.run({"crawl.scope": "any"}, "/", f"{other.origin}/")
        assert (more.ending, more.status.parked) == (Ending.COMPLETE, {})
        assert [hit.path for hit in other.hits] == ["/robots.txt", "/"]


async def test_selections_that_were_left_alone_are_visited_when_asked_for(tmp_path: Path) -> None:
    links = [f"/list?c={number}" for number in range(10, 40)]
    same = serves(page("list", links, words="things"))
    async with site_crawl({"/": own("home", *links), "/list": same}, tmp_path) as crawl:
        few = {"urls.facet_samples": 2, "politeness.connections_per_host": 1}
        first = await crawl.run(few)
        assert first.ending is Ending.LIMITED
        left = [path for path in links if path not in first.asked]
        assert "`urls.facet_samples`" in headline(await crawl.explain(left[0]))
        assert first.status.parked == {"facets": len(left)}
        assert len(left) > 1
        more = await crawl.run({**few, "urls.facet_samples": 0})
        assert (more.ending, more.asked) == (Ending.COMPLETE, left)


def months(exchange_path: str) -> bytes:
    """A month of an endless calendar, which looks like any other; the year 2030 has an event."""
    number = int(exchange_path.rpartition("/")[2])
    links = [f"/months/{number + 1}"] if number < 30 else ["/event"]
    return page("calendar", links, words="nothing happens in this month")


async def test_pages_of_a_series_that_were_left_alone_are_visited_when_asked_for(tmp_path: Path) -> None:
    async def month(exchange: Exchange) -> None:
        await exchange.answer(months(exchange.path), headers={"Content-Type": "text/html"})

    behaviours = {"/": own("home", "/months/0"), "/event": own("event")}
    behaviours |= {f"/months/{number}": month for number in range(31)}
    async with site_crawl(behaviours, tmp_path) as crawl:
        around = {"crawl.max_depth": 100}
        first = await crawl.run({**around, "urls.max_same_in_series": 3})
        assert (first.ending, first.status.parked) == (Ending.LIMITED, {"series": 1})
        assert first.asked == ["/", *(f"/months/{number}" for number in range(4))]
        assert "`urls.max_same_in_series`" in headline(await crawl.explain("/months/4"))
        same = await crawl.run({**around, "urls.max_same_in_series": 3})
        assert (same.ending, same.asked, same.status.parked) == (Ending.LIMITED, [], {"series": 1})
        more = await crawl.run({**around, "urls.max_same_in_series": 5})
        assert (more.ending, more.asked) == (Ending.LIMITED, ["/months/4", "/months/5"])
        unlimited = await crawl.run({**around, "urls.max_same_in_series": 0})
        assert (unlimited.ending, unlimited.status.parked) == (Ending.COMPLETE, {})
        assert unlimited.asked == sorted(["/event", *(f"/months/{number}" for number in range(6, 31))])


async def test_a_seed_that_moved_stays_in_scope_whatever_the_scope_becomes(tmp_path: Path) -> None:
    there = Site({"/": own("there", "/more"), "/more": own("more"), "/robots.txt": serves(b"")}, "127.0.0.2")
    async with there as new, site_crawl({"/": moves(f"{new.origin}/")}, tmp_path) as crawl:
        first = await crawl.run({"crawl.scope": "any", "crawl.max_pages": 1, **ALLOWED})
        assert first.ending is Ending.PAGE_LIMIT
        more = await crawl.run({"crawl.scope": "host", **ALLOWED})
        assert (more.ending, more.status.pages) == (Ending.COMPLETE, 2)


async def test_redirects_spend_the_budgets_of_links(tmp_path: Path) -> None:
    links = [f"/to{number}" for number in range(4)]
    behaviours = {path: moves(f"/list?v={number}") for number, path in enumerate(links)}
    async with site_crawl({"/": own("home", *links), "/list": lists, **behaviours}, tmp_path) as crawl:
        first = await crawl.run({"urls.facets_per_path": 1})
        assert (first.ending, first.status.pages) == (Ending.LIMITED, 2)
        assert first.status.cut_off["facets_per_path"].links == 3
        more = await crawl.run({})
        assert (more.ending, more.status.pages) == (Ending.COMPLETE, 5)


async def test_a_page_limit_that_is_just_reached_leaves_nothing_to_visit(tmp_path: Path) -> None:
    async with site_crawl({"/": own("home", "/a"), "/a": own("first")}, tmp_path) as crawl:
        assert (await crawl.run({"crawl.max_pages": 2})).ending is Ending.COMPLETE


# ---- what a URL does -----------------------------------------------------------------------------------------


async def test_one_url_that_breaks_its_connection_is_given_up(tmp_path: Path) -> None:
    async def resets(exchange: Exchange) -> None:
        exchange.reset()

    links = [f"/{number}" for number in range(20)]
    behaviours = {"/": own("home", "/broken", *links), **{path: own(path[1:] * 5) for path in links}}
    retries = {"fetch.retry_base_seconds": 0.01, "fetch.fallbacks": (), **SHORT_BACKOFFS}
    async with site_crawl({**behaviours, "/broken": resets}, tmp_path) as crawl:
        done = await crawl.run(retries)
        assert (done.ending, done.status.dead, done.status.pages) == (Ending.COMPLETE, 1, 21)
        assert done.asked.count("/broken") <= 3 * 5, "three attempts, each with an outage of one URL behind it"


async def test_explain_knows_what_the_guard_of_the_crawl_allows(tmp_path: Path) -> None:
    async with site_crawl({"/": own("home")}, tmp_path) as crawl:
        await crawl.run(ALLOWED)
        assert "refused by the SSRF guard" not in headline(await crawl.explain("http://127.0.0.9:8/x"))
        await crawl.run({})
        assert "scope" in headline(await crawl.explain("http://127.0.0.9:8/x"))


# ---- hosts ----------------------------------------------------------------------------------------------------


async def test_hosts_beyond_those_of_a_domain(tmp_path: Path) -> None:
    clock = ManualClock()
    database = await SqliteDatabase.open(tmp_path / "tenax.db", DatabaseConfig(fsync=False), clock, FixedPace())
    seed = "https://a.example/"
    few = config({"crawl.scope": "any", "urls.hosts_per_domain": 1})
    rules = build_rules([seed], few, 2026)
    await database.admit([candidate(seed)])
    urls = [f"https://h{number}.wild.example/" for number in range(3)]
    candidates, *_ = admit_links(rules, FoundOn(seed, 0, via=seed), urls)
    visit = visit_of(await claimed(database), clock, candidates=candidates)
    await database.commit(msgspec.structs.replace(visit, link_targets=pack_urls("https://a.example", urls)))
    assert await readmit(database, rules, few, admission_bounds(rules, few, ())) == await readmit(
        database, rules, few, admission_bounds(rules, few, ())
    )
    assert await recount_cut_offs(database, rules, few)
    assert (await database.status()).cut_off["hosts_per_domain"].links == 2
    more = config({"crawl.scope": "any"})
    wider = build_rules([seed], more, 2026)
    assert (await readmit(database, wider, more, admission_bounds(wider, more, ()))).admitted == 2
    assert not await recount_cut_offs(database, wider, more)
    await database.close()
