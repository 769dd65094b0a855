"""Credentials: what we are given is for one party, and no text, file or record of ours shows it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest

import tenax
from tenax.fetch.proxies import ProxyScheme
from tests.e2e.program import ONE_AFTER_THE_OTHER, environment
from tests.hostile.asking import explained
from tests.hostile.crawling import Settings, config_for, crawl
from tests.site.hostile import EVERY_END, hub, moves, page, serves
from tests.site.proxies import VOUCHED, LocalProxy, vouched_tls
from tests.site.server import Exchange, Hit, Manner, Site

SECRET = "hunter2-and-more"
ELSEWHERE: Settings = {"crawl.scope": "any", "fetch.fallbacks": (), "fetch.max_attempts": 1}
OF_A_PERSON = frozenset(
    {"authorization", "cookie", "proxy-authorization", "if-none-match", "if-modified-since", "referer"}
)


@pytest.fixture
async def proxy() -> AsyncIterator[LocalProxy]:
    async with LocalProxy("http", user="me", password=SECRET) as proxy:
        yield proxy


def told(hits: list[Hit]) -> set[str]:
    """The names of headers that say something about us, or that quote another site."""
    return {name for hit in hits for name in hit.headers if name in OF_A_PERSON}


# ---- Authorization, cookies, custom key headers across host, scheme or port → dropped -----------------------


async def test_custom_key_headers_across_host_dropped(tmp_path: Path) -> None:
    """A site knows us by a name that is a key. Its robots.txt is kept by another host, and a page has moved there."""
    async with Site({"/rules": serves(b"", "text/plain"), "/page": serves(page("A leaf"))}, "127.0.0.2") as other:
        manners = {"/robots.txt": moves(other.url("/rules")), "/": moves(other.url("/page"))}
        async with Site(manners) as site:
            config = config_for([site.url("/"), other.url("/")], ELSEWHERE)
            config = msgspec.structs.replace(config, sites={"127.0.0.1": {"fetch.user_agent": SECRET}})
            async with tenax.Crawl([site.url("/")], config, out=tmp_path) as crawling:
                await crawling.run()
        assert {hit.headers["user-agent"] for hit in site.hits} == {SECRET}
        assert [hit.path for hit in other.hits] == ["/rules", "/robots.txt", "/page"]
        assert not any(SECRET in hit.headers["user-agent"] for hit in other.hits)


async def test_cookies_and_credentials_across_host_scheme_or_port_dropped_in_a_whole_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site sets cookies, asks for a password, and leads on to another host, scheme and port."""
    monkeypatch.setenv("SSL_CERT_FILE", str(VOUCHED))

    async def wants_a_password(exchange: Exchange) -> None:
        await exchange.answer(b"no", "401 Unauthorized", {"WWW-Authenticate": 'Basic realm="x"'})

    leaf = {"/page": serves(page("A leaf"))}
    async with (
        Site(leaf, "127.0.0.2") as by_host,
        Site(leaf) as by_port,
        Site(leaf, tls=vouched_tls()) as by_scheme,
    ):
        others = (by_host, by_port, by_scheme)
        manners = {f"/{number}": moves(other.url("/page"), Set_Cookie="id=1") for number, other in enumerate(others)}
        links = [*manners, "/private", "/again"]
        manners |= {"/private": wants_a_password, "/again": serves(page("Again"), Set_Cookie="id=2", ETag='"1"')}
        async with Site({"/": hub(*links), **manners}) as site:
            seed = site.url("/").replace("//", f"//me:{SECRET}@")
            done = await crawl([seed], tmp_path, ELSEWHERE, ports=[other.port for other in others])
            assert {other.url("/page") for other in others} <= set(done.pages)
            assert len(site.hits) == 2 + len(links)
            assert told([*site.hits, *by_host.hits, *by_port.hits, *by_scheme.hits]) == set()


# ---- Proxy-Authorization never reaches an origin -----------------------------------------------------------


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "tls"])
async def test_proxy_authorization_never_reaches_an_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: ProxyScheme, is_secure: bool
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(VOUCHED))
    made = LocalProxy(scheme, user="me", password=SECRET)
    async with made as proxy, Site(EVERY_END, tls=vouched_tls() if is_secure else None) as site:
        settings = {**ELSEWHERE, "proxy.urls": (proxy.url("me", SECRET),)}
        done = await crawl([site.url("/")], tmp_path, settings)
        assert site.url("/page") in done.pages
        assert (await done.life(site.url("/page"))).visits[-1].fetch.proxy == proxy.name
        assert proxy.asked
        assert told(site.hits) <= {"if-none-match"}
        assert not any(SECRET in value for hit in site.hits for value in hit.headers.values())
        assert SECRET not in await explained(tmp_path, site.url("/page"))


