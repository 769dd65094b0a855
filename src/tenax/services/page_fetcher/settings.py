"""Maps the page-fetcher's settings to those of fetching: the same rules and transports apply, with its numbers."""

from __future__ import annotations

import msgspec

from tenax.config import Config


def fetch_config(config: Config) -> Config:
    """The config for fetching its pages. Settings of single sites stay as they are."""
    own = config.page_fetcher
    fetch = msgspec.structs.replace(
        config.fetch,
        total_timeout_seconds=own.request_timeout_seconds,
        max_redirects=own.max_redirects,
        max_attempts=own.max_retries,
        retry_base_seconds=own.retry_backoff_base_seconds,
        retry_max_seconds=max(config.fetch.retry_max_seconds, own.retry_backoff_base_seconds),
        user_agent=own.user_agent or config.fetch.user_agent,
    )
    politeness = msgspec.structs.replace(
        config.politeness,
        rate_per_second=own.rate_limit_per_second,
        robots_ttl_seconds=float(own.robots_txt_cache_ttl_seconds),
        # A host that was down at its first visit is probed as soon as any other.
        robots_retry_seconds=min(config.politeness.robots_retry_seconds, max(own.retry_backoff_base_seconds, 1.0)),
        robots_max_retry_seconds=own.circuit_breaker_max_backoff_seconds,
    )
    hosts = msgspec.structs.replace(
        config.hosts,
        breaker_failures=own.circuit_breaker_failure_threshold,
        breaker_first_seconds=own.circuit_breaker_initial_backoff_seconds,
        breaker_max_seconds=own.circuit_breaker_max_backoff_seconds,
        breaker_factor=own.circuit_breaker_backoff_multiplier,
    )
    return msgspec.structs.replace(config, fetch=fetch, politeness=politeness, hosts=hosts)


def max_items_per_host(config: Config) -> int:
    """How many URLs of one host are in memory at most. A host with a million URLs must not keep out all others."""
    own = config.page_fetcher
    return own.max_in_flight if own.rate_limit_per_second == 0 else max(own.max_in_flight // 10, 1)
