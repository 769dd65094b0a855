"""What the tests cost: `--durations=30` lists the tests and the files that take most, in CPU time and in wall time."""

from __future__ import annotations

import os
import resource
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

PROPERTY = "cpu_seconds"


class Durations:
    """Reports carry the CPU times from the processes that run the tests to the one that prints the summary."""

    def __init__(self) -> None:
        self._cpu_before = 0.0
        self._cpu: dict[str, float] = defaultdict(float)
        self._wall: dict[str, float] = defaultdict(float)

    def pytest_runtest_logstart(self) -> None:
        """The first test did not use what was used before it: that was for importing and collecting all of them."""
        self._cpu_before = self._cpu_before or cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        before, self._cpu_before = self._cpu_before, cpu_seconds()
        report.user_properties.append((PROPERTY, max(self._cpu_before - before, 0.0)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._wall[report.nodeid] += report.duration
        for name, value in report.user_properties:
            if name == PROPERTY and isinstance(value, float):
                self._cpu[report.nodeid] += value

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        count = config.getoption("durations") or None
        terminalreporter.section("CPU time and wall time: processes that a test started are included")
        lines = (
            *_table("tests by CPU time", self._cpu, self._cpu, self._wall, count),
            *_table("tests by wall time", self._wall, self._cpu, self._wall, count),
            *_table("files by CPU time", by_file(self._cpu), by_file(self._cpu), by_file(self._wall), count),
        )
        for line in lines:
            terminalreporter.write_line(line)


def by_file(tests: Mapping[str, float]) -> dict[str, float]:
    files: dict[str, float] = defaultdict(float)
    for test, seconds in tests.items():
        files[test.partition("::")[0]] += seconds
    return files


def _table(
    title: str, order: Mapping[str, float], cpu: Mapping[str, float], wall: Mapping[str, float], count: int | None
) -> Iterator[str]:
    yield f"{sum(cpu.values()):7.2f}s {sum(wall.values()):7.2f}s  all {title}"
    for name in sorted(order, key=order.__getitem__, reverse=True)[:count]:
        yield f"{cpu[name]:7.2f}s {wall[name]:7.2f}s  {name}"


def cpu_seconds() -> float:
    """Of this process and of all that it started, whether they have ended or still run.

    Missing are processes whose parent has ended before them or did not wait for them, such as those of a Chromium that
    was ended.
    """
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used) + sum(_running_seconds(os.getpid()))


def _running_seconds(parent: int) -> Iterator[float]:
    """Of each process below this one. The numbers of a process include those of its children that have ended."""
    ticks_per_second = os.sysconf("SC_CLK_TCK")
    for child in _children(parent):
        with suppress(OSError):  # it has ended meanwhile
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            yield sum(map(int, fields[11:15])) / ticks_per_second
        yield from _running_seconds(child)


def _children(parent: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{parent}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found
