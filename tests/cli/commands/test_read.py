"""`tenax read` as a person sees it."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tenax import Config, Crawl
from tenax.cli import main
from tenax.config import PolitenessConfig, PoolConfig
from tests.site.hostile import moves, serves
from tests.site.server import Exchange, Site

HURRIED = ("--set", "politeness.rate_per_second=0", "--set", "fetch.fallbacks=")
PROSE = "The ferry left the harbour an hour late, because nobody, not even the captain, had found the key. "
PAGE = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The key of the ferry | Harbour Post</title>
<meta property="og:title" content="The key of the ferry"><meta property="og:type" content="article">
<meta name="author" content="Ada Moll"></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/ropes">Ropes</a></li></ul></nav>
<article><h1>The key of the ferry</h1><p>First {PROSE * 3}</p><p>Then {PROSE * 3}<a href="mat">the mat</a></p>
<p>At last {PROSE * 3}</p></article>
<footer><p>© The Harbour Post, all rights reserved</p></footer></body></html>"""
EMPTY = "<!doctype html><title>Nothing</title><body></body>"


class TerminalOutput(msgspec.Struct):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _a_page_in_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")


@pytest.fixture
def read(capsys: pytest.CaptureFixture[str]) -> Reading:
    return Reading(capsys)


class Reading:
    """The command, run here, with what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> TerminalOutput:
        code = main(["read", *arguments])
        return TerminalOutput(code, *self._capsys.readouterr())

    async def url(self, *arguments: str) -> TerminalOutput:
        """In a thread, because the site it asks is served by this one."""
        return await asyncio.to_thread(self, *arguments, *HURRIED)


# ---- a file -----------------------------------------------------------------------------------------------


def test_the_clean_text_and_nothing_else(read: Reading) -> None:
    result = read("page.html")
    paragraphs = result.out.splitlines()
    assert (result.code, result.err) == (0, "")
    assert f"First {PROSE * 3}".strip() in paragraphs
    assert f"At last {PROSE * 3}".strip() in paragraphs
    assert "Home" not in result.out
    assert "rights" not in result.out


def test_on_a_terminal_it_has_a_head_and_lines_that_fit(read: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = read("page.html").out.splitlines()
    assert lines[0] == "\x1b[1mThe key of the ferry\x1b[0m"
    assert "Ada Moll" in lines[1]
    assert lines[2] == ""
    assert lines[3].startswith("First The ferry left")
    assert all(len(line) <= 100 for line in lines[2:])
    assert " ".join(" ".join(lines[3:]).split()).count("had found the key.") == 9


def test_markdown(read: Reading) -> None:
    result = read("page.html", "--format", "markdown", "--url", "https://harbour.example/2026/key")
    assert (result.code, result.err) == (0, "")
    assert "The key of the ferry" in result.out
    assert "Home" not in result.out


def test_json_has_everything(read: Reading) -> None:
    result = read("page.html", "--format", "json", "--url", "https://harbour.example/2026/key")
    document = json.loads(result.out)
    assert (result.code, result.err) == (0, "")
    assert document["url"] == "https://harbour.example/2026/key"
    assert document["title"] == "The key of the ferry | Harbour Post"
    assert document["headline"] == "The key of the ferry"
    assert document["authors"] == ["Ada Moll"]
    assert document["language"] == "en"
    assert "Home" in document["text"]
    assert "Home" not in document["article"]
    links = {link["href"]: link for link in document["links"]}
    assert list(links) == [
        "https://harbour.example/",
        "https://harbour.example/ropes",
        "https://harbour.example/2026/mat",
    ]
    assert links["https://harbour.example/2026/mat"]["text"] == "the mat"
    assert [link["is_in_article"] for link in links.values()] == [False, False, True]
    assert {"rel", "is_nofollow"} <= links["https://harbour.example/"].keys()


def test_standard_input(read: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PAGE.encode())))
    assert read("-").out == read("page.html").out


def test_plain_text_is_its_own_clean_part(read: Reading, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("<p> is no tag here.\nSo.")
    assert read("notes.txt").out == "<p> is no tag here.\nSo.\n"


def test_the_name_of_a_file_tells_what_it_is(read: Reading, tmp_path: Path) -> None:
    (tmp_path / "part.HTM").write_text("<section>Nothing here begins like HTML.</section>")
    assert json.loads(read("part.HTM", "--format", "json").out)["media"] == "html"


# ---- why --------------------------------------------------------------------------------------------------


def test_every_block_with_its_reason(read: Reading) -> None:
    result = read("page.html", "--explain")
    lines = result.out.splitlines()
    assert (result.code, result.err) == (0, "")
    assert len(lines) == 9
    assert [lines[at][2] for at in (0, 1, 3, 4, 5, 6)] == ["✗", "✗", "✓", "✓", "✓", "✗"]
    assert "in a navigation; 100 % links" in lines[0]
    assert "in a footer" in lines[6]
    assert " of 7 blocks kept, " in lines[8]
    assert all(len(line) <= 100 for line in lines)


def test_every_block_for_programs(read: Reading) -> None:
    blocks = json.loads(read("page.html", "--explain", "--format", "json").out)
    assert [blocks[at]["is_kept"] for at in (0, 1, 3, 4, 5, 6)] == [False, False, True, True, True, False]
    assert blocks[0].keys() == {"is_kept", "score", "why", "text"}
    assert blocks[2]["text"] == "The key of the ferry"


def test_a_page_that_was_cut_says_so(read: Reading, tmp_path: Path) -> None:
    (tmp_path / "long.html").write_text("<p>The ferry runs at nine.</p>" * 12_000)
    result = read("long.html")
    assert (result.code, result.out.count("\n")) == (0, 10_000)
    assert result.err == "tenax: long.html: too long, read to block 10,000\n"


# ---- what cannot be read ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("none.html",), "none.html: there is no such file; a page on the web begins with https://"),
        (("example.org/page",), "example.org/page: there is no such file; a page on the web begins with https://"),
        ((".",), ".: cannot be read: Is a directory"),
        (("a\0b",), "cannot be read: "),
        (("picture",), "picture: cannot be read as a page: PNG image"),
        (("noise",), "noise: cannot be read as a page: no type declared; it contains binary bytes"),
        (("nothing",), "nothing: cannot be read as a page: empty body"),
        (("nothing", "--format", "json"), "nothing: cannot be read as a page: empty body"),
        (("nothing", "--explain"), "nothing: cannot be read as a page: empty body"),
        (("empty.html",), "empty.html: it has no text"),
        (("empty.html", "--explain"), "empty.html: it has no text"),
        (
            ("deep.html",),
            "deep.html: cannot be read as a page: too costly to read: elements nest more than 10,000 deep",
        ),
        (
            ("deep.html", "--explain"),
            "deep.html: cannot be read as a page: too costly to read: elements nest more than",
        ),
        (
            ("slow.html", "--set", "extract.max_cpu_seconds=0.0001"),
            "slow.html: cannot be read as a page: too costly to read: 0.0001 s of CPU used up parsing 16,384 of its",
        ),
        (("notes", "--explain"), "notes: plain text: nothing is dropped"),
        (("page.html", "--url", "page.html"), "`page.html` is not the URL of a page; write it like https://"),
        (("page.html", "--explain", "--format", "markdown"), "--explain needs --format text or json"),
        (("page.html", "--format", "pdf"), "invalid choice: 'pdf'"),
        (
            ("page.html", "--set", "fetch.max_body_bytes=1024"),
            "page.html: larger than 1024 bytes; see `fetch.max_body_bytes`",
        ),
        (("http://127.0.0.1/", "--url", "http://127.0.0.1/"), "--url is for files"),
    ],
    ids=lambda value: " ".join(value).replace("\0", "NUL") if isinstance(value, tuple) else None,
)
def test_what_cannot_be_read_is_one_line_and_code_2(
    read: Reading, tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "picture").write_bytes(b"\x89PNG\r\n\x1a\n and so on")
    (tmp_path / "noise").write_bytes(bytes(range(256)))
    (tmp_path / "nothing").touch()
    (tmp_path / "notes").write_text("plain words")
    (tmp_path / "empty.html").write_text(EMPTY)
    (tmp_path / "deep.html").write_text("<div>" * 20_000 + "words")
    (tmp_path / "slow.html").write_text("<p>Words of a page.</p>" * 10_000)
    result = read(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("tenax: ")
    assert result.err.count("\n") == 1
    assert complaint in result.err


def test_a_page_without_an_article(read: Reading, tmp_path: Path) -> None:
    buttons = "".join(f"<button>Press {number}</button>" for number in range(30))
    (tmp_path / "buttons.html").write_text(f"<!doctype html><title>Buttons</title><nav>{buttons}</nav>")
    result = read("buttons.html")
    assert (result.code, result.out) == (2, "")
    assert result.err == "tenax: buttons.html: no article found; --format json has all of its text\n"
    assert read("buttons.html", "--format", "markdown").code == 2
    assert "Press 29" in json.loads(read("buttons.html", "--format", "json").out)["text"]
    explained = read("buttons.html", "--explain")
    assert (explained.code, explained.out.count("✗")) == (0, 30)


# ---- a URL ------------------------------------------------------------------------------------------------


async def unchanged(exchange: Exchange) -> None:
    if "if-none-match" in exchange.headers:
        await exchange.answer(b"", "304 Not Modified")
    else:
        await serves(PAGE.encode(), ETag='"1"')(exchange)


async def gone(exchange: Exchange) -> None:
    exchange.reset()


BEHAVIOURS = {
    "/robots.txt": serves(b"User-agent: *\nDisallow: /closed", "text/plain"),
    "/page": serves(PAGE.encode("utf-16"), "text/html; charset=utf-16"),
    "/unlisted": serves(PAGE.encode(), X_Robots_Tag="noindex"),
    "/moved": moves("/page"),
    "/closed": serves(PAGE.encode()),
    "/picture": serves(b"\x89PNG\r\n\x1a\n and so on", "image/png"),
    "/missing": serves(b"no", status="404 Not Found"),
    "/gone": gone,
    "/etag": unchanged,
}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site(BEHAVIOURS) as site:
        yield site


async def test_a_url_is_fetched_and_read(site: Site, read: Reading) -> None:
    result = await read.url(site.url("/page"), "--format", "json")
    document = json.loads(result.out)
    assert (result.code, result.err) == (0, "")
    assert document["url"] == site.url("/page")
    assert (document["charset"], document["charset_source"]) == ("utf-16le", "bom")
    assert [link["href"] for link in document["links"]] == [site.url(path) for path in ("/", "/ropes", "/mat")]
    assert [hit.path for hit in site.hits] == ["/robots.txt", "/page"], "as politely as a crawl"


async def test_the_text_of_a_url_is_that_of_the_file(site: Site, read: Reading) -> None:
    result = await read.url(site.url("/page"))
    assert result.out == read("page.html").out


async def test_a_page_that_asks_not_to_be_kept_can_be_read(site: Site, read: Reading) -> None:
    result = await read.url(site.url("/unlisted"))
    assert result.code == 0
    assert result.out.count("had found the key.") == 9


async def test_the_whole_page_is_asked_for_whatever_a_crawl_has_stored(site: Site, read: Reading) -> None:
    config = Config(politeness=PolitenessConfig(rate_per_second=0), pool=PoolConfig(processes=0))
    async with Crawl([site.url("/etag")], config, directory="crawl", typed_by_person=True) as crawl:
        await crawl.run()
    result = await read.url(site.url("/etag"), "--dir", "crawl")
    assert (result.code, result.err) == (0, "")
    assert result.out == read("page.html").out


async def test_why_for_a_url(site: Site, read: Reading) -> None:
    result = await read.url(site.url("/page"), "--explain")
    assert result.code == 0
    assert "in a navigation; 100 % links" in result.out


ENDS = [
    ("/moved", 2, "redirects to "),
    ("/picture", 2, "rejected, not stored: content: "),
    ("/closed", 3, "not fetched: "),
    ("/missing", 3, "failed, not found: HTTP 404"),
    ("/gone", 3, "failed, connection closed: "),
]


@pytest.mark.parametrize(("path", "code", "complaint"), ENDS, ids=[path for path, *_ in ENDS])
async def test_a_url_without_a_page_is_one_line(
    site: Site, read: Reading, path: str, code: int, complaint: str
) -> None:
    result = await read.url(site.url(path))
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(f"tenax: {site.url(path)}")
    assert result.err.count("\n") == 1
    assert complaint in result.err
