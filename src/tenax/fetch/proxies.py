"""Chooses a proxy for a host's requests, and bans proxies that do not work."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection
from typing import Literal, TypeAlias, TypeVar, cast
from urllib.parse import unquote_to_bytes, urlsplit

from tenax.config import ProxyConfig, Sites
from tenax.errors import ConfigError
from tenax.model import Value

MAX_HOSTS = 100_000
"""Maximum hosts with stored state. The least recently updated one is removed first."""
FIRST_BACKOFF_SECONDS = 5.0
BACKOFF_FACTOR = 4.0
"""If no proxy reaches a host, its backoff grows by this factor each time."""
MAX_SUSPECTED_PROXIES = 3
"""A failure may be that of the proxy or of the host. It counts as the host's after this many proxies had it."""
MAX_CREDENTIAL_BYTES = 255
"""RFC 1929; HTTP would allow more."""

ProxyScheme: TypeAlias = Literal["http", "https", "socks5"]
_DEFAULT_PORTS: dict[str, int] = {"http": 80, "https": 443, "socks5": 1080}
_MAX_SHOWN_BANS = 3
_T = TypeVar("_T")


class Proxy(Value, frozen=True):
    """One proxy with its credentials. Neither its name nor its repr contains them."""

    name: str
    """`host:port`. If another user has the same one, `#2` follows it."""
    scheme: ProxyScheme
    host: str
    port: int
    user: bytes = b""
    password: bytes = b""

    def __repr__(self) -> str:
        return f"Proxy({self.scheme}://{self.name})"

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return [("name", self.name)]

    @property
    def authorization(self) -> str:
        """The header line for the proxy itself (RFC 7617), with its line end; empty without a user."""
        if not self.user:
            return ""
        return f"Proxy-Authorization: Basic {b64encode(self.user + b':' + self.password).decode()}\r\n"


def parse_proxies(urls: tuple[str, ...]) -> tuple[Proxy, ...]:
    """The proxies in `proxy.urls`. Raises `ConfigError`, which does not quote them: they hold credentials."""
    found: dict[str, Proxy] = {}
    for number, url in enumerate(urls, 1):
        proxy = _parse_proxy(url, found)
        if proxy is None:
            raise ConfigError(
                f"bad value in `proxy.urls`, number {number}: a proxy looks like http://user:password@host:3128, "
                f"with http, https or socks5 before it"
            )
        found[proxy.name] = proxy
    return tuple(found.values())


def _parse_proxy(url: str, used_names: Collection[str]) -> Proxy | None:
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    host = parts.hostname or ""
    user, password = unquote_to_bytes(parts.username or ""), unquote_to_bytes(parts.password or "")
    is_plain = host and host.isascii() and host.isprintable() and not set(host) & set(' /\\"<>@')
    if parts.scheme not in _DEFAULT_PORTS or not is_plain or parts.path not in ("", "/") or parts.query:
        return None
    if parts.fragment or max(len(user), len(password)) > MAX_CREDENTIAL_BYTES or b":" in user:
        return None
    if b"\0" in user + password:  # some libraries treat it as the end
        return None
    name = whole = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    nth = 1
    while name in used_names:
        nth += 1
        name = f"{whole}#{nth}"
    return Proxy(name, cast(ProxyScheme, parts.scheme), host, port=port, user=user, password=password)


class _ProxyState:
    """The state of a proxy."""

    __slots__ = ("banned_until", "failures_in_a_row", "requests", "why")

    def __init__(self) -> None:
        self.requests = 0
        self.failures_in_a_row = 0
        self.banned_until = 0.0
        self.why = ""


