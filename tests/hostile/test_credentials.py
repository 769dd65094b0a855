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
from tests.e2e.program import environment, in_turn
from tests.hostile.asking import explained
from tests.hostile.crawling import Settings, config_for, crawl
from tests.site.hostile import EVERY_END, hub, moves, page, serves
from tests.site.proxies import VOUCHED, LocalProxy, vouched_tls
from tests.site.server import Behaviour, Exchange, Hit, Site

SECRET = "hunter2-and-more"
ANY_SCOPE: Settings = {"crawl.scope": "any", "fetch.fallbacks": (), "fetch.max_attempts": 1}
OF_A_PERSON = frozenset(
    {"authorization", "cookie", "proxy-authorization", "if-none-match", "if-modified-since", "referer"}
)


@pytest.fixture
async def proxy() -> AsyncIterator[LocalProxy]:
    async with LocalProxy("http", user="me", password=SECRET) as proxy:
        yield proxy


def sent_secrets(hits: list[Hit]) -> set[str]:
    """The names of headers that say something about us, or that quote another site."""
    return {name for hit in hits for name in hit.headers if name in OF_A_PERSON}


# ---- Authorization, cookies, custom key headers across host, scheme or port → dropped -----------------------


async def test_custom_key_headers_across_host_dropped(tmp_path: Path) -> None:
    """A site knows us by a name that is a key. Its robots.txt is kept by another host, and a page has moved there."""
    async with Site({"/rules": serves(b"", "text/plain"), "/page": serves(page("A leaf"))}, "127.0.0.2") as other:
        routes = {"/robots.txt": moves(other.url("/rules")), "/": moves(other.url("/page"))}
        async with Site(routes) as site:
            config = config_for([site.url("/"), other.url("/")], ANY_SCOPE)
            config = msgspec.structs.replace(config, sites={"127.0.0.1": {"fetch.user_agent": SECRET}})
            async with tenax.Crawl([site.url("/")], config, directory=tmp_path) as crawling:
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
        routes = {f"/{number}": moves(other.url("/page"), Set_Cookie="id=1") for number, other in enumerate(others)}
        links = [*routes, "/private", "/again"]
        routes |= {"/private": wants_a_password, "/again": serves(page("Again"), Set_Cookie="id=2", ETag='"1"')}
        async with Site({"/": hub(*links), **routes}) as site:
            seed = site.url("/").replace("//", f"//me:{SECRET}@")
            done = await crawl([seed], tmp_path, ANY_SCOPE, ports=[other.port for other in others])
            assert {other.url("/page") for other in others} <= set(done.pages)
            assert len(site.hits) == 2 + len(links)
            assert sent_secrets([*site.hits, *by_host.hits, *by_port.hits, *by_scheme.hits]) == set()


# ---- Proxy-Authorization never reaches an origin -----------------------------------------------------------


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "tls"])
async def test_proxy_authorization_never_reaches_an_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: ProxyScheme, is_secure: bool
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(VOUCHED))
    made = LocalProxy(scheme, user="me", password=SECRET)
    async with made as proxy, Site(EVERY_END, tls=vouched_tls() if is_secure else None) as site:
        settings = {**ANY_SCOPE, "proxy.urls": (proxy.url("me", SECRET),)}
        done = await crawl([site.url("/")], tmp_path, settings)
        assert site.url("/page") in done.pages
        assert (await done.history(site.url("/page"))).visits[-1].fetch.proxy == proxy.name
        assert proxy.asked
        assert sent_secrets(site.hits) <= {"if-none-match"}
        assert not any(SECRET in value for hit in site.hits for value in hit.headers.values())
        assert SECRET not in await explained(tmp_path, site.url("/page"))


# ---- userinfo in URLs and every secret in config, logs, API, dashboard, tracebacks → masked -----------------


async def said(commands: Sequence[Sequence[str]], cwd: Path) -> list[str]:
    """What each command writes to either stream, all of them in one process, while the sites of this test serve."""
    answers = await asyncio.to_thread(in_turn, *commands, cwd=cwd, env=environment(TMPDIR=str(cwd)))
    return [answer.err + answer.out for answer in answers]


def secrets_in(directory: Path, *secrets: str) -> list[str]:
    """The files in here that hold one of these."""
    files = [file for file in directory.rglob("*") if file.is_file()]
    assert files
    return [file.name for file in files if any(secret.encode() in file.read_bytes() for secret in secrets)]


