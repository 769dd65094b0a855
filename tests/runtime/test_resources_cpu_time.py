"""Work that does not end by itself is ended: Python by an interruption, anything else with its process."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tenax
from tenax.runtime import resources
from tenax.runtime.resources import cpu_seconds, limit_cpu_time

ENVIRONMENT = {"PYTHONPATH": str(Path(tenax.__file__).parents[1])}
GRACE_SECONDS = 0.1
"""Ours is longer, and would make these tests so."""


class TimeUp(Exception):
    pass


def busy(seconds: float) -> None:
    """Rarely in the kernel, as reading the clock would be: only user time counts for `limit_cpu_time`."""
    until = cpu_seconds() + seconds
    while cpu_seconds() < until:
        for _ in range(10_000):
            pass


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "CPU_GRACE_SECONDS", GRACE_SECONDS)


def test_python_code_is_interrupted_when_its_time_is_up() -> None:
    with pytest.raises(TimeUp), limit_cpu_time(0.01, TimeUp):
        busy(3600)


def test_code_that_ends_in_time_is_left_alone() -> None:
    with limit_cpu_time(3600, TimeUp):
        busy(0.01)
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    busy(0.01)


def test_after_an_interruption_nothing_is_left_of_it() -> None:
    for _ in range(2):
        with pytest.raises(TimeUp), limit_cpu_time(0.01, TimeUp):
            busy(3600)
        assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    busy(3 * GRACE_SECONDS)


def test_an_error_of_the_code_itself_is_its_own() -> None:
    with pytest.raises(KeyError), limit_cpu_time(3600, TimeUp):
        raise KeyError
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)


def test_other_threads_and_other_users_of_the_signal_are_left_alone() -> None:
    def work() -> None:
        with limit_cpu_time(0.01, TimeUp):
            busy(3 * GRACE_SECONDS)
        done.append(True)

    done: list[bool] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert done == [True]
    before = signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
    try:
        with limit_cpu_time(0.01, TimeUp):
            busy(3 * GRACE_SECONDS)
        assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGVTALRM, before)


def test_a_process_that_keeps_the_signal_interrupts_each_block_by_its_own_time() -> None:
    """The timer of a block runs on behind it: it interrupts neither what comes next nor a block that has time left."""
    program = f"""
from tenax.runtime import resources
from tenax.runtime.resources import cpu_seconds, keep_signal, limit_cpu_time
{inspect.getsource(busy)}
resources.CPU_GRACE_SECONDS = grace = {GRACE_SECONDS}
keep_signal()
for _ in range(2):
    with limit_cpu_time(0.01, KeyError):
        pass
    busy(3 * grace)
    with limit_cpu_time(0.01, KeyError):
        busy(0.5 * grace)
    with limit_cpu_time(60, ValueError):
        busy(3 * grace)
    try:
        with limit_cpu_time(0.01, KeyError):
            busy(3600)
    except KeyError:
        print("cut off")
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT, stdout=subprocess.PIPE, check=False, timeout=600
    )
    assert (ended.returncode, ended.stdout.split(b"\n")) == (0, [b"cut off", b"cut off", b""])


@pytest.mark.parametrize(
    ("work", "code"),
    [
        ("sum(range(10**12))", -signal.SIGXCPU),
        ("[limit.allow(0.1) or busy(0.5) for _ in range(5)]", 0),
        ("[limit.allow(0.1, cpu_seconds()) or busy(0.5) for _ in range(5)]", 0),
    ],
    ids=["one piece that does not end", "many that do", "many, with what was used before them"],
)
def test_a_process_that_does_not_come_to_an_end_is_ended(work: str, code: int) -> None:
    """Whatever it is doing: a loop in C handles no Python signal. Five times half a second are more than the first
    limit, which is two seconds."""
    program = f"""
from tenax.runtime.resources import ProcessLimit, cpu_seconds
{inspect.getsource(busy)}
limit = ProcessLimit()
limit.allow(0.1)
{work}
"""
    ended = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, check=False, timeout=600)
    assert ended.returncode == code
