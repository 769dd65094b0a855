"""A page's CPU time is asked for only once it may be used up, and never too late."""

from __future__ import annotations

import pytest

from tenax.extract.budget import CpuBudget, ExtractLimitExceeded


class Clock:
    """Stands still until it is turned, and counts who looks at it."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.seconds


def test_cpu_time_is_not_asked_for_before_that_much_time_has_passed() -> None:
    cpu, passed = Clock(), Clock()
    budget = CpuBudget(cpu, 2.0, clock=passed)
    passed.seconds += 1.9
    budget.check("early")
    assert not budget.is_exhausted()
    assert cpu.looks == 1  # when it began


def test_time_that_passed_without_being_used_does_not_count() -> None:
    cpu, passed = Clock(), Clock()
    budget = CpuBudget(cpu, 2.0, clock=passed)
    passed.seconds += 3600
    cpu.seconds += 1.9
    budget.check("after a wait")
    assert not budget.is_exhausted()


@pytest.mark.parametrize("has_clock", [True, False])
def test_time_that_is_used_up_ends_the_page_at_the_next_look(has_clock: bool) -> None:
    cpu, passed = Clock(), Clock()
    budget = CpuBudget(cpu, 2.0, "extract.max_cpu_seconds", clock=passed if has_clock else None)
    cpu.seconds += 2.1
    passed.seconds += 2.1
    assert budget.is_exhausted()
    with pytest.raises(
        ExtractLimitExceeded, match=r"2 s of CPU used up after its links \(`extract.max_cpu_seconds`\)$"
    ):
        budget.check("after its links")


def test_it_is_quiet_for_as_long_as_it_cannot_be_used_up() -> None:
    cpu, passed = Clock(), Clock()
    budget = CpuBudget(cpu, 2.0, clock=passed)
    passed.seconds += 0.5
    assert budget.quiet_seconds() == pytest.approx(1.5)
    assert CpuBudget(cpu, 2.0).quiet_seconds() == 0.0, "without a clock nothing is known"
