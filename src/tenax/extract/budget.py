"""What reading one page may cost: CPU time, which only the caller can measure, and the reason when it was too much."""

from __future__ import annotations

from collections.abc import Callable


class TooCostly(Exception):
    """The page costs more than a page may: nothing is kept of it. Its text is the whole reason, for people."""

    def __init__(self, why: str) -> None:
        super().__init__(f"too costly to read: {why}")


class CpuBudget:
    """The CPU time of one page, from now on. It is looked at between steps, so no step may take long by itself."""

    __slots__ = ("_cpu_seconds", "_seconds", "_setting", "_until")

    def __init__(self, cpu_seconds: Callable[[], float], seconds: float, setting: str = "") -> None:
        """`cpu_seconds` is a clock of CPU time; `setting` is the one that allows more, for the reason."""
        self._setting = setting
        self._cpu_seconds = cpu_seconds
        self._seconds = seconds
        self._until = cpu_seconds() + seconds

    def check(self, when: str) -> None:
        """Raises `TooCostly` when the time is used up; `when` ends the reason: "after its links"."""
        if self._cpu_seconds() > self._until:
            raise self.error(when)

    def is_used_up(self) -> bool:
        return self._cpu_seconds() > self._until

    def error(self, when: str = "") -> TooCostly:
        words = [f"{self._seconds:g} s of CPU used up", when, f"(`{self._setting}`)" if self._setting else ""]
        return TooCostly(" ".join(filter(None, words)))
