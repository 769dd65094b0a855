from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Any

import pytest

from tenax.fetch import Response
from tenax.fetch.connect import open_socket
from tenax.fetch.http import HttpTransport, transport
from tenax.fetch.proxies import ProxyScheme
from tenax.model import Failed, FailureKind
from tests.contracts.body_room import BodyRoomContract
from tests.contracts.proxied_transport import NAMED, SECRET, ProxiedContract, failure, got, page_of, saw_no_secrets
from tests.contracts.transport import Rig, TransportContract
from tests.site.behaviours import BEHAVIOURS, PAGE
from tests.site.proxies import LocalProxy
from tests.site.server import Exchange, Site


class TestHttp(TransportContract):
    made = HttpTransport


class TestHttpBodyRoom(BodyRoomContract):
    made = HttpTransport


class Recording(socket.socket):
    """A socket that counts how often it was set to acknowledge at once."""

    acknowledged: asyncio.Event
    times = 0

    def setsockopt(self, level: int, option: int, *value: Any) -> None:
        super().setsockopt(level, option, *value)
        if (level, option) == (socket.IPPROTO_TCP, socket.TCP_QUICKACK):
            self.times += 1
            self.acknowledged.set()


async def test_what_arrives_in_pieces_is_acknowledged_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that waits for the acknowledgement of its headers would otherwise cost 40 ms per page."""
    opened: list[Recording] = []

    async def recorded(addresses: Sequence[str], port: int) -> socket.socket:
        sock = Recording(fileno=(await open_socket(addresses, port)).detach())
        sock.acknowledged = acknowledged
        opened.append(sock)
        return sock

    async def apart(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        async with asyncio.timeout(60):
            await acknowledged.wait()
        await exchange.send(b"words")

    acknowledged = asyncio.Event()
    monkeypatch.setattr(transport, "open_socket", recorded)
    async with Site({**BEHAVIOURS, "/apart": apart}) as site, Rig(HttpTransport) as rig:
        assert isinstance(response := await rig.get(site.url("/apart"), seconds=60), Response)
        assert response.body == b"words"
        [sock] = opened
        before = sock.times
        assert (await rig.page(site.url("/page"))).body == PAGE
        assert (opened, sock.times) == ([sock], before), "what comes whole needs none of it"


class TestHttpThroughProxies(ProxiedContract):
    made = HttpTransport

    @pytest.mark.parametrize("user", ["", "me"])
    @pytest.mark.parametrize("scheme", ["http", "https"])
    async def test_a_plain_site_by_asking_the_proxy_for_the_page(
        self, site: Site, scheme: ProxyScheme, user: str
    ) -> None:
        async with (
            LocalProxy(scheme, user=user, password=SECRET, names=NAMED) as proxy,
            self.by(proxy.url(user, SECRET), ports=(site.port,)) as transport,
        ):
            request = page_of(site, "/page?b=%7e")
            assert (await got(transport, request)).body == (await got(transport, request)).body == PAGE
            first = proxy.asked[0]
            assert (first.method, first.target) == ("GET", request.url)
            assert first.headers["host"] == f"secure.example:{site.port}"
            assert ("proxy-authorization" in first.headers) == bool(user)
            assert (len(proxy.asked), proxy.connections) == (2, 1)
            assert site.hits[0].path == "/page?b=%7e"
        saw_no_secrets(site)

    @pytest.mark.parametrize("scheme", ["http", "socks5"])
    async def test_a_proxy_that_speaks_before_the_site_has_failed(self, secure_site: Site, scheme: ProxyScheme) -> None:
        async with (
            LocalProxy(scheme, "speaks-first") as proxy,
            self.by(proxy.url(), ports=(secure_site.port,)) as transport,
        ):
            failed = await failure(transport, page_of(secure_site))
            assert failed == Failed(f"proxy {proxy.name}: it sent data before the request", FailureKind.PROXY)
