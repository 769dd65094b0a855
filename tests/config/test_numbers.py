"""The default numbers of politeness that site owners and other services rely on, each written once."""

from __future__ import annotations

import pytest

from tenax.config import Config
from tenax.fetch.host_checks import PROBE_TIMEOUT_SECONDS, ROBOTS_TIMEOUT_SECONDS
from tenax.fetch.validate import SMALL_BODY_BYTES
from tenax.hosts.robots import MAX_ROBOTS_BYTES, MAX_ROBOTS_REDIRECTS
from tenax.hosts.throttle import JITTER, MIN_RATE_PER_MINUTE, RECOVERY_FACTOR

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0

NUMBERS = {
    # pace
    "politeness.rate_per_second": 1.0,
    "politeness.connections_per_host": 1,
    "politeness.max_crawl_delay_seconds": DAY,
    # robots.txt
    "politeness.robots_ttl_seconds": HOUR,
    "politeness.robots_stale_seconds": DAY,
    "politeness.robots_retry_seconds": MINUTE,
    "politeness.robots_on_unreachable": "disallow",
    # 429
    "hosts.throttle_first_seconds": 45.0,
    "hosts.throttle_second_seconds": 5 * MINUTE,
    "hosts.throttle_third_seconds": 15 * MINUTE,
    "hosts.throttle_factor": 0.25,
    "hosts.throttle_successes": 100,
    "hosts.throttle_rate_per_minute": 300.0,
    # outages
    "hosts.breaker_failures": 5,
    "hosts.breaker_first_seconds": 30.0,
    "hosts.breaker_factor": 2.0,
    "hosts.breaker_max_seconds": 300.0,
    "hosts.half_open_successes": 1,
    # failures of any kind
    "hosts.budget_failures": 6,
    "hosts.budget_window_seconds": 5 * MINUTE,
    "hosts.budget_lockout_seconds": 2 * MINUTE,
    # one request
    "fetch.total_timeout_seconds": 30.0,
    "fetch.max_body_bytes": 10 * 1024 * 1024,
    "fetch.max_redirects": 5,
    "fetch.max_attempts": 3,
    "fetch.retry_base_seconds": 1.0,
    "fetch.retry_max_seconds": 8.0,
    "fetch.retry_jitter": 0.2,
    "fetch.profile": "honest",
    "fetch.verify_tls": True,
    # stored copies
    "cache.prefer_cache": False,
    "cache.max_age_seconds": -1.0,
    "cache.max_age_article_seconds": -1.0,
    "cache.max_age_hub_seconds": -1.0,
    # proxies
    "proxy.strategy": "round-robin",
    "proxy.ban_failures": 3,
    "proxy.ban_statuses": (403, 429, 503),
    "proxy.ban_seconds": 5 * MINUTE,
    # the browser
    "browser.max_pages_per_session": 50,
    "browser.max_session_seconds": 10 * MINUTE,
    "browser.health_check_seconds": 30.0,
    "browser.max_consecutive_errors": 3,
    # what is a page
    "validation.min_body_bytes": -1,
    # stalls
    "resilience.stall_seconds": 5 * MINUTE,
    "resilience.network_check_seconds": 30.0,
    "database.lease_seconds": 5 * MINUTE,
}


@pytest.mark.parametrize(("setting", "value"), NUMBERS.items())
def test_the_defaults_are_what_was_promised(setting: str, value: object) -> None:
    section, name = setting.split(".")
    assert getattr(getattr(Config(), section), name) == value


def test_numbers_that_are_no_settings() -> None:
    assert (ROBOTS_TIMEOUT_SECONDS, PROBE_TIMEOUT_SECONDS) == (10.0, 10.0)
    assert (MAX_ROBOTS_BYTES, MAX_ROBOTS_REDIRECTS) == (500 * 1024, 5)
    assert SMALL_BODY_BYTES == 500
    assert (JITTER, RECOVERY_FACTOR, MIN_RATE_PER_MINUTE) == (0.1, 1.1, 1.0)
