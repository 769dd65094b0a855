"""When to take from the queue, as stories of what was met and who was wanted."""

from __future__ import annotations

from tenax.services.page_fetcher.intake import MEMORY, Intake

A, B, C = "http://a.example", "http://b.example", "http://c.example"


def met(intake: Intake, origin: str, times: int, is_wanted: bool) -> None:
    for _ in range(times):
        intake.met(origin, is_wanted)


def test_at_first_it_is_open() -> None:
    assert Intake().is_open(0, lambda origin: False)


def test_with_one_host_it_closes_at_once_and_opens_with_it() -> None:
    intake = Intake()
    met(intake, A, 5, is_wanted=True)
    assert intake.is_open(1_000_000, lambda origin: True)
    assert not intake.is_open(1_000_000, lambda origin: False)
    assert intake.is_open(1_000_000, lambda origin: origin == A)


def test_with_several_a_round_in_which_nobody_was_wanted_closes_it() -> None:
    intake = Intake()
    met(intake, A, 3, is_wanted=True)
    met(intake, B, 9, is_wanted=False)
    assert intake.is_open(10, lambda origin: origin == A), "not yet a whole round"
    intake.met(B, False)
    assert not intake.is_open(10, lambda origin: origin == A), "there is none of A left"
    assert intake.is_open(10, lambda origin: origin == B), "B is back"
    assert intake.is_open(10, lambda origin: False), "and gets a whole round again"


def test_a_wanted_one_begins_the_round_anew() -> None:
    intake = Intake()
    met(intake, B, 9, is_wanted=False)
    intake.met(A, True)
    met(intake, B, 9, is_wanted=False)
    assert intake.is_open(10, lambda origin: False)


def test_no_round_is_longer_than_its_memory() -> None:
    intake = Intake()
    met(intake, A, 1, is_wanted=True)
    met(intake, B, MEMORY // 2, is_wanted=False)
    met(intake, C, MEMORY // 2, is_wanted=False)
    assert not intake.is_open(10**9, lambda origin: False)


def test_a_host_met_long_ago_is_forgotten() -> None:
    intake = Intake()
    met(intake, A, 10, is_wanted=True)
    met(intake, B, MEMORY, is_wanted=True)
    assert intake.hosts == [B]
    assert not intake.is_open(5, lambda origin: origin == A)
