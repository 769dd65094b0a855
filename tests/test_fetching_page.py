"""docs/fetching.md is correct: its table of failures agrees with the rules, its settings can be loaded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tenax.config import FetchConfig, HostsConfig, PolitenessConfig, load_config
from tenax.fetch import Response
from tenax.fetch.answer import response_outcome
from tenax.fetch.headers import Headers
from tenax.fetch.retry import plan_task
from tenax.hosts.rules import is_host_failure
from tenax.model import DeadLetter, Done, Failed, FailureKind, Plan, Priority, Reschedule, Source, Task, TransportKind
from tests.visit_ends import visit_end

PAGE = (Path(__file__).parents[1] / "docs" / "fetching.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(?P<kind>\w+)` \| (?P<what>.+?) \| (?P<url>.+?) \| (?P<outage>yes|no|when in a row) \|$", re.M)
ROWS = [match.groupdict() for match in ROW.finditer(PAGE)]
TASK = Task("https://a.example/", "https://a.example", 0, Priority.HIGH, Source.SEED, None, 0.0, 0.0)
PLANS: dict[str, Plan] = {
    "spends an attempt": Reschedule(1.0, spends_attempt=True),
    "waits": Reschedule(5.0),
    "waits, or uses another transport": Reschedule(5.0),
    "waits; spends an attempt if the host is well": Reschedule(5.0),
    "given up": DeadLetter("x"),
    "settled": Done(),
    "requested again, without conditions": Reschedule(0.0, is_unconditional=True),
}


def test_every_class_of_failure_is_in_the_table() -> None:
    assert {row["kind"] for row in ROWS} == {kind.value for kind in FailureKind}


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['kind']}: {row['what']}" for row in ROWS])
def test_what_follows_from_a_failure_is_what_the_table_says(row: dict[str, str]) -> None:
    # Our own failures that no URL caused are marked like those of a host.
    is_ours = row["kind"] == FailureKind.INTERNAL and row["url"] == "waits"
    failed = Failed("x", FailureKind(row["kind"]), is_site_wide=row["outage"] == "yes" or is_ours)
    assert is_host_failure(failed) is (row["outage"] != "no")
    plan = plan_task(TASK, visit_end(failed, 0.0), 5.0)
    assert plan == PLANS[row["url"]]
    if row["url"].endswith("another transport"):
        other = plan_task(TASK, visit_end(failed, 0.0, available=frozenset(TransportKind)), 5.0)
        assert isinstance(other, Reschedule) and other.transport is TransportKind.CURL


def test_the_statuses_of_the_table_are_of_their_class() -> None:
    for row in ROWS:
        statuses = [int(number) for number in re.findall(r"\b([3-9]\d\d)\b", row["what"])]
        for status in statuses if row["kind"] != "not_modified" else []:
            answer = Response("https://a.example/", status, Headers(), b"", 0, 0.0, 0.0, 0.0)
            outcome = response_outcome(answer, 60.0)
            assert isinstance(outcome, Failed)
            assert (outcome.kind, outcome.is_site_wide) == (row["kind"], row["outage"] == "yes"), status


def test_the_example_of_sites_can_be_loaded(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.M | re.S)
    file = tmp_path / "tenax.toml"
    file.write_text(example, encoding="utf-8")
    assert load_config(file).config.sites["slow.example.org"]["politeness.rate_per_second"] == 0.2


def test_the_numbers_of_the_page_are_the_defaults() -> None:
    """Each number of the page, with its sentence."""
    fetch, hosts, politeness = FetchConfig(), HostsConfig(), PolitenessConfig()
    text = " ".join(PAGE.split())
    for sentence in (
        f"{fetch.connect_timeout_seconds:g} s to connect, {fetch.headers_timeout_seconds:g} s until the headers "
        f"arrive, {fetch.body_timeout_seconds:g} s without data within the body, "
        f"{fetch.total_timeout_seconds:g} s in total",
        f"A decoded body may have {fetch.max_body_bytes >> 20} MB",
        f"Redirects are followed, at most {fetch.max_redirects} in a row",
        f"{politeness.per_ip_rate_factor:g} times the rate of one host",
        f"without it {hosts.throttle_first_seconds:g} s, ± 10 % (`hosts.throttle_first_seconds`)",
        f"at least {hosts.throttle_second_seconds / 60:g} min (`hosts.throttle_second_seconds`)",
        f"at least {hosts.throttle_third_seconds / 60:g} min (`hosts.throttle_third_seconds`)",
        f"After every {hosts.throttle_successes} successful responses in a row",
        f"{hosts.breaker_failures} failures of the host in a row count as an outage. The host backs off for "
        f"{hosts.breaker_first_seconds:g} s",
        f"doubles the backoff, up to {hosts.breaker_max_seconds / 60:g} min; a successful probe ends the outage",
        f"After {hosts.budget_failures} failures within {hosts.budget_window_seconds / 60:g} min the host is left "
        f"alone for {hosts.budget_lockout_seconds / 60:g} min",
        f"left alone for {hosts.cooldown_seconds / 60:g} min (`hosts.cooldown_seconds`) after {hosts.cooldown_blocks} "
        "refusals in a row",
        f"A URL has {fetch.max_attempts} attempts (`fetch.max_attempts`). The first wait between two attempts is "
        f"{fetch.retry_base_seconds:g} s, and each further wait is twice as long, up to {fetch.retry_max_seconds:g} s",
    ):
        assert sentence in text, sentence
