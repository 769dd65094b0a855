from __future__ import annotations

import asyncio
import logging
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.clock import ManualClock, SteadyClock
from tenax.config import PolitenessConfig
from tenax.hosts import Permit, RateLimiter
from tenax.hosts.limiter.machine import BATCH_SECONDS, MachineRateLimiter, open_rate_limiter
from tenax.hosts.limiter.machine_table import TableSlot, key_slot
from tenax.hosts.limiter.process import ProcessRateLimiter
from tests.contracts.rate_limiter import ADDRESS, HOST, NOW, RateLimiterContract

ROOT = Path(__file__).parents[3]
PACE_SECONDS = 0.05


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "tenax"


@pytest.fixture
async def limiter(directory: Path) -> AsyncIterator[MachineRateLimiter]:
    rate_limiter = MachineRateLimiter(directory, ManualClock(NOW))
    yield rate_limiter
    await rate_limiter.close()


class TestMachineRateLimiter(RateLimiterContract): ...


# ---- the same as within one process -----------------------------------------------------------------------

# Calls happen on whole hundredths and paces end between them, so that rounding decides nothing.
SOME_ROUNDS = st.lists(
    st.builds(
        Permit,
        st.sampled_from(["host http://a.example", "host http://b.example", "address 1.2.3.4"]),
        st.sampled_from([0.0, 0.015, 0.105, 0.995]),
        st.sampled_from([0.0, 0.205, 1.005]),
    ),
    max_size=3,
    unique_by=lambda permit: permit.key,
)
CALLS = st.lists(
    st.tuples(st.integers(0, 40), st.booleans(), st.sampled_from(["take", "end", "hold"]), SOME_ROUNDS), max_size=60
)


@settings(max_examples=150, deadline=None)
@given(CALLS)
async def test_two_who_share_a_machine_are_served_like_two_who_share_a_process(
    calls: list[tuple[int, bool, str, list[Permit]]],
) -> None:
    with tempfile.TemporaryDirectory() as parent:
        expected, clock = ProcessRateLimiter(), SteadyClock()
        both = [MachineRateLimiter(Path(parent) / "tenax", clock) for _ in range(2)]
        both[1]._owner_id = both[0]._owner_id  # so that neither yields to the other
        begin = round(clock.now())
        hundredths = 0
        for later, is_first, what, permits in calls:
            hundredths += later
            now = begin + hundredths / 100
            one = both[is_first]
            if what == "end":
                await one.release(permits, now)
                one._write_released()  # the other must know of it
                await expected.release(permits, now)
                continue
            if what == "hold":
                for permit in permits:
                    await one.back_off(permit.key, now + permit.pace_seconds, now)
                    await expected.back_off(permit.key, now + permit.pace_seconds, now)
                continue
            local = await expected.acquire(permits, now)
            shared = await one.acquire(permits, now)
            assert (shared == now) == (local == now)
            assert shared == pytest.approx(local, abs=1e-4)
        for one in both:
            await one.close()


# ---- between processes ------------------------------------------------------------------------------------


