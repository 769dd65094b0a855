from __future__ import annotations

from typing import Literal, TypeAlias

import pytest
from rich.pretty import pretty_repr

from tenax.config import Config, ProxyConfig, Sites
from tenax.errors import ConfigError
from tenax.fetch import proxies
from tenax.fetch.proxies import Proxy, ProxyPool, ProxyPools, build_proxy_pools, parse_proxies

Strategy: TypeAlias = Literal["round-robin", "priority", "least-used", "random"]

A, B, C = "http://a.example:1", "http://b.example:2", "socks5://c.example:3"


def pool_of(strategy: Strategy = "round-robin", *urls: str, draws: tuple[float, ...] = ()) -> ProxyPool:
    chances = iter(draws)
    section = ProxyConfig(urls=urls or (A, B, C), strategy=strategy)
    return ProxyPool(section, lambda: next(chances))


def chosen(pool: ProxyPool, host: str, now: float = 0.0, besides: tuple[Proxy, ...] = ()) -> str:
    proxy = pool.choose_proxy(host, now, besides)
    return proxy.name[0] if proxy is not None else "-"


# ---- parsing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://proxy.example:3128", Proxy("proxy.example:3128", "http", "proxy.example", 3128)),
        ("HTTPS://Proxy.Example/", Proxy("proxy.example:443", "https", "proxy.example", 443)),
        ("socks5://127.0.0.1", Proxy("127.0.0.1:1080", "socks5", "127.0.0.1", 1080)),
        ("http://[::1]:8080", Proxy("[::1]:8080", "http", "::1", 8080)),
        ("http://me:pass@h:1", Proxy("h:1", "http", "h", 1, b"me", b"pass")),
        ("http://me:p%40ss%3A%C3%A9@h:1", Proxy("h:1", "http", "h", 1, b"me", b"p@ss:\xc3\xa9")),
        ("http://token@h:1", Proxy("h:1", "http", "h", 1, b"token", b"")),
    ],
)
def test_what_a_url_says(url: str, proxy: Proxy) -> None:
    assert parse_proxies((url,)) == (proxy,)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "proxy.example:3128",
        "socks4://s3cret@h:1",
        "ftp://h:1",
        "http://",
        "http://me:s3cret@",
        "http://me:s3cret@h:99999",
        "http://me:s3cret@h:port",
        "http://me:s3cret@[::1",
        "http://me:s3cret@h:1/path",
        "http://me:s3cret@h:1?s3cret",
        "http://me:s3cret@h h:1",
        "http://m%3Ae:s3cret@h:1",
        "http://me:s3cret%00@h:1",
        f"socks5://me:{'s3cret' * 50}@h:1",
    ],
)
def test_a_bad_url_is_named_by_its_position_and_not_quoted(url: str) -> None:
    with pytest.raises(ConfigError, match=r"`proxy.urls`, number 2") as raised:
        parse_proxies((A, url))
    assert "s3cret" not in str(raised.value)


def test_users_of_one_proxy_have_different_names() -> None:
    names = [proxy.name for proxy in parse_proxies(("http://u1:p@h:1", "http://u2:p@h:1", "socks5://h:1"))]
    assert names == ["h:1", "h:1#2", "h:1#3"]


def test_no_text_shows_a_secret() -> None:
    (proxy,) = parse_proxies(("http://me:s3cret@h:1",))
    pool = ProxyPool(ProxyConfig(urls=("http://me:s3cret@h:1",)), lambda: 0.0)
    pool.record_response(proxy, "x.example", 403, 0.0)
    shown = f"{proxy} {proxy!r} {[proxy]} {pretty_repr(proxy)} {pool.unavailable_reason()}"
    assert "h:1" in shown
    assert "s3cret" not in shown and "'me'" not in shown
    assert proxy.authorization == "Proxy-Authorization: Basic bWU6czNjcmV0\r\n"


def test_no_user_no_authorization() -> None:
    assert parse_proxies((A,))[0].authorization == ""


