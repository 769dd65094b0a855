from __future__ import annotations

import pytest

from tenax.discovery.guess_budget import remaining_guess_budget
from tenax.model import ArchiveRule, GuessState, SiteSigns


@pytest.mark.parametrize(
    ("guess_state", "archives", "lists"),
    [
        pytest.param(GuessState(), 1, 1, id="nothing visited"),
        pytest.param(GuessState(requests=16), 3, 3, id="a tiny site"),
        pytest.param(GuessState(requests=100), 6, 6, id="a small site"),
        pytest.param(GuessState(requests=100, guesses_made=6), 6, 0, id="lists used theirs up"),
        pytest.param(GuessState(requests=100, guesses_made=6, archives_made=6), 0, 6, id="archives used theirs up"),
        pytest.param(GuessState(requests=5000), 50, 50, id="a large site"),
        pytest.param(GuessState(requests=100, guesses_made=8, guesses_succeeded=8), 6, 8, id="successes earn more"),
        pytest.param(GuessState(requests=100, guesses_made=12, guesses_succeeded=8), 6, 4, id="failures use it up"),
        pytest.param(
            GuessState(requests=100, guesses_made=31, guesses_succeeded=31), 6, 0, id="a quarter of all requests"
        ),
    ],
)
def test_archives_and_lists_have_separate_budgets(guess_state: GuessState, archives: int, lists: int) -> None:
    budget = remaining_guess_budget(guess_state, ratio=0.02, min_guesses=6)
    assert (budget.archives, budget.lists) == (archives, lists)
    assert not budget.is_empty


@pytest.mark.parametrize(("requests", "archives"), [(60, 1), (100, 2), (350, 5), (5000, 50)])
def test_where_a_sitemap_names_what_is_there_few_archives_are_guessed(requests: int, archives: int) -> None:
    guess_state = GuessState(requests=requests, signs=SiteSigns(has_sitemap=True))
    assert remaining_guess_budget(guess_state, ratio=0.02, min_guesses=7).archives == archives
    without = remaining_guess_budget(GuessState(requests=requests), ratio=0.02, min_guesses=7)
    assert remaining_guess_budget(guess_state, ratio=0.02, min_guesses=7).lists == without.lists


def test_what_has_worked_is_gone_on_with_whatever_the_misses_are() -> None:
    budget = remaining_guess_budget(
        GuessState(requests=100, guesses_made=20, archives_made=9, archives_succeeded=1, guesses_succeeded=1), 0.02, 6
    )
    assert (budget.archives, budget.lists) == (0, 0)
    assert (budget.max_archives, budget.max_lists) == (6 + 25 - 9, 6 + 25 - 11)


def test_the_end_of_a_working_archive_leaves_the_budget_to_others() -> None:
    """Otherwise the order of responses would decide whether archives of another section are tried."""
    rules = {
        "/{yyyy}/": ArchiveRule("invalid", worked=1, missed=2, earliest_period=2023),
        "/blog/{yyyy}/": ArchiveRule("valid", worked=1, earliest_period=2024, guessed_period=2024),
        "/{yyyy}/{mm}/": ArchiveRule("invalid", missed=1, earliest_period=24_309),
    }
    guess_state = GuessState(
        requests=100, guesses_made=9, archives_made=9, archives_succeeded=2, guesses_succeeded=2, archives=rules
    )
    assert remaining_guess_budget(guess_state, 0.02, 7).archives == 7 - (9 - 2 - 2 - 1)


def test_what_waits_counts_as_visited() -> None:
    assert remaining_guess_budget(GuessState(requests=10), 0.02, 6, waiting=90) == remaining_guess_budget(
        GuessState(requests=100), 0.02, 6
    )


@pytest.mark.parametrize(("requests", "made", "has_share"), [(100, 0, True), (100, 1, False), (1000, 9, True)])
def test_unlikely_patterns_need_budget_from_the_ratio(requests: int, made: int, has_share: bool) -> None:
    assert (
        remaining_guess_budget(
            GuessState(requests=requests, guesses_made=made, archives_made=made), 0.02, 6
        ).has_ratio_budget
        is has_share
    )


def test_nothing_is_guessed_where_nothing_is_allowed() -> None:
    budget = remaining_guess_budget(GuessState(requests=1000), ratio=0.0, min_guesses=0)
    assert (budget.archives, budget.lists) == (0, 0)
    assert remaining_guess_budget(GuessState(), ratio=0.0, min_guesses=0).is_empty
