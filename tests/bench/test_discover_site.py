"""The discovery site is what it says it is: each page is reached the way it should be and no other, traps never end."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from html import unescape
from urllib.parse import urljoin
from xml.parsers import expat

import pytest

from bench.discover_answers import Answer, Worth, respond
from bench.discover_behaviours import HOST_BEHAVIOURS, PastEnd, Trap
from bench.discover_pages import TRAP_ADDRESS
from bench.discover_site import PAGED_SECTIONS, SHARES, Site, Source, build, months_back, page_address
from bench.discover_traps import selections

PAGES, SEED, TODAY = 1200, 7, date(2026, 3, 14)
SITE = build(PAGES, SEED, TODAY)
ORIGINS = [f"http://127.0.0.{41 + index}:8000" for index in range(len(HOST_BEHAVIOURS))]
SOURCES = SITE.sources()
COMMON_FEEDS = ("/feed", "/rss.xml", "/feed.xml", "/atom.xml")
STEPS = 300

Page = tuple[int, str]


def ask(host: int, target: str) -> Answer:
    return respond(SITE, host, target, ORIGINS)


def text(host: int, target: str) -> str:
    answer = ask(host, target)
    body = gzip.decompress(answer.body) if answer.content_type == "application/gzip" else answer.body
    return body.decode("utf-8-sig")


def links(host: int, target: str) -> list[Page]:
    """Where its links lead."""
    hrefs = re.findall(r'<a [^>]*href="([^"]+)"', text(host, target))
    return list(on_site(urljoin(ORIGINS[host] + target, unescape(href)) for href in hrefs))


def on_site(urls: Iterable[str]) -> Iterator[Page]:
    for url in urls:
        scheme, _, name, path = url.split("/", 3)
        yield ORIGINS.index(f"{scheme}//{name}"), f"/{path}"


def only_by(*sources: Source) -> set[Page]:
    return {page for page, source in SOURCES.items() if source in sources}


def named_by_sitemaps() -> set[Page]:
    """From robots.txt and /sitemap.xml downwards, read as leniently as can be."""
    queue = [(host, target) for host in range(len(HOST_BEHAVIOURS)) for target in ("/robots.txt", "/sitemap.xml")]
    seen: set[Page] = set()
    while queue:
        host, target = queue.pop()
        if (host, target) in seen or "huge" in target:
            continue
        seen.add((host, target))
        if (
            ask(host, target).status == 200
            and ask(host, target).worth is Worth.DOCUMENT
            and (host, target) not in SOURCES
        ):
            queue += on_site(re.findall(r"https?://127[^\s<&]+", text(host, target)))
    return seen


def named_by_feeds() -> set[Page]:
    """Announced by a page that is linked, or at one of the places where feeds are looked for."""
    feeds = [(host, target) for host in range(len(HOST_BEHAVIOURS)) for target in COMMON_FEEDS]
    for host, behaviour in enumerate(HOST_BEHAVIOURS):
        for target in ("/", *(f"/{section}/" for section in behaviour.sections)):
            found = re.findall(r'<link rel="alternate"[^>]* href="([^"]+)"', text(host, target))
            feeds += [(host, href) for href in found]
    named: set[Page] = set()
    for host, target in feeds:
        if ask(host, target).worth is Worth.DOCUMENT:
            urls = re.findall(r'127[^\s<"]+|href="/[^"]+"', text(host, target))
            named.update((host, re.sub(r"^127[^/]+|^href=|\"", "", url)) for url in urls)
    return named


def named_by_archives() -> set[Page]:
    """From the coarsest archive of every month down."""
    named: set[Page] = set()
    for host, behaviour in enumerate(HOST_BEHAVIOURS):
        for month in months_back(TODAY, 48) if behaviour.archives else ():
            top = links(host, behaviour.archives[0].format(year=month.year, month=f"{month.month:02}"))
            named.update(top)
            if len(behaviour.archives) > 1:
                named.update(page for one in top if one not in SOURCES for page in links(*one))
    return named


def named_by_pagination() -> set[Page]:
    """Every section, page by page, up to the first that is none."""
    named: set[Page] = set()
    for host, behaviour in enumerate(HOST_BEHAVIOURS):
        for section in behaviour.sections if behaviour.pager else ():
            number = 1
            while ask(host, address := page_address(behaviour, section, number)).worth is Worth.DOCUMENT:
                named.update(links(host, address))
                number += 1
    return named


@pytest.fixture(scope="module")
def within_eight() -> dict[Page, int]:
    """What plain links reach from the homes, and in how many steps; facets, which only repeat things, left out."""
    depth = {(host, "/"): 0 for host in range(len(HOST_BEHAVIOURS))}
    edge = list(depth)
    while edge:
        page = edge.pop(0)
        for target in links(*page) if depth[page] < 8 else ():
            if target not in depth and "/catalogue/?" not in target[1]:
                depth[target] = depth[page] + 1
                edge.append(target)
    return depth


def test_two_fifths_of_the_pages_are_reached_by_no_link() -> None:
    counts = Counter(build(20_000, 1, TODAY).sources().values())
    assert counts.total() == 20_000
    assert counts[Source.LINKS] == 12_000
    assert {source: counts[source] for source in SHARES} == {
        source: round(20_000 * share) for source, share in SHARES.items()
    }


def test_links_reach_the_linked_pages_within_eight_steps_and_no_other(within_eight: dict[Page, int]) -> None:
    assert within_eight.keys() & SOURCES.keys() == only_by(Source.LINKS)


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (Source.SITEMAPS, named_by_sitemaps),
        (Source.FEEDS, named_by_feeds),
        (Source.ARCHIVES, named_by_archives),
        (Source.PAGINATION, named_by_pagination),
    ],
)
def test_each_way_names_all_its_pages_and_none_of_the_others(source: Source, named: Callable[[], set[Page]]) -> None:
    assert only_by(source) <= named() & SOURCES.keys() <= only_by(source, Source.LINKS)


def test_archives_are_linked_from_nowhere_but_the_present_one_of_a_host(within_eight: dict[Page, int]) -> None:
    archives = {
        (host, behaviour.archives[-1].format(year=month.year, month=f"{month.month:02}"))
        for host, behaviour in enumerate(HOST_BEHAVIOURS)
        for month in months_back(TODAY, 36)
        if behaviour.archives
    }
    assert archives & within_eight.keys() == {(4, "/blog/2026/03/")}


def test_the_pages_of_a_list_beyond_the_linked_ones_are_not_linked(within_eight: dict[Page, int]) -> None:
    for host, behaviour in enumerate(HOST_BEHAVIOURS):
        for section in behaviour.sections[:PAGED_SECTIONS] if behaviour.pager else ():
            reached = [n for n in range(1, 9) if (host, page_address(behaviour, section, n)) in within_eight]
            assert reached == list(range(1, behaviour.linked_numbers + 1))


@pytest.mark.parametrize("host", [host for host, behaviour in enumerate(HOST_BEHAVIOURS) if behaviour.pager])
def test_after_the_end_a_list_answers_as_its_host_does(host: int) -> None:
    behaviour = HOST_BEHAVIOURS[host]
    answer = ask(host, page_address(behaviour, behaviour.sections[0], 90))
    assert answer.worth is Worth.PAST_END
    assert answer.status == {PastEnd.GONE: 404, PastEnd.EMPTY: 200, PastEnd.FIRST: 302}[behaviour.past_end]
    assert answer.location == (f"/{behaviour.sections[0]}/" if behaviour.past_end is PastEnd.FIRST else "")


@pytest.mark.parametrize(
    ("host", "target", "worth", "status"),
    [
        (0, "/culture/?page=2", Worth.SAME, 200),
        (4, "/travel/?page=2", Worth.SAME, 200),
        (1, "/2025", Worth.DOCUMENT, 301),
        (1, "/2031/", Worth.GONE, 404),
        (3, "/robots.txt", Worth.GONE, 404),
        (3, "/sitemaps/missing.xml", Worth.GONE, 404),
        (5, "/sitemap.xml", Worth.GONE, 404),
        (5, "/nothing", Worth.GONE, 404),
    ],
)
def test_what_a_wrong_guess_is_worth(host: int, target: str, worth: Worth, status: int) -> None:
    answer = ask(host, target)
    assert (answer.worth, answer.status) == (worth, status)
    if worth is Worth.SAME:
        assert answer.body == ask(host, target.partition("?")[0]).body


def test_sitemaps_name_a_few_pages_that_are_gone() -> None:
    dead = {(host.index, path) for host in SITE.hosts for path in host.dead}
    assert len(dead) == 6
    assert dead <= named_by_sitemaps()
    assert all(ask(*page).worth is Worth.GONE for page in dead)


def test_bad_sitemaps_are_bad() -> None:
    with pytest.raises(expat.ExpatError, match="mismatched tag"):
        expat.ParserCreate().Parse(ask(1, "/sitemap.xml").body, True)
    assert "/sitemap_index.xml</loc>" in text(0, "/sitemap_index.xml")
    assert "<!ENTITY e9" in text(3, "/sitemaps/bomb.xml")
    assert len(zlib.decompress(ask(3, "/sitemaps/huge.xml.gz").body, wbits=31)) > 50 * 1024 * 1024
    assert text(2, "/sitemap-pages.xml").startswith("<!doctype html>")


def walk(trap: Trap, words: str) -> list[str]:
    """As many pages of a trap as we have patience for, each reached by a link of the one before."""
    host = next(index for index, behaviour in enumerate(HOST_BEHAVIOURS) if behaviour.trap is trap)
    target, pages = TRAP_ADDRESS[trap].format(today=TODAY), []
    for _ in range(STEPS):
        assert (ask(host, target).worth, ask(host, target).status) == (Worth(trap.value), 200)
        pages.append(text(host, target))
        found = re.search(rf'<a [^>]*href="([^"]+)">{words}</a>', pages[-1])
        assert found is not None
        target = found[1]
    return pages


@pytest.mark.parametrize("words", ["Next month", "Previous month"])
def test_the_calendar_has_no_end(words: str) -> None:
    assert len(set(walk(Trap.CALENDAR, words))) == STEPS


def test_the_same_comes_next_for_ever() -> None:
    pages = walk(Trap.SAME_NEXT, "Older moments")
    assert len({re.sub(r"/moments/page/\d+/", "", page) for page in pages}) == 1


def test_junk_is_new_for_ever() -> None:
    assert len(set(walk(Trap.JUNK_NEXT, "Next"))) == STEPS


def test_facets_are_more_than_anyone_wants() -> None:
    host, edge = 2, [(2, "/catalogue/")]
    seen = set(edge)
    while edge and len(seen) < 600:
        page = edge.pop()
        assert ask(*page).worth is Worth.FACETS
        new = {one for one in links(*page) if one[1].startswith("/catalogue/")} - seen
        seen |= new
        edge += new
    assert len(seen) >= 600
    assert selections() == 2835
    assert {SOURCES[host, target] for _, target in links(host, "/catalogue/") if (host, target) in SOURCES} == {
        Source.LINKS
    }


def test_pages_are_of_modest_size_and_each_says_something_else() -> None:
    bodies = [ask(*page).body for page in list(SOURCES)[::10]]
    assert 2_500 < min(map(len, bodies)) < max(map(len, bodies)) < 8_000
    assert len({body.partition(b"<article>")[2].partition(b"</article>")[0] for body in bodies}) == len(bodies)


def test_the_same_site_every_time_and_another_for_another_seed() -> None:
    def bodies(site: Site) -> list[bytes]:
        targets = (
            "/",
            "/sitemap.xml",
            "/robots.txt",
            "/rss.xml",
            *(f"/{HOST_BEHAVIOURS[4].sections[n]}/" for n in range(4)),
        )
        return [respond(site, host, target, ORIGINS).body for host in range(len(HOST_BEHAVIOURS)) for target in targets]

    assert bodies(build(PAGES, SEED, TODAY)) == bodies(SITE)
    assert build(PAGES, SEED, TODAY).sources() == SOURCES
    assert not build(PAGES, SEED + 1, TODAY).sources().keys() & SOURCES.keys()
