"""Each bad behaviour does what its row on the front page says."""

from __future__ import annotations

import gzip
import re
from urllib.robotparser import RobotFileParser

import pytest

import tenax.demo
from tenax.demo import Answer, Request, Site
from tenax.demo.behaviours import BEHAVIOURS, CALENDAR_YEAR, robots_txt, stored_paths
from tenax.demo.server import respond

SITE = Site(pages_per_host=30)
ORIGINS = tuple(f"http://127.0.0.{number}:8000" for number in range(1, 7))
HOME = {behaviour.name: behaviour.home_host for behaviour in BEHAVIOURS}


def ask(behaviour: str, path: str, query: str = "", **asked: int) -> Answer:
    return respond(SITE, HOME[behaviour], Request(path, query, **asked), ORIGINS)


def links(answer: Answer) -> list[str]:
    return [href.replace("&amp;", "&") for href in re.findall(r'<a href="([^"]*)"', answer.body.decode("latin-1"))]


def test_the_table_on_the_front_page_lists_every_manner_where_it_lives() -> None:
    rows = re.findall(r"^\| ([a-z-]+) \| (\d) \|(.*)$", tenax.demo.__doc__ or "", re.MULTILINE)
    assert [(name, int(home), "(slow)" in text) for name, home, text in rows] == [
        (behaviour.name, behaviour.home_host, behaviour.is_slow) for behaviour in BEHAVIOURS
    ]


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda behaviour: behaviour.name)
def test_every_manner_is_linked_and_what_it_stores_is_there(behaviour: tenax.demo.behaviours.Behaviour) -> None:
    page = ask(behaviour.name, "/curiosities")
    assert set(behaviour.links) <= set(links(page))
    for path in behaviour.expected_paths:
        answer = ask(behaviour.name, *path.split("?"), path_requests=3)
        assert (answer.status, answer.cut_after_bytes, answer.drip_seconds) == (200, None, 0)


@pytest.mark.parametrize(
    ("behaviour", "path", "status"),
    [("missing", "/lost", 404), ("gone", "/closed-for-ever", 410), ("disallowed", "/private/accounts", 200)],
)
def test_statuses(behaviour: str, path: str, status: int) -> None:
    assert ask(behaviour, path).status == status


def test_robots_close_the_private_section_which_every_page_links_to() -> None:
    rules = RobotFileParser()
    rules.parse(robots_txt(SITE, 0).splitlines())
    assert not rules.can_fetch("Tenax", "/private/accounts")
    assert rules.can_fetch("Tenax", "/about")
    assert "/private/accounts" in links(ask("disallowed", "/about"))


def test_one_host_asks_for_a_delay() -> None:
    assert "Crawl-delay: 0.2\n" in robots_txt(SITE, 1)
    assert "Crawl-delay: 0.05\n" in robots_txt(Site(behaviours="quick"), 1)
    assert not any("Crawl-delay" in robots_txt(SITE, index) for index in (0, 2, 3, 4, 5))


@pytest.mark.parametrize(
    ("behaviour", "path", "to"),
    [
        ("redirect-disallowed", "/side-door", "/private/accounts"),
        ("redirect-chain", "/old-address", ORIGINS[5] + "/older-address"),
        ("redirect-chain", "/older-address", "/found-at-last"),
        ("redirect-loop", "/round", ORIGINS[5] + "/and-round"),
        ("redirect-loop", "/and-round", "/round"),
        ("redirect-inside", "/cloud", "http://169.254.169.254/latest/meta-data/"),
        ("redirect-file", "/passwords", "file:///etc/passwd"),
    ],
)
def test_redirects(behaviour: str, path: str, to: str) -> None:
    answer = ask(behaviour, path)
    assert answer.status in (301, 302)
    assert dict(answer.headers)["Location"] == to


def test_the_hostile_title() -> None:
    body = ask("title", "/headline").body
    assert re.search(rb"<title><script>.*\x1b\[31m.*\x07.*\xe2\x80\xae.*</title>", body)


def test_robots_words_in_pages_and_links() -> None:
    assert b'<meta name="robots" content="noindex">' in ask("noindex", "/unlisted").body
    assert b'<meta name="robots" content="nofollow">' in ask("nofollow", "/no-further").body
    assert b'<a href="/quiet/nook" rel="nofollow">' in ask("nofollow-links", "/curiosities").body
    assert {"/quiet/room", "/quiet/nook", "/unlisted"}.isdisjoint(stored_paths(SITE, 1))


def test_the_flaky_page_fails_twice() -> None:
    assert [ask("flaky", "/moody", path_requests=count).status for count in (1, 2, 3, 4)] == [500, 500, 200, 200]


def test_the_rate_limited_host_turns_its_fortieth_request_away() -> None:
    statuses = [ask("rate-limited", "/about", host_requests=count).status for count in range(1, 121)]
    assert [count for count, status in enumerate(statuses, 1) if status == 429] == [40]
    refused = ask("rate-limited", "/about", host_requests=40)
    assert dict(refused.headers)["Retry-After"] == "1"
    assert ask("rate-limited", "/robots.txt", host_requests=40).status == 200


def test_filters_are_linked_in_both_orders() -> None:
    queries = {href.partition("?")[2] for href in links(ask("facets", "/finder", "colour=green&size=medium"))}
    assert "colour=blue&size=large" in queries
    assert "size=small&colour=red" in queries


def test_every_month_has_a_next_one() -> None:
    december = ask("calendar", "/calendar", f"year={CALENDAR_YEAR}&month=12")
    assert f"/calendar?year={CALENDAR_YEAR + 1}&month=1" in links(december)
    assert ask("calendar", "/calendar", "year=9999999999&month=banana").status == 200


def test_the_echo_goes_on_for_ever() -> None:
    answer = ask("echo", "/echo/" + "a/b/" * 50)
    assert answer.status == 200
    assert "a/b/" in links(answer)


def test_more_links_than_anyone_takes() -> None:
    far = {href for href in links(ask("many-links", "/almanac")) if "day=" in href}
    assert len(far) == 1500


def test_things_that_are_no_pages() -> None:
    bomb = ask("bomb", "/bomb")
    assert len(bomb.body) < 100_000
    assert len(gzip.decompress(bomb.body)) > 30 * 1024 * 1024
    assert ask("picture", "/picture").body.startswith(b"\x89PNG")
    assert ask("picture", "/picture").content_type == "text/html"
    assert ask("empty", "/empty") == Answer(200, b"")
    assert ask("feed", "/feed.xml").content_type.startswith("application/rss+xml")
    assert b'href="/feed.xml"' in ask("feed", "/curiosities").body


def test_what_is_sent_badly() -> None:
    cut = ask("truncated", "/cut-short")
    assert cut.cut_after_bytes is not None
    assert 0 < cut.cut_after_bytes < len(cut.body)
    assert ask("drip", "/drip").drip_seconds == 0.5
    assert ask("slow", "/patience").delay_seconds == 2.0


def test_a_host_without_manners_has_none() -> None:
    plain = Site(behaviours="none")
    for behaviour in BEHAVIOURS:
        for path in (*behaviour.links, "/curiosities"):
            assert respond(plain, behaviour.home_host, Request(path, path_requests=3), ORIGINS).status == 404
    assert robots_txt(plain, 0).endswith("Disallow:\n")
