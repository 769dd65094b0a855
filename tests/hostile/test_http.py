"""HTTP as the web speaks it: what a whole crawl stores, what it does not, and what it says about it."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
import pytest

import tenax
from tenax.config import Config, CrawlConfig
from tenax.errors import NoSeedReachable
from tenax.fetch.headers import MAX_CONTENT_TYPE_CHARS
from tenax.model import Failed, FailureKind, Fetched, Hop, Redirected, Rejected, Unchanged
from tests.e2e.program import command, environment
from tests.hostile.asking import explained, outcome_of
from tests.hostile.crawling import Crawled, Settings, config_for, crawl, crawled
from tests.site.certificates import HERE as CERTIFICATES
from tests.site.certificates import tls_of
from tests.site.hostile import (
    BOMBS,
    claims_more_than_it_sends,
    dribbles_a_body,
    dribbles_headers,
    folds_its_headers,
    hangs_up_when_asked_again,
    has_200_headers_of_64_kb,
    hub,
    in_turn,
    moves,
    never_ends_its_chunks,
    page,
    revalidates,
    serves,
)
from tests.site.politeness import given_up
from tests.site.server import Behaviour, Exchange, Site

MEGABYTE = 1024 * 1024
HURRIED: Settings = {
    "fetch.max_attempts": 1,
    "fetch.fallbacks": (),
    "hosts.budget_failures": 1000,
    "hosts.breaker_failures": 1000,
}
"""A failure is not retried, and no host backs off: the tests are about how, not how often."""


def site_of(routes: Mapping[str, Behaviour]) -> Site:
    """These pages, and one at the root that links to them all."""
    return Site({"/": hub(*routes), **routes})


# ---- gzip, deflate, br, zstd bombs → stop at the decoded cap, memory bounded, recorded as too large --------

CRAWLS_AND_THEIR_MEMORY = """
import json, sys
from pathlib import Path
from tenax.cli import main
for arguments in json.load(sys.stdin):
    code = main(arguments)
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(code, int(line.split()[1]) * 1024, flush=True)
"""


async def memory_bytes_of(*crawls: list[str]) -> list[int]:
    """The most memory that a process had used after each of these crawls, made one after the other."""
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CRAWLS_AND_THEIR_MEMORY,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    out, err = await running.communicate(json.dumps(crawls).encode())
    codes, numbers = zip(*(line.split() for line in out.decode().splitlines()), strict=True)
    assert set(codes) == {"0"}, err.decode()
    return [int(number) for number in numbers]


async def test_gzip_deflate_br_zstd_bombs_stop_at_the_decoded_cap_memory_bounded_recorded_as_too_large(
    tmp_path: Path,
) -> None:
    """Ten gigabytes each, as they are made and all at once, met by the program that its users run."""
    async with Site({"/": hub(*BOMBS), "/calm": serves(page()), **BOMBS}) as site:

        def words(path: str, out: str) -> list[str]:
            settings = ["politeness.rate_per_second=0", "pool.processes=0", "fetch.max_attempts=1", "fetch.fallbacks="]
            settings += ["hosts.budget_failures=1000", "resilience.network_probes="]
            flags = [word for setting in settings for word in ("--set", setting)]
            return ["crawl", site.url(path), "-q", "--dir", str(tmp_path / out), *flags]

        before, after = await memory_bytes_of(words("/calm", "calm"), words("/", "bombs"))
        assert after - before < 50 * MEGABYTE
        done = await crawled(tmp_path / "bombs")
        assert list(done.pages) == [site.url("/")]
        for path in BOMBS:
            outcome = await outcome_of(done, site.url(path))
            assert isinstance(outcome, Failed) and outcome.kind is FailureKind.TOO_LARGE, (path, outcome)
            assert "Given up: larger than 10485760 bytes" in await explained(done.out, site.url(path))


# ---- 1 byte per 10 s, headers dribbled for ever → the total deadline ends it; 200 headers of 64 KB → clean error


async def test_1_byte_per_10_s_headers_dribbled_for_ever_the_total_deadline_ends_it(tmp_path: Path) -> None:
    slow = {"/body": given_up(10.0, dribbles_a_body), "/headers": given_up(10.0, dribbles_headers)}
    async with site_of({**slow, "/page": serves(page())}) as site:
        done = await crawl([site.url("/")], tmp_path, {**HURRIED, "fetch.total_timeout_seconds": 10.0})
        assert set(done.pages) == {site.url("/"), site.url("/page")}, "the rest of the crawl continues"
        for path in slow:
            assert done.dead_letters[site.url(path)] == "no complete response within 10 s (tried 1 times)"
            assert (await outcome_of(done, site.url(path))).label == "failed:timeout_total"


async def test_200_headers_of_64_kb_clean_error(tmp_path: Path) -> None:
    async with site_of({"/headers": has_200_headers_of_64_kb}) as site:
        done = await crawl([site.url("/")], tmp_path, HURRIED)
        outcome = await outcome_of(done, site.url("/headers"))
        assert outcome == Failed("the headers are too long", FailureKind.BAD_RESPONSE)


# ---- Content-Length longer than the body, chunked without its end → truncated, not stored as whole ---------


async def test_content_length_longer_than_the_body_chunked_without_its_end_truncated_not_stored_as_whole(
    tmp_path: Path,
) -> None:
    routes = {"/length": claims_more_than_it_sends, "/chunked": never_ends_its_chunks}
    async with site_of(routes) as site:
        done = await crawl([site.url("/")], tmp_path, HURRIED)
        assert list(done.pages) == [site.url("/")]
        for path in routes:
            assert (await outcome_of(done, site.url(path))).label == "failed:truncated"
            assert "failed, truncated: the body ends too early" in await explained(done.out, site.url(path))


# ---- redirect loop, self-redirect with a cookie, 21 hops → stop, chain kept --------------------------------


async def test_redirect_loop_self_redirect_with_a_cookie_21_hops_stop_chain_kept(tmp_path: Path) -> None:
    routes: dict[str, Behaviour] = {
        "/loop/a": moves("/loop/b"),
        "/loop/b": moves("/loop/a"),
        "/self": moves("/self", Set_Cookie="seen=1"),
        **{f"/hop/{n}": moves(f"/hop/{n + 1}", "301 Moved Permanently") for n in range(21)},
        "/hop/21": serves(page()),
    }
    async with Site({"/": hub("/loop/a", "/self", "/hop/0"), **routes}) as site:
        done = await crawl([site.url("/")], tmp_path, HURRIED)
        asked = [hit.path for hit in site.hits]
        assert asked.count("/self") == 1
        assert not any("cookie" in hit.headers for hit in site.hits)
        assert done.dead_letters[site.url("/self")] == f"redirect loop, HTTP 302 to {site.url('/self')}"
        assert done.dead_letters[site.url("/loop/b")] == f"redirect loop, HTTP 302 to {site.url('/loop/a')}"
        assert done.dead_letters[site.url("/hop/5")] == f"more than 5 redirects, HTTP 301 to {site.url('/hop/6')}"
        assert "/hop/6" not in asked
        assert await outcome_of(done, site.url("/hop/0")) == Redirected(301, site.url("/hop/1"))
        output = await explained(done.out, site.url("/hop/5"))
        for n in range(5):
            assert f"{site.url(f'/hop/{n}')} redirected, HTTP 301" in output
        assert list(done.pages) == [site.url("/")]


async def test_the_chain_that_led_to_a_page_is_kept_with_it(tmp_path: Path) -> None:
    routes = {"/a": moves("/b", "301 Moved Permanently"), "/b": moves("/c"), "/c": serves(page())}
    async with Site(routes) as site:
        done = await crawl([site.url("/a")], tmp_path)
        assert done.pages[site.url("/c")].chain == (Hop(site.url("/a"), 301), Hop(site.url("/b"), 302))
        output = await explained(done.out, site.url("/c"))
        assert f"{site.url('/a')} redirected, HTTP 301" in output
        assert f"{site.url('/b')} redirected, HTTP 302" in output


async def test_location_to_file_data_ftp_javascript_refused(tmp_path: Path) -> None:
    targets = {
        "/file": "file:///etc/passwd",
        "/data": "data:text/html,<p>hello",
        "/ftp": "ftp://127.0.0.1/",
        "/javascript": "javascript:alert(1)",
    }
    async with site_of({path: moves(to) for path, to in targets.items()}) as site:
        done = await crawl([site.url("/")], tmp_path, HURRIED)
        for path in targets:
            outcome = await outcome_of(done, site.url(path))
            why = "redirect to something that is no http or https URL, HTTP 302"
            assert outcome == Failed(why, FailureKind.REDIRECT, status=302)
        assert list(done.pages) == [site.url("/")]


# ---- wrong charset in header vs meta vs BOM; undeclared Shift_JIS, GBK, windows-1251/1252
# →    right text, source of the charset recorded

JAPANESE = "潮が満ちると港の船はゆっくりと持ち上がり、古い綱がきしむ音が聞こえる。"
CHINESE = "涨潮的时候，港口里的船慢慢地升起来，旧缆绳发出吱吱的响声。"
RUSSIAN = "Когда начинается прилив, лодки в гавани медленно поднимаются, и старые канаты скрипят."
FRENCH = "Quand la marée monte, les bateaux du port s'élèvent lentement et les vieux cordages grincent déjà."


def written(words: str, charset: str, *, says: str = "", bom: bytes = b"") -> bytes:
    meta = f'<meta charset="{says}">' if says else ""
    return bom + f"<!doctype html>{meta}<title>{words[:12]}</title><p>{words * 12}".encode(charset)


HTML = "text/html"
CHARSETS: dict[str, tuple[bytes, str, str, str, str]] = {
    # path: body, Content-Type, the words in it, the charset and its source
    "/header-vs-meta": (
        written(FRENCH, "utf-8", says="shift_jis"), f"{HTML}; charset=utf-8", FRENCH, "utf-8", "header",
    ),
    "/meta": (written(RUSSIAN, "koi8-r", says="koi8-r"), HTML, RUSSIAN, "koi8-r", "meta"),
    "/bom-vs-both": (
        written(FRENCH, "utf-8", says="koi8-r", bom=b"\xef\xbb\xbf"), f"{HTML}; charset=gbk", FRENCH, "utf-8", "bom",
    ),
    "/bom-utf-16": (written(JAPANESE, "utf-16-le", bom=b"\xff\xfe"), HTML, JAPANESE, "utf-16le", "bom"),
    "/shift_jis": (written(JAPANESE, "shift_jis"), HTML, JAPANESE, "shift_jis", "detected"),
    "/gbk": (written(CHINESE, "gbk"), HTML, CHINESE, "gbk", "detected"),
    "/windows-1251": (written(RUSSIAN, "windows-1251"), HTML, RUSSIAN, "windows-1251", "detected"),
    "/windows-1252": (written(FRENCH, "windows-1252"), HTML, FRENCH, "windows-1252", "detected"),
    "/utf-8": (written(FRENCH, "utf-8"), HTML, FRENCH, "utf-8", "utf8"),
    "/utf-8-called-latin": (written(FRENCH, "utf-8"), f"{HTML}; charset=iso-8859-1", FRENCH, "utf-8", "utf8"),
}  # fmt: skip


async def test_wrong_charset_in_header_vs_meta_vs_bom_undeclared_right_text_source_recorded(tmp_path: Path) -> None:
    async with site_of({path: serves(body, kind) for path, (body, kind, *_) in CHARSETS.items()}) as site:
        done = await crawl([site.url("/")], tmp_path, HURRIED)
        for path, (_, _, words, charset, source) in CHARSETS.items():
            stored = done.pages[site.url(path)]
            assert words in stored.text, path
            assert (stored.charset, stored.charset_source) == (charset, source), path
            assert (await done.history(site.url(path))).visits[-1].fetch.charset_source == source
            assert f"{charset} by {source}" in await explained(done.out, site.url(path))


# ---- text/html that is a PNG, ZIP or PDF → sniffed, not parsed as HTML; 200 with 0 bytes → empty, not success


def zipped() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("page.html", page("Inside", ["/inside"]))
    return archive.getvalue()


async def test_text_html_that_is_a_png_zip_or_pdf_sniffed_not_parsed_as_html(tmp_path: Path) -> None:
    link = b'<a href="/inside">inside</a>'
    bodies = {
        "/png": (b"\x89PNG\r\n\x1a\n" + link + bytes(600), "content: PNG image sent as text/html"),
        "/zip": (zipped(), "content: ZIP archive sent as text/html"),
        "/pdf": (b"%PDF-1.7\n" + link + b" words" * 200, "content: PDF document sent as text/html"),
    }
    async with site_of({path: serves(body) for path, (body, _) in bodies.items()}) as site:
        done = await crawl([site.url("/")], tmp_path, HURRIED)
        for path, (_, why) in bodies.items():
            assert await outcome_of(done, site.url(path)) == Rejected(why)
        assert list(done.pages) == [site.url("/")]
        assert "/inside" not in [hit.path for hit in site.hits]


async def test_200_with_0_bytes_empty_not_success(tmp_path: Path) -> None:
    async with site_of({"/empty": serves(b"")}) as site:
        done = await crawl([site.url("/")], tmp_path, HURRIED)
        assert await outcome_of(done, site.url("/empty")) == Rejected("empty")
        assert "Settled without a page: rejected, not stored: empty." in await explained(done.out, site.url("/empty"))


# ---- status 999, empty reason, folded headers → no crash ---------------------------------------------------


async def test_status_999_empty_reason_folded_headers_no_crash(tmp_path: Path) -> None:
    routes = {
        "/999": serves(b"no", status="999 Request denied"),
        "/no-reason": serves(page("No reason"), status="200 "),
        "/folded": folds_its_headers,
    }
    async with site_of(routes) as site:
        done = await crawl([site.url("/")], tmp_path, HURRIED)
        assert set(done.pages) == {site.url(path) for path in ("/", "/no-reason", "/folded")}
        assert done.pages[site.url("/folded")].charset_source == "header"
        assert done.dead_letters == {site.url("/999"): "HTTP 999"}
        assert (await outcome_of(done, site.url("/999"))).label == "failed:blocked"


# ---- a header of 120,000 spaces → read up to a bound, shown at once -----------------------------------------


def sends_a_long(name: str, value: str, status: str = "200 OK") -> Behaviour:
    async def answer(exchange: Exchange) -> None:
        body, head = page(), f"HTTP/1.1 {status}\r\n{name}: {value}é{' ' * 120_000}é\r\n".encode()
        await exchange.send(b"%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body))

    return answer


async def test_long_headers_are_read_up_to_a_bound_and_shown_at_once(tmp_path: Path) -> None:
    routes = {
        "/type": sends_a_long("Content-Type", "text/html; x="),
        "/moved": sends_a_long("Location", "/there", "302 Found"),
        "/any": sends_a_long("X-Any", ""),
    }
    async with site_of(routes) as site:
        done = await crawl([site.url("/")], tmp_path, HURRIED)
        assert len(done.pages[site.url("/type")].content_type) == MAX_CONTENT_TYPE_CHARS
        for path in routes:
            assert path in await explained(tmp_path, site.url(path))
            running = await asyncio.create_subprocess_exec(
                *command("fetch", site.url(path), "--set", "politeness.rate_per_second=0"),
                cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            try:
                out, _ = await asyncio.wait_for(running.communicate(), 60.0)
            except TimeoutError:
                running.kill()
                raise
            assert path in out.decode()


# ---- expired or self-signed TLS → fails by default, per-site override recorded -----------------------------


@pytest.mark.parametrize(
    ("certificate", "words"),
    [("self_signed", "self-signed certificate"), ("expired", "certificate has expired")],
)
async def test_expired_or_self_signed_tls_fails_by_default_per_site_override_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate: Literal["self_signed", "expired"], words: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATES / "expired.pem"))  # vouched for, were it not so old
    async with Site({"/page": serves(page())}, tls=tls_of(certificate)) as site:
        url = site.url("/page")
        for pattern, is_taken in (("other.example", False), ("127.0.0.1", True)):
            sites = {pattern: {"fetch.verify_tls": False}}
            config = msgspec.structs.replace(config_for([url], HURRIED), sites=sites)
            done = await crawl_by(config, url, tmp_path / pattern)
            visit = (await done.history(url)).visits[-1]
            if is_taken:
                assert visit.outcome == Fetched(200)
                assert visit.fetch.is_unverified
            else:
                assert isinstance(visit.outcome, Failed) and visit.outcome.kind is FailureKind.TLS
                accepts = '(`fetch.verify_tls = false` accepts it, under [site."127.0.0.1"] for this site alone)'
                assert visit.outcome.why == f"TLS: {words} {accepts}"
                assert site.hits == []


async def crawl_by(config: Config, url: str, out: Path, *, recrawl: bool = False) -> Crawled:
    async with tenax.Crawl([url], config, directory=out, recrawl=recrawl) as running:
        with suppress(NoSeedReachable):
            await running.run()
    return await crawled(out)


# ---- keep-alive socket closed by the peer → one transparent retry ------------------------------------------


async def test_keep_alive_socket_closed_by_the_peer_one_transparent_retry(tmp_path: Path) -> None:
    paths = [f"/{number}" for number in range(5)]
    routes = {path: hangs_up_when_asked_again(page(path)) for path in paths}
    async with Site({"/": hub(*paths), **routes}) as site:
        done = await crawl([site.url("/")], tmp_path, HURRIED)
        assert set(done.pages) == {site.url(path) for path in ("/", *paths)}
        assert done.status.outcomes.keys() <= {"fetched", "deferred"}, "nobody heard of it"
        asked = Counter(hit.path for hit in site.hits)
        assert max(asked.values()) == 2


async def test_a_new_connection_closed_by_the_peer_is_not_tried_twice(tmp_path: Path) -> None:
    """There the request was seen, and not answered: a second one at once would be impolite."""

    async def hangs_up(exchange: Exchange) -> None:
        exchange.hang_up()

    async def says_close(exchange: Exchange) -> None:
        await exchange.answer(page(links=["/rude"]), headers={"Content-Type": "text/html", "Connection": "close"})
        exchange.hang_up()

    async with Site({"/robots.txt": says_close, "/": says_close, "/rude": hangs_up}) as site:
        settings = {**HURRIED, "crawl.max_idle_seconds": 0.0, "fetch.retry_base_seconds": 30.0}
        await crawl([site.url("/")], tmp_path, {**settings, "fetch.retry_max_seconds": 60.0})
        assert [hit.path for hit in site.hits] == ["/robots.txt", "/", "/rude"]


# ---- 5xx with a stored copy → stale copy served and marked so ----------------------------------------------


async def test_5xx_with_a_stored_copy_stale_copy_served_and_marked_so(tmp_path: Path) -> None:
    broken = serves(b"oh no", status="503 Service Unavailable")
    routes = {
        "/": in_turn(serves(page("The first one"), ETag='"1"'), broken, serves(page("The second one"))),
    }
    async with Site(routes) as site:
        url, config = site.url("/"), config_for([site.url("/")], {**HURRIED, "crawl.max_idle_seconds": 0.0})
        first = await crawl_by(config, url, tmp_path)
        assert first.pages[url].stale_since is None
        second = await crawl_by(config, url, tmp_path, recrawl=True)
        stored = second.pages[url]
        assert (stored.title, stored.stale_why) == ("The first one", "HTTP 503")
        assert stored.stale_since is not None
        assert "stale" in await explained(tmp_path, url)
        third = await crawl_by(msgspec.structs.replace(config, crawl=CrawlConfig()), url, tmp_path)
        assert (third.pages[url].title, third.pages[url].stale_since) == ("The second one", None)


async def test_304_leaves_the_stored_copy_and_says_what_was_spared(tmp_path: Path) -> None:
    async with Site({"/": revalidates}) as site:
        url, config = site.url("/"), config_for([site.url("/")], HURRIED)
        first = await crawl_by(config, url, tmp_path)
        second = await crawl_by(config, url, tmp_path, recrawl=True)
        assert second.pages[url].title == first.pages[url].title
        visit = (await second.history(url)).visits[-1]
        assert visit.outcome == Unchanged()
        assert visit.fetch.saved_bytes == first.pages[url].content_length