async def test_userinfo_in_urls_and_every_secret_in_config_logs_masked(tmp_path: Path, proxy: LocalProxy) -> None:
    """A crawl with a password in its seed, in a link, in a redirect and in its proxy: then every byte that is left."""
    routes: dict[str, Behaviour] = {}
    async with Site(routes) as site:
        inside = site.origin.replace("//", f"//you:{SECRET}@")
        routes |= {
            "/": serves(page() + f'<a href="{inside}/linked">linked</a> <a href="/moved">moved</a>'.encode()),
            "/linked": serves(page("Linked")),
            "/moved": moves(f"{inside}/target"),
            "/target": serves(page("Target")),
        }
        (tmp_path / "tenax.toml").write_text(f'[proxy]\nurls = ["{proxy.url("me", SECRET)}"]\n', encoding="utf-8")
        flags = ["--rate", "0", "--log-level", "debug", "--log-format", "json", "--set", "pool.processes=0"]
        commands = [
            ["crawl", f"{inside}/", *flags, "--dir", "out"],
            ["crawl", f"{inside}/nowhere", *flags, "--dir", "nothing"],
            ["status", "--dir", "out"],
            ["status", "--dir", "out", "--json"],
            ["explain", f"{inside}/linked", "--dir", "out"],
            ["explain", f"{inside}/linked", "--dir", "out", "--json"],
            ["export", "--dir", "out"],
            ["dead-letters", "--dir", "out"],
            ["config"],
            ["config", "--json"],
            ["config", "--host", f"{inside}/"],
            ["fetch", f"{inside}/target", "--dir", "out", "--json"],
            ["fetch", f"{inside}/target", "--proxy", f"http://me:{SECRET}@127.0.0.1:1"],
            ["crawl", f"{inside}:badport/"],
            ["crawl", f"gopher://me:{SECRET}@a.example/"],
            ["config", "--set", f"proxy.urls=gopher://me:{SECRET}@a.example"],
        ]
        texts = await said(commands, tmp_path)
    stored = [json.loads(line)["url"] for line in (tmp_path / "out" / "pages.jsonl").read_text().splitlines()]
    assert set(stored) == {site.url("/"), site.url("/linked"), site.url("/target")}
    assert sent_secrets(site.hits) == set()
    shows = [line for text in texts for line in text.splitlines() if SECRET in line]
    assert shows == [], "\n".join(shows)
    assert secrets_in(tmp_path / "out", SECRET) == []


HURRIED = "[politeness]\nrate_per_second = 0\n[pool]\nprocesses = 0\n[fetch]\nmax_attempts = 1\n"

ILL_FORMED = {
    "backslashes": r"http:\\you:{secret}@{host}/",
    "more backslashes": r"http:\\\\you:{secret}@{host}/",
    "one slash": "http:/you:{secret}@{host}/",
    "no slash": "http:you:{secret}@{host}/",
    "a space in the user": "http://yo u:{secret}@{host}/",
    "a space before the sign": "http://you:{secret} @{host}/",
    "a space in the password": "http://you:x {secret}@{host}/",
    "a quote in the password": "http://you:x'{secret}@{host}/",
    "a tab in the scheme": "ht\ttp://you:{secret}@{host}/",
    "two signs": "http://you:x@{secret}@{host}/",
    "a slash in the password": "http://you:x/{secret}@{host}/",
    "a question in the password": "http://you:x?{secret}@{host}/",
    "no scheme": "you:{secret}@{host}/",
    "slashes alone": "//you:{secret}@{host}/",
    "another scheme": "gopher://you:{secret}@{host}/",
    "no host": "http://you:{secret}@/",
}
"""What people type, and what some of it is read as."""


