"""The documentation website: it has every page, renders like GitHub, is searchable, and works without the network."""

from __future__ import annotations

import contextlib
import functools
import re
import socket
import subprocess
import sys
import threading
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

import pytest
from markdown_it import MarkdownIt
from playwright.sync_api import Browser, Page, sync_playwright
from selectolax.lexbor import LexborHTMLParser, LexborNode

from docs import site_check, website
from tenax.fetch.browser import chromium
from tests.loops import FAULT_SECONDS
from tests.test_scripts import pins

ROOT = Path(__file__).parent.parent
PAGES = {name: source for source, name in website.staged_names().items() if source.suffix == ".md"}
SECTIONS = ["Start", "Guides", "Reference", "Operations", "Internals"]
ELEMENTS = ("h1", "h2", "h3", "p", "ul", "ol", "li", "table", "tr", "td", "pre", "code", "strong", "em", "img")


def navigation() -> dict[str, list[str]]:
    sections = tomllib.loads(website.CONFIG.read_text(encoding="utf-8"))["project"]["nav"]
    return {title: pages for section in sections for title, pages in section.items()}


def test_every_page_is_in_the_navigation_once() -> None:
    assert list(navigation()) == SECTIONS
    listed = sorted(page for pages in navigation().values() for page in pages)
    assert listed == sorted(PAGES), "update `nav` in docs/website.toml to the pages of docs/"


def test_what_builds_the_site_agrees_with_what_is_tested() -> None:
    """All of it is installed into one environment."""
    known = dict(pin.split("==") for pin in pins("dev"))
    assert "zensical" in {pin.partition("==")[0] for pin in pins("docs")}
    assert {
        pin for pin in pins("docs") if known.get(pin.split("==")[0], pin.split("==")[1]) != pin.split("==")[1]
    } == set()


# ---- the built site -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [ROOT / "scripts" / "docs", "build", directory], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return directory


def article(site: Path, page: str) -> LexborNode:
    found = LexborHTMLParser((site / page).with_suffix(".html").read_bytes()).css_first("article")
    assert found is not None
    return found


@pytest.mark.parametrize("page", PAGES)
def test_the_site_shows_what_the_markdown_says(page: str, site: Path) -> None:
    """Its Markdown dialect differs from GitHub's in lists, tables and code."""
    shown = article(site, page)
    meant = LexborHTMLParser(MarkdownIt("commonmark").enable("table").render(PAGES[page].read_text(encoding="utf-8")))
    counts = {name: (len(meant.css(name)), len(shown.css(name))) for name in ELEMENTS}
    assert {name: pair for name, pair in counts.items() if pair[0] != pair[1]} == {}
    assert _texts(shown.css("code")) == _texts(meant.css("code"))


def _texts(nodes: list[LexborNode]) -> list[str]:
    return [" ".join(node.text().split()) for node in nodes]


def test_no_link_is_broken_and_nothing_remote_is_loaded(site: Path) -> None:
    assert site_check.problems(site) == []


def test_no_program_is_published(site: Path) -> None:
    assert {file.suffix for file in site.iterdir() if file.is_file()} <= {
        ".html",
        ".css",
        ".svg",
        ".json",
        ".xml",
        ".txt",
    }


def test_an_earlier_build_is_replaced_and_nothing_else(site: Path, tmp_path: Path) -> None:
    assert website.is_site(site) and website.is_site(tmp_path)
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(website.WebsiteError, match="name another directory"):
        website.build(tmp_path)
    assert (tmp_path / "thesis.txt").exists()


def test_a_link_out_of_the_site_is_an_error() -> None:
    page = ROOT / "docs" / "README.md"
    assert (
        website.adapted(page, "[a](../README.md#use) [b](https://example.org/)")
        == "[a](index.md#use) [b](https://example.org/)"
    )
    with pytest.raises(website.WebsiteError, match=re.escape("docs/README.md links to ../pyproject.toml")):
        website.adapted(page, "[a](../pyproject.toml)")


def test_code_is_left_as_it_is_but_for_bars_in_tables() -> None:
    page = ROOT / "docs" / "README.md"
    block = "```sh\n[a](../pyproject.toml)\n| `a\\|b` |\n```"
    assert website.adapted(page, f"{block}\n| `a\\|b` | c\\|d |\n`e\\|f`") == f"{block}\n| `a|b` | c\\|d |\n`e\\|f`"


def test_the_site_is_served_until_it_is_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "docs.website", "serve", "--address", address]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            assert "<title>Architecture" in _when_served(f"http://{address}/architecture.html", server)
        finally:
            server.terminate()
        assert server.wait(FAULT_SECONDS) == 0


