from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.clock import ManualClock, SteadyClock
from tenax.config import PolitenessConfig
from tenax.hosts import SharedTurns, Turn
from tenax.hosts.limiter.machine import MachineTurns, open_turns
from tenax.hosts.limiter.machine_table import place_of
from tenax.hosts.limiter.process import LocalTurns
from tests.contracts.turns import HOST, NOW, TurnsContract

ROOT = Path(__file__).parents[3]
PACE_SECONDS = 0.05


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "tenax"


@pytest.fixture
def turns(directory: Path) -> Iterator[SharedTurns]:
    turns = MachineTurns(directory, ManualClock(NOW))
    yield turns
    turns.close()


class TestMachineTurns(TurnsContract): ...


# ---- the same as within one process -----------------------------------------------------------------------

# Calls happen on whole hundredths and paces end between them, so that rounding decides nothing.
SOME_TURNS = st.lists(
    st.builds(
        Turn,
        st.sampled_from(["host http://a.example", "host http://b.example", "address 1.2.3.4"]),
        st.sampled_from([0.0, 0.015, 0.105, 0.995]),
        st.sampled_from([0.0, 0.205, 1.005]),
    ),
    max_size=3,
    unique_by=lambda turn: turn.key,
)
CALLS = st.lists(
    st.tuples(st.integers(0, 40), st.booleans(), st.sampled_from(["take", "end", "hold"]), SOME_TURNS), max_size=60
)


@settings(max_examples=150, deadline=None)
@given(CALLS)
def test_two_who_share_a_machine_are_served_like_two_who_share_a_process(
    calls: list[tuple[int, bool, str, list[Turn]]],
) -> None:
    with tempfile.TemporaryDirectory() as parent:
        expected, clock = LocalTurns(), SteadyClock()
        both = [MachineTurns(Path(parent) / "tenax", clock) for _ in range(2)]
        both[1]._me = both[0]._me  # not to be kinder to each other than one is to itself
        begin = round(clock.now())
        hundredths = 0
        for later, is_first, what, turns in calls:
            hundredths += later
            now = begin + hundredths / 100
            one = both[is_first]
            if what == "end":
                one.end(turns, now)
                expected.end(turns, now)
                continue
            if what == "hold":
                for turn in turns:
                    one.hold(turn.key, now + turn.pace_seconds, now)
                    expected.hold(turn.key, now + turn.pace_seconds, now)
                continue
            local = expected.take(turns, now)
            shared = one.take(turns, now)
            assert (shared == now) == (local == now)
            assert shared == pytest.approx(local, abs=1e-4)
        for one in both:
            one.close()


# ---- between processes ------------------------------------------------------------------------------------