# ---- choice -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "draws", "expected"),
    [
        ("round-robin", (), "abcabc"),
        ("priority", (), "aaaaaa"),
        ("least-used", (), "abcabc"),
        ("random", (0.99, 0.0, 0.5, 0.34, 0.33, 1.0), "cabbac"),
    ],
)
def test_each_strategy_distributes_new_hosts(strategy: Strategy, draws: tuple[float, ...], expected: str) -> None:
    pool = pool_of(strategy, draws=draws)
    assert "".join(chosen(pool, f"{number}.example") for number in range(6)) == expected


@pytest.mark.parametrize(
    ("strategy", "expected"), [("round-robin", "bcbcabc"), ("priority", "bbbbaaa"), ("least-used", "bcbcaaa")]
)
def test_each_strategy_passes_over_the_banned_until_they_are_back(strategy: Strategy, expected: str) -> None:
    pool = pool_of(strategy)
    a = pool.all[0]
    pool.record_response(a, "some.example", 429, 0.0)
    before = [chosen(pool, f"{number}.example", 299.9) for number in range(4)]
    after = [chosen(pool, f"{number}.example", 300.0) for number in range(4, 7)]
    assert "".join(before + after) == expected


def test_least_used_counts_requests_and_not_hosts() -> None:
    pool = pool_of("least-used")
    assert [chosen(pool, host) for host in ("x", "x", "x", "y", "z", "v", "w")] == list("aaabcbc")


@pytest.mark.parametrize("strategy", ["round-robin", "priority", "least-used", "random"])
def test_a_host_keeps_its_proxy_while_it_works(strategy: Strategy) -> None:
    pool = pool_of(strategy, draws=(0.5, 0.0, 0.9, 0.9))
    first = pool.choose_proxy("x.example", 0.0)
    assert first is not None
    chosen(pool, "y.example")
    pool.record_response(first, "x.example", 200, 0.0)
    pool.record_response(first, "x.example", 404, 0.0)
    pool.record_response(first, "x.example", 500, 0.0)
    assert all(pool.choose_proxy("x.example", float(now)) == first for now in range(5))
    pool.record_response(first, "x.example", 403, 5.0)
    assert pool.choose_proxy("x.example", 6.0) not in (first, None)


def test_after_a_failure_a_host_is_given_another() -> None:
    pool = pool_of()
    assert [chosen(pool, "x"), chosen(pool, "x")] == ["a", "a"]
    assert not pool.record_failure(pool.all[0], "x", "connection refused", 0.0)
    assert chosen(pool, "x") == "b"


def test_one_that_was_tried_is_not_tried_again() -> None:
    pool = pool_of("priority")
    a, b, c = pool.all
    assert [chosen(pool, "x", 0.0, tried) for tried in ((), (a,), (a, b), (a, b, c))] == ["a", "b", "c", "-"]


def test_hosts_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxies, "MAX_HOSTS", 2)
    pool = pool_of()
    assert [chosen(pool, host) for host in ("x", "y", "z", "y", "x")] == ["a", "b", "c", "b", "a"]


def test_a_hundred_thousand_proxies_are_no_burden() -> None:
    """A second of CPU; hours if each were compared with all others."""
    pool = pool_of("round-robin", *(f"http://p{number}.example" for number in range(100_000)))
    assert chosen(pool, "x.example") == "p"


# ---- bans -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "is_banned"),
    [
        (["failed", "failed"], False),
        (["failed", "failed", "failed"], True),
        (["failed", "failed", 200, "failed"], False),
        (["failed", "failed", 404, "failed", "failed"], False),
        (["failed", "failed", 502, "failed", "failed", "failed"], True),
        ([403], True),
        ([429], True),
        ([503], True),
        ([500, 502, 504, 401, 451], False),
    ],
)
def test_what_bans_a_proxy(events: list[str | int], is_banned: bool) -> None:
    pool = pool_of("priority", A)
    bans = []
    for event in events:
        if isinstance(event, int):
            bans.append(pool.record_response(pool.all[0], "x", event, 100.0))
        else:
            bans.append(pool.record_failure(pool.all[0], "x", "connection refused", 100.0))
    assert bans == [False] * (len(events) - 1) + [is_banned]
    assert chosen(pool, "x", 100.0) == ("-" if is_banned else "a")
    assert chosen(pool, "x", 400.0) == "a"