class ProxyPool:
    """The proxies of one config section. Time is passed in; for one event loop."""

    def __init__(
        self, config: ProxyConfig, draw: Callable[[], float], states: dict[Proxy, _ProxyState] | None = None
    ) -> None:
        """`draw` returns a random number from 0 to 1. Pools that share `states` share their bans."""
        self.all = parse_proxies(config.urls)
        self._config = config
        self._draw = draw
        states = states if states is not None else {}
        self._states = {proxy: states.setdefault(proxy, _ProxyState()) for proxy in self.all}
        self._positions = {proxy: position for position, proxy in enumerate(self.all)}
        self._proxy_by_host: dict[str, Proxy] = {}
        self._backoffs: dict[str, float] = {}
        """The backoffs of hosts that no proxy reached at the last attempt."""
        self._suspects: dict[str, tuple[Proxy, ...]] = {}
        """By host, the proxies that have failed since its last response, if it is not known who is at fault."""
        self._next_position = 0

    def choose_proxy(self, host: str, now: float, excluded: Collection[Proxy] = ()) -> Proxy | None:
        """The proxy for a request to this host: its last one, or the one that the strategy chooses.

        None: all proxies are banned, or excluded by the caller.
        """
        suspects = self._suspects.get(host)
        if suspects and self._has_other_free((*excluded, *suspects), now):
            excluded = (*excluded, *suspects)
        proxy = self._proxy_by_host.get(host)
        if proxy is None or proxy in excluded or not self._is_free(proxy, now):
            free = [proxy for proxy in self.all if proxy not in excluded and self._is_free(proxy, now)]
            if not free:
                return None
            proxy = self._pick(free)
            _store_bounded(self._proxy_by_host, host, proxy)
        self._states[proxy].requests += 1
        return proxy

    def record_response(self, proxy: Proxy, host: str, status: int, now: float) -> bool:
        """Record a response. True if it bans the proxy: some statuses show that a site refuses it."""
        self._backoffs.pop(host, None)
        self._suspects.pop(host, None)
        if self.is_ban_status(status):
            return self._ban(proxy, host, f"answer {status}", now)
        self._states[proxy].failures_in_a_row = 0
        return False

    def record_failure(self, proxy: Proxy, host: str, why: str, now: float) -> bool:
        """Record a failure. The host gets another proxy. True if the failure bans this proxy."""
        state = self._states[proxy]
        state.failures_in_a_row += 1
        if state.failures_in_a_row >= self._config.ban_failures:
            return self._ban(proxy, host, why, now)
        self._forget(host, proxy)
        return False

    def record_suspicion(self, proxy: Proxy, host: str, now: float) -> bool:
        """Record a failure that may be that of the proxy or of the host. True: try another proxy. False: it is the
        host's."""
        suspects = (*self._suspects.get(host, ()), proxy)
        if len(suspects) >= MAX_SUSPECTED_PROXIES or not self._has_other_free(suspects, now):
            self._suspects.pop(host, None)
            return False
        _store_bounded(self._suspects, host, suspects)
        return True

    def is_ban_status(self, status: int) -> bool:
        """Whether a response with this status bans its proxy."""
        return status in self._config.ban_statuses

    def host_backoff_seconds(self, host: str) -> float:
        """The backoff of a host that every proxy declined to reach, at most the duration of a ban.

        If all proxies agree, the host is at fault and none of them is banned. Otherwise a few dead hosts would ban
        every proxy.
        """
        backoff_seconds = min(
            self._backoffs.get(host, FIRST_BACKOFF_SECONDS / BACKOFF_FACTOR) * BACKOFF_FACTOR, self._config.ban_seconds
        )
        _store_bounded(self._backoffs, host, backoff_seconds)
        return backoff_seconds

    def first_unban_at(self) -> float:
        """When the first ban ends."""
        return min(state.banned_until for state in self._states.values())

    def unavailable_reason(self) -> str:
        """The reason to wait until the first ban ends."""
        shown = [f"{proxy.name} ({self._states[proxy].why})" for proxy in self.all[:_MAX_SHOWN_BANS]]
        more = len(self.all) - len(shown)
        return f"every proxy is banned: {', '.join(shown)}{f' and {more} more' if more else ''}"

    def _has_other_free(self, excluded: Collection[Proxy], now: float) -> bool:
        return any(proxy not in excluded and self._is_free(proxy, now) for proxy in self.all)

    def _is_free(self, proxy: Proxy, now: float) -> bool:
        return self._states[proxy].banned_until <= now

    def _pick(self, free: list[Proxy]) -> Proxy:
        match self._config.strategy:
            case "priority":
                return free[0]
            case "least-used":
                return min(free, key=lambda proxy: self._states[proxy].requests)
            case "random":
                return free[min(int(self._draw() * len(free)), len(free) - 1)]
            case "round-robin":
                # The next one in the configured order, so that a banned proxy keeps its position.
                count = len(self.all)
                proxy = min(free, key=lambda proxy: (self._positions[proxy] - self._next_position) % count)
                self._next_position = self._positions[proxy] + 1
                return proxy

    def _ban(self, proxy: Proxy, host: str, why: str, now: float) -> bool:
        self._forget(host, proxy)
        state = self._states[proxy]
        state.failures_in_a_row = 0
        if state.banned_until > now:
            return False  # requests in flight when it was banned do not extend the ban
        state.banned_until = now + self._config.ban_seconds
        state.why = why
        return True

    def _forget(self, host: str, proxy: Proxy) -> None:
        if self._proxy_by_host.get(host) == proxy:
            del self._proxy_by_host[host]


def _store_bounded(hosts: dict[str, _T], host: str, value: _T) -> None:
    hosts.pop(host, None)
    hosts[host] = value
    if len(hosts) > MAX_HOSTS:
        del hosts[next(iter(hosts))]


class ProxyPools:
    """The proxies of each host. Hosts with the same section share a pool, and a ban applies to every pool."""

    def __init__(self, section_for_host: Callable[[str], ProxyConfig], draw: Callable[[], float]) -> None:
        """`section_for_host` returns the section of a host name; its URLs must have passed `parse_proxies`."""
        self._section_for_host = section_for_host
        self._draw = draw
        self._pools: dict[ProxyConfig, ProxyPool] = {}
        self._states: dict[Proxy, _ProxyState] = {}

    def for_host(self, host: str) -> ProxyPool | None:
        """The pool of this host; None if requests to the host are direct."""
        section = self._section_for_host(host)
        if not section.urls:
            return None
        pool = self._pools.get(section)
        if pool is None:
            pool = self._pools[section] = ProxyPool(section, self._draw, self._states)
        return pool


def build_proxy_pools(sites: Sites, draw: Callable[[], float]) -> ProxyPools | None:
    """The pools of a config; None if no site has a proxy. Raises `ConfigError`; the other methods do not."""
    sections = [site.proxy for site in sites]
    for section in sections:
        parse_proxies(section.urls)
    if not any(section.urls for section in sections):
        return None
    return ProxyPools(lambda host: sites.for_host(f"[{host}]" if ":" in host else host).proxy, draw)