def _when_served(url: str, server: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + FAULT_SECONDS
    while time.monotonic() < end and server.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=FAULT_SECONDS) as answer:
            return str(answer.read().decode())
        time.sleep(0.1)
    pytest.fail(f"nothing is served; exit code {server.returncode}")


# ---- the checker --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ('<a href="other.html">', None),
        ('<a href="other.html#part">', None),
        ('<a href="#here"><p id="here">', None),
        ('<a href="https://example.org/">', None),
        ('<a href="missing.html">', "links to missing.html, which does not exist"),
        ('<a href="other.html#whole">', "links to other.html#whole, but there is no such heading"),
        ('<img src="missing.png">', "links to missing.png, which does not exist"),
        ('<script src="https://cdn.example/a.js"></script>', "loads https://cdn.example/a.js"),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', "loads //fonts.example/a.css"),
        ('<link rel="canonical" href="https://docs.example/a.html">', None),
        ('<img src="HTTPS://cdn.example/a.png">', "loads HTTPS://cdn.example/a.png"),
        ("<style>a { background: url('https://cdn.example/a.png') }</style>", "loads https://cdn.example/a.png"),
        ('<p style="background: url(https://cdn.example/a.png)">', "loads https://cdn.example/a.png"),
    ],
)
def test_the_checker_finds_what_is_broken(html: str, problem: str | None, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(html)
    (tmp_path / "other.html").write_text('<h2 id="part">A part</h2>')
    assert site_check.problems(tmp_path) == ([f"index.html: {problem}"] if problem else [])


@pytest.mark.parametrize("file", ["a.css", "a.svg"])
def test_the_checker_looks_into_styles_and_pictures(file: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text('<style>@import "https://fonts.example/a.css";</style>')
    assert site_check.problems(tmp_path) == [f"{file}: loads https://fonts.example/a.css"]


# ---- in a browser -------------------------------------------------------------------------------------------


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """A test speaks when it fails."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium.find_chromium(), chromium_sandbox=False)
        yield browser
        browser.close()


class Visit:
    """A page of the site in a browser, and every address it asked for."""

    def __init__(self, browser: Browser, width: int, scheme: Literal["light", "dark"]) -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.set_default_timeout(FAULT_SECONDS * 1000)
        self.requested: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def remote(self, address: str) -> list[str]:
        return [url for url in self.requested if not url.startswith((f"{address}/", "data:", "blob:"))]


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_a_word_is_found_by_searching(
    width: int, scheme: Literal["light", "dark"], browser: Browser, address: str
) -> None:
    visit = Visit(browser, width, scheme)
    visit.page.goto(f"{address}/index.html")
    visit.page.locator("label[for=__search], .md-search__button").locator("visible=true").first.click()
    visit.page.get_by_role("combobox", name="Search").fill("robots.txt")
    visit.page.get_by_role("option").first.click()
    visit.page.wait_for_url(re.compile(rf"{re.escape(address)}/(?!index)[a-z-]+\.html"))
    assert "robots.txt" in visit.page.locator("article").inner_text()
    assert visit.remote(address) == [] and visit.errors == []
    visit.page.close()


def test_pages_fit_a_phone_and_load_nothing_remote(browser: Browser, address: str) -> None:
    visit = Visit(browser, 390, "light")
    for page in PAGES:
        visit.page.goto(f"{address}/{Path(page).with_suffix('.html')}")
        assert visit.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{page} is too wide"
    assert visit.remote(address) == [] and visit.errors == []
    visit.page.close()


def test_dark_is_dark_whether_by_the_system_or_by_the_switch(browser: Browser, address: str) -> None:
    by_system, by_switch = Visit(browser, 1400, "dark"), Visit(browser, 1400, "light")
    for visit in (by_system, by_switch):
        visit.page.goto(f"{address}/architecture.html")
    assert _brightness(by_switch.page) > 200
    for _ in range(2):  # from the system's mode to light, and to dark
        by_switch.page.locator("label[for^=__palette]").locator("visible=true").first.click()
    assert _brightness(by_system.page) < 50 and _brightness(by_switch.page) < 50
    style = "getComputedStyle(document.querySelector('article img')).colorScheme"
    assert by_switch.page.evaluate(style) == "dark"
    by_system.page.close()
    by_switch.page.close()


def _brightness(page: Page) -> float:
    """Of the background, from 0 to 255."""
    colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red, green, blue = (float(part) for part in re.findall(r"[\d.]+", colour)[:3])
    return (red + green + blue) / 3
