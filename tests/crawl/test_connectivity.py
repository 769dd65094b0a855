"""Whether the network is up, and whether it or the host caused a failure."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from tenax.clock import ManualClock
from tenax.config import ResilienceConfig
from tenax.crawl.connectivity import NetworkMonitor, NetworkState, ProbeResult, parse_probe_address, probe_network
from tenax.errors import ConfigError, NetworkLost
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    Outcome,
    Redirected,
    Refused,
    Rejected,
    Unchanged,
)

TICK = 0.001
UNREACHED = Failed("connection refused", FailureKind.CONNECT, is_site_wide=True)
ANSWER = Fetched(200)


# ---- suspicion ----------------------------------------------------------------------------------------------


def watch_of(network_failures: int = 3) -> NetworkState:
    return NetworkState(ResilienceConfig(network_failures=network_failures))


def proven(network_failures: int = 3, hosts: int = 20) -> NetworkState:
    """In a crawl of many hosts, after a probe has answered."""
    watch = watch_of(network_failures)
    for number in range(hosts):
        watch.record_outcome(ANSWER, f"http://{number}.test")
    watch.record_probe(True, 0.0)
    return watch


def fail(watch: NetworkState, *hosts: str) -> None:
    for host in hosts:
        watch.record_outcome(UNREACHED, f"http://{host}.test")


def test_the_network_is_suspected_when_enough_different_hosts_in_a_row_cannot_be_reached() -> None:
    watch = proven()
    fail(watch, "a", "b", "a", "b", "a", "b")
    assert not watch.is_suspect
    fail(watch, "c")
    assert (watch.is_suspect, watch.is_probe_due(100.0)) == (True, True)


def test_one_answer_of_anybody_clears_it() -> None:
    watch = proven()
    fail(watch, "a", "b", "c")
    watch.record_outcome(ANSWER, "http://d.test")
    assert not watch.is_suspect
    fail(watch, "a", "b")
    assert not watch.is_suspect


def test_a_crawl_of_one_host_suspects_after_a_few_failures() -> None:
    watch = proven(network_failures=10, hosts=1)
    fail(watch, "a", "a")
    assert not watch.is_suspect
    fail(watch, "a")
    assert watch.is_suspect


def test_a_crawl_of_a_few_hosts_suspects_when_all_of_them_fail() -> None:
    watch = proven(network_failures=10, hosts=4)
    fail(watch, "0", "1", "2", "0", "1", "2")
    assert not watch.is_suspect
    fail(watch, "3")
    assert watch.is_suspect


ANSWERS: list[Outcome] = [
    ANSWER,
    Unchanged(),
    Redirected(301, "http://b.test/"),
    Rejected("wall: enable JavaScript"),
    Failed("HTTP 500", FailureKind.SERVER_ERROR, is_site_wide=True, status=500),
    Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429),
    Failed("HTTP 404", FailureKind.NOT_FOUND, status=404),
]
SILENT: list[Outcome] = [
    Unchanged("young enough"),
    Deferred(0.0, "rate limit"),
    Refused("robots: closed"),
    Failed("silence", FailureKind.TIMEOUT_BODY, is_site_wide=True),
    Failed("silence", FailureKind.TIMEOUT_HEADERS, is_site_wide=True),
    Failed("reset", FailureKind.RESET, is_site_wide=True),
    Failed("ours", FailureKind.INTERNAL),
]
LOST = [FailureKind.DNS, FailureKind.CONNECT, FailureKind.TIMEOUT_CONNECT]


@pytest.mark.parametrize("outcome", ANSWERS, ids=str)
def test_what_counts_as_an_answer(outcome: Outcome) -> None:
    watch = proven()
    fail(watch, "a", "b", "c")
    watch.record_outcome(outcome, "http://d.test")
    assert not watch.is_suspect
    assert not watch.is_network_failure(outcome)


@pytest.mark.parametrize("outcome", SILENT, ids=str)
def test_what_says_nothing_about_the_network(outcome: Outcome) -> None:
    watch = proven()
    fail(watch, "a", "b")
    for host in "cdef":
        watch.record_outcome(outcome, f"http://{host}.test")
    assert not watch.is_suspect
    fail(watch, "c")
    assert watch.is_suspect


@pytest.mark.parametrize("kind", LOST)
def test_what_counts_as_not_reached(kind: FailureKind) -> None:
    watch = proven()
    for host in "abc":
        watch.record_outcome(Failed("gone", kind, is_site_wide=True), f"http://{host}.test")
    assert watch.is_suspect


# ---- verdict ------------------------------------------------------------------------------------------------


def test_down_is_what_a_look_found_and_up_again_too() -> None:
    watch = proven()
    fail(watch, "a", "b", "c")
    watch.record_probe(False, 100.0)
    assert (watch.is_down, watch.down_since) == (True, 100.0)
    watch.record_probe(False, 130.0)
    assert watch.down_since == 100.0
    watch.record_probe(True, 160.0)
    assert not watch.is_down
    assert not watch.is_suspect


def test_probes_that_never_answered_prove_nothing() -> None:
    """A crawl of an intranet behind a firewall: the default probes are unreachable, and nothing is wrong."""
    watch = watch_of()
    watch.record_outcome(ANSWER, "http://z.test")
    fail(watch, "a", "b", "c")
    assert not watch.is_network_failure(UNREACHED)
    watch.record_probe(False, 100.0)
    assert not watch.is_down
    assert not watch.is_suspect


def test_the_probes_are_tried_once_when_a_first_public_host_has_answered() -> None:
    watch = watch_of()
    assert not watch.is_probe_due(0.0)
    watch.record_outcome(ANSWER, "http://127.0.0.1", is_public=False)
    assert not watch.is_probe_due(0.0)
    watch.record_outcome(ANSWER, "http://a.test")
    assert watch.is_probe_due(0.0)
    watch.record_probe(True, 0.0)
    watch.record_outcome(ANSWER, "http://b.test")
    assert not watch.is_probe_due(1e6)


def test_looks_keep_their_distance() -> None:
    watch = proven()
    watch.record_probe(True, 100.0)
    fail(watch, "a", "b", "c")
    assert [watch.is_probe_due(now) for now in (100.0, 104.9, 105.0)] == [False, False, True]
    watch.record_probe(False, 105.0)
    assert [watch.is_probe_due(now) for now in (106.0, 134.9, 135.0)] == [False, False, True]


def test_without_probes_there_is_never_a_look() -> None:
    watch = NetworkState(ResilienceConfig(network_failures=1, network_probes=()))
    watch.record_outcome(ANSWER, "http://a.test")
    fail(watch, "a", "a", "a")
    assert not watch.is_probe_due(1e6)


def test_a_public_host_that_answers_while_the_network_is_down_proves_the_contrary() -> None:
    watch = proven()
    watch.record_probe(False, 100.0)
    watch.record_outcome(ANSWER, "http://127.0.0.1", is_public=False)
    assert watch.is_down
    watch.record_outcome(ANSWER, "http://a.test")
    assert not watch.is_down


def test_our_own_outage_is_not_the_hosts() -> None:
    watch = proven()
    reset = Failed("reset", FailureKind.RESET, is_site_wide=True)
    assert not watch.is_network_failure(UNREACHED)
    fail(watch, "a", "b", "c")
    assert watch.is_network_failure(UNREACHED)  # suspected: no host is blamed before a probe
    watch.record_probe(False, 100.0)
    assert watch.is_network_failure(UNREACHED) and watch.is_network_failure(reset)
    assert not watch.is_network_failure(Failed("HTTP 500", FailureKind.SERVER_ERROR, is_site_wide=True, status=500))
    watch.record_probe(True, 130.0)
    assert not watch.is_network_failure(UNREACHED)


@pytest.mark.parametrize("hosts", [1, 2000])
def test_a_crawl_that_is_left_with_dead_hosts_does_not_suspect_the_network_for_ever(hosts: int) -> None:
    """Twenty failures a second, for 200 s; the probes answer whenever they are tried."""
    watch, ours = proven(network_failures=10), 0
    for number in range(4000):
        now = 1000.0 + number / 20
        fail(watch, str(number % hosts))
        ours += watch.is_network_failure(UNREACHED)
        if watch.is_probe_due(now):
            watch.record_probe(True, now)
    assert ours < 800
    watch.record_outcome(ANSWER, "http://alive.test")
    fail(watch, *map(str, range(10)))
    assert watch.is_suspect, "after an answer it is as watchful as before"


def test_memory_is_bounded() -> None:
    watch = watch_of(network_failures=10)
    for number in range(1000):
        watch.record_outcome(ANSWER, f"http://{number}.test")
    for number in range(1000):
        fail(watch, str(number))
    assert len(watch._reachable_hosts) == len(watch._unreachable_hosts) == 10


# ---- looking ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def listener(address: str = "127.0.0.1", port: int = 0) -> AsyncIterator[int]:
    """A port that accepts connections."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(take, address, port)
    async with server:
        yield server.sockets[0].getsockname()[1]


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port that refuses connections, and is reserved meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@contextmanager
def black_hole() -> Iterator[int]:
    """A port at which connections are neither accepted nor refused: its queue is full."""
    with socket.socket() as server, socket.socket() as first, socket.socket() as second:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for one in (first, second):
            one.setblocking(False)
            one.connect_ex(server.getsockname())
        yield server.getsockname()[1]