def worker(directory: Path, pace: float, busy_seconds: float, threads: int, most: int) -> subprocess.Popen[str]:
    """Makes so many requests; without threads it begins one, and no more comes of it."""
    command = [sys.executable, str(ROOT / "tests/hosts/machine_worker.py"), str(directory)]
    command += [str(pace), str(busy_seconds), str(threads), str(most)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_two_processes_with_four_threads_each_keep_one_pace(directory: Path) -> None:
    processes = [worker(directory, PACE_SECONDS, busy_seconds=60.0, threads=4, most=15) for _ in range(2)]
    said = [process.communicate(timeout=120)[0].split("\n") for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    requests = sorted(tuple(map(float, line.split())) for lines in said for line in lines if line)
    assert min(len(lines) for lines in said) >= 15, "both had turns"
    for (_, answered_at), (started_at, _) in pairwise(requests):
        assert started_at >= answered_at + PACE_SECONDS - 1e-5


def test_killing_a_process_in_flight_holds_others_up_no_longer_than_its_request(directory: Path) -> None:
    clock = SteadyClock()
    turns = MachineTurns(directory, clock)
    turn = Turn("host http://a.example", 1.0, busy_seconds=200.0)
    victim = worker(directory, pace=1.0, busy_seconds=200.0, threads=0, most=0)
    assert victim.stdout is not None
    assert victim.stdout.readline() == "taken\n"
    victim.kill()
    victim.communicate()
    now = clock.now()
    assert turns.take([turn], now) == pytest.approx(now + 1.0, abs=0.01), "it may be answered yet"
    assert turns.take([turn], now + 100) > now + 100
    assert turns.take([turn], now + 200) == now + 200
    turns.close()


def test_a_bucket_that_stays_locked_stops_nobody_and_a_lock_ends_with_its_owner(directory: Path) -> None:
    turns = MachineTurns(directory, ManualClock(NOW))
    stopped = MachineTurns(directory, ManualClock(NOW))
    assert turns.take([HOST], NOW) == NOW
    assert stopped._lock([place_of(HOST.key)])
    assert NOW + 40 < turns.take([HOST], NOW + 40) < NOW + 40.1
    turns.end([HOST], NOW + 1)
    turns.hold(HOST.key, NOW + 20, NOW + 1)
    assert turns.take([Turn("host http://elsewhere.example", 1.0)], NOW) == NOW
    stopped.close()
    assert turns.take([HOST], NOW + 2) == pytest.approx(NOW + 20, abs=1e-5), "written late, but written"
    assert turns.take([HOST], NOW + 21) == NOW + 21
    turns.close()


def test_a_bucket_that_stays_locked_does_not_keep_the_ends_of_others(directory: Path) -> None:
    turns, stopped = (MachineTurns(directory, ManualClock(NOW)) for _ in range(2))
    held = [Turn(f"host http://{number}.example", 1.0, 30.0) for number in range(20)]
    for turn in held:
        turns.take([turn], NOW)
    assert stopped._lock([place_of(held[7].key)])
    turns.end_all([(turn, NOW + 1) for turn in held])
    assert [turn for turn in held[:7] if turns.take([turn], NOW + 2.1) > NOW + 2.1] == []
    stopped.close()
    assert [turn for turn in held[7:] if turns.take([turn], NOW + 2.1) > NOW + 2.1] == [], "late, but written"
    turns.close()


def test_what_cannot_be_written_for_long_is_not_piled_up(directory: Path) -> None:
    turns, stopped = (MachineTurns(directory, ManualClock(NOW)) for _ in range(2))
    assert stopped._lock([place_of(HOST.key)])
    for _ in range(2000):
        turns._late.append(([place_of(HOST.key)], lambda: None))
    assert turns.take([HOST], NOW) > NOW
    assert len(turns._late) <= 1000
    for one in (stopped, turns):
        one.close()


class Naps:
    """Time that passes only in naps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_the_event_loop_waits_no_longer_than_two_milliseconds_for_a_lock(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, stopped = (MachineTurns(directory, ManualClock(NOW)) for _ in range(2))
    naps = Naps()
    monkeypatch.setattr("tenax.hosts.limiter.machine.time", naps)
    assert stopped._lock([place_of(HOST.key)])
    for call in (
        lambda: turns.take([HOST], NOW),
        lambda: turns.end([HOST], NOW),
        lambda: turns.hold(HOST.key, NOW, NOW),
    ):
        turns._late.clear()
        began = naps.now
        call()
        assert 0.0005 < naps.now - began < 0.002
    for one in (stopped, turns):
        one.close()


def test_a_pace_that_one_crawl_has_learned_is_kept_by_the_others(directory: Path) -> None:
    slow, fast = (MachineTurns(directory, ManualClock(NOW)) for _ in range(2))
    other = Turn("host http://b.example", 2.0, 30.0)
    slow.hold(HOST.key, 0.0, NOW, pace_seconds=8.0)
    assert fast.take([HOST, other], NOW) == NOW
    fast.end([HOST, other], NOW + 1)
    assert fast.take([HOST], NOW + 3.1) == pytest.approx(NOW + 9, abs=0.01), "its own is two seconds"
    assert fast.take([other], NOW + 3.1) == NOW + 3.1
    fast.hold(HOST.key, 0.0, NOW + 3, pace_seconds=3.0)
    assert fast.take([HOST], NOW + 9.1) == NOW + 9.1, "who knows a faster one does not change it"
    fast.end([HOST], NOW + 10)
    assert slow.take([HOST], NOW + 12) == pytest.approx(NOW + 18, abs=0.01)
    slow.hold(HOST.key, 0.0, NOW + 18, pace_seconds=4.0)
    slow.take([HOST], NOW + 18.1)
    slow.end([HOST], NOW + 18.1)
    fast.take([HOST], NOW + 30)
    fast.end([HOST], NOW + 30)
    assert fast.take([HOST], NOW + 33) == pytest.approx(NOW + 34, abs=0.01), "who said it may say otherwise"
    fast.take([HOST], NOW + 700)
    fast.end([HOST], NOW + 700)
    assert fast.take([HOST], NOW + 702.1) == NOW + 702.1, "nobody has said it for ten minutes"
    for one in (slow, fast):
        one.close()


def test_who_came_in_vain_has_the_next_turn(directory: Path) -> None:
    quick, late = (MachineTurns(directory, ManualClock(NOW)) for _ in range(2))
    quick.take([HOST], NOW)
    quick.end([HOST], NOW + 1)
    assert quick.take([HOST], NOW + 2) == pytest.approx(NOW + 3, abs=0.01)
    again_at = late.take([HOST], NOW + 2.5)
    assert again_at == pytest.approx(NOW + 3, abs=0.01)
    wait_until = quick.take([HOST], NOW + 3.01)
    assert wait_until == pytest.approx(NOW + 3.05, abs=0.01), "though it was there first"
    assert late.take([HOST], NOW + 3.02) == NOW + 3.02
    late.end([HOST], NOW + 4)
    assert late.take([HOST], NOW + 6.1) == NOW + 6.1, "nobody waits for those who do not ask"
    late.end([HOST], NOW + 7)
    quick.take([HOST], NOW + 8)
    assert late.take([HOST], NOW + 9.2) == NOW + 9.2, "nor any longer than a moment"
    for one in (quick, late):
        one.close()


# ---- time -------------------------------------------------------------------------------------------------


def test_processes_that_disagree_about_the_wall_clock_agree_about_turns(directory: Path) -> None:
    one = MachineTurns(directory, ManualClock(NOW))
    hour_later = MachineTurns(directory, ManualClock(NOW + 3600))
    assert one.take([HOST], NOW) == NOW
    assert hour_later.take([HOST], NOW + 3629) == pytest.approx(NOW + 3630, abs=0.5)
    for turns in (one, hour_later):
        turns.close()


def test_after_a_restart_of_the_machine_old_turns_mean_nothing(directory: Path) -> None:
    clock = ManualClock(NOW)
    before = MachineTurns(directory, clock)
    clock.advance(864_000)  # ten days up
    slow = Turn("host http://slow.example", 86_400.0)
    assert before.take([slow, HOST], clock.now()) == clock.now()
    before.close()
    after = MachineTurns(directory, ManualClock(NOW))  # its machine has been up for less
    assert after.take([slow, HOST], NOW) == NOW
    assert after.take([slow], NOW + 1) == pytest.approx(NOW + 86_400, abs=1e-5)
    after.close()


# ---- the table --------------------------------------------------------------------------------------------


def in_one_bucket(count: int) -> list[str]:
    bucket = place_of("host http://0.example").bucket
    names = (f"host http://{number}.example" for number in range(1_000_000))
    found = (name for name in names if place_of.__wrapped__(name).bucket == bucket)
    return [next(found) for _ in range(count)]


def test_a_full_bucket_gives_away_what_has_passed_and_never_what_lies_ahead(turns: SharedTurns) -> None:
    *first, late, later = in_one_bucket(18)
    for number, key in enumerate(first):
        assert turns.take([Turn(key, 10.0 + number)], NOW) == NOW
    assert turns.take([Turn(late, 1.0)], NOW + 5) == pytest.approx(NOW + 10, abs=1e-5), "when the first is free"
    assert all(turns.take([Turn(key, 1.0)], NOW + 5) > NOW + 5 for key in first)
    both = [Turn(late, 1.0), Turn(later, 1.0)]
    assert turns.take(both, NOW + 10.5) == pytest.approx(NOW + 11, abs=1e-5), "two lines are wanted, one is free"
    assert turns.take(both, NOW + 11.5) == NOW + 11.5
    assert turns.take([both[0]], NOW + 11.6) > NOW + 11.6
    turns.end([Turn(first[0], 1.0, 1.0)], NOW + 11.7)
    assert all(turns.take([Turn(key, 1.0)], NOW + 11.8) > NOW + 11.8 for key in first[2:])


def test_the_file_is_ours_alone_and_takes_its_room_beforehand(directory: Path, turns: SharedTurns) -> None:
    (file,) = directory.iterdir()
    found = file.stat()
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert found.st_blocks * 512 >= found.st_size > 1_000_000


def test_a_file_that_was_not_finished_is_finished(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    (directory / "turns-2").touch(mode=0o600)
    turns = MachineTurns(directory, ManualClock(NOW))
    assert turns.take([HOST], NOW) == NOW
    turns.close()


# ---- where it cannot be had -------------------------------------------------------------------------------


def opened(directory: Path, caplog: pytest.LogCaptureFixture) -> tuple[SharedTurns, str]:
    """What is used then, and the reason in the one warning."""
    with caplog.at_level(logging.WARNING):
        turns = open_turns(PolitenessConfig(), ManualClock(NOW), directory)
    (record,) = caplog.records
    assert record.message == "turns are not shared with other crawls on this machine"
    return turns, record.__dict__["fields"]["why"]


def test_a_directory_that_others_may_enter_is_refused(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory.mkdir()
    directory.chmod(0o777)
    turns, why = opened(directory, caplog)
    assert isinstance(turns, LocalTurns)
    assert "open to other users" in why


def test_a_directory_of_another_user_is_refused(
    directory: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: directory.stat().st_uid + 1)
    turns, why = opened(directory, caplog)
    assert isinstance(turns, LocalTurns)
    assert "belongs to another user" in why


def test_a_link_in_its_place_is_refused(directory: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    directory.symlink_to(tmp_path / "elsewhere")
    turns, _ = opened(directory, caplog)
    assert isinstance(turns, LocalTurns)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_file_that_is_a_link_is_refused(directory: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory.mkdir(mode=0o700)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (directory / "turns-2").symlink_to(precious)
    turns, _ = opened(directory, caplog)
    assert isinstance(turns, LocalTurns)
    assert precious.read_text() == "mine"


def test_who_shares_with_nobody_leaves_no_file(directory: Path) -> None:
    turns = open_turns(PolitenessConfig(share_turns=False), ManualClock(NOW), directory)
    assert isinstance(turns, LocalTurns)
    assert not directory.exists()


def test_who_shares_finds_the_others(directory: Path) -> None:
    one, two = (open_turns(PolitenessConfig(), ManualClock(NOW), directory) for _ in range(2))
    assert one.take([HOST], NOW) == NOW
    assert two.take([HOST], NOW + 1) > NOW + 1
    one.close()
    two.close()