# ---- userinfo in URLs and every secret in config, logs, API, dashboard, tracebacks → masked -----------------


async def said(commands: Sequence[Sequence[str]], cwd: Path) -> list[str]:
    """What each command writes to either stream, all of them in one process, while the sites of this test serve."""
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ONE_AFTER_THE_OTHER, cwd=cwd, env=environment(TMPDIR=str(cwd), PYTHONUNBUFFERED="1"),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await running.communicate(json.dumps(commands).encode())
    assert running.returncode == 0, out.decode()
    return out.decode().split("\0")[1:-1]


def secrets_in(directory: Path, *secrets: str) -> list[str]:
    """The files in here that hold one of these."""
    files = [file for file in directory.rglob("*") if file.is_file()]
    assert files
    return [file.name for file in files if any(secret.encode() in file.read_bytes() for secret in secrets)]


async def test_userinfo_in_urls_and_every_secret_in_config_logs_masked(tmp_path: Path, proxy: LocalProxy) -> None:
    """A crawl with a password in its seed, in a link, in a redirect and in its proxy: then every byte that is left."""
    manners: dict[str, Manner] = {}
    async with Site(manners) as site:
        inside = site.origin.replace("//", f"//you:{SECRET}@")
        manners |= {
            "/": serves(page() + f'<a href="{inside}/linked">linked</a> <a href="/moved">moved</a>'.encode()),
            "/linked": serves(page("Linked")),
            "/moved": moves(f"{inside}/target"),
            "/target": serves(page("Target")),
        }
        (tmp_path / "tenax.toml").write_text(f'[proxy]\nurls = ["{proxy.url("me", SECRET)}"]\n', encoding="utf-8")
        flags = ["--rate", "0", "--log-level", "debug", "--log-format", "json", "--set", "pool.processes=0"]
        commands = [
            ["crawl", f"{inside}/", *flags, "--out", "out"],
            ["crawl", f"{inside}/nowhere", *flags, "--out", "nothing"],
            ["status", "--out", "out"],
            ["status", "--out", "out", "--json"],
            ["explain", f"{inside}/linked", "--out", "out"],
            ["explain", f"{inside}/linked", "--out", "out", "--json"],
            ["export", "--out", "out"],
            ["dead-letters", "--out", "out"],
            ["config"],
            ["config", "--json"],
            ["config", "--host", f"{inside}/"],
            ["fetch", f"{inside}/target", "--out", "out", "--json"],
            ["fetch", f"{inside}/target", "--proxy", f"http://me:{SECRET}@127.0.0.1:1"],
            ["crawl", f"{inside}:badport/"],
            ["crawl", f"gopher://me:{SECRET}@a.example/"],
            ["config", "--set", f"proxy.urls=gopher://me:{SECRET}@a.example"],
        ]
        texts = await said(commands, tmp_path)
    stored = [json.loads(line)["url"] for line in (tmp_path / "out" / "pages.jsonl").read_text().splitlines()]
    assert set(stored) == {site.url("/"), site.url("/linked"), site.url("/target")}
    assert told(site.hits) == set()
    shows = [line for text in texts for line in text.splitlines() if SECRET in line]
    assert shows == [], "\n".join(shows)
    assert secrets_in(tmp_path / "out", SECRET) == []


async def test_tracebacks_masked(tmp_path: Path) -> None:
    """A crash of our own, with a password on the command line and another in the error's text."""
    breaks = f"""
import sys
from tenax.cli import main, status
def run(args):
    raise RuntimeError("cannot visit http://me:{SECRET}@a.example/, Authorization: Basic c2VjcmV0")
status.run = run
sys.exit(main(["status", "--out", "http://me:{SECRET}@a.example/", *sys.argv[1:]]))
"""
    for more in ([], ["--debug"]):
        running = await asyncio.create_subprocess_exec(
            sys.executable, "-c", breaks, *more, cwd=tmp_path, env=environment(TMPDIR=str(tmp_path)),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        out, _ = await running.communicate()
        assert running.returncode == 1
        assert "internal error: RuntimeError" in out.decode()
        assert SECRET not in out.decode()
        assert "c2VjcmV0" not in out.decode()
    assert secrets_in(tmp_path, SECRET, "c2VjcmV0") == []
