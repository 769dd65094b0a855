"""The CPU limit of one page, measured by a clock of the caller, and the reason when it is exceeded."""

from __future__ import annotations

from collections.abc import Callable


class ExtractLimitExceeded(Exception):
    """The page exceeds a limit: nothing of it is kept. The message is the complete reason, for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"too costly to read: {reason}")


class CpuBudget:
    """The CPU time of one page, from now on. Checked between steps, so no step may take long by itself."""

    __slots__ = ("_cpu_seconds", "_deadline", "_seconds", "_setting")

    def __init__(self, cpu_seconds: Callable[[], float], seconds: float, setting: str = "") -> None:
        """`cpu_seconds` is a clock of CPU time; `setting` is the one that raises the limit, named in the reason."""
        self._setting = setting
        self._cpu_seconds = cpu_seconds
        self._seconds = seconds
        self._deadline = cpu_seconds() + seconds

    def check(self, step: str) -> None:
        """Raises `ExtractLimitExceeded` when the time is used up; `step` ends the reason: "after its links"."""
        if self._cpu_seconds() > self._deadline:
            raise self.limit_error(step)

    def is_exhausted(self) -> bool:
        return self._cpu_seconds() > self._deadline

    def limit_error(self, step: str = "") -> ExtractLimitExceeded:
        words = [f"{self._seconds:g} s of CPU used up", step, f"(`{self._setting}`)" if self._setting else ""]
        return ExtractLimitExceeded(" ".join(filter(None, words)))
