"""What a crawl keeps of answers that brought no page: why, and what was answered; and how such URLs come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.program import INLINE, tenax
from tests.site.hostile import WORDS, hub, serves
from tests.site.server import Site

SHELL = f"""<!doctype html><title>App</title><body>
<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>
<script>document.getElementById('root').innerHTML = '<h1>A tale</h1><p>{WORDS}</p>'</script>""".encode()
OPTIONS = (
    *INLINE,
    *("--rate", "0", "--discover", "links", "--set", "guard.allow_networks=127.0.0.1/32"),
    *("--set", "fetch.total_timeout_seconds=60", "--set", "browser.settle_seconds=1"),
)
NO_BROWSER = ("--set", "browser.executable=/nowhere/chromium")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site({"/": hub("/app"), "/app": serves(SHELL)}) as site:
        yield site


@pytest.fixture(params=["a file", "a server"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, ...]:
    """The flags that say where the crawl is."""
    if request.param == "a file":
        return ("--dir", str(tmp_path / "out"))
    return ("--database", request.getfixturevalue("postgres"))


async def said(*words: str, code: int = 0) -> str:
    """What a command prints that ends so."""
    answer = await asyncio.to_thread(tenax, *words)
    assert answer.code == code, answer
    return answer.out


def asked(site: Site, path: str) -> int:
    return sum(hit.path == path for hit in site.hits)


async def test_what_needs_a_browser_waits_for_one(site: Site, location: tuple[str, ...]) -> None:
    crawl, app = ("crawl", site.url("/"), *OPTIONS, *location), site.url("/app")
    out = await said(*crawl, *NO_BROWSER)
    assert "Crawl complete" not in out
    assert "Nothing else is left to visit. 1 URL needs a browser: install one" in out
    assert "Resume with:" in out
    assert "1 URL needs a browser: install one" in await said(*crawl, *NO_BROWSER, "--quiet")
    assert asked(site, "/app") == 1, "it is not asked for again without a browser"

    status = await said("status", *location)
    assert "1, 1 of them needs a browser" in status
    assert "Nothing else is waiting. 1 URL needs a browser: install one" in status
    failed = await said("dead-letters", "list", *location)
    assert f"{app}\n    needs a browser: shell: the page is built by scripts\n" in failed
    story = await said("explain", app, *location)
    assert "Waits for a run with a browser: shell: the page is built by scripts." in story
    assert "→ waits for a browser" in story

    assert "1 URL will be visited again." in await said("dead-letters", "replay", app, *location)
    assert "1 URL needs a browser" in await said(*crawl, *NO_BROWSER)
    assert asked(site, "/app") == 2
    assert "1 known URL without a page will be visited again." in await said("seed", app, *location)
    assert "1 URL needs a browser" in await said(*crawl, *NO_BROWSER)
    assert asked(site, "/app") == 3

    out = await said(*crawl, "--set", "browser.executable=")  # in the Chromium of this machine
    assert "Crawl complete: nothing is left to visit." in out
    story = await said("explain", app, *location)
    assert "Visited and stored" in story
    assert "in the browser" in story
    assert (await said("export", "--where", "url=*/app", *location)).count("A tale") > 0
    assert "There are no failed URLs." in await said("dead-letters", "list", *location)
    assert "No problems found" in await said("db", "check", *location)


async def test_headers_and_the_body_of_an_error_are_shown_by_explain(location: tuple[str, ...]) -> None:
    lost = serves(b"\x1b[2Jnot here\nsorry", "text/plain", "404 Not Found", Set_Cookie="sid=s3cret", Server="lab")
    async with Site({"/": lost}) as site:
        await said("crawl", site.url("/"), *OPTIONS, *location, "--set", "fetch.keep_error_body_bytes=1000", code=11)
        story = await said("explain", site.url("/"), *location)
        assert "set-cookie: sid=***; server: lab" in story
        assert "| not here\n" in story
        assert "s3cret" not in story
        assert "\x1b" not in story


async def test_a_seed_without_a_page_is_visited_again_when_it_is_typed_again(tmp_path: Path) -> None:
    pages = {"/": serves(b"not yet", "text/plain", "404 Not Found")}
    async with Site(pages) as site:
        crawl = ("crawl", site.url("/"), *OPTIONS, "--dir", str(tmp_path / "out"))
        for _ in range(2):
            assert "Nothing could be stored." in await said(*crawl, code=11)
        assert asked(site, "/") == 2
        pages["/"] = hub()
        assert "Crawl complete: nothing is left to visit." in await said(*crawl)
        assert asked(site, "/") == 3
        assert "this crawl is complete: 1 pages stored" in (await asyncio.to_thread(tenax, *crawl)).err
        assert asked(site, "/") == 3, "what has a page is left alone"