def addresses(*ports: int) -> dict[str, tuple[str, int]]:
    return {f"127.0.0.1:{port}": ("127.0.0.1", port) for port in ports}


async def test_one_probe_that_takes_a_connection_is_enough() -> None:
    with refusing_port() as closed, black_hole() as silent:
        async with listener() as port:
            found = await probe_network(addresses(closed, silent, port), timeout_seconds=30.0)
    assert found.is_up
    assert found.reachable_probe == f"127.0.0.1:{port}"


async def test_without_a_reachable_probe_the_errors_are_returned() -> None:
    with refusing_port() as closed, black_hole() as silent:
        found = await probe_network(addresses(closed, silent), timeout_seconds=0.05)
    assert not found.is_up
    assert found.errors[f"127.0.0.1:{closed}"]
    assert found.errors[f"127.0.0.1:{silent}"] == "no answer within 0.05 s"


async def test_no_probes_no_network() -> None:
    assert await probe_network({}) == ProbeResult()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("1.1.1.1:443", ("1.1.1.1", 443)),
        ("[2001:db8::1]:53", ("2001:db8::1", 53)),
        ("probe.example.org:80", ("probe.example.org", 80)),
        (" 9.9.9.9:53 ", ("9.9.9.9", 53)),
    ],
)
def test_a_probe_is_an_address_and_a_port(text: str, address: tuple[str, int]) -> None:
    assert parse_probe_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "1.1.1.1", "1.1.1.1:", ":443", "1.1.1.1:0", "1.1.1.1:65536", "2001:db8::1:53", "a:b"]
)
def test_what_is_no_probe_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"`resilience\.network_probes`: a probe looks like 1\.1\.1\.1:443"):
        parse_probe_address(text)


