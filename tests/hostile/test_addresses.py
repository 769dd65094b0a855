"""The guard, as a whole crawl meets it: whatever a page, a name server or a proxy says, nobody private is reached.

What a browser may reach (refresh, script, iframe, fetch(), WebSocket) is in tests/hostile/test_browser.py.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import GuardConfig
from tenax.fetch.guard import Guard, parse_origin
from tenax.model import Failed, Redirected, Refused
from tests.hostile.asking import explained, outcome_of
from tests.hostile.crawling import Crawled, Settings, crawl
from tests.site.dns import NameServer, says
from tests.site.hostile import hub, moves, page, serves
from tests.site.proxies import LocalProxy
from tests.site.server import Exchange, Site

ONLY_ONE: Settings = {
    "guard.allow_networks": ("127.0.0.1/32",),
    "crawl.scope": "any",
    "fetch.fallbacks": (),
    "fetch.max_attempts": 1,
    "urls.hosts_per_domain": 10_000,
}
"""127.0.0.1 stands for the open web; the rest of loopback, and all else that is private, is private."""
PRIVATE = "guard: {} is not a public address"


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    async with NameServer() as names:
        yield names


@pytest.fixture
async def private() -> AsyncIterator[Site]:
    """Whoever connects to this has got past the guard."""
    async with Site({"/page": serves(page("A secret")), "/robots.txt": serves(b"", "text/plain")}, "127.0.0.2") as site:
        yield site
        assert site.connections == 0


def linking(links: Iterable[str]) -> Site:
    return Site({"/": hub(*links)})


async def guarded(site: Site, out: Path, names: NameServer | None = None, **more: object) -> Crawled:
    """A crawl that starts at the site's root."""
    asking = {"guard.nameservers": (names.address,)} if names is not None else {}
    ports = more.pop("ports", ())
    assert isinstance(ports, tuple)
    settings = {**ONLY_ONE, **asking, **{key.replace("__", "."): value for key, value in more.items()}}
    return await crawl([site.url("/")], out, settings, ports=ports)


# ---- loopback, 10/8, 172.16/12 (172.31.255.254 too), 192.168/16, 169.254/16, 100.64/10, 0/8, 192.0.0/24, 198.18/15,
# ---- multicast, 240/4, broadcast → refused

