"""The gate as a plain client sees it: what it lets through, and what it does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from tenax.clock import ManualClock
from tenax.config import GuardConfig
from tenax.fetch.browser import gate as gate_module
from tenax.fetch.browser.gate import Gate, GateSession
from tenax.fetch.browser.upstream import Upstream
from tenax.fetch.guard import Guard, Origin
from tenax.model import Failed, FailureKind, Refused
from tests.fetch.gate_client import admit, dialled, request_of, said_to
from tests.loops import reached, turn
from tests.site.behaviours import PAGE
from tests.site.server import Exchange, Site


@pytest.fixture
async def private() -> AsyncIterator[Site]:
    async with Site({}, host="127.0.0.9") as private:
        yield private


@pytest.fixture
async def gate(site: Site, private: Site) -> AsyncIterator[Gate]:
    clock = ManualClock()
    guard = Guard(GuardConfig(ports=(site.port, private.port)), clock, [site.origin])
    gate = Gate(Upstream(guard, clock))
    await gate.open()
    yield gate
    await gate.close()
    await guard.close()


# ---- authentication ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "credentials", ["", "Proxy-Authorization: Basic cGFnZTpndWVzcw==\n", "Proxy-Authorization: \n", "X: y\n"]
)
async def test_who_knows_no_secret_is_not_served(gate: Gate, site: Site, credentials: str) -> None:
    admit(gate, 1000)
    for line in (f"GET {site.url('/page')} HTTP/1.1", f"CONNECT 127.0.0.1:{site.port} HTTP/1.1"):
        answer = await said_to(gate, f"{line}\n{credentials}\n")
        assert answer.startswith(b"HTTP/1.1 407 ")
    assert site.connections == 0


async def test_a_secret_is_void_when_its_page_is_over(gate: Gate, site: Site) -> None:
    passage = admit(gate, 1000)
    gate.close_session(passage)
    answer = await said_to(gate, f"GET {site.url('/page')} HTTP/1.1\nSECRET\n\n", passage)
    assert answer.startswith(b"HTTP/1.1 407 ") and site.connections == 0


@pytest.mark.parametrize(
    "nonsense",
    ["\n\n", "GET\n\n", "\x16\x03\x01 hello\n\n", "GET / HTTP/1.1\n" + "X: " + "a" * 70_000 + "\n\n", "a b c d\n\n"],
)
async def test_nonsense_ends_the_connection(gate: Gate, nonsense: str) -> None:
    assert await said_to(gate, nonsense) == b""


# ---- forwarding -------------------------------------------------------------------------------------------


async def test_a_plain_request_reaches_the_site_without_what_was_for_the_gate(gate: Gate, site: Site) -> None:
    passage = admit(gate, 100_000)
    text = (
        f"GET {site.url('/page')}?a=1 HTTP/1.1\nHost: elsewhere.example\nSECRET\nProxy-Connection: keep-alive\n"
        "User-Agent: Tenax\nUpgrade: h2c\n\n"
    )
    answer = await said_to(gate, text, passage)
    assert answer.startswith(b"HTTP/1.1 200 OK")
    [hit] = site.hits
    assert hit.path == "/page?a=1"
    assert hit.headers == {"host": f"127.0.0.1:{site.port}", "user-agent": "Tenax", "connection": "close"}
    assert passage.received_bytes == len(answer.replace(b"Connection: close\r\n", b""))
    assert passage.endpoint(Origin("http", "127.0.0.1", site.port)) == ("127.0.0.1", None)


async def test_nothing_follows_a_request_to_the_site(gate: Gate, site: Site) -> None:
    """A second request on the same connection would carry the secret."""
    passage = admit(gate, 1_000_000)
    one = f"GET {site.url('/silent')} HTTP/1.1\nSECRET\n\n"
    assert await said_to(gate, one + one, passage) == b""
    assert len(site.hits) <= 1


async def test_a_body_is_passed_on_and_nothing_more(gate: Gate) -> None:
    bodies: list[bytes] = []

    async def take(exchange: Exchange) -> None:
        await exchange.answer(b"taken")

    async with Site({"/form": take}) as site:
        clock = ManualClock()
        guard = Guard(GuardConfig(), clock, [site.origin])
        own = Gate(Upstream(guard, clock))
        await own.open()
        text = f"POST {site.url('/form')} HTTP/1.1\nSECRET\nContent-Length: 3\n\na=b"
        bodies.append(await said_to(own, text, admit(own, 1000)))
        await own.close()
        await guard.close()
        assert bodies[0].endswith(b"taken")
        assert site.hits[0].headers["content-length"] == "3"


async def test_a_tunnel_carries_bytes_both_ways(gate: Gate, site: Site) -> None:
    passage = admit(gate, 100_000)
    reader, writer = await dialled(gate)
    writer.write(request_of(f"CONNECT 127.0.0.1:{site.port} HTTP/1.1\nSECRET\n\n", passage))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    for _ in range(2):
        writer.write(b"GET /encoded/not HTTP/1.1\r\nHost: a\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(len(PAGE)) == PAGE
    assert site.connections == 1
    gate.close_session(passage)
    with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
        await reader.readexactly(1)
    writer.close()


# ---- refusals ---------------------------------------------------------------------------------------------


async def test_a_private_address_is_refused_and_sees_nothing(gate: Gate, private: Site) -> None:
    passage = admit(gate, 1000)
    origin = Origin("http", "127.0.0.9", private.port)
    assert await said_to(gate, f"GET {private.url('/')} HTTP/1.1\nSECRET\n\n", passage) == b""
    answer = await said_to(gate, f"CONNECT 127.0.0.9:{private.port} HTTP/1.1\nSECRET\n\n", passage)
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert passage.denial(origin) == Refused("guard: 127.0.0.9 is not a public address")
    assert private.connections == 0


@pytest.mark.parametrize(
    "target",
    ["127.1:80", "0x7f000001:80", "2130706433:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "a@127.0.0.1:80",
     "localhost:22", "127.0.0.1:99999", "127.0.0.1", "127.0.0.1\\@a:80", ""],
)  # fmt: skip
async def test_no_spelling_opens_the_gate(gate: Gate, target: str) -> None:
    passage = admit(gate, 1000)
    for line in (f"CONNECT {target} HTTP/1.1", f"GET http://{target}/ HTTP/1.1", f"GET https://{target}/ HTTP/1.1"):
        answer = await said_to(gate, f"{line}\nSECRET\n\n", passage)
        assert answer == b"" or answer.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 502 ")), line


@pytest.mark.parametrize(
    "line", ["GET ftp://127.0.0.1/ HTTP/1.1", "GET /page HTTP/1.1", "GET file:///etc/passwd HTTP/1.1"]
)
async def test_only_http_passes(gate: Gate, line: str) -> None:
    assert await said_to(gate, f"{line}\nSECRET\n\n", admit(gate, 1000)) == b""


async def test_a_site_that_does_not_listen_is_named_as_such(gate: Gate, site: Site) -> None:
    async with Site({}) as gone:
        port = gone.port
    clock = ManualClock()
    guard = Guard(GuardConfig(), clock, [f"https://127.0.0.1:{port}"])
    own = Gate(Upstream(guard, clock))
    await own.open()
    passage = admit(own, 1000)
    answer = await said_to(own, f"CONNECT 127.0.0.1:{port} HTTP/1.1\nSECRET\n\n", passage)
    denial = passage.denial(Origin("https", "127.0.0.1", port))
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert isinstance(denial, Failed) and denial.kind is FailureKind.CONNECT
    await own.close()
    await guard.close()


# ---- limits -----------------------------------------------------------------------------------------------


async def test_a_page_that_takes_too_much_is_cut_off(gate: Gate, site: Site) -> None:
    passage = admit(gate, 200_000)
    answer = await said_to(gate, f"GET {site.url('/endless')} HTTP/1.1\nSECRET\n\n", passage)
    assert passage.is_too_large and len(answer) <= 200_000
    again = await said_to(gate, f"GET {site.url('/page')} HTTP/1.1\nSECRET\n\n", passage)
    assert again.startswith(b"HTTP/1.1 503 ")


async def test_connections_of_one_page_are_limited(gate: Gate, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "MAX_OPEN_CONNECTIONS", 3)
    passage, other = admit(gate, 100_000), admit(gate, 100_000)
    silent = f"GET {site.url('/silent')} HTTP/1.1\nSECRET\n\n"
    waiting = [asyncio.ensure_future(said_to(gate, silent, passage)) for _ in range(3)]
    await reached(lambda: len(site.hits) == 3)
    page = f"GET {site.url('/page')} HTTP/1.1\nSECRET\n\n"
    assert (await said_to(gate, page, passage)).startswith(b"HTTP/1.1 503 ")
    assert (await said_to(gate, page, other)).startswith(b"HTTP/1.1 200 ")
    gate.close_session(passage)
    assert await asyncio.gather(*waiting) == [b""] * 3


async def test_so_many_connections_and_no_more(gate: Gate, site: Site) -> None:
    passage = admit(gate, 100_000, max_connections=2)
    page = f"GET {site.url('/page')} HTTP/1.1\nSECRET\n\n"
    answers = [(await said_to(gate, page, passage))[:12] for _ in range(4)]
    assert answers == [b"HTTP/1.1 200"] * 2 + [b"HTTP/1.1 503"] * 2
    assert site.connections == 2


async def test_a_page_that_sends_too_much_is_shown_out(gate: Gate, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "MAX_SENT_BYTES", 1000)
    passage = admit(gate, 100_000)
    reader, writer = await dialled(gate)
    writer.write(request_of(f"CONNECT 127.0.0.1:{site.port} HTTP/1.1\nSECRET\n\n", passage))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    writer.write(b"POST / HTTP/1.1\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000)
    with suppress(ConnectionResetError):
        assert await reader.read() == b""
    writer.close()
    page = f"GET {site.url('/page')} HTTP/1.1\nSECRET\n\n"
    assert (await said_to(gate, page, passage)).startswith(b"HTTP/1.1 503 ")


async def test_nothing_passes_when_the_time_of_its_page_is_over(gate: Gate, site: Site) -> None:
    """As after this process was suspended while Chromium continued."""
    now = asyncio.get_running_loop().time()
    passage = gate.open_session(GateSession("127.0.0.1", 100_000, 100, 5.0, deadline=now))
    for line in (f"GET {site.url('/page')} HTTP/1.1", f"CONNECT 127.0.0.1:{site.port} HTTP/1.1"):
        await said_to(gate, f"{line}\nSECRET\n\nGET /page HTTP/1.1\n\n", passage)
    assert site.hits == []


async def test_a_cut_off_body_does_not_look_whole(gate: Gate, site: Site) -> None:
    """Without a length only the end of the connection distinguishes them."""
    reader, writer = await dialled(gate)
    text = f"GET {site.url('/truncated/no-length')} HTTP/1.1\nSECRET\n\n"
    writer.write(request_of(text, admit(gate, 100_000)))
    with pytest.raises(ConnectionResetError):
        await reader.read()
    writer.close()


async def test_strangers_who_say_nothing_are_shown_out(gate: Gate, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "MAX_UNAUTHENTICATED", 2)
    strangers = [asyncio.ensure_future(said_to(gate, "GET ")) for _ in range(5)]
    await reached(lambda: sum(stranger.done() for stranger in strangers) == 3)
    turn(gate_module.HEAD_SECONDS)
    assert await asyncio.gather(*strangers) == [b""] * 5
    assert (await said_to(gate, f"GET {site.url('/page')} HTTP/1.1\nSECRET\n\n", admit(gate, 100_000)))[
        :12
    ] == b"HTTP/1.1 200"
