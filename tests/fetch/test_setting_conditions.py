from __future__ import annotations

import msgspec
import pytest

from tenax.config import FetchConfig, SiteConfig, ValidationConfig
from tenax.fetch.retry import plan_task
from tenax.fetch.setting_conditions import is_any_met
from tenax.model import NEEDS_BROWSER, DeadLetter, Done, Park, Plan, Priority, Rejected, Source, Task, TransportKind
from tests.visit_ends import visit_end

TASK = Task("https://example.org/a", "https://example.org", 1, Priority.LOW, Source.LINK, None, 900.0, 950.0)
ON = "validation.enabled!=true validation.min_body_bytes!=-1"
LOGIN = "login: the page is for those who log in"


def plan(rejected: Rejected, site: SiteConfig | None = None, transport: TransportKind = TransportKind.HTTP) -> Plan:
    return plan_task(TASK, visit_end(rejected, 1000.0, site, transport=transport), 1030.0)


@pytest.mark.parametrize(
    ("why", "cause"),
    [
        (LOGIN, f"validation: {LOGIN}"),
        ("refresh: elsewhere", "refresh: elsewhere"),
        ("empty: there is nothing to read", "empty: there is nothing to read"),
    ],
)
def test_what_validation_rejects_waits_for_other_settings(why: str, cause: str) -> None:
    assert plan(Rejected(why)) == Park(cause, ON)


def test_a_page_that_is_too_small_waits_for_a_lower_minimum() -> None:
    site = SiteConfig(validation=ValidationConfig(min_body_bytes=5000))
    small = Rejected("small: the body has 7 bytes")
    assert plan(small, site) == Park(small.why, "validation.enabled!=true validation.min_body_bytes<5000")


@pytest.mark.parametrize(
    "why", ["empty", "noindex: the page asks not to be kept", "guess: the same again", "content: a picture"]
)
def test_what_no_setting_of_validation_rejects_is_settled(why: str) -> None:
    assert plan(Rejected(why)) == Done()


def test_pages_that_need_a_browser_wait_for_one_or_for_other_settings() -> None:
    shell = Rejected("shell: the page is built by scripts")
    assert plan(shell) == DeadLetter(f"{NEEDS_BROWSER}: {shell.why}", ON)
    assert plan(shell, transport=TransportKind.BROWSER) == Park(f"validation: {shell.why}", ON)


def test_the_last_attempt_keeps_every_condition() -> None:
    site = SiteConfig(fetch=FetchConfig(max_attempts=1))
    wall = Rejected("blocked: the site shuts us out", is_hard=True)
    assert plan(wall, site) == DeadLetter(f"{wall.why} (tried 1 times)", f"{ON} fetch.max_attempts>1")


@pytest.mark.parametrize(
    ("conditions", "enabled", "min_body_bytes", "is_met"),
    [
        ("", True, -1, False),
        (ON, True, -1, False),
        (ON, False, -1, True),
        (ON, True, 0, True),
        ("validation.min_body_bytes<5000", True, 5000, False),
        ("validation.min_body_bytes<5000", True, 6000, False),
        ("validation.min_body_bytes<5000", True, 4999, True),
        ("validation.min_body_bytes>5000", True, 5001, True),
        ("validation.unknown!=1", True, -1, False),
        ("unknown.setting!=1", True, -1, False),
        ("not a condition", True, -1, False),
    ],
)
def test_conditions(conditions: str, enabled: bool, min_body_bytes: int, is_met: bool) -> None:
    site = msgspec.structs.replace(SiteConfig(), validation=ValidationConfig(enabled, min_body_bytes))
    assert is_any_met(conditions, site) is is_met