def worker(directory: Path, pace: float, busy_seconds: float, threads: int, most: int) -> subprocess.Popen[str]:
    """Makes this many requests; without threads it takes one permit and does nothing more."""
    command = [sys.executable, str(ROOT / "tests/hosts/machine_worker.py"), str(directory)]
    command += [str(pace), str(busy_seconds), str(threads), str(most)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_two_processes_with_four_threads_each_keep_one_pace(directory: Path) -> None:
    processes = [worker(directory, PACE_SECONDS, busy_seconds=60.0, threads=4, most=15) for _ in range(2)]
    said = [process.communicate(timeout=120)[0].split("\n") for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    requests = sorted(tuple(map(float, line.split())) for lines in said for line in lines if line)
    assert min(len(lines) for lines in said) >= 15, "both had permits"
    for (_, answered_at), (started_at, _) in pairwise(requests):
        assert started_at >= answered_at + PACE_SECONDS - 1e-5


async def test_killing_a_process_in_flight_holds_others_up_no_longer_than_its_request(directory: Path) -> None:
    clock = SteadyClock()
    rate_limiter = MachineRateLimiter(directory, clock)
    permit = Permit("host http://a.example", 1.0, busy_seconds=200.0)
    victim = worker(directory, pace=1.0, busy_seconds=200.0, threads=0, most=0)
    assert victim.stdout is not None
    assert victim.stdout.readline() == "taken\n"
    victim.kill()
    victim.communicate()
    now = clock.now()
    assert await rate_limiter.acquire([permit], now) == pytest.approx(now + 1.0, abs=0.01), "it may be answered yet"
    assert await rate_limiter.acquire([permit], now + 100) > now + 100
    assert await rate_limiter.acquire([permit], now + 200) == now + 200
    await rate_limiter.close()


async def test_a_bucket_that_stays_locked_stops_nobody_and_a_lock_ends_with_its_owner(directory: Path) -> None:
    rate_limiter = MachineRateLimiter(directory, ManualClock(NOW))
    stopped = MachineRateLimiter(directory, ManualClock(NOW))
    assert await rate_limiter.acquire([HOST], NOW) == NOW
    assert stopped._lock([key_slot(HOST.key)])
    assert NOW + 40 < await rate_limiter.acquire([HOST], NOW + 40) < NOW + 40.1
    await rate_limiter.release([HOST], NOW + 1)
    await rate_limiter.back_off(HOST.key, NOW + 20, NOW + 1)
    assert await rate_limiter.acquire([Permit("host http://elsewhere.example", 1.0)], NOW) == NOW
    await stopped.close()
    assert await rate_limiter.acquire([HOST], NOW + 2) == pytest.approx(NOW + 20, abs=1e-5), "written late, but written"
    assert await rate_limiter.acquire([HOST], NOW + 21) == NOW + 21
    await rate_limiter.close()


async def test_a_bucket_that_stays_locked_does_not_keep_the_ends_of_others(directory: Path) -> None:
    rate_limiter, stopped = (MachineRateLimiter(directory, ManualClock(NOW)) for _ in range(2))
    permits = [Permit(f"host http://{number}.example", 1.0, 30.0) for number in range(20)]
    for permit in permits:
        await rate_limiter.acquire([permit], NOW)
    assert stopped._lock([key_slot(permits[7].key)])
    await rate_limiter.release(permits, NOW + 1)
    assert [permit for permit in permits[:7] if await rate_limiter.acquire([permit], NOW + 2.1) > NOW + 2.1] == []
    await stopped.close()
    assert [permit for permit in permits[7:] if await rate_limiter.acquire([permit], NOW + 2.1) > NOW + 2.1] == [], (
        "late, but written"
    )
    await rate_limiter.close()


async def test_what_cannot_be_written_for_long_is_not_piled_up(directory: Path) -> None:
    rate_limiter, stopped = (MachineRateLimiter(directory, ManualClock(NOW)) for _ in range(2))
    assert stopped._lock([key_slot(HOST.key)])
    for _ in range(2000):
        rate_limiter._pending_writes.append(([key_slot(HOST.key)], lambda: None))
    assert await rate_limiter.acquire([HOST], NOW) > NOW
    assert len(rate_limiter._pending_writes) <= 1000
    for one in (stopped, rate_limiter):
        await one.close()


class Naps:
    """Time that passes only while sleeping."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


async def test_the_event_loop_waits_no_longer_than_two_milliseconds_for_a_lock(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate_limiter, stopped = (MachineRateLimiter(directory, ManualClock(NOW)) for _ in range(2))
    naps = Naps()
    monkeypatch.setattr("tenax.hosts.limiter.machine.time", naps)
    assert stopped._lock([key_slot(HOST.key)])

    async def write_release() -> None:
        await rate_limiter.release([HOST], NOW)
        rate_limiter._write_released()

    for call in (
        lambda: rate_limiter.acquire([HOST], NOW),
        write_release,
        lambda: rate_limiter.back_off(HOST.key, NOW, NOW),
    ):
        rate_limiter._pending_writes.clear()
        began = naps.now
        await call()
        assert 0.0005 < naps.now - began < 0.002
    for one in (stopped, rate_limiter):
        await one.close()


async def test_a_pace_set_by_one_crawl_is_kept_by_the_others(directory: Path) -> None:
    slow, fast = (MachineRateLimiter(directory, ManualClock(NOW)) for _ in range(2))
    other = Permit("host http://b.example", 2.0, 30.0)
    await slow.back_off(HOST.key, 0.0, NOW, pace_seconds=8.0)
    assert await fast.acquire([HOST, other], NOW) == NOW
    await fast.release([HOST, other], NOW + 1)
    assert await fast.acquire([HOST], NOW + 3.1) == pytest.approx(NOW + 9, abs=0.01), "its own is two seconds"
    assert await fast.acquire([other], NOW + 3.1) == NOW + 3.1
    await fast.back_off(HOST.key, 0.0, NOW + 3, pace_seconds=3.0)
    assert await fast.acquire([HOST], NOW + 9.1) == NOW + 9.1, "who knows a faster one does not change it"
    await fast.release([HOST], NOW + 10)
    fast._write_released()
    assert await slow.acquire([HOST], NOW + 12) == pytest.approx(NOW + 18, abs=0.01)
    await slow.back_off(HOST.key, 0.0, NOW + 18, pace_seconds=4.0)
    await slow.acquire([HOST], NOW + 18.1)
    await slow.release([HOST], NOW + 18.1)
    slow._write_released()
    await fast.acquire([HOST], NOW + 30)
    await fast.release([HOST], NOW + 30)
    assert await fast.acquire([HOST], NOW + 33) == pytest.approx(NOW + 34, abs=0.01), "who said it may say otherwise"
    await fast.acquire([HOST], NOW + 700)
    await fast.release([HOST], NOW + 700)
    assert await fast.acquire([HOST], NOW + 702.1) == NOW + 702.1, "nobody has said it for ten minutes"
    for one in (slow, fast):
        await one.close()


async def test_a_waiting_owner_gets_the_next_permit(directory: Path) -> None:
    quick, late = (MachineRateLimiter(directory, ManualClock(NOW)) for _ in range(2))
    await quick.acquire([HOST], NOW)
    await quick.release([HOST], NOW + 1)
    assert await quick.acquire([HOST], NOW + 2) == pytest.approx(NOW + 3, abs=0.01)
    again_at = await late.acquire([HOST], NOW + 2.5)
    assert again_at == pytest.approx(NOW + 3, abs=0.01)
    wait_until = await quick.acquire([HOST], NOW + 3.01)
    assert wait_until == pytest.approx(NOW + 3.05, abs=0.01), "though it was there first"
    assert await late.acquire([HOST], NOW + 3.02) == NOW + 3.02
    await late.release([HOST], NOW + 4)
    assert await late.acquire([HOST], NOW + 6.1) == NOW + 6.1, "nobody waits for those who do not ask"
    await late.release([HOST], NOW + 7)
    late._write_released()
    await quick.acquire([HOST], NOW + 8)
    assert await late.acquire([HOST], NOW + 9.2) == NOW + 9.2, "nor any longer than a moment"
    for one in (quick, late):
        await one.close()


# ---- releases in batches ----------------------------------------------------------------------------------


class Counting(MachineRateLimiter):
    """Counts how often the table is locked."""

    locks = 0

    def _lock(self, slots: Sequence[TableSlot], timeout_seconds: float = 0.001) -> bool:
        self.locks += 1
        return super()._lock(slots, timeout_seconds)


async def test_releases_are_written_together_a_moment_later(directory: Path) -> None:
    one, neighbour = (Counting(directory, ManualClock(NOW)) for _ in range(2))
    permits = [Permit(f"host http://{number}.example", 0.5, 30.0) for number in range(6)]
    for permit in permits:
        await one.acquire([permit], NOW)
        await one.release([permit, ADDRESS], NOW + 1)
    before = one.locks
    assert await neighbour.acquire([permits[0]], NOW + 1.6) > NOW + 1.6
    await asyncio.sleep(2 * BATCH_SECONDS)
    assert one.locks == before + 1
    for permit in permits:
        assert await neighbour.acquire([permit], NOW + 1.6) == NOW + 1.6
    for limiter in (one, neighbour):
        await limiter.close()


async def test_a_released_permit_is_written_before_it_is_acquired_again(directory: Path) -> None:
    rate_limiter = Counting(directory, ManualClock(NOW))
    other = Permit("host http://b.example", 2.0, 30.0)
    await rate_limiter.acquire([HOST], NOW)
    await rate_limiter.release([HOST], NOW + 1)
    before = rate_limiter.locks
    assert await rate_limiter.acquire([other], NOW + 1) == NOW + 1
    assert rate_limiter.locks == before + 1, "only its own"
    assert await rate_limiter.acquire([HOST], NOW + 3.1) == NOW + 3.1
    assert rate_limiter.locks == before + 3, "the release and its own"
    await rate_limiter.close()


async def test_the_last_releases_are_written_when_it_is_closed(directory: Path) -> None:
    one, neighbour = (MachineRateLimiter(directory, ManualClock(NOW)) for _ in range(2))
    await one.acquire([HOST], NOW)
    await one.release([HOST], NOW + 1)
    await one.close()
    await asyncio.sleep(2 * BATCH_SECONDS)  # a timer that still ran would write to a closed file
    assert await neighbour.acquire([HOST], NOW + 3.1) == NOW + 3.1
    await neighbour.close()


# ---- time -------------------------------------------------------------------------------------------------


async def test_processes_with_different_wall_clocks_share_the_rate_limit(directory: Path) -> None:
    one = MachineRateLimiter(directory, ManualClock(NOW))
    hour_later = MachineRateLimiter(directory, ManualClock(NOW + 3600))
    assert await one.acquire([HOST], NOW) == NOW
    assert await hour_later.acquire([HOST], NOW + 3629) == pytest.approx(NOW + 3630, abs=0.5)
    for rate_limiter in (one, hour_later):
        await rate_limiter.close()


async def test_after_a_reboot_old_permits_are_ignored(directory: Path) -> None:
    clock = ManualClock(NOW)
    before = MachineRateLimiter(directory, clock)
    clock.advance(864_000)  # ten days up
    slow = Permit("host http://slow.example", 86_400.0)
    assert await before.acquire([slow, HOST], clock.now()) == clock.now()
    await before.close()
    after = MachineRateLimiter(directory, ManualClock(NOW))  # its machine has been up for less
    assert await after.acquire([slow, HOST], NOW) == NOW
    assert await after.acquire([slow], NOW + 1) == pytest.approx(NOW + 86_400, abs=1e-5)
    await after.close()


# ---- the table --------------------------------------------------------------------------------------------


def in_one_bucket(count: int) -> list[str]:
    bucket = key_slot("host http://0.example").bucket
    names = (f"host http://{number}.example" for number in range(1_000_000))
    found = (name for name in names if key_slot.__wrapped__(name).bucket == bucket)
    return [next(found) for _ in range(count)]


async def test_a_full_bucket_gives_away_what_has_passed_and_never_what_lies_ahead(limiter: MachineRateLimiter) -> None:
    *first, late, later = in_one_bucket(18)
    for number, key in enumerate(first):
        assert await limiter.acquire([Permit(key, 10.0 + number)], NOW) == NOW
    assert await limiter.acquire([Permit(late, 1.0)], NOW + 5) == pytest.approx(NOW + 10, abs=1e-5), (
        "when the first is free"
    )
    assert all([await limiter.acquire([Permit(key, 1.0)], NOW + 5) > NOW + 5 for key in first])
    both = [Permit(late, 1.0), Permit(later, 1.0)]
    assert await limiter.acquire(both, NOW + 10.5) == pytest.approx(NOW + 11, abs=1e-5), (
        "two lines are wanted, one is free"
    )
    assert await limiter.acquire(both, NOW + 11.5) == NOW + 11.5
    assert await limiter.acquire([both[0]], NOW + 11.6) > NOW + 11.6
    await limiter.release([Permit(first[0], 1.0, 1.0)], NOW + 11.7)
    limiter._write_released()
    assert all([await limiter.acquire([Permit(key, 1.0)], NOW + 11.8) > NOW + 11.8 for key in first[2:]])


@pytest.mark.usefixtures("limiter")
def test_the_file_is_ours_alone_and_takes_its_room_beforehand(directory: Path) -> None:
    (file,) = directory.iterdir()
    found = file.stat()
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert found.st_blocks * 512 >= found.st_size > 1_000_000


@pytest.fixture
def unfinished(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    (directory / "permits-2").touch(mode=0o600)


@pytest.mark.usefixtures("unfinished")
async def test_a_file_that_was_not_finished_is_finished(directory: Path) -> None:
    rate_limiter = MachineRateLimiter(directory, ManualClock(NOW))
    assert await rate_limiter.acquire([HOST], NOW) == NOW
    await rate_limiter.close()


# ---- fallbacks --------------------------------------------------------------------------------------------


def opened(directory: Path, caplog: pytest.LogCaptureFixture) -> tuple[RateLimiter, str]:
    """The fallback, and the reason in the one warning."""
    with caplog.at_level(logging.WARNING):
        rate_limiter = open_rate_limiter(PolitenessConfig(), ManualClock(NOW), directory)
    (record,) = caplog.records
    assert record.message == "rate limit is not shared with other crawls on this machine"
    return rate_limiter, record.__dict__["fields"]["why"]


def test_a_directory_that_others_may_enter_is_refused(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory.mkdir()
    directory.chmod(0o777)
    rate_limiter, why = opened(directory, caplog)
    assert isinstance(rate_limiter, ProcessRateLimiter)
    assert "open to other users" in why


def test_a_directory_of_another_user_is_refused(
    directory: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: directory.stat().st_uid + 1)
    rate_limiter, why = opened(directory, caplog)
    assert isinstance(rate_limiter, ProcessRateLimiter)
    assert "belongs to another user" in why


def test_a_symlink_instead_of_the_file_is_refused(
    directory: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    directory.symlink_to(tmp_path / "elsewhere")
    rate_limiter, _ = opened(directory, caplog)
    assert isinstance(rate_limiter, ProcessRateLimiter)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_file_that_is_a_link_is_refused(directory: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory.mkdir(mode=0o700)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (directory / "permits-2").symlink_to(precious)
    rate_limiter, _ = opened(directory, caplog)
    assert isinstance(rate_limiter, ProcessRateLimiter)
    assert precious.read_text() == "mine"


def test_who_shares_with_nobody_leaves_no_file(directory: Path) -> None:
    rate_limiter = open_rate_limiter(PolitenessConfig(share_rate_limit=False), ManualClock(NOW), directory)
    assert isinstance(rate_limiter, ProcessRateLimiter)
    assert not directory.exists()


async def test_the_shared_limiter_sees_the_others(directory: Path) -> None:
    one, two = (open_rate_limiter(PolitenessConfig(), ManualClock(NOW), directory) for _ in range(2))
    assert await one.acquire([HOST], NOW) == NOW
    assert await two.acquire([HOST], NOW + 1) > NOW + 1
    await one.close()
    await two.close()
