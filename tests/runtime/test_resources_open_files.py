"""Running out of file descriptors: noticed everywhere, deferred without blame, and reported once."""

from __future__ import annotations

import logging
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tenax.clock import ManualClock
from tenax.config import FetchConfig, GuardConfig
from tenax.crawl.connectivity import probe_network
from tenax.crawl.reader.channel import Channel
from tenax.fetch import Request
from tenax.fetch.curl import CurlTransport
from tenax.fetch.dns import DnsResolver, Resolver, SystemResolver
from tenax.fetch.failures import is_file_limit_failure
from tenax.fetch.guard import Guard, Origin
from tenax.fetch.http import HttpTransport
from tenax.fetch.transports import Pace, Transports
from tenax.hosts.limiter.process import ProcessRateLimiter
from tenax.model import Deferred, Failed, FailureKind, TransportKind
from tenax.runtime.resources import (
    MAX_FILES,
    FileLimit,
    are_files_used_up,
    file_share,
    is_out_of_files,
    raise_file_limit,
)
from tests.contracts.transport import OPEN, Made
from tests.loops import FAULT_SECONDS


def open_files() -> list[int]:
    """Those of this process, and the one needed to list them."""
    return [int(entry.name) for entry in Path("/dev/fd").iterdir()]


@contextmanager
def files_used_up(left: int = 0) -> Iterator[None]:
    """This process may open only `left` further files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(open_files())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + left, before[1]))
    taken: list[int] = []
    try:
        while True:
            try:
                taken.append(os.dup(0))
            except OSError:
                break
        for _ in range(left):
            os.close(taken.pop())
        yield
    finally:
        for one in taken:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_750_000_000.0)


def test_as_many_files_as_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        allowed = raise_file_limit()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert (allowed, hard) == (soft, before[1])
        assert soft in (MAX_FILES, hard)
        assert raise_file_limit() == allowed
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_it_is_noticed_when_none_is_left() -> None:
    assert not are_files_used_up()
    with files_used_up():
        assert are_files_used_up()
        with pytest.raises(OSError) as caught:
            os.open("/dev/null", os.O_RDONLY)
        assert is_out_of_files(caught.value)
    with files_used_up(left=3):
        assert are_files_used_up(), "a few are as good as none: somebody may have had them a moment ago"
    assert not are_files_used_up()


@pytest.mark.parametrize(("files", "share"), [(20_000, 9872), (1024, 384), (64, 16), (10, 2), (2, 1)])
def test_what_is_allowed_is_shared_out(files: int, share: int) -> None:
    assert file_share(files) == share


# ---- requests meanwhile ------------------------------------------------------------------------------------


async def test_visits_are_fewer_when_files_ran_out_and_come_back(caplog: pytest.LogCaptureFixture) -> None:
    limit = FileLimit(wanted=100)

    def max_at(now: float) -> int:
        limit.recover(now)
        return limit.max_visits

    at_first = max_at(0.0)
    with caplog.at_level(logging.WARNING):
        limit.record_exhaustion(visits=40, now=10.0)
        assert max_at(11.0) == 30
        limit.record_exhaustion(visits=12, now=12.0)
        assert max_at(12.0) == 9
        for _ in range(20):
            limit.record_exhaustion(visits=1, now=13.0)
    assert max_at(13.0) == 1
    assert [max_at(13.0 + 60 * minutes) for minutes in (1, 2, 3)] == [2, 4, 8]
    assert [max_at(1000.0 + 60 * minutes) for minutes in range(30)][-1] == at_first
    [warning] = caplog.records
    assert "raise `ulimit -n`" in warning.getMessage()
    assert (warning.__dict__["wanted"], warning.__dict__["enough"]) == (100, 456)


@pytest.mark.parametrize("made", [HttpTransport, CurlTransport])
async def test_a_request_is_put_off_and_nobody_is_blamed(
    clock: ManualClock, caplog: pytest.LogCaptureFixture, made: Made
) -> None:
    guard = Guard(OPEN, clock)
    transports = Transports(
        {TransportKind.HTTP: made(FetchConfig(), guard, clock)},
        guard,
        ProcessRateLimiter(),
        clock,
    )
    at_first = transports.max_concurrent_visits
    with socket.create_server(("127.0.0.1", 0)) as taken:
        request = Request(f"http://127.0.0.1:{taken.getsockname()[1]}/", 1_000_000, FAULT_SECONDS)
    before = await transports.get(
        TransportKind.HTTP, request, Pace()
    )  # nobody listens there; libraries are loaded by now
    assert isinstance(before, Failed) and before.kind is FailureKind.CONNECT
    with files_used_up(), caplog.at_level(logging.WARNING):
        for _ in range(3):
            answer = await transports.get(TransportKind.HTTP, request, Pace())
            assert isinstance(answer, Deferred), answer
            assert answer.until > clock.now()
            assert answer.why.startswith("files: ")
    assert len([record for record in caplog.records if "ulimit" in record.getMessage()]) == 1
    assert transports.max_concurrent_visits < at_first
    assert await transports.get(TransportKind.HTTP, request, Pace()) == before
    await transports.close()


@pytest.mark.parametrize("lookup", [SystemResolver, lambda: DnsResolver(("127.0.0.1:9",), 0.01, 0.01)])
@pytest.mark.parametrize("name", ["localhost", "no-such-name.invalid"])
async def test_a_name_that_could_not_be_looked_up_is_not_unknown(
    clock: ManualClock, lookup: type[Resolver], name: str
) -> None:
    guard = Guard(GuardConfig(allow_networks=("127.0.0.0/8", "::1/128")), clock, resolver=lookup())
    origin = Origin("http", name, 80)
    with files_used_up():
        answer = await guard.check(origin, FAULT_SECONDS)
        if name != "localhost" or not isinstance(answer, tuple):  # one may be known without a look-up
            assert isinstance(answer, Failed) and is_file_limit_failure(answer), answer
    after = await guard.check(origin, FAULT_SECONDS)
    assert not (isinstance(after, Failed) and is_file_limit_failure(after)), "it is asked again at once"
    await guard.close()


async def test_a_probe_of_the_network_proves_nothing() -> None:
    with files_used_up():
        assert (await probe_network({"one": ("127.0.0.1", 9)})).is_up


async def test_a_reader_that_cannot_be_started_leaves_nothing_open() -> None:
    before = len(open_files())
    for left in range(4):
        with files_used_up(left), pytest.raises(OSError):
            await Channel.open()
    assert len(open_files()) == before
