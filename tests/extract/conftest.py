from __future__ import annotations

import resource
from collections.abc import Callable

import pytest


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@pytest.fixture
def within() -> Callable[[float], None]:
    """Check that the test has used at most this many seconds of CPU so far; generous, for busy machines."""
    start = _cpu_seconds()

    def check(seconds: float) -> None:
        assert _cpu_seconds() - start < seconds

    return check
