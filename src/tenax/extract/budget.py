"""The CPU limit of one page, measured by a clock of the caller; and the reason if the limit is exceeded."""

from __future__ import annotations

from collections.abc import Callable


class ExtractLimitExceeded(Exception):
    """The page exceeds a limit, and nothing of it is kept. The message is the complete reason, for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"too costly to read: {reason}")


class CpuBudget:
    """The CPU time of one page, from now on. It is checked between steps, so no single step may take long."""

    __slots__ = ("_clock", "_cpu_seconds", "_deadline", "_not_before", "_seconds", "_setting")

    def __init__(
        self,
        cpu_seconds: Callable[[], float],
        seconds: float,
        setting: str = "",
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """`cpu_seconds` is a clock of CPU time. `setting` is the setting that raises the limit; the reason names it.

        `clock` is a monotonic clock. A thread cannot use more CPU time than the time that has passed. So the CPU time,
        which takes ten times as long to read, is not read before that much time has passed. Without `clock` it is read
        at every check.
        """
        self._setting = setting
        self._cpu_seconds = cpu_seconds
        self._seconds = seconds
        self._deadline = cpu_seconds() + seconds
        self._clock = clock or cpu_seconds
        self._not_before = clock() + seconds if clock is not None else self._deadline

    def quiet_seconds(self) -> float:
        """Before this much time has passed, the budget is surely not used up; 0 without a monotonic clock."""
        return self._not_before - self._clock() if self._clock is not self._cpu_seconds else 0.0

    def check(self, step: str) -> None:
        """Raises `ExtractLimitExceeded` if the time is used up. The reason ends with `step`: "after its links"."""
        if self._clock() > self._not_before and self._cpu_seconds() > self._deadline:
            raise self.limit_error(step)

    def is_exhausted(self) -> bool:
        return self._clock() > self._not_before and self._cpu_seconds() > self._deadline

    def limit_error(self, step: str = "") -> ExtractLimitExceeded:
        words = [f"{self._seconds:g} s of CPU used up", step, f"(`{self._setting}`)" if self._setting else ""]
        return ExtractLimitExceeded(" ".join(filter(None, words)))
