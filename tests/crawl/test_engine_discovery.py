"""Discovery besides links: sitemaps, feeds, lists and archives; on real parts, over a web in memory."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import Config, CrawlConfig, DiscoveryConfig, UrlsConfig
from tenax.config.discovery import DiscoverySource
from tenax.model import Ending, Fetched, Priority, Redirected, Refused, Rejected, Source
from tests.crawling import HURRIED, SITE, Answered, Crawl, Sent, begun, linking

OTHER_HOST = "https://maps.b.test"
SITEMAPS = DiscoveryConfig(sources=("links", "sitemaps"), guesses="always")
FEEDS = DiscoveryConfig(sources=("links", "feeds"), guesses="always")
PAGINATION = DiscoveryConfig(sources=("links", "pagination"), guesses="always")
ARCHIVES = DiscoveryConfig(sources=("links", "archives"), guesses="always")
Making = Callable[..., Awaitable[Crawl]]


def xml(text: str) -> Sent:
    return Sent(text.encode(), "application/xml")


def urlset(*paths: str) -> Sent:
    rows = "".join(f"<url><loc>{path if '://' in path else SITE + path}</loc></url>" for path in paths)
    return xml(f"<urlset>{rows}</urlset>")


def index(*paths: str) -> Sent:
    rows = "".join(f"<sitemap><loc>{path if '://' in path else SITE + path}</loc></sitemap>" for path in paths)
    return xml(f"<sitemapindex>{rows}</sitemapindex>")


def rss(*paths: str) -> Sent:
    items = "".join(f"<item><title>t</title><link>{SITE + path}</link></item>" for path in paths)
    return xml(f"<rss version='2.0'><channel><title>News</title>{items}</channel></rss>")


def story(name: str) -> str:
    """A page with words of its own, similar to no other."""
    return f"<title>{name}</title><p>" + " ".join(f"{name}{number}" for number in range(60))


def stories(*paths: str) -> dict[str, Answered]:
    return {path: story(path.strip("/").replace("/", "")) for path in paths}


def listed(paths: Iterable[str], head: str = "", more: str = "") -> str:
    """A page that lists these."""
    rows = "".join(f"<li><a href='{path}'>The story of {path.strip('/')} told again</a></li>" for path in paths)
    return f"<html><head><title>News</title>{head}</head><body><h1>News</h1><ul>{rows}</ul>{more}</body></html>"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def crawl_of(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Making]:
    crawls: list[Crawl] = []

    async def made(
        pages: Mapping[str, Answered],
        discovery: DiscoveryConfig,
        crawl: CrawlConfig | None = None,
        urls: UrlsConfig | None = None,
        seeds: tuple[str, ...] = (SITE + "/",),
    ) -> Crawl:
        config = Config(
            crawl=crawl or CrawlConfig(), politeness=HURRIED, discovery=discovery, urls=urls or UrlsConfig()
        )
        crawls.append(await begun(tmp_path, clock, {"/": linking(), **pages}, config, seeds=seeds))
        return crawls[-1]

    yield made
    for one in crawls:
        await one.database.close()


# ---- sitemaps ---------------------------------------------------------------------------------------------


async def test_sitemaps_within_sitemaps_are_read_each_once_and_what_they_name_is_visited(crawl_of: Making) -> None:
    """An index may name itself, other sitemaps repeatedly, a gzip file, and a missing one."""
    crawl = await crawl_of(
        {
            "/robots.txt": f"Sitemap: {SITE}/index.xml\nUser-agent: *\nDisallow:\n",
            "/index.xml": index("/index.xml", "/inner.xml", "/old.xml.gz", "/missing.xml"),
            "/inner.xml": index("/index.xml", "/new.xml"),
            "/new.xml": urlset("/one", "/two"),
            "/old.xml.gz": Sent(gzip.compress(urlset("/three", "/one").body), "application/x-gzip"),
            **stories("/one", "/two", "/three"),
        },
        SITEMAPS,
    )
    assert await crawl.run() is Ending.COMPLETE
    assert sorted(crawl.stored) == ["/", "/one", "/three", "/two"]
    assert sorted(crawl.asked) == sorted(
        ["/", "/index.xml", "/inner.xml", "/missing.xml", "/new.xml", "/old.xml.gz", "/one", "/three", "/two"]
    )
    assert crawl.outcomes["/missing.xml"] == "missed"
    assert (await crawl.life("/new.xml")).visits[-1].outcome == Fetched(200, "sitemap")
    found = await crawl.life("/two")
    assert (found.source, found.via, found.depth) == (Source.SITEMAP, SITE + "/new.xml", 1)
    status = await crawl.database.status()
    assert status.found == {"seed": 1, "sitemap": 3, "url_list": 5}
    assert status.pages == 4, "a sitemap is no page"


async def test_a_sitemap_on_another_host_that_robots_txt_names_is_read_but_scope_holds(crawl_of: Making) -> None:
    crawl = await crawl_of(
        {
            "/robots.txt": f"Sitemap: {OTHER_HOST}/a.xml\n",
            f"{OTHER_HOST}/a.xml": urlset("/mine", f"{OTHER_HOST}/theirs", "https://c.test/others"),
            f"{OTHER_HOST}/theirs": linking(),
            **stories("/mine"),
        },
        SITEMAPS,
    )
    assert await crawl.run() is Ending.COMPLETE
    assert sorted(crawl.stored) == ["/", "/mine"]
    assert [url for url in crawl.web.asked if "a.test" not in url] == [
        f"{OTHER_HOST}/robots.txt",
        f"{OTHER_HOST}/a.xml",
    ]
    assert (await crawl.life(f"{OTHER_HOST}/a.xml")).visits[-1].refusals == {"scope": 2}


async def test_an_index_leads_to_no_host_that_neither_seeds_nor_robots_txt_name(crawl_of: Making) -> None:
    crawl = await crawl_of({"/sitemap.xml": index(f"{OTHER_HOST}/a.xml")}, SITEMAPS)
    assert await crawl.run() is Ending.COMPLETE
    assert not [url for url in crawl.web.asked if "a.test" not in url]


async def test_a_sitemap_behind_redirects_stays_one_whatever_patterns_say(crawl_of: Making) -> None:
    crawl = await crawl_of(
        {
            "/sitemap.xml": (301, "/maps/"),
            "/maps/": (302, "/maps/all.xml"),
            "/maps/all.xml": urlset("/news/one", "/else"),
            **stories("/news/one", "/else"),
        },
        SITEMAPS,
        CrawlConfig(include=("*/news/*",)),
    )
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.asked == ["/", "/sitemap.xml", "/maps/", "/maps/all.xml", "/news/one"]
    assert (await crawl.life("/maps/all.xml")).visits[-1].outcome == Fetched(200, "sitemap")
    assert (await crawl.life("/maps/all.xml")).visits[-1].refusals == {"include": 1}


async def test_a_redirected_sitemap_does_not_widen_the_scope(crawl_of: Making) -> None:
    """The redirect target of a seed joins the scope; that of its sitemap does not."""
    crawl = await crawl_of(
        {
            "/": linking(f"{OTHER_HOST}/"),
            "/sitemap.xml": (301, "/maps"),
            "/maps": (302, f"{OTHER_HOST}/a.xml"),
            f"{OTHER_HOST}/a.xml": urlset(f"{OTHER_HOST}/theirs"),
        },
        SITEMAPS,
    )
    assert await crawl.run() is Ending.COMPLETE
    assert (await crawl.life("/maps")).visits[-1].outcome == Redirected(302, f"{OTHER_HOST}/a.xml", "scope")
    assert not [url for url in crawl.web.asked if "a.test" not in url]


async def test_html_instead_of_a_sitemap_is_reported_and_the_next_path_tried_once(crawl_of: Making) -> None:
    soft = linking("/soft")
    crawl = await crawl_of({"/sitemap.xml": soft, "/sitemap_index.xml": soft}, SITEMAPS)
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.asked == ["/", "/sitemap.xml", "/sitemap_index.xml"]
    outcome = (await crawl.life("/sitemap.xml")).visits[-1].outcome
    assert outcome == Rejected("url_list: an HTML page, not a sitemap")
    assert (await crawl.life("/sitemap_index.xml")).source is Source.SITEMAP


async def test_well_known_paths_are_not_tried_if_robots_txt_names_a_sitemap(crawl_of: Making) -> None:
    crawl = await crawl_of({"/robots.txt": f"Sitemap: {SITE}/gone.xml\n"}, SITEMAPS)
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.asked == ["/", "/gone.xml"]


async def test_a_sitemap_that_robots_txt_closes_is_left_alone(crawl_of: Making) -> None:
    robots = f"User-agent: *\nDisallow: /closed\nSitemap: {SITE}/closed.xml\n"
    crawl = await crawl_of({"/robots.txt": robots, "/closed.xml": urlset("/one")}, SITEMAPS)
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.asked == ["/"]
    assert isinstance((await crawl.life("/closed.xml")).visits[-1].outcome, Refused)
    assert crawl.outcomes["/closed.xml"] == "refused:robots"


async def test_the_limits_of_sitemaps_are_counted(crawl_of: Making) -> None:
    maps = [f"/map{number}.xml" for number in range(5)]
    crawl = await crawl_of(
        {
            "/robots.txt": f"Sitemap: {SITE}/index.xml\n",
            "/index.xml": index(*maps),
            **{path: urlset(*(f"{path[:-4]}/{number}" for number in range(4))) for path in maps},
        },
        DiscoveryConfig(sources=("sitemaps",), max_sitemaps=3, max_sitemap_urls=3),
    )
    assert await crawl.run() is Ending.COMPLETE
    read = {path for path in crawl.asked if path.endswith(".xml")}
    assert read == {"/index.xml", "/map0.xml", "/map1.xml"}
    # Two URLs of the index are beyond the limit of one sitemap, and one of each of the others.
    assert (await crawl.database.status()).refusals == {"max_sitemap_urls": 2 + 1 + 1, "max_sitemaps": 1}


# ---- feeds ------------------------------------------------------------------------------------------------


def alternate(href: str) -> str:
    return f"<link rel=alternate type=application/rss+xml href='{href}'>"


async def test_a_feed_that_a_page_names_is_read_even_if_it_is_not_to_be_indexed(crawl_of: Making) -> None:
    feed = rss("/one")._replace(headers={"X-Robots-Tag": "noindex"})
    crawl = await crawl_of({"/": linking(head=alternate("/news.rss")), "/news.rss": feed, **stories("/one")}, FEEDS)
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.asked == ["/", "/news.rss", "/one"], "the page names a feed: usual places are not tried"
    assert (await crawl.life("/news.rss")).visits[-1].outcome == Fetched(200, "feed")
    found = await crawl.life("/one")
    assert (found.source, found.via, found.depth) == (Source.FEED, SITE + "/news.rss", 1)


async def test_a_feed_met_by_a_plain_link_is_one(crawl_of: Making) -> None:
    crawl = await crawl_of({"/": linking("/blog.xml"), "/blog.xml": rss("/one"), **stories("/one")}, FEEDS)
    assert await crawl.run() is Ending.COMPLETE
    assert "/one" in crawl.stored
    assert (await crawl.life("/blog.xml")).source is Source.LINK
    assert (await crawl.life("/one")).source is Source.FEED


@pytest.mark.parametrize("least", [0, 2, 7, 18])
async def test_feed_paths_are_tried_one_by_one_within_the_guess_budget(crawl_of: Making, least: int) -> None:
    crawl = await crawl_of({}, DiscoveryConfig(sources=("feeds",), guesses="always", min_guesses=least))
    assert await crawl.run() is Ending.COMPLETE
    places = ["/feed", "/rss.xml", "/atom.xml", "/feed.xml", "/index.xml"]
    assert crawl.asked == ["/", *places[: least // 2]], "half as many"
    assert (await crawl.database.status()).refusals == ({"min_guesses": 1} if least // 2 < len(places) else {})


async def test_a_feed_at_a_well_known_path_ends_the_search(crawl_of: Making) -> None:
    crawl = await crawl_of({"/rss.xml": rss("/one"), **stories("/one")}, FEEDS)
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.asked == ["/", "/feed", "/rss.xml", "/one"]
    assert crawl.outcomes["/feed"] == "missed"


async def test_feeds_beyond_their_number_are_counted(crawl_of: Making) -> None:
    heads = "".join(alternate(f"/{number}.rss") for number in range(5))
    crawl = await crawl_of({"/": linking(head=heads)}, DiscoveryConfig(sources=("feeds",), max_feeds=2))
    assert await crawl.run() is Ending.COMPLETE
    assert sorted(crawl.asked) == ["/", "/0.rss", "/1.rss"]
    assert (await crawl.database.status()).refusals == {"max_feeds": 3}


# ---- who comes first --------------------------------------------------------------------------------------


async def test_sitemaps_come_before_old_pages_and_feed_entries_before_sitemap_entries(
    crawl_of: Making,
) -> None:
    deep = CrawlConfig(concurrency=1)
    crawl = await crawl_of(
        {
            "/": linking("/linked", head=alternate("/news.rss")),
            "/sitemap.xml": urlset("/listed"),
            "/news.rss": rss("/told"),
            **stories("/linked", "/listed", "/told"),
        },
        DiscoveryConfig(sources=("links", "sitemaps", "feeds")),
        deep,
    )
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.asked[0] == "/", "seeds first"
    leads = {path: (candidate.priority, candidate.lead_seconds) for path, candidate in crawl.candidates.items()}
    assert leads["/told"] > leads["/linked"] > leads["/listed"]
    assert leads["/listed"][0] is leads["/told"][0] is Priority.HIGH
    assert leads["/news.rss"] == leads["/sitemap.xml"] == (Priority.MEDIUM, 1980.0)


async def test_what_many_pages_link_to_is_visited_before_its_time(crawl_of: Making) -> None:
    """It is deeper than all others, and would be the last of them."""
    paths = [f"/{number}" for number in range(150)]
    pages = {path: f"{page}<a href=/star>A star</a>" for path, page in stories(*paths).items()}
    crawl = await crawl_of(
        {"/": linking(*paths), **pages, **stories("/star")},
        DiscoveryConfig(sources=("links",)),
        CrawlConfig(concurrency=1),
    )
    assert await crawl.run() is Ending.COMPLETE
    assert sorted(crawl.asked) == sorted(["/", "/star", *paths])
    assert 16 < crawl.asked.index("/star") < 120


# ---- where nothing is looked for --------------------------------------------------------------------------


async def test_hosts_that_no_seed_names_are_not_looked_through(crawl_of: Making) -> None:
    crawl = await crawl_of(
        {
            "/": linking("https://b.test/"),
            "https://b.test/robots.txt": "Sitemap: https://b.test/a.xml\n",
            "https://b.test/": listed(
                ["/x", "/y"], alternate("https://b.test/news.rss"), "<a href='?page=2' rel=next>Next</a>"
            ),
        },
        DiscoveryConfig(),
        CrawlConfig(scope="any", max_depth=1),
    )
    assert await crawl.run() is Ending.COMPLETE
    assert [url for url in crawl.web.asked if "b.test" in url] == ["https://b.test/robots.txt", "https://b.test/"]
    assert "/sitemap.xml" in crawl.asked


async def test_nothing_is_looked_for_where_nothing_would_be_followed(crawl_of: Making) -> None:
    crawl = await crawl_of(
        {
            "/": listed(["/x", "/y"], alternate("/news.rss"), "<a href='/?page=2' rel=next>Next</a>"),
            "/robots.txt": f"Sitemap: {SITE}/a.xml\n",
        },
        DiscoveryConfig(),
        CrawlConfig(max_depth=0),
    )
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.asked == ["/"]


@pytest.mark.parametrize(
    ("sources", "asked"),
    [
        (("none",), {"/"}),
        (("links",), {"/", "/linked"}),
        (("sitemaps",), {"/", "/sitemap.xml", "/listed"}),
        (("feeds",), {"/", "/news.rss", "/told"}),
    ],
)
async def test_only_what_is_wanted_is_asked_for(
    crawl_of: Making, sources: tuple[DiscoverySource, ...], asked: set[str]
) -> None:
    crawl = await crawl_of(
        {
            "/": linking("/linked", head=alternate("/news.rss")),
            "/sitemap.xml": urlset("/listed"),
            "/news.rss": rss("/told"),
            **stories("/linked", "/listed", "/told"),
        },
        DiscoveryConfig(sources=sources),
    )
    assert await crawl.run() is Ending.COMPLETE
    assert set(crawl.asked) == asked


# ---- guesses ----------------------------------------------------------------------------------------------


def a_list(pages: int, per_page: int = 3, path: str = "/news") -> dict[str, Answered]:
    """Pages of a list; only the first is linked, and all but the last name a next one."""
    site: dict[str, Answered] = {}
    for page in range(1, pages + 1):
        names = [f"/s{page}-{number}" for number in range(per_page)]
        address = path if page == 1 else f"{path}?page={page}"
        site[address] = listed(names)
        site |= stories(*names)
    return site


async def test_pages_of_a_list_are_guessed_until_there_is_none(crawl_of: Making) -> None:
    crawl = await crawl_of({"/": linking("/news"), **a_list(4)}, PAGINATION)
    assert await crawl.run() is Ending.COMPLETE
    assert {f"/s{page}-{number}" for page in range(1, 5) for number in range(3)} <= set(crawl.stored)
    assert crawl.outcomes["/news?page=5"] == "missed"
    assert not [path for path in crawl.asked if path.startswith("/news?page=6")]
    guess = await crawl.life("/news?page=2")
    assert (guess.source, guess.depth, guess.priority) == (Source.PAGINATION, 1, Priority.DISCOVERY)
    host = await crawl.database.host(SITE)
    assert host is not None
    rule = host.guess_state.lists["/news?page={n}"]
    assert (rule.last_known, rule.state, rule.why) == (4, "invalid", "no such page")
    assert (host.guess_state.guesses_made, host.guess_state.guesses_succeeded) == (4, 3)


@pytest.mark.parametrize(
    "crawl_config", [CrawlConfig(exclude=("*page=*",)), CrawlConfig(include=("*/s*", "*/news"))], ids=["exclude", "in"]
)
async def test_what_the_rules_refuse_is_not_guessed_and_costs_no_guess(
    crawl_of: Making, crawl_config: CrawlConfig
) -> None:
    crawl = await crawl_of({"/": linking("/news"), **a_list(3)}, PAGINATION, crawl_config)
    assert await crawl.run() is Ending.COMPLETE
    assert not [path for path in crawl.asked if "page=" in path]
    host = await crawl.database.host(SITE)
    assert host is not None and host.guess_state.guesses_made == 0


async def test_guesses_that_lead_to_nothing_stay_within_their_number(crawl_of: Making) -> None:
    """Twenty lists, each of which might have a second page; none has one."""
    lists = {f"/list{number}": listed([f"/story{number}-{n}" for n in range(3)]) for number in range(20)}
    inside = stories(*(f"/story{number}-{n}" for number in range(20) for n in range(3)))
    crawl = await crawl_of(
        {"/": linking(*lists), **lists, **inside},
        DiscoveryConfig(sources=("links", "pagination", "archives"), guesses="always", guess_ratio=0.02, min_guesses=3),
    )
    assert await crawl.run() is Ending.COMPLETE
    assert len(crawl.stored) == 1 + 20 + 60
    guesses = [
        path for path, candidate in crawl.candidates.items() if candidate.source in (Source.PAGINATION, Source.ARCHIVE)
    ]
    assert 2 <= len(guesses) <= 2 * 3, "three of each kind"
    assert sum(crawl.outcomes[path] == "missed" for path in guesses) == len(guesses)


async def test_archives_are_guessed_at_well_known_paths_when_few_tasks_are_left(crawl_of: Making) -> None:
    crawl = await crawl_of(
        {"/": linking("/one"), "/archive": listed(["/old1", "/old2", "/old3"]), **stories("/old1", "/old2", "/old3")},
        ARCHIVES,
    )
    assert await crawl.run() is Ending.COMPLETE
    assert {"/old1", "/old2", "/old3"} <= set(crawl.stored)
    guess = await crawl.life("/archive")
    assert (guess.source, guess.priority) == (Source.ARCHIVE, Priority.DISCOVERY)


# ---- selections -------------------------------------------------------------------------------------------


def shop(selections: int, page: Callable[[int], str]) -> dict[str, Answered]:
    paths = [f"/shop?colour={number}" for number in range(selections)]
    return {"/": linking(*paths), **{path: page(number) for number, path in enumerate(paths)}}


SAME = listed([f"/item{number}" for number in range(8)])


async def test_selections_that_show_the_same_again_are_spared(crawl_of: Making) -> None:
    pages = {**shop(20, lambda _: SAME), **stories(*(f"/item{number}" for number in range(8)))}
    crawl = await crawl_of(
        pages, DiscoveryConfig(sources=("links",)), CrawlConfig(concurrency=1), UrlsConfig(facet_samples=12)
    )
    assert await crawl.run() is Ending.COMPLETE
    asked = [path for path in crawl.asked if "?" in path]
    assert len(asked) == 12
    spared = [path for path, outcome in crawl.outcomes.items() if outcome == "refused:facets"]
    assert len(spared) == 8
    why = (await crawl.life(spared[0])).visits[-1].outcome
    assert isinstance(why, Refused)
    assert why.why.startswith("facets: 12 other query strings of /shop were visited, and few of the recent ones")


@pytest.mark.parametrize(
    ("page", "seeds", "tried"),
    [
        (lambda number: story(f"colour{number}word"), (), 3),
        (lambda number: listed([f"/item{number}-{n}" for n in range(5)]), (), 3),
        (lambda _: SAME, tuple(f"{SITE}/shop?colour={number}" for number in range(12)), 3),
        (lambda _: SAME, (), 0),
    ],
    ids=["texts of their own", "each leads to something new", "seeds", "switched off"],
)
async def test_selections_that_are_worth_it_are_all_visited(
    crawl_of: Making, page: Callable[[int], str], seeds: tuple[str, ...], tried: int
) -> None:
    crawl = await crawl_of(
        shop(12, page),
        DiscoveryConfig(sources=("links",)),
        CrawlConfig(concurrency=1),
        UrlsConfig(facet_samples=tried),
        (SITE + "/", *seeds),
    )
    assert await crawl.run() is Ending.COMPLETE
    assert len([path for path in crawl.asked if "?" in path]) == 12


# ---- asked again ------------------------------------------------------------------------------------------


async def test_a_sitemap_that_did_not_change_is_a_304_when_the_crawl_begins_anew(
    crawl_of: Making, clock: ManualClock
) -> None:
    listing = urlset("/one")._replace(headers={"ETag": '"1"'})
    crawl = await crawl_of({"/sitemap.xml": listing, **stories("/one")}, SITEMAPS)
    assert await crawl.run() is Ending.COMPLETE
    clock.advance(3600)
    assert await crawl.database.start_recrawl(clock.now()) >= 2
    assert await crawl.run() is Ending.COMPLETE
    assert crawl.outcomes["/sitemap.xml"] == "unchanged"
    crawl.web.pages[SITE + "/sitemap.xml"] = urlset("/one", "/two")
    crawl.web.pages[SITE + "/two"] = story("two")
    clock.advance(3600)
    await crawl.database.start_recrawl(clock.now())
    assert await crawl.run() is Ending.COMPLETE
    assert "/two" in crawl.stored


async def test_a_site_that_ignores_what_it_is_asked_has_no_further_pages(crawl_of: Making) -> None:
    """The same list again is not stored twice."""
    pages = a_list(1)
    crawl = await crawl_of({"/": linking("/news"), **pages, "/news?page=2": pages["/news"]}, PAGINATION)
    assert await crawl.run() is Ending.COMPLETE
    assert "/news?page=2" in crawl.asked
    assert "/news?page=2" not in crawl.stored
    outcome = (await crawl.life("/news?page=2")).visits[-1].outcome
    assert outcome == Rejected("guess: the same as the page before")
    host = await crawl.database.host(SITE)
    assert host is not None
    assert host.guess_state.lists["/news?page={n}"].why == "the same as the page before"