def test_requests_in_flight_do_not_extend_a_ban_and_its_end_resets_failures() -> None:
    pool = pool_of("priority", A)
    (a,) = pool.all
    assert pool.record_response(a, "x", 403, 0.0)
    assert not pool.record_response(a, "y", 403, 200.0)
    assert not pool.record_failure(a, "y", "no answer", 200.0)
    assert pool.first_unban_at() == 300.0
    assert not pool.record_failure(a, "y", "no answer", 300.0)
    assert chosen(pool, "y", 300.0) == "a"


def test_when_all_are_banned_it_is_said_until_when_and_why() -> None:
    pool = pool_of("round-robin", A, B, C, "http://d.example")
    for now, proxy in enumerate(pool.all):
        pool.record_response(proxy, "x", 403 if now else 503, float(now))
    assert chosen(pool, "x", 10.0) == "-"
    assert pool.first_unban_at() == 300.0
    assert pool.unavailable_reason() == (
        "every proxy is banned: a.example:1 (answer 503), b.example:2 (answer 403), c.example:3 (answer 403) and 1 more"
    )


def test_the_backoff_of_a_host_no_proxy_reaches_grows_until_one_does() -> None:
    pool = pool_of("priority", A)
    assert [pool.host_backoff_seconds("x") for _ in range(5)] == [5.0, 20.0, 80.0, 300.0, 300.0]
    assert pool.host_backoff_seconds("y") == 5.0
    pool.record_response(pool.all[0], "x", 404, 0.0)
    assert pool.host_backoff_seconds("x") == 5.0
    short = ProxyPool(ProxyConfig(urls=(A,), ban_seconds=2.0), lambda: 0.0)
    assert short.host_backoff_seconds("x") == 2.0, "a ban is the longest"


# ---- pools ------------------------------------------------------------------------------------------------


def test_each_host_has_the_pool_of_its_section_and_bans_hold_in_all() -> None:
    sections = {
        "direct.example": ProxyConfig(),
        "x.example": ProxyConfig(urls=(A, B)),
        "y.example": ProxyConfig(urls=(A, B)),
        "z.example": ProxyConfig(urls=(A, C)),
    }
    pools = ProxyPools(sections.__getitem__, lambda: 0.0)
    x, z = pools.for_host("x.example"), pools.for_host("z.example")
    assert x is not None and z is not None
    assert pools.for_host("direct.example") is None
    assert pools.for_host("y.example") is x and z is not x
    x.record_response(x.all[0], "x.example", 403, 0.0)
    assert chosen(z, "z.example") == "c"


def test_a_site_of_its_own_has_proxies_of_its_own() -> None:
    config = Config(sites={"*.far.example": {"proxy.urls": [A]}, "[2001:db8::1]": {"proxy.urls": [B]}})
    pools = build_proxy_pools(Sites(config), lambda: 0.0)
    assert pools is not None
    found = {host: pools.for_host(host) for host in ("near.example", "very.far.example", "2001:db8::1")}
    assert {host: pool.all[0].name if pool else None for host, pool in found.items()} == {
        "near.example": None,
        "very.far.example": "a.example:1",
        "2001:db8::1": "b.example:2",
    }


def test_without_proxies_there_are_no_pools() -> None:
    assert build_proxy_pools(Sites(Config()), lambda: 0.0) is None


def test_a_bad_proxy_of_any_site_is_found_at_the_start() -> None:
    config = Config(sites={"far.example": {"proxy.urls": ["http://me:s3cret@"]}})
    with pytest.raises(ConfigError, match=r"`proxy.urls`, number 1"):
        build_proxy_pools(Sites(config), lambda: 0.0)
