"""`tenax fetch` as a person sees it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tenax.cli import main
from tenax.cli.commands.fetch import describe_next, format_result, format_row
from tenax.cli.output import TextStyle
from tenax.cli.views.format_values import format_time
from tenax.cli.views.format_visit import describe_charset, format_measurements
from tenax.model import (
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    Fetched,
    FetchRecord,
    HostBackoff,
    Outcome,
    Plan,
    Redirected,
    Refused,
    Rejected,
    Reschedule,
    TransportKind,
    Unchanged,
)
from tenax.trace import Step, Trace
from tests.site.hostile import EVERY_END
from tests.site.proxies import LocalProxy
from tests.site.server import Site

AT = 1_750_000_000.0
URL = "https://example.org/a"
HURRIED = ("--set", "politeness.rate_per_second=0", "--set", "fetch.fallbacks=")


class TerminalOutput(msgspec.Struct):
    code: int
    out: str
    err: str


@pytest.fixture
async def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    async with Site(EVERY_END) as site:
        yield site


async def fetch(capsys: pytest.CaptureFixture[str], *arguments: str) -> TerminalOutput:
    code = await asyncio.to_thread(main, ["fetch", *arguments, *HURRIED])
    return TerminalOutput(code, *capsys.readouterr())


# ---- the whole of it --------------------------------------------------------------------------------------


async def test_a_page(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    result = await fetch(capsys, f"{site.url('/page')}#top")
    lines = result.out.splitlines()
    assert (result.code, result.err) == (0, "")
    assert lines[0] == site.url("/page")
    assert lines[1:8] == [
        f"  normalize    typed as {site.url('/page')}#top",
        "               fragment dropped",
        "  scope      ✓ without a crawl: the URL counts as a seed",
        "  guard      ✓ 127.0.0.1: not a public address; allowed because you typed it",
        "  host       ✓ no rate limit; no stored record",
        "  robots     ✓ robots.txt allows it; fetched now",
        "  cache        no stored copy",
    ]
    assert lines[8:11] == [
        "  network      HTTP/1.1 200, text/html; charset=utf-8",
        "               by plain HTTP to a private address, allowed because it was typed as a seed",
        "               1.1 kB received, 1.1 kB decoded",
    ]
    assert lines[11].startswith("               first byte after ")
    assert lines[12:14] == [
        "  headers      content-length: 1094",
        "               content-type: text/html; charset=utf-8",
    ]
    assert lines[14:] == [
        "  validate   ✓ a valid page",
        "  page         “A page”, 993 characters of text, 2 links",
        "               charset utf-8, from the header",
        "  outcome    ✓ fetched, HTTP 200",
        "  next         a crawl with this seed would store it and follow 2 links",
        "               the SSRF guard refuses links and redirects to it: its address is private",
    ]


ENDS = [
    ("/nowhere", "✗ failed, not found: HTTP 404", "a crawl with this seed would store nothing, and not visit it again"),
    ("/429", "✗ failed, too many requests: HTTP 429", "and back off from the host until"),
    ("/closed", "✗ not fetched: ", "a crawl with this seed would do nothing more"),
    ("/wall", "✗ rejected, not stored: challenge: ", "would list it as a failed URL until a"),
    ("/bomb/zstd", "✗ failed, too large: larger than", "would give up and list it as a failed URL: larger"),
    ("/noindex", "✗ rejected, not stored: noindex", "would store nothing, and follow 1 link"),
]


@pytest.mark.parametrize(("path", "outcome", "then"), ENDS, ids=[path for path, *_ in ENDS])
async def test_other_ends(site: Site, capsys: pytest.CaptureFixture[str], path: str, outcome: str, then: str) -> None:
    result = await fetch(capsys, site.url(path))
    assert result.code == 3
    assert f"  outcome    {outcome}" in result.out
    assert then in result.out


async def test_the_body_of_an_error_is_shown_where_it_is_kept(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    result = await fetch(capsys, site.url("/500"))
    assert "  headers      content-length: 5" in result.out
    assert "oh no" not in result.out
    result = await fetch(capsys, site.url("/500"), "--set", "fetch.keep_error_body_bytes=1000")
    assert "  body         error body, 5 characters:\n               | oh no\n" in result.out


async def test_json_for_programs(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    result = await fetch(capsys, site.url("/page"), "--json")
    document = json.loads(result.out)
    assert document["outcome"] == {"type": "fetched", "status": 200}
    assert document["plan"] == {"type": "done"}
    assert [step["name"] for step in document["steps"]][-2:] == ["network", "validate"]
    assert document["fetch"]["protocol"] == "HTTP/1.1"
    assert "body" not in document


async def test_the_body_in_a_file(site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result = await fetch(capsys, site.url("/page"), "--body", "page.html")
    assert result.code == 0
    assert (tmp_path / "page.html").read_bytes().startswith(b"<!doctype html>")
    result = await fetch(capsys, site.url("/reset"), "--body", "nothing.html")
    assert result.code == 7
    assert result.err == "tenax: there is no body to write to nothing.html\n"
    assert not (tmp_path / "nothing.html").exists()
    result = await fetch(capsys, site.url("/page"), "--body", "no/such/place")
    assert result.code == 7
    assert (
        result.err == "tenax: no/such/place: cannot be written: No such file or directory; choose another with --body\n"
    )


async def test_the_body_on_standard_output_stands_there_alone(
    site: Site, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code = await asyncio.to_thread(main, ["fetch", site.url("/page"), "--body", "-", *HURRIED])
    out, err = capfdbinary.readouterr()
    assert code == 0
    assert out.startswith(b"<!doctype html>")
    assert out.endswith(b"</a> ")
    assert "outcome    ✓ fetched" in err.decode()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("ftp://a.example/",), "`ftp` is not a supported scheme"),
        (("http://127.0.0.1/", "--dir", "nowhere"), "there is no crawl in nowhere"),
        (("http://127.0.0.1/", "--browser", "--curl"), "not allowed with argument"),
        (("http://127.0.0.1/", "--proxy", "gopher://me:hunter2@a.example"), "bad value in `proxy.urls`, number 1"),
    ],
)
async def test_what_cannot_be_tried_is_one_line(
    site: Site, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], complaint: str
) -> None:
    result = await fetch(capsys, *arguments)
    assert (result.code, result.out) == (2, "")
    assert complaint in result.err
    assert "hunter2" not in result.err


async def test_a_missing_extra(site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenax.fetch.curl.transport.find_spec", lambda name: None)
    result = await fetch(capsys, site.url("/page"), "--curl")
    assert (result.code, result.out) == (2, "")
    assert result.err == "tenax: curl_cffi is missing: pip install 'tenax[curl]'\n"


async def test_no_secret_is_shown(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    async with LocalProxy("http", user="me", password="hunter2") as proxy:
        url = site.url("/page").replace("//", "//you:hunter3@")
        result = await fetch(capsys, url, "--proxy", proxy.url("me", "hunter2"))
        as_json = await fetch(capsys, url, "--proxy", proxy.url("me", "hunter2"), "--json")
        wrong = await fetch(capsys, url, "--proxy", proxy.url("me", "hunter4"))
    assert f"through the proxy {proxy.name}" in result.out
    assert "it does not accept our user and password" in " ".join(wrong.out.split())
    assert "hunter" not in result.out + result.err + as_json.out + as_json.err + wrong.out + wrong.err


# ---- words ------------------------------------------------------------------------------------------------


def test_measurements() -> None:
    fetch = FetchRecord(
        status=200, content_type="text/html", wire_bytes=50_000, body_bytes=200_000, ttfb_seconds=0.25,
        total_seconds=1.5, protocol="HTTP/2", transport=TransportKind.CURL, address_class="public",
        charset_source="detected",
    )  # fmt: skip
    assert format_measurements(fetch) == [
        "HTTP/2 200, text/html",
        "by curl to a public address",
        "50.0 kB received, 200 kB decoded",
        "first byte after 250 ms, download 1.2 s at 40 kB/s, 1.5 s in total",
    ]
    proxied = msgspec.structs.replace(fetch, transport=TransportKind.HTTP, proxy="p.example:3128", is_unverified=True)
    assert format_measurements(proxied)[1] == (
        "by plain HTTP through the proxy p.example:3128 to a public address; "
        "its certificate was NOT verified (`fetch.verify_tls` is off)"
    )
    slow = msgspec.structs.replace(fetch, wire_bytes=500, total_seconds=1.25)
    assert format_measurements(slow)[3] == "first byte after 250 ms, download 1.0 s at 0.5 kB/s, 1.2 s in total"
    assert format_measurements(FetchRecord()) == []


def test_charsets() -> None:
    assert describe_charset("detected", "windows-1251") == ["charset windows-1251, undeclared, detected from its bytes"]
    assert describe_charset("header") == ["charset from the header"]
    assert describe_charset("") == []


def trace(outcome: Outcome, plan: Plan, **more: object) -> Trace:
    return msgspec.structs.replace(Trace(URL, URL, outcome, plan), **more)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (trace(Fetched(200), Done(), candidate_count=1), "a crawl would store it and follow 1 link"),
        (trace(Unchanged(), Done()), "a crawl would keep the stored copy"),
        (trace(Redirected(301, f"{URL}b"), Done()), f"a crawl would visit {URL}b, at the rate limit of its host"),
        (trace(Redirected(301, f"{URL}b", "scope"), Done()), "a crawl would do nothing more"),
        (trace(Refused("robots: no"), Done()), "a crawl would do nothing more"),
        (trace(Rejected("empty"), Done()), "a crawl would store nothing, and not visit it again"),
        (trace(Failed("HTTP 403", FailureKind.BLOCKED), DeadLetter("HTTP 403")), "list it as a failed URL: HTTP 403"),
        (
            trace(Rejected("shell: x"), Reschedule(AT, transport=TransportKind.BROWSER)),
            f"visit it again after {format_time(AT)} in the browser",
        ),
        (
            trace(Failed("HTTP 500", FailureKind.SERVER_ERROR), Reschedule(AT, spends_attempt=True)),
            "count one failed attempt",
        ),
        (
            trace(Failed("x", FailureKind.NOT_MODIFIED), Reschedule(AT, is_unconditional=True)),
            "without the stored copy",
        ),
        (
            trace(Deferred(AT, "x"), Reschedule(AT), backoff=HostBackoff("", AT, "rate limited")),
            "back off from the host until",
        ),
    ],
)  # fmt: skip
def test_what_a_crawl_would_do_next(result: Trace, words: str) -> None:
    assert words in " ".join(describe_next(result))


def test_lines_fit_and_strangers_are_inert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = format_row("validate", ["\x1b[31mred\u202e " + "words " * 30], TextStyle(), False)
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].startswith("  validate   ✗ ")
    assert "\x1b" not in "".join(lines)
    assert "\u202e" not in "".join(lines)
    assert lines[1].startswith(" " * 15 + "words")


def test_the_end_is_told_in_order() -> None:
    steps = (Step("cache", "no stored copy"), Step("network", "HTTP/1.1 200"), Step("validate", "wall", False))
    result = trace(
        Rejected("challenge: x"), Done(), steps=steps, fetch=FetchRecord(status=200, protocol="HTTP/1.1"), title="Hm"
    )  # fmt: skip
    names = [line[2:12].strip() for line in format_result(result, TextStyle()) if line[2] != " "]
    assert names == ["network", "validate", "page", "outcome", "next"]