@pytest.mark.parametrize("form", ILL_FORMED.values(), ids=ILL_FORMED)
async def test_a_password_in_whatever_is_typed_as_a_url_masked_everywhere(tmp_path: Path, form: str) -> None:
    """As a seed, as the URL of every verb, and as a proxy: then every byte that is said or left."""
    async with Site({"/": hub("/a"), "/a": serves(page("A leaf"))}) as site:
        typed = form.format(secret=SECRET, host=f"127.0.0.1:{site.port}")
        flags = ["--log-level", "debug"]
        through = ["crawl", site.url("/"), *flags, "--proxy", typed, "--set", "proxy.max_failures=1"]
        commands = [
            ["crawl", typed, *flags, "--dir", "out"],
            ["crawl", site.url("/"), *flags, "--dir", "known"],
            [*through, "--dir", "proxied"],
            ["crawl", "--dir", "proxied"],
            ["crawl", site.url("/"), "--set", f"proxy.urls={typed},{typed}", "--dir", "listed"],
            ["crawl", site.url("/"), "--include", typed, "--dir", "included"],
            ["crawl", site.url("/"), "--database", typed],
            ["crawl", site.url("/"), "--redis", typed],
            ["crawl", site.url("/"), "--set", f"events.kafka={typed}", "--dir", "kafka"],
            ["crawl", site.url("/"), "--set", f"events.redis={typed}", "--dir", "redis"],
            ["crawl", site.url("/"), "--rate", typed],
            ["crawl", typed, "--no-such-flag", typed],
            ["crawl", "--set", typed],
            *(["status", "--dir", out] for out in ("out", "proxied", "listed", "included")),
            *(["status", "--json", "--dir", out] for out in ("out", "proxied", "listed", "included")),
            *([verb, typed, "--dir", "known"] for verb in ("explain", "fetch", "links", "seed")),
            *([verb, typed, "--json", "--dir", "known"] for verb in ("explain", "fetch", "links")),
            *([verb, typed] for verb in ("fetch", "read", "feed", "sitemap")),
            ["read", typed, "--format", "json"],
            ["read", "page.html", "--url", typed],
            ["read", "page.html", "--url", typed, "--format", "json"],
            ["read", "page.html", "--url", typed, "--explain"],
            ["dead-letters", "list", "--dir", typed],
            ["dead-letters", "replay", typed, "--dir", "known"],
            ["export", "--where", typed, "--dir", "known"],
            ["export", "--where", f"host={typed}", "--dir", "known"],
            ["config", "--host", typed],
            ["config", "--set", f"proxy.urls={typed}"],
            ["config", "--set", f"proxy.urls={typed}", "--json"],
            ["config", "--set", f"crawl.max_depth={typed}"],
            ["config", "--set", f"database.url={typed}"],
            ["config", "--set", f"page_fetcher.redis_url={typed}", "--json"],
            ["worker", "--database", typed],
            ["page-fetcher", "status", "--redis", typed],
            ["schedule", "seeds.yaml", "--redis", typed],
            ["db", "check", "--database", typed],
        ]
        (tmp_path / "tenax.toml").write_text(HURRIED, encoding="utf-8")
        (tmp_path / "page.html").write_bytes(page("A page") + b'<a href="/relative">relative</a>')
        (tmp_path / "seeds.yaml").write_text(json.dumps({"seeds": [{"urls": [typed, typed], "every": "1h"}]}))
        texts = await said(commands, tmp_path)
    (tmp_path / "seeds.yaml").unlink()
    shows = [(words[0], line) for words, text in zip(commands, texts, strict=True) for line in text.splitlines()]
    assert [(verb, line) for verb, line in shows if SECRET in line] == []
    assert secrets_in(tmp_path, SECRET) == []


SERVERS = (
    "postgresql://me:{secret}@127.0.0.1:9/x", "postgresql://me:x/{secret}@127.0.0.1:9/x",
    "postgresql://me:12/{secret}@127.0.0.1:9/x", "postgresql://m e:{secret} @127.0.0.1:9/x",
    "postgresql://127.0.0.1:9/x?user=me&password={secret}", "postgresql:me:{secret}@127.0.0.1:9/x",
    "redis://:{secret}@127.0.0.1:9/0", "redis://me:x/{secret}@127.0.0.1:9/0", "redis://me:{secret}",
    "redis://me:{secret} @127.0.0.1:9", "rediss://:x#{secret}@127.0.0.1:9", "redis:/me:{secret}@127.0.0.1:9/0",
)  # fmt: skip


@pytest.mark.parametrize("form", SERVERS)
async def test_a_password_of_a_server_masked_everywhere(tmp_path: Path, form: str) -> None:
    server, seed = form.format(secret=SECRET), "http://127.0.0.1:9/"
    (tmp_path / "tenax.toml").write_text(HURRIED, encoding="utf-8")
    (tmp_path / "seeds.yaml").write_text(json.dumps({"seeds": [{"url": seed, "every": "1h"}]}))
    commands = [
        ["crawl", seed, "--database", server],
        ["crawl", seed, "--redis", server, "--dir", "out"],
        ["crawl", seed, "--set", f"events.redis={server}", "--dir", "out"],
        *([verb, "--database", server] for verb in ("status", "export")),
        ["explain", seed, "--database", server],
        ["db", "check", "--database", server],
        ["db", "init", "--database", server],
        ["page-fetcher", "status", "--redis", server],
        ["config", "--set", f"database.url={server}"],
        ["config", "--set", f"redis.url={server}", "--json"],
        ["config", "--set", f"events.redis={server}", "--json"],
    ]
    texts = await said(commands, tmp_path)
    shows = [(words, line) for words, text in zip(commands, texts, strict=True) for line in text.splitlines()]
    assert [(words, line) for words, line in shows if SECRET in line] == []
    assert secrets_in(tmp_path, SECRET) == []


