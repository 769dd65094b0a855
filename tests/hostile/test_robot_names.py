"""A site may exclude the name that it sees: rules for robots hold for the User-Agent that we send, and for `Tenax`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.model import Ending, Refused
from tenax.trace import TraceRequest, trace_url
from tests.hostile.asking import explained
from tests.hostile.crawling import Settings, config_for, crawl
from tests.site.robots import page, pages, rules
from tests.site.server import Site

FOO: Settings = {"fetch.user_agent": "FooBot/1.0 (+https://foo.example/bot)"}
ROBOTS = """
User-agent: FooBot
Disallow: /foo
Crawl-delay: 7

User-agent: Tenax
Disallow: /tenax

User-agent: *
Disallow: /all
"""
PATHS = ["/foo", "/tenax", "/all", "/open"]


@pytest.mark.parametrize(
    ("settings", "closed"),
    [
        ({}, {"/tenax"}),
        (FOO, {"/foo", "/tenax"}),
        ({"fetch.user_agent": "Mozilla/5.0 (compatible; FooBot/2.1; +https://foo.example)"}, {"/foo", "/tenax"}),
        ({"fetch.user_agent": "Other/1.0"}, {"/tenax"}),
        ({"fetch.profile": "browser"}, {"/tenax"}),
    ],
)
async def test_a_crawl_obeys_the_rules_for_the_name_it_sends(
    tmp_path: Path, settings: Settings, closed: set[str]
) -> None:
    async with Site({"/robots.txt": rules(ROBOTS), **pages(*PATHS)}) as site:
        done = await crawl([site.url("/")], tmp_path, settings)
        assert done.ending is Ending.COMPLETE
        assert {hit.path for hit in site.hits} == {"/robots.txt", "/", *PATHS} - closed
        assert (await done.host(site.origin)).crawl_delay_seconds == (7.0 if "/foo" in closed else None)
        for path in PATHS:
            says = await explained(tmp_path, site.url(path))
            assert ("robots.txt forbids it" in says) == (path in closed), "by the robot name of the crawl"


async def test_the_group_for_everyone_holds_where_none_is_for_us(tmp_path: Path) -> None:
    robots = "User-agent: Tenant\nDisallow: /\n\nUser-agent: *\nDisallow: /all\n"
    async with Site({"/robots.txt": rules(robots), **pages(*PATHS)}) as site:
        await crawl([site.url("/")], tmp_path, FOO)
        assert {hit.path for hit in site.hits} == {"/robots.txt", "/", "/foo", "/tenax", "/open"}


async def test_a_site_with_a_name_of_its_own(tmp_path: Path) -> None:
    async with Site({"/robots.txt": rules(ROBOTS), **pages(*PATHS)}) as site:
        config = config_for([site.url("/")], {"guard.allow_networks": ()})
        config = type(config)(**{
            **{name: getattr(config, name) for name in config.__struct_fields__},
            "sites": {"127.0.0.1": FOO},
        })  # fmt: skip
        done = await trace_url(TraceRequest(site.url("/foo"), None, False, None), config)
        assert isinstance(done.outcome, Refused) and done.outcome.why.startswith("robots:")
        assert [hit.path for hit in site.hits] == ["/robots.txt"]


@pytest.mark.parametrize(("path", "is_kept"), [("/meta", False), ("/header", False), ("/others", True)])
async def test_a_page_that_asks_us_by_that_name_not_to_be_kept(tmp_path: Path, path: str, is_kept: bool) -> None:
    routes = {
        "/robots.txt": rules(""),
        "/": page(path),
        "/meta": page("/", head="<meta name=foobot content=noindex>"),
        "/header": page("/", headers={"X-Robots-Tag": "FooBot: noindex"}),
        "/others": page("/", head="<meta name=barbot content=noindex>", headers={"X-Robots-Tag": "barbot: noindex"}),
    }
    async with Site(routes) as site:
        done = await crawl([site.url("/")], tmp_path, FOO)
        assert (site.url(path) in done.pages) is is_kept
        trace = await trace_url(TraceRequest(site.url(path), None, False, None), config_for([site.url("/")], FOO))
        assert ("noindex" not in str(trace.outcome)) is is_kept