# ---- waiting ------------------------------------------------------------------------------------------------


class Pauses:
    """Records pauses."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, bool]] = []

    def __call__(self, reason: str, is_paused: bool) -> None:
        self.calls.append((reason, is_paused))


async def reached(condition: Callable[[], bool]) -> None:
    for _ in range(60_000):
        if condition():
            return
        await asyncio.sleep(TICK)
    raise AssertionError("the condition never became true")


def network_of(port: int, clock: ManualClock, pauses: Pauses, max_outage_seconds: float = 0.0) -> NetworkMonitor:
    resilience = ResilienceConfig(
        network_failures=3, network_probes=(f"127.0.0.1:{port}",), max_network_outage_seconds=max_outage_seconds
    )
    return NetworkMonitor(NetworkState(resilience), resilience, clock, pauses, poll_seconds=TICK)


async def test_a_lost_network_holds_the_crawl_until_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    clock, pauses = ManualClock(), Pauses()
    async with listener() as port:
        network = network_of(port, clock, pauses)
        running = asyncio.ensure_future(network.run())
        network.state.record_outcome(ANSWER, "http://a.test")
        await reached(lambda: network.state._has_working_probe)
    clock.advance(60)
    fail(network.state, "a", "b", "c")
    await reached(lambda: network.state.is_down)
    await reached(lambda: bool(pauses.calls))
    for _ in range(4):
        clock.advance(31)
        await reached(lambda: network.state._probed_at == clock.now())
    assert pauses.calls == [("network", True)]
    async with listener(port=port):
        clock.advance(31)
        await reached(lambda: len(pauses.calls) == 2)
    assert pauses.calls == [("network", True), ("network", False)]
    assert not network.state.is_down
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    [lost, back] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert lost.message == "network down, crawl paused"
    assert list(lost.__dict__["probes"]) == [f"127.0.0.1:{port}"]
    assert back.message == "network up again, crawl resumed"
    assert back.__dict__["down_seconds"] == 5 * 31


async def test_a_network_that_is_down_for_too_long_ends_the_run() -> None:
    clock, pauses = ManualClock(), Pauses()
    with refusing_port() as port:
        network = network_of(port, clock, pauses, max_outage_seconds=600)
        network.state.record_outcome(ANSWER, "http://a.test")
        network.state.record_probe(True, clock.now())
        fail(network.state, "a", "b", "c")
        clock.advance(60)
        running = asyncio.ensure_future(network.run())
        await reached(lambda: bool(pauses.calls))
        clock.advance(599)
        await asyncio.sleep(3 * TICK)
        assert not running.done()
        clock.advance(1)
        with pytest.raises(NetworkLost, match="the network has been down for 10 minutes; everything committed is safe"):
            await running
    assert pauses.calls == [("network", True), ("network", False)]


async def test_a_host_that_answers_ends_the_wait() -> None:
    clock, pauses = ManualClock(), Pauses()
    with refusing_port() as port:
        network = network_of(port, clock, pauses)
        network.state.record_outcome(ANSWER, "http://a.test")
        network.state.record_probe(True, clock.now())
        await network.probe()
        assert pauses.calls == [("network", True)]
        running = asyncio.ensure_future(network.run())
        network.state.record_outcome(ANSWER, "http://a.test")
        await reached(lambda: len(pauses.calls) == 2)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert pauses.calls == [("network", True), ("network", False)]


async def test_without_probes_a_look_changes_nothing() -> None:
    pauses, resilience = Pauses(), ResilienceConfig(network_probes=())
    network = NetworkMonitor(NetworkState(resilience), resilience, ManualClock(), pauses)
    assert await network.probe() == ProbeResult()
    assert not network.state.is_down
    assert pauses.calls == []


async def test_a_crawl_without_a_public_host_does_not_probe() -> None:
    clock, pauses = ManualClock(), Pauses()
    async with listener() as port:
        network = network_of(port, clock, pauses)
        network.state.record_outcome(ANSWER, "http://127.0.0.1", is_public=False)
        fail(network.state, "a", "b", "c", "a", "b", "c")
        assert network.state.is_suspect
        assert not network.state.is_probe_due(clock.now())
        assert await network.probe() == ProbeResult()
        network.state.record_outcome(ANSWER, "http://public.test")
        assert (await network.probe()).is_up
