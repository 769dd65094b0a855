"""Numbers, times and reasons in words."""

from __future__ import annotations

import pytest

from tenax.cli.views import format_values
from tenax.model import FailureKind


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"),
        (0.44, "0.4 s"),
        (9.96, "10 s"),
        (42.4, "42 s"),
        (185, "3 min 05 s"),
        (7800, "2 h 10 min"),
        (270_000, "3 d 3 h"),
    ],
)
def test_duration(seconds: float, expected: str) -> None:
    assert format_values.format_duration(seconds) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0 B"), (812, "812 B"), (18_234_000, "18.2 MB"), (999_400, "999 kB"), (2.5e9, "2.5 GB"), (7e13, "70.0 TB")],
)
def test_size(number: float, expected: str) -> None:
    assert format_values.format_size(number) == expected


def test_stopwatch_counts_down_to_zero_and_no_further() -> None:
    assert [format_values.format_elapsed(seconds) for seconds in (-3, 42, 125.9, 3723)] == [
        "0:00",
        "0:42",
        "2:05",
        "1:02:03",
    ]


def test_when_names_the_day_only_when_it_is_another() -> None:
    now = 1_750_000_000.0
    assert format_values.format_due_time(now - 1, now) == "now"
    assert format_values.format_due_time(now + 43, now).startswith("in 43 s (")
    assert format_values.format_time(now + 200_000) in format_values.format_due_time(now + 200_000, now)
    assert format_values.format_until(now + 43, now) == f"{format_values.format_time(now + 43)[11:]} (in 43 s)"
    assert format_values.format_until(now + 200_000, now).startswith(format_values.format_time(now + 200_000))


def test_every_kind_of_failure_has_words() -> None:
    for kind in FailureKind:
        assert "_" not in format_values.describe_reason(f"failed:{kind}")


def test_tally_merges_what_reads_the_same_and_puts_most_first() -> None:
    counts = {"failed:dns": 1, "failed:timeout_total": 12, "dns": 2, "refused:something_new": 3}
    assert format_values.format_counts(counts) == ["12 timed out", "3 name not found", "3 something new"]


def test_every_trap_and_budget_has_words() -> None:
    from tenax.config import UrlsConfig

    kept_back = {"max_same_in_series"}  # no link is refused for it
    limits = [
        "max_links_per_page",
        *(name for name in UrlsConfig.__struct_fields__ if name.startswith(("max_", "cal")) and name not in kept_back),
    ]
    for name in [*limits, "facets_per_path", "hosts_per_domain"]:
        assert "_" not in format_values.describe_reason(f"trap:{name}")
        assert format_values.describe_reason(name) != name.replace("_", " ")


def test_how_urls_came_is_told_in_one_order() -> None:
    counts = {
        "feed": 6,
        "link": 1204,
        "seed": 2,
        "archive": 1,
        "pagination": 3,
        "sitemap": 9,
        "redirect": 4,
        "replay": 0,
        "url_list": 27,
    }
    assert format_values.format_sources(counts) == [
        *("2 seeds", "1,204 by links", "9 by sitemaps", "6 by feeds"),
        *("1 guessed as an archive", "3 guessed as next pages", "4 by redirects"),
        "27 sitemaps and feeds looked for",
    ]
    assert format_values.format_sources({"seed": 1, "link": 1, "url_list": 1}) == [
        *("1 seed", "1 by a link", "1 sitemap or feed looked for")
    ]
    assert format_values.format_sources({}) == []


def test_every_bound_of_discovery_has_words() -> None:
    from tenax.config import DiscoveryConfig

    texts = {
        "max_sitemaps": "over the sitemap limit of a host",
        "max_feeds": "over the feed limit of a host",
        "max_sitemap_urls": "over the URL limit of a sitemap",
        "min_guesses": "guess budget used up",
    }
    for name, text in texts.items():
        assert hasattr(DiscoveryConfig(), name)
        assert format_values.describe_reason(name) == text