PRIVATE_V4 = (
    *("127.0.0.2", "127.255.255.254", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.254", "192.168.0.1"),
    *("169.254.169.254", "169.254.0.1", "100.64.0.1", "100.127.255.254", "0.0.0.0", "0.1.2.3", "192.0.0.1"),
    *("198.18.0.1", "198.19.255.254", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.254"),
    "255.255.255.255",
)


async def test_loopback_10_172_16_192_168_169_254_100_64_0_192_0_0_198_18_multicast_240_broadcast_refused(
    tmp_path: Path,
) -> None:
    async with linking(f"http://{address}/" for address in PRIVATE_V4) as site:
        done = await guarded(site, tmp_path)
        for address in PRIVATE_V4:
            assert await outcome_of(done, f"http://{address}/") == Refused(PRIVATE.format(address))
        assert done.status.outcomes["refused:guard"] == len(PRIVATE_V4)
        words = await explained(done.out, "http://172.31.255.254/")
        assert "Kept back by a setting, `guard`: 172.31.255.254 is not a public address." in words


# ---- ::1, ::, fc00::/7, fe80::/10, IPv4-mapped, NAT64, 6to4, IPv4-compatible forms of those → refused

PRIVATE_V6 = (
    *("::1", "::", "fc00::1", "fdff:ffff::1", "fe80::1", "febf::1", "ff02::1", "::ffff:7f00:2", "::ffff:a00:1"),
    *("::ffff:ac1f:fffe", "64:ff9b::7f00:2", "64:ff9b::a00:1", "2002:7f00:1::", "2002:a00:1::1", "::7f00:1", "::a00:1"),
    "2001:db8::1",
)


async def test_1_fc00_fe80_ipv4_mapped_nat64_6to4_ipv4_compatible_forms_of_those_refused(tmp_path: Path) -> None:
    async with linking(f"http://[{address}]/" for address in PRIVATE_V6) as site:
        done = await guarded(site, tmp_path)
        for address in PRIVATE_V6:
            assert await outcome_of(done, f"http://[{address}]/") == Refused(PRIVATE.format(address))


@pytest.mark.parametrize("address", ["::ffff:808:808", "64:ff9b::808:808", "2606:2800::1"])
async def test_ffff_8_8_8_8_allowed(address: str) -> None:
    """At the guard itself: nobody is connected to in a test who does not live on this machine."""
    guard = Guard(GuardConfig(), ManualClock())
    origin = parse_origin(f"http://[{address}]/")
    assert origin is not None
    assert await guard.check(origin, 1.0) == (address,)
    assert guard.classify_address(origin, address) == "public"
    await guard.close()


# ---- a name with one public and one private address → refused whole; rebinding (public, then private) → only the
# ---- pinned, checked address is connected to


async def test_a_name_with_one_public_and_one_private_address_refused_whole(
    tmp_path: Path, names: NameServer, private: Site
) -> None:
    async with Site({}, port=private.port) as site:
        names.knows("mixed.example", says("127.0.0.1", "127.0.0.2"))
        names.knows("turned.example", says("127.0.0.2", "127.0.0.1"))
        names.knows("sixes.example", says("127.0.0.1", "::1"))
        names.knows("alias.example", says("mixed.example"))
        urls = [f"http://{name}.example:{site.port}/page" for name in ("mixed", "turned", "sixes", "alias")]
        async with linking(urls) as hub_site:
            done = await guarded(hub_site, tmp_path, names, ports=(site.port,))
        for url in urls:
            host = url.split("/")[2].partition(":")[0]
            outcome = await outcome_of(done, url)
            assert outcome == Refused(f"guard: {host} leads to an address that is not public")
        assert site.connections == 0


async def test_rebinding_public_then_private_only_the_pinned_checked_address_is_connected_to(
    tmp_path: Path, names: NameServer, private: Site
) -> None:
    paths = [f"/{number}" for number in range(12)]
    async with Site(dict.fromkeys(paths, serves(page())), port=private.port) as site:
        names.knows("turncoat.example", says("127.0.0.1", ttl=0), says("127.0.0.2", ttl=0))
        urls = [f"http://turncoat.example:{site.port}{path}" for path in paths]
        async with linking(urls) as hub_site:
            done = await guarded(
                hub_site, tmp_path, names, ports=(site.port,), politeness__rate_per_second=8.0,
            )  # fmt: skip
        labels = [(await outcome_of(done, url)).label for url in urls]
        assert set(labels) == {"fetched", "refused:guard"}, "pinned for a while, then looked up again and refused"
        assert len([hit for hit in site.hits if hit.path != "/robots.txt"]) == labels.count("fetched")


# ---- the same by redirect, meta refresh → refused


async def test_the_same_by_redirect_meta_refresh_refused(tmp_path: Path, names: NameServer, private: Site) -> None:
    names.knows("inside.example", says("127.0.0.2"))
    refresh = f'<meta http-equiv=refresh content="0; url=http://inside.example:{private.port}/by-refresh">'
    routes = {
        "/redirect": moves(private.url("/page")),
        "/by-name": moves(f"http://inside.example:{private.port}/by-redirect"),
        "/cloud": moves("http://169.254.169.254/latest/meta-data/"),
        "/refresh": serves(refresh.encode()),
    }
    async with Site({"/": hub(*routes), **routes}) as site:
        done = await guarded(site, tmp_path, names, ports=(private.port,))
        assert await outcome_of(done, site.url("/redirect")) == Redirected(302, private.url("/page"))
        for url in (
            private.url("/page"),
            f"http://inside.example:{private.port}/by-redirect",
            f"http://inside.example:{private.port}/by-refresh",
            "http://169.254.169.254/latest/meta-data/",
        ):
            assert (await outcome_of(done, url)).label == "refused:guard", url
        assert "by a redirect of" in await explained(done.out, "http://169.254.169.254/latest/meta-data/")


# ---- robots, sitemaps, feeds, proxies → the same guard


async def test_robots_the_same_guard(tmp_path: Path, private: Site) -> None:
    """Led to a private address, a robots.txt is unreachable, and the host closed until it is not."""
    async with Site({"/robots.txt": moves(private.url("/robots.txt")), "/": serves(page())}) as site:
        done = await guarded(site, tmp_path, ports=(private.port,))
        host = await done.host(site.origin)
        assert host.robots is not None
        assert host.robots.why == "redirected: guard: 127.0.0.2 is not a public address"
        assert [hit.path for hit in site.hits] == ["/robots.txt"]
        assert not done.pages


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_proxies_the_same_guard(tmp_path: Path, names: NameServer, private: Site, scheme: str) -> None:
    """No proxy hears of a target that the guard refuses, by address or by name."""
    assert scheme in ("http", "socks5")
    names.knows("inside.example", says("127.0.0.2"))
    urls = [private.url("/page"), f"http://inside.example:{private.port}/page", "http://10.0.0.1/"]
    async with linking(urls) as site, LocalProxy("http" if scheme == "http" else "socks5") as proxy:
        done = await guarded(site, tmp_path, names, ports=(private.port,), proxy__urls=(proxy.url(),))
        assert site.url("/") in done.pages
        for url in urls:
            assert (await outcome_of(done, url)).label == "refused:guard", url
        assert proxy.asked
        assert all(str(site.port) in asked.target for asked in proxy.asked)


# ---- ports 22, 25, 6379, 9200 … → refused unless allowed


async def test_ports_22_25_6379_9200_refused_unless_allowed(tmp_path: Path) -> None:
    ports = (22, 25, 6379, 9200)
    async with Site({"/page": serves(page())}) as other:
        urls = [f"http://127.0.0.1:{port}/" for port in ports]
        async with linking([*urls, other.url("/page")]) as site:
            done = await guarded(site, tmp_path / "closed")
            for port, url in zip(ports, urls, strict=True):
                assert await outcome_of(done, url) == Refused(f"guard: port {port} is not allowed")
            assert (await outcome_of(done, other.url("/page"))).label == "refused:guard"
            assert other.connections == 0
            done = await guarded(site, tmp_path / "open", ports=(other.port,))
            assert other.url("/page") in done.pages


# ---- userinfo, backslash, tab tricks → one URL parser for the check and the connection


async def test_userinfo_backslash_tab_tricks_one_url_parser_for_the_check_and_the_connection(
    tmp_path: Path, names: NameServer, private: Site
) -> None:
    """Each of these reads as 127.0.0.1 to one parser and as 127.0.0.2 to another; no reading reaches the latter."""
    names.knows("outside.example", says("127.0.0.1"))
    async with Site({}, port=private.port) as decoy:
        port = private.port
        links = [
            f"http://127.0.0.1@127.0.0.2:{port}/page",
            f"http://127.0.0.1:{port}@127.0.0.2:{port}/page",
            f"http://127.0.0.1:{port}\\@127.0.0.2:{port}/page",
            f"http://127.0.0.2:{port}\\@127.0.0.1:{port}/page",
            f"http://outside.example&#9;@127.0.0.2:{port}/page",
            f"http://127.0.0.&#9;2:{port}/page",
            f"http://127.0.0.2&#10;:{port}/page",
            f"http:\\\\127.0.0.2:{port}\\page",
            f"http:127.0.0.2:{port}/page",
            f"//127.0.0.2:{port}/page",
            f"http://127.0.0.2%2f@127.0.0.1:{port}/page",
            f"http://127.0.0.2#@127.0.0.1:{port}/page",
            f"http://127.0.0.2:{port}#@outside.example/page",
            f"http://127.2:{port}/page",
            f"http://0x7f.2:{port}/page",
            f"http://0177.0.0.2:{port}/page",
            f"http://2130706434:{port}/page",
            f"http://①②⑦.⓪.⓪.②:{port}/page",
            f"http://127。0。0。2:{port}/page",
            f"http://127.0.0.2.:{port}/page",
            f"http://[::ffff:127.0.0.2]:{port}/page",
        ]
        async with linking(links) as site:
            done = await guarded(site, tmp_path, names, ports=(port,))
        assert list(done.pages) == [site.url("/")]
        assert (await outcome_of(done, f"http://127.0.0.2:{port}/page")).label == "refused:guard"
        assert {hit.headers["host"] for hit in decoy.hits} <= {f"127.0.0.1:{port}", f"outside.example:{port}"}


# ---- error texts name no resolved address


async def test_error_texts_name_no_resolved_address(tmp_path: Path, names: NameServer) -> None:
    """Neither of a name that leads inside, nor of one that leads outside to where nobody answers."""
    names.knows("inside.example", says("10.11.12.13"))
    names.knows("closed.example", says("127.0.0.1"))

    async def resets(exchange: Exchange) -> None:
        exchange.reset()

    async with Site({"/robots.txt": resets}) as gone:
        urls = ["http://inside.example/", f"http://closed.example:{gone.port}/", "http://closed.example/"]
        async with linking(urls) as site:
            done = await guarded(site, tmp_path, names, ports=(gone.port,))
            texts = [await explained(done.out, url) for url in urls]
    assert "leads to an address that is not public" in texts[0]
    for url, text in zip(urls, texts, strict=True):
        outcome = await outcome_of(done, url)
        assert isinstance(outcome, (Refused, Failed))
        seen = f"{outcome.why} {text}".replace(f"http://127.0.0.1:{site.port}", "")
        assert "10.11.12.13" not in seen
        assert "127.0.0.1" not in seen


# ---- an operator's allow-list (10.1.0.0/16, 127.0.0.0/8 for tests) works; everything else stays refused


async def test_an_operator_s_allow_list_works_everything_else_stays_refused(tmp_path: Path) -> None:
    async with (
        Site({"/page": serves(page())}, "127.0.0.7") as allowed,
        Site({"/page": serves(page())}, "127.0.0.8", allowed.port) as beside,
        linking([allowed.url("/page"), beside.url("/page"), "http://10.2.0.1/", "http://[::1]/"]) as site,
    ):
        networks = ("127.0.0.1/32", "127.0.0.7/32", "10.1.0.0/16")
        done = await guarded(site, tmp_path, ports=(allowed.port,), guard__allow_networks=networks)
        assert set(done.pages) == {site.url("/"), allowed.url("/page")}
        assert (await done.history(allowed.url("/page"))).visits[-1].fetch.address_class == "allowed"
        for url in (beside.url("/page"), "http://10.2.0.1/", "http://[::1]/"):
            assert (await outcome_of(done, url)).label == "refused:guard"
        assert beside.connections == 0
