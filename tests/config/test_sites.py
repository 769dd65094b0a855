"""The settings of one host."""

from __future__ import annotations

from typing import Any

import can_ada
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.config import Config, PolitenessConfig, SiteConfig, Sites
from tenax.errors import ConfigError


def rates(**by_pattern: float) -> Config:
    """Patterns are written with `_` for a dot and a leading `x_` for `*.`."""
    sites = {_pattern(name): {"politeness.rate_per_second": rate} for name, rate in by_pattern.items()}
    return Config(politeness=PolitenessConfig(rate_per_second=9), sites=sites)


def _pattern(name: str) -> str:
    return ("*." + name[2:] if name.startswith("x_") else name).replace("_", ".")


PATTERNS = rates(x_org=1, x_example_org=2, x_b_example_org=3, a_b_example_org=4, example_org=5, localhost=6)


@pytest.mark.parametrize(
    ("host", "rate"),
    [
        ("example.com", 9),
        ("org", 9),
        ("other.org", 1),
        ("example.org", 5),
        ("www.example.org", 2),
        ("b.example.org", 2),
        ("c.b.example.org", 3),
        ("d.c.b.example.org", 3),
        ("a.b.example.org", 4),
        ("x.a.b.example.org", 3),
        ("notexample.org", 1),
        ("localhost", 6),
        ("127.0.0.1", 9),
        ("[::1]", 9),
        ("", 9),
    ],
)
def test_the_most_specific_pattern_holds(host: str, rate: float) -> None:
    assert Sites(PATTERNS).for_host(host).politeness.rate_per_second == rate


def test_each_setting_comes_from_the_most_specific_pattern_that_sets_it() -> None:
    config = Config(
        sites={
            "www.example.org": {"fetch.max_attempts": 7},
            "*.example.org": {"politeness.rate_per_second": 0.2, "fetch.max_attempts": 5, "fetch.contact": "us"},
            "*.org": {"politeness": {"rate_per_second": 4, "connections_per_host": 3}},
        }
    )
    sites = Sites(config)
    site = sites.for_host("www.example.org")
    assert (site.fetch.max_attempts, site.fetch.contact) == (7, "us")
    assert (site.politeness.rate_per_second, site.politeness.connections_per_host) == (0.2, 3)
    assert sites.setting_patterns("www.example.org") == {
        "fetch.max_attempts": "www.example.org",
        "fetch.contact": "*.example.org",
        "politeness.rate_per_second": "*.example.org",
        "politeness.connections_per_host": "*.org",
    }
    assert sites.setting_patterns("example.com") == {}


def test_an_origin_is_its_host_whatever_the_scheme_and_port() -> None:
    sites = Sites(rates(example_org=1))
    for origin in ("https://example.org", "http://example.org", "http://example.org:8080"):
        assert sites.for_origin(origin).politeness.rate_per_second == 1
    addresses = Config(sites={"::1": {"politeness.rate_per_second": 2}, "127.0.0.1": {"politeness.rate_per_second": 3}})
    for origin, rate in {"http://[::1]": 2, "http://[::1]:81": 2, "http://127.0.0.1:81": 3, "http://[::2]": 1}.items():
        assert Sites(addresses).for_origin(origin).politeness.rate_per_second == rate
    assert Sites(Config()).for_origin("http://example.org") == SiteConfig()


def test_without_sites_all_hosts_share_one_value() -> None:
    sites = Sites(Config(politeness=PolitenessConfig(rate_per_second=3)))
    assert sites.for_host("a.test") is sites.for_host("b.test")
    assert sites.for_host("a.test") == SiteConfig(politeness=PolitenessConfig(rate_per_second=3))


def test_hosts_of_one_pattern_share_one_value_and_untouched_sections() -> None:
    sites = Sites(PATTERNS)
    assert sites.for_host("1.example.org") is sites.for_host("2.example.org")
    assert sites.for_host("1.example.org").fetch is sites.for_host("example.com").fetch
    assert [site.politeness.rate_per_second for site in sites] == [9, 1, 2, 3, 6, 5, 4]


@pytest.mark.parametrize(
    "written",
    [
        "Example.ORG",
        "example.org.",
        "bücher.example",
        "BÜCHER.example",
        "straße.example",
        "例え.テスト",
        "xn--bcher-kva.x",
    ],
)
def test_a_name_is_spelled_as_urls_spell_it(written: str) -> None:
    host = can_ada.parse(f"http://{written}/").hostname.rstrip(".")
    sites = Sites(Config(sites={written: {"fetch.max_attempts": 7}, f"*.{written}": {"fetch.max_attempts": 8}}))
    assert sites.for_host(host).fetch.max_attempts == 7
    assert sites.for_host(f"www.{host}").fetch.max_attempts == 8


def test_a_config_with_sites_survives_being_stored() -> None:
    config = Config(sites={"a.test": {"proxy.urls": ("http://p.test:1",), "politeness.rate_per_second": 0.5}})
    stored = msgspec.json.decode(msgspec.json.encode(config), type=Config)
    assert Sites(stored).for_host("a.test") == Sites(config).for_host("a.test")
    assert Sites(stored).for_host("a.test").proxy.urls == ("http://p.test:1",)
    assert msgspec.convert(msgspec.to_builtins(config), Config) == config


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (
            {"fetch.max_attempt": 1},
            '[site."a.test"]: unknown key `fetch.max_attempt`; did you mean `fetch.max_attempts`',
        ),
        ({"fetch": {"max_attempts": 0}}, '[site."a.test"]: bad value 0 for `fetch.max_attempts`'),
        ({"guard.ports": [81]}, '[site."a.test"]: `guard.ports` applies to the whole crawl'),
    ],
)
def test_a_slip_in_a_program_is_named_too(overrides: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as slip:
        Sites(Config(sites={"a.test": overrides}))
    assert str(slip.value).startswith(says)


LABELS = st.sampled_from(["a", "b", "c"])
NAMES = st.lists(LABELS, min_size=1, max_size=4).map(".".join)


@given(st.dictionaries(st.tuples(st.booleans(), NAMES), st.integers(1, 99)), NAMES)
def test_look_ups_find_what_trying_every_pattern_would(given_patterns: dict[tuple[bool, str], int], host: str) -> None:
    patterns = {("*." if is_below else "") + name: rate for (is_below, name), rate in given_patterns.items()}
    fitting = [
        (pattern == host, len(pattern), rate)
        for pattern, rate in patterns.items()
        if pattern == host or (pattern.startswith("*.") and host.endswith(pattern[1:]))
    ]
    expected = max(fitting)[2] if fitting else 1
    sites = Sites(Config(sites={pattern: {"politeness.rate_per_second": rate} for pattern, rate in patterns.items()}))
    assert sites.for_host(host).politeness.rate_per_second == expected