LOCATIONS = (
    "https://you:{secret}@127.0.0.2/x", r"http:\\you:{secret}@127.0.0.2/x", "//you:{secret}@127.0.0.2/x",
    "http://yo u:{secret}@127.0.0.2/x", "http://you:{secret} @127.0.0.2/x", "you:{secret}@127.0.0.2/x",
    "ftp://you:{secret}@127.0.0.2/x", "http://you:x/{secret}@127.0.0.2/x", "http://you:{secret}@/",
)  # fmt: skip


async def test_a_password_in_a_location_or_another_header_masked_everywhere(tmp_path: Path) -> None:
    def redirects(location: str) -> Behaviour:
        async def answer(exchange: Exchange) -> None:
            lines = [
                "HTTP/1.1 302 Found",
                "Content-Length: 0",
                f"Location: {location}",
                f"Content-Location: {location}",
            ]
            lines += [f"Link: <{location}>; rel=next", f"Refresh: 0; url={location}", f"X-Other: {location}"]
            await exchange.send("\r\n".join([*lines, "", ""]).encode())

        return answer

    routes = {f"/{number}": redirects(form.format(secret=SECRET)) for number, form in enumerate(LOCATIONS)}
    about = (
        '<link rel=canonical href="http://you:{0}@127.0.0.1/c"><meta property=og:image content="http://you:{0}@h/i.png">'
        '<meta property=og:url content="http://you:{0}@h/"><base href="http://you:{0}@127.0.0.1:{1}/">'
        '<a href="http://you:{0}@127.0.0.1:{1}/1">1</a><a rel=next href="//you:{0}@127.0.0.1:{1}/2">2</a>'
        '<link rel=alternate type=application/rss+xml href="http://you:{0}@127.0.0.1:{1}/feed"><a href="/0">0</a>'
    )
    async with Site(routes) as site:
        links = "".join(f'<a href="{path}">{path}</a>' for path in routes)
        html = page("Start").replace(b"<title>", about.format(SECRET, site.port).encode() + b"<title>") + links.encode()
        listed = f"http://you:{SECRET}@127.0.0.1:{site.port}/listed"
        routes |= {
            "/": serves(html),
            "/robots.txt": serves(f"Sitemap: {site.url('/map.xml')}\n".encode(), "text/plain"),
            "/map.xml": serves(f"<urlset><url><loc>{listed}</loc></url></urlset>".encode(), "text/xml"),
            "/feed": serves(f"<rss><channel><item><link>{listed}</link></item></channel></rss>".encode(), "text/xml"),
        }
        flags = ["--log-level", "debug", "--set", "fetch.keep_headers=*"]
        commands = [
            ["crawl", site.url("/"), *flags, "--dir", "out", "--set", "extract.keep_links=true"],
            *([verb, site.url(path), "--dir", "out"] for path in routes for verb in ("explain", "fetch")),
            *([verb, site.url(path), "--json", "--dir", "out"] for path in routes for verb in ("explain", "fetch")),
            *(["read", site.url(path)] for path in routes),
            ["read", site.url("/"), "--format", "json"],
            ["read", site.url("/"), "--format", "markdown"],
            ["sitemap", site.url("/")],
            ["sitemap", site.url("/"), "--json"],
            ["feed", site.url("/")],
            ["feed", site.url("/"), "--json"],
            ["links", site.url("/"), "--dir", "out"],
            ["links", "--export", "-", "--dir", "out"],
            ["links", "--top", "50", "--dir", "out"],
            ["status", "--dir", "out"],
            ["status", "--schedule", "--dir", "out"],
            ["export", "--dir", "out"],
            ["export", "--format", "csv", "--dir", "out"],
            ["export", "--format", "markdown", "--dir", "out"],
            ["dead-letters", "list", "--dir", "out"],
        ]
        (tmp_path / "tenax.toml").write_text(HURRIED, encoding="utf-8")
        texts = await said(commands, tmp_path)
    shows = [(words[:2], line) for words, text in zip(commands, texts, strict=True) for line in text.splitlines()]
    assert [(words, line) for words, line in shows if SECRET in line] == []
    assert secrets_in(tmp_path, SECRET) == []


async def test_tracebacks_masked(tmp_path: Path) -> None:
    """A crash of our own, with a password on the command line and another in the error's text."""
    breaks = f"""
import sys
from tenax.cli import main
from tenax.cli.commands import status
def run(args):
    raise RuntimeError("cannot visit http://me:{SECRET}@a.example/, Authorization: Basic c2VjcmV0")
status.run = run
sys.exit(main(["status", "--dir", "http://me:{SECRET}@a.example/", *sys.argv[1:]]))
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
