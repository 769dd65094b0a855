"""Contract of every `Transport` about proxies, used with `tests.contracts.transport.TransportContract`.

Each proxy of these tests is a local one that records its requests.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import ClassVar

import msgspec
import pytest

from tenax.clock import Clock, ManualClock
from tenax.config import FetchConfig, GuardConfig, ProxyConfig, SiteConfig
from tenax.fetch import Request, Response, Transport
from tenax.fetch.answer import fetch_record
from tenax.fetch.dns import LookupResult, UnknownHost
from tenax.fetch.proxies import ProxyPools, ProxyScheme
from tenax.fetch.retry import plan_task
from tenax.hosts.rules import SentRequests, host_after_visit
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    HostRecord,
    Priority,
    Refused,
    Reschedule,
    Source,
    Task,
    TransportKind,
)
from tests.contracts.transport import SELF_SIGNED, Made, Names, Rig, unused_port
from tests.loops import FAULT_SECONDS, outlasted, reached
from tests.site.behaviours import BEHAVIOURS, PAGE
from tests.site.proxies import VOUCHED, Behaviour, LocalProxy, vouched_tls
from tests.site.server import Exchange, Site
from tests.visit_ends import visit_end

SECRET = "s3cret"
ENCODED_SECRET = "bWU6czNjcmV0"
"""`me:s3cret` in base64."""
NAMED = {"secure.example": "127.0.0.1"}
"""The name that a proxy resolves for an http page."""


class EveryName(Names):
    """Resolves every name to this machine."""

    async def resolve(self, host: str) -> LookupResult:
        if not host.endswith(".example") or host == "gone.example":
            raise UnknownHost
        return LookupResult(("127.0.0.1",))


def page_of(site: Site, path: str = "/page", *, seconds: float = FAULT_SECONDS, verify_tls: bool = True) -> Request:
    """By name, so that the test sees who resolves it."""
    url = site.url(path).replace("127.0.0.1", "secure.example")
    return Request(url, 1_000_000, seconds, verify_tls=verify_tls)


async def got(transport: Transport, request: Request) -> Response:
    response = await transport.get(request)
    assert isinstance(response, Response), response
    return response


async def failure(transport: Transport, request: Request) -> Failed:
    failed = await transport.get(request)
    assert isinstance(failed, Failed), failed
    return failed


def saw_no_secrets(site: Site) -> None:
    assert site.hits
    for hit in site.hits:
        assert not [name for name in hit.headers if name.startswith("proxy-")]
        assert not [value for value in hit.headers.values() if SECRET in value or ENCODED_SECRET in value]


async def _status(exchange: Exchange) -> None:
    await exchange.answer(b"no", f"{exchange.path[1:]} No")


class ProxiedContract:
    made: ClassVar[Made]
    silence_seconds: ClassVar[float] = 20.0
    """How long a proxy may be silent; in event loop time, unless a backend has its own."""

    @asynccontextmanager
    async def by(
        self,
        *urls: str,
        clock: Clock | None = None,
        allow: str = "127.0.0.1/32",
        connect_seconds: float = FAULT_SECONDS,
        ports: tuple[int, ...] = (),
    ) -> AsyncIterator[Transport]:
        """A transport through these proxies that may reach sites on this machine."""
        section = ProxyConfig(urls=urls, strategy="priority")
        pools = ProxyPools(lambda _: section, lambda: 0.0)
        fetch, settings = FetchConfig(connect_timeout_seconds=connect_seconds), GuardConfig((allow,), ports)
        async with Rig(self.made, fetch, EveryName(), settings, clock, pools) as rig:
            yield rig.transport

    @pytest.fixture(autouse=True)
    def we_trust_the_test(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(VOUCHED))

    @pytest.fixture
    async def secure_site(self) -> AsyncIterator[Site]:
        async with Site(BEHAVIOURS, tls=vouched_tls()) as site:
            yield site

    # -- each kind of proxy ---------------------------------------------------------------------------------

    @pytest.mark.parametrize("user", ["", "me"])
    @pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
    async def test_an_https_site_by_a_tunnel_to_the_checked_address(
        self, secure_site: Site, scheme: ProxyScheme, user: str
    ) -> None:
        async with (
            LocalProxy(scheme, user=user, password=SECRET) as proxy,
            self.by(proxy.url(user, SECRET), ports=(secure_site.port,)) as transport,
        ):
            first = await got(transport, page_of(secure_site))
            second = await got(transport, page_of(secure_site))
            assert first.body == second.body == PAGE
            assert (first.proxy, first.protocol, first.address_class, first.is_unverified) == (
                proxy.name, "HTTP/1.1", "allowed", False,
            )  # fmt: skip
            assert fetch_record(first, FetchConfig()).proxy == proxy.name
            goals = [asked.target for asked in proxy.asked]
            assert goals == [f"127.0.0.1:{secure_site.port}"], "used again, by address"
            assert proxy.asked[0].headers.get("proxy-authorization") == (
                f"Basic {ENCODED_SECRET}" if user and scheme != "socks5" else None
            )
            assert not {"user-agent", "accept-language"} & proxy.asked[0].headers.keys(), "those are for the site"
        saw_no_secrets(secure_site)

    @pytest.mark.parametrize("user", ["", "me"])
    async def test_a_plain_site_by_socks5_is_reached_at_the_checked_address(self, site: Site, user: str) -> None:
        async with (
            LocalProxy("socks5", user=user, password=SECRET) as proxy,
            self.by(proxy.url(user, SECRET), ports=(site.port,)) as transport,
        ):
            response = await got(transport, page_of(site))
            assert (response.body, response.proxy) == (PAGE, proxy.name)
            assert [asked.target for asked in proxy.asked] == [f"127.0.0.1:{site.port}"]
            assert site.hits[0].headers["host"] == f"secure.example:{site.port}"
        saw_no_secrets(site)

    async def test_ipv6_targets(self) -> None:
        async with Site(BEHAVIOURS, host="::1") as site, LocalProxy("socks5") as by_socks, LocalProxy() as by_connect:
            url = f"http://[::1]:{site.port}/page"
            async with self.by(by_socks.url(), allow="::1/128", ports=(site.port,)) as transport:
                assert (await got(transport, Request(url, 1_000_000, FAULT_SECONDS))).body == PAGE
            async with self.by(by_connect.url(), allow="::1/128", ports=(site.port,)) as transport:
                await failure(transport, Request(url.replace("http:", "https:"), 1_000_000, FAULT_SECONDS))
            assert [asked.target for asked in by_socks.asked] == [f"::1:{site.port}"]
            assert [asked.target for asked in by_connect.asked] == [f"[::1]:{site.port}"]

    async def test_a_proxy_may_have_a_name(self, site: Site) -> None:
        async with LocalProxy("https", names=NAMED) as proxy:
            url = proxy.url().replace("127.0.0.1", "proxy.example")
            async with self.by(url, ports=(site.port,)) as transport:
                assert (await got(transport, page_of(site))).proxy == f"proxy.example:{proxy.port}"

    async def test_users_of_one_proxy_do_not_share_its_tunnels(self) -> None:
        """The first is banned by a 403: later requests must use the second, though the first has an open connection."""
        async with (
            Site({**BEHAVIOURS, "/403": _status}, tls=vouched_tls()) as site,
            LocalProxy() as proxy,
            self.by(proxy.url("one", "x"), proxy.url("two", "x"), ports=(site.port,)) as transport,
        ):
            answers = [await got(transport, page_of(site, path)) for path in ("/403", "/page", "/page")]
            assert [answer.proxy for answer in answers] == [proxy.name, f"{proxy.name}#2", f"{proxy.name}#2"]
            assert len({asked.headers["proxy-authorization"] for asked in proxy.asked}) == 2
            assert proxy.connections == 2

    async def test_the_environment_has_no_say(self, secure_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("no_proxy", "*")
        monkeypatch.setenv("NO_PROXY", "*")
        async with (
            LocalProxy() as proxy,
            LocalProxy() as decoy,
            self.by(proxy.url(), ports=(secure_site.port,)) as transport,
        ):
            for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, decoy.url())
            assert (await got(transport, page_of(secure_site))).proxy == proxy.name
            assert (proxy.connections, decoy.connections) == (1, 0)

    async def test_without_proxies_it_goes_straight(self, site: Site) -> None:
        async with self.by(ports=(site.port,)) as transport:
            response = await got(transport, page_of(site))
            assert (response.proxy, response.address_class) == ("", "allowed")

    # -- the guard, and certificates ------------------------------------------------------------------------

    @pytest.mark.parametrize("scheme", ["http", "socks5"])
    @pytest.mark.parametrize(
        "url",
        [
            "http://127.0.0.1/",
            "https://127.0.0.1/",
            "https://secure.example/",
            "http://169.254.169.254/latest/meta-data",
            "http://8.8.8.8:25/",
            "http://me:pass@8.8.8.8/",
        ],
    )
    async def test_no_proxy_hears_of_a_target_that_the_guard_refuses(self, scheme: ProxyScheme, url: str) -> None:
        async with (
            LocalProxy(scheme) as proxy,
            self.by(proxy.url(), allow="10.0.0.0/8", ports=(80, 443)) as transport,
        ):
            assert isinstance(await transport.get(Request(url, 1_000_000, FAULT_SECONDS)), Refused)
            assert proxy.connections == 0

    @pytest.mark.parametrize("through", ["http", "https", "socks5"])
    async def test_a_certificate_that_nobody_vouches_for(self, through: ProxyScheme) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(SELF_SIGNED)
        async with (
            Site(BEHAVIOURS, tls=context) as site,
            LocalProxy(through) as proxy,
            self.by(proxy.url(), ports=(site.port,)) as transport,
        ):
            for _ in range(4):
                failed = await failure(transport, page_of(site))
                assert (failed.kind, failed.is_site_wide) == (FailureKind.TLS, True), "the proxy is not banned for it"
            response = await got(transport, page_of(site, verify_tls=False))
            assert response.is_unverified and fetch_record(response, FetchConfig()).is_unverified
            assert (await failure(transport, page_of(site))).kind is FailureKind.TLS, "that tunnel is not for others"

    async def test_the_proxy_is_verified_whatever_the_request_says(
        self, secure_site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt")
        async with (
            LocalProxy("https") as proxy,
            self.by(proxy.url("me", SECRET), ports=(secure_site.port,)) as transport,
        ):
            failed = await failure(transport, page_of(secure_site, verify_tls=False))
            assert failed == Failed(f"proxy {proxy.name}: TLS: self-signed certificate", FailureKind.PROXY)
            assert proxy.asked == []

    # -- proxies that fail ----------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("scheme", "behaviour", "why"),
        [
            ("http", "hangs-up", "it closed the connection"),
            ("http", "garbage", "invalid response to CONNECT"),
            ("http", "endless", "invalid response to CONNECT"),
            ("https", "hangs-up", "it closed the connection"),
            ("socks5", "hangs-up", "it closed the connection"),
            ("socks5", "garbage", "not a SOCKS5 proxy"),
            ("socks5", "endless", "not a SOCKS5 proxy"),
        ],
    )
    async def test_a_proxy_that_fails_is_named_and_the_next_one_serves(
        self, secure_site: Site, scheme: ProxyScheme, behaviour: Behaviour, why: str
    ) -> None:
        async with LocalProxy(scheme, behaviour) as broken, LocalProxy() as sound:
            async with self.by(broken.url("me", SECRET), ports=(secure_site.port,)) as transport:
                failed = await failure(transport, page_of(secure_site))
                assert failed == Failed(f"proxy {broken.name}: {why}", FailureKind.PROXY)
            assert secure_site.hits == []
            urls = (broken.url("me", SECRET), sound.url())
            async with self.by(*urls, ports=(secure_site.port,)) as transport:
                assert (await got(transport, page_of(secure_site))).proxy == sound.name
        assert len(secure_site.hits) == 1

    async def test_refused_and_unknown_proxies(self, secure_site: Site) -> None:
        nobody = f"http://127.0.0.1:{unused_port()}"
        async with self.by(nobody, ports=(secure_site.port,)) as transport:
            failed = await failure(transport, page_of(secure_site))
            assert failed == Failed(f"proxy {nobody[7:]}: connection refused", FailureKind.PROXY)
        async with self.by("socks5://gone.example", ports=(secure_site.port,)) as transport:
            failed = await failure(transport, page_of(secure_site))
            assert failed == Failed("proxy gone.example:1080: no such host", FailureKind.PROXY)
        assert secure_site.connections == 0

    @pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
    async def test_a_silent_proxy_times_out_and_the_next_one_serves(
        self, secure_site: Site, scheme: ProxyScheme
    ) -> None:
        async with LocalProxy(scheme, "silent") as silent, LocalProxy() as sound:
            urls = (silent.url(), sound.url())
            async with self.by(*urls[:1], ports=(secure_site.port,), connect_seconds=0.2) as transport:
                failed = await failure(transport, page_of(secure_site))
                assert failed == Failed(f"proxy {silent.name}: no connection within 0.2 s", FailureKind.PROXY)
            async with self.by(*urls, ports=(secure_site.port,), connect_seconds=self.silence_seconds) as transport:
                asking = got(transport, page_of(secure_site))
                answer = await outlasted(asking, self.silence_seconds, lambda: silent.connections == 2)
                assert answer.proxy == sound.name

    @pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
    async def test_a_host_that_is_silent_at_the_other_end_is_not_the_proxys_failure(self, scheme: ProxyScheme) -> None:
        is_reached = asyncio.Event()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            is_reached.set()
            await reader.read()
            writer.close()

        async with await asyncio.start_server(accept, "127.0.0.1", 0) as server, LocalProxy(scheme) as proxy:
            port = server.sockets[0].getsockname()[1]
            async with self.by(proxy.url(), ports=(port,), connect_seconds=self.silence_seconds) as transport:
                request = Request(f"https://secure.example:{port}/", 1000, FAULT_SECONDS)
                failed = await outlasted(failure(transport, request), self.silence_seconds, is_reached.is_set)
            assert failed.why == f"no connection within {self.silence_seconds:g} s, through proxy {proxy.name}"
            assert (failed.kind, failed.is_site_wide) == (FailureKind.TIMEOUT_CONNECT, True)

    async def test_the_deadline_ends_the_search(self, secure_site: Site) -> None:
        async with LocalProxy("http", "silent") as one, LocalProxy("http", "silent") as two:
            async with self.by(one.url(), two.url(), ports=(secure_site.port,), connect_seconds=30) as transport:
                asking = failure(transport, page_of(secure_site, seconds=30))
                failed = await outlasted(asking, 30, lambda: one.connections == 1)
            assert failed.kind is FailureKind.PROXY
            assert two.connections == 0

    @pytest.mark.parametrize("is_secure", [False, True])
    @pytest.mark.parametrize("scheme", ["http", "socks5"])
    @pytest.mark.parametrize(
        ("user", "why"), [("", "it wants a user and a password"), ("me", "it does not accept our user and password")]
    )
    async def test_wrong_credentials(
        self,
        site: Site,
        secure_site: Site,
        scheme: ProxyScheme,
        user: str,
        why: str,
        is_secure: bool,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        asked = secure_site if is_secure else site
        clock = ManualClock()
        caplog.set_level(logging.DEBUG)
        async with (
            LocalProxy(scheme, user="me", password="other") as strict,
            self.by(strict.url(user, SECRET), clock=clock, ports=(asked.port,)) as transport,
        ):
            for _ in range(3):
                failed = await failure(transport, page_of(asked))
                assert failed == Failed(f"proxy {strict.name}: {why}", FailureKind.PROXY)
            deferred = await transport.get(page_of(asked))
            assert deferred == Deferred(clock.now() + 300, f"every proxy is banned: {strict.name} ({why})")
            assert asked.connections == 0, "never without a proxy"
        fields = [vars(record).get("fields") for record in caplog.records]
        assert {"proxy": strict.name, "why": why} in fields
        assert SECRET not in str(fields) and ENCODED_SECRET not in str(fields)

    # -- proxies that decline -------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("scheme", "refusal", "why"),
        [
            ("http", 502, "answer 502 to CONNECT"),
            ("https", 403, "answer 403 to CONNECT"),
            ("socks5", 2, "SOCKS5: not allowed"),
            ("socks5", 5, "SOCKS5: connection refused"),
        ],
    )
    async def test_one_that_declines_is_counted_when_another_serves(
        self, secure_site: Site, scheme: ProxyScheme, refusal: int, why: str
    ) -> None:
        async with (
            LocalProxy(scheme, refusal=refusal) as unwilling,
            LocalProxy() as sound,
            self.by(unwilling.url(), sound.url(), ports=(secure_site.port,)) as transport,
        ):
            for nth in range(5):
                host = f"https://{nth}.secure.example:{secure_site.port}/page"
                assert (
                    await got(transport, Request(host, 1_000_000, FAULT_SECONDS, verify_tls=False))
                ).proxy == sound.name
            assert unwilling.connections == 3, "then it is banned"
            async with self.by(unwilling.url(), ports=(secure_site.port,)) as alone:
                assert (await failure(alone, page_of(secure_site))).why == f"proxy {unwilling.name}: {why}"

    async def test_what_all_proxies_say_of_a_host_bans_none_of_them_and_the_host_backs_off(
        self, secure_site: Site
    ) -> None:
        async with (
            LocalProxy(refusal=502) as one,
            LocalProxy("socks5", refusal=4) as two,
            self.by(one.url(), two.url(), ports=(secure_site.port,)) as transport,
        ):
            failures = [await failure(transport, page_of(secure_site)) for _ in range(5)]
            assert {failed.kind for failed in failures} == {FailureKind.PROXY}
            assert [failed.retry_after_seconds for failed in failures] == [5, 20, 80, 300, 300]
            assert (one.connections, two.connections) == (5, 5)
            one.refusal = 0
            assert (await got(transport, page_of(secure_site))).proxy == one.name
            one.refusal = 502
            again = await failure(transport, page_of(secure_site, verify_tls=False))
            assert again.retry_after_seconds == 5

    # -- what it means for the host -------------------------------------------------------------------------

    @pytest.mark.parametrize("trouble", ["nobody there", "hangs up", "wrong password", "declines"])
    async def test_a_failure_of_the_proxy_counts_against_neither_host_nor_url(
        self, secure_site: Site, trouble: str
    ) -> None:
        """Six of them would open the breaker and use up the budget, if they counted against the host."""
        async with AsyncExitStack() as stack:
            proxies = {
                "hangs up": LocalProxy("http", "hangs-up"),
                "wrong password": LocalProxy("socks5", user="me", password="other"),
                "declines": LocalProxy("http", refusal=403),
            }
            url = f"http://127.0.0.1:{unused_port()}"
            if trouble in proxies:
                url = (await stack.enter_async_context(proxies[trouble])).url()
            transport = await stack.enter_async_context(self.by(url, ports=(secure_site.port,)))
            failed = await failure(transport, page_of(secure_site))
        site = SiteConfig()
        before = record = HostRecord("https://secure.example", "secure.example", failures_in_a_row=2, blocks_in_a_row=1)
        for nth in range(6):
            record = host_after_visit(record, failed, SentRequests(1, 1000.0 + 400 * nth), site, 0.5)
        assert msgspec.structs.replace(record, next_at=before.next_at, backoff_reason="") == before
        rest_seconds = 5.0 if trouble == "declines" else 1.0
        assert record.next_at == 3000.0 + rest_seconds, "its pace, or the backoff that all of the proxies want"
        task = Task(
            page_of(secure_site).url,
            record.origin,
            0,
            Priority.HIGH,
            Source.SEED,
            None,
            0.0,
            0.0,
            transport=TransportKind.CURL,
        )
        end = visit_end(failed, 3000.0, site, transport=TransportKind.CURL, available=frozenset(TransportKind))
        plan = plan_task(task, end, record.next_at)
        assert plan == Reschedule(record.next_at), "no attempt is spent, and no transport required"

    # -- what comes through ---------------------------------------------------------------------------------

    @pytest.mark.parametrize("status", [403, 429, 503])
    @pytest.mark.parametrize("scheme", ["http", "socks5"])
    async def test_a_site_that_shuts_a_proxy_out_bans_it_for_five_minutes(
        self, scheme: ProxyScheme, status: int
    ) -> None:
        """Through a tunnel, so the answer is the site's own."""
        clock = ManualClock()
        async with (
            Site({**BEHAVIOURS, f"/{status}": _status}, tls=vouched_tls() if scheme == "http" else None) as site,
            LocalProxy(scheme) as first,
            LocalProxy(scheme) as second,
            self.by(first.url(), second.url(), clock=clock, ports=(site.port,)) as transport,
        ):
            answers = [await got(transport, page_of(site, f"/{status}")) for _ in range(2)]
            assert [answer.proxy for answer in answers] == [first.name, second.name]
            assert {answer.status for answer in answers} == {status}
            deferred = await transport.get(page_of(site))
            assert isinstance(deferred, Deferred)
            assert deferred.until == clock.now() + 300
            assert deferred.why.startswith(f"every proxy is banned: {first.name} (answer {status})")
            assert len(site.hits) == 2, "nothing was sent"
            clock.advance(300)
            assert (await got(transport, page_of(site))).proxy == first.name

    @pytest.mark.parametrize(
        ("path", "kind"),
        [("/reset", FailureKind.RESET), ("/truncated", FailureKind.TRUNCATED), ("/silent", FailureKind.TIMEOUT_TOTAL)],
    )
    async def test_a_request_that_breaks_midway_is_not_sent_twice_and_counts(
        self, site: Site, path: str, kind: FailureKind
    ) -> None:
        async with (
            LocalProxy("socks5") as one,
            LocalProxy("socks5") as two,
            self.by(one.url(), two.url(), ports=(site.port,)) as transport,
        ):

            async def failing() -> Failed:
                if kind is not FailureKind.TIMEOUT_TOTAL:
                    return await failure(transport, page_of(site, path))
                asked = len(site.hits)
                asking = failure(transport, page_of(site, path, seconds=10))
                return await outlasted(asking, 10, lambda: len(site.hits) > asked)

            for _ in range(3):
                failed = await failing()
                assert failed.kind is kind
                assert failed.why.endswith(f", through proxy {one.name}")
            assert (len(site.hits), two.connections) == (3, 0)
            assert (await got(transport, page_of(site))).proxy == two.name, "the first is banned"

    @pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
    async def test_a_tunnel_that_breaks_under_the_handshake(self, secure_site: Site, scheme: ProxyScheme) -> None:
        async with (
            LocalProxy(scheme, "drops-tunnels") as proxy,
            self.by(proxy.url(), ports=(secure_site.port,)) as transport,
        ):
            failed = await failure(transport, page_of(secure_site))
            assert (failed.kind, failed.is_site_wide) == (FailureKind.RESET, True)

    async def test_an_idle_tunnel_that_was_closed_is_replaced(self, site: Site) -> None:
        async with (
            LocalProxy("socks5") as proxy,
            self.by(proxy.url(), ports=(site.port,)) as transport,
        ):
            await got(transport, page_of(site, "/once-per-connection"))
            await got(transport, page_of(site, "/once-per-connection"))
            assert proxy.connections == 2

    async def test_a_caller_that_gives_up_leaves_nothing_behind(self, secure_site: Site) -> None:
        async with (
            LocalProxy("http", "silent") as proxy,
            self.by(proxy.url(), ports=(secure_site.port,)) as transport,
        ):
            asking = asyncio.ensure_future(failure(transport, page_of(secure_site)))
            await reached(lambda: proxy.connections == 1)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            proxy.behaviour = "works"
            assert (await got(transport, page_of(secure_site))).body == PAGE
