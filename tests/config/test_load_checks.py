"""A config built in code is checked like one that was loaded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenax.config import Config, CrawlConfig, DiscoveryConfig, FetchConfig, validate_config
from tenax.errors import ConfigError


def wrong(section: str, **values: Any) -> Config:
    """What code without a type checker may contain."""
    return msgspec.structs.replace(Config(), **{section: msgspec.structs.replace(getattr(Config(), section), **values)})


def test_the_defaults_are_right() -> None:
    assert validate_config(Config()) == Config()


def test_a_list_and_a_whole_number_are_taken_for_what_they_mean() -> None:
    config = validate_config(wrong("crawl", exclude=["*/a/*"], max_idle_seconds=3))
    assert config == Config(crawl=CrawlConfig(exclude=("*/a/*",), max_idle_seconds=3.0))


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (wrong("crawl", scope="foo"), "`crawl.scope`: it takes host, domain, prefix or any"),
        (wrong("crawl", max_depth="3"), "`crawl.max_depth`: it takes a whole number, 0 or more, at most 1000"),
        (wrong("crawl", include="*/a/*"), "`crawl.include`: it takes a list of texts"),
        (wrong("politeness", rate_per_second=-4), "`politeness.rate_per_second`: it takes a number, 0 or more"),
        (wrong("fetch", total_timeout_seconds=float("nan")), "`fetch.total_timeout_seconds`: it takes a number"),
        (wrong("proxy", urls="http://me:hush@proxy"), "bad value *** for `proxy.urls`"),
        (Config(discovery=DiscoveryConfig(sources=("none", "links"))), "`discovery.sources` takes a list"),
        (Config(sites={"example.org": {"crawl.scope": "host"}}), "`crawl.scope` applies to the whole crawl"),
        (Config(sites={"example.org": {"fetch.max_attempts": 0}}), "`fetch.max_attempts`: it takes a whole number"),
        (msgspec.structs.replace(Config(), crawl=FetchConfig()), "`crawl` must be a CrawlConfig"),
        ({"crawl": {}}, "config must be a tenax.Config, not dict"),
    ],
)
def test_a_slip_is_named(config: Any, says: str) -> None:
    with pytest.raises(ConfigError) as slip:
        validate_config(config)
    assert says in str(slip.value)
    assert "hush" not in str(slip.value)
