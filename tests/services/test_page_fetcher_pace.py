"""The page-fetcher's settings, mapped to those of fetching."""

from __future__ import annotations

from tenax.config import Config, PageFetcherConfig, SettingValue, load_config
from tenax.services.page_fetcher import fetch_config, max_items_per_host


def test_the_defaults_are_those_its_neighbours_know() -> None:
    own = PageFetcherConfig()
    assert (own.redis_url, own.kafka_bootstrap_servers) == ("redis://localhost:6379", "localhost:9092")
    assert (own.input_queue, own.dlq_queue, own.webpage_log_topic) == (
        "crawler_queue", "page_fetcher_dlq", "webpage_log",
    )  # fmt: skip
    assert (own.cache_ttl_seconds, own.robots_txt_cache_ttl_seconds, own.poll_timeout_seconds) == (3600, 86_400, 5.0)


def test_every_number_reaches_the_rule_it_belongs_to() -> None:
    flags = {
        "request_timeout_seconds": 11.0,
        "max_retries": 7,
        "retry_backoff_base_seconds": 20.0,
        "user_agent": "Other/2",
        "max_redirects": 2,
        "rate_limit_per_second": 0.5,
        "circuit_breaker_failure_threshold": 9,
        "circuit_breaker_initial_backoff_seconds": 12.0,
        "circuit_breaker_max_backoff_seconds": 99.0,
        "circuit_breaker_backoff_multiplier": 3.0,
        "robots_txt_cache_ttl_seconds": 60,
    }
    settings = {f"page_fetcher.{name}": SettingValue(value, "test", is_typed=True) for name, value in flags.items()}
    config = fetch_config(load_config(flags=settings).config)
    fetch, hosts, politeness = config.fetch, config.hosts, config.politeness
    assert (fetch.total_timeout_seconds, fetch.max_attempts, fetch.max_redirects) == (11.0, 7, 2)
    assert (fetch.retry_base_seconds, fetch.retry_max_seconds, fetch.user_agent) == (20.0, 20.0, "Other/2")
    assert (hosts.breaker_failures, hosts.breaker_first_seconds) == (9, 12.0)
    assert (hosts.breaker_max_seconds, hosts.breaker_factor) == (99.0, 3.0)
    assert (politeness.rate_per_second, politeness.robots_ttl_seconds) == (0.5, 60.0)
    assert (politeness.robots_max_retry_seconds, politeness.robots_on_unreachable) == (99.0, "disallow")


def test_by_default_it_identifies_itself_like_a_crawl() -> None:
    assert fetch_config(Config()).fetch.user_agent == ""


def test_a_host_gets_a_tenth_of_max_in_flight_unless_it_is_unpaced() -> None:
    assert max_items_per_host(Config()) == 100
    fast = load_config(flags={"page_fetcher.rate_limit_per_second": SettingValue(0.0, "test", is_typed=True)}).config
    assert max_items_per_host(fast) == 1000
