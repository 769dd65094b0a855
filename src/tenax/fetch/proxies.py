"""Proxies: which one a host's requests go through, and which ones rest because they do not work."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection
from typing import Literal, TypeAlias, TypeVar, cast
from urllib.parse import unquote_to_bytes, urlsplit

from tenax.config import ProxyConfig, Sites
from tenax.errors import ConfigError
from tenax.model import Value

MAX_HOSTS = 100_000
"""Hosts that something is remembered of; the ones that it was noted of longest ago leave first."""
FIRST_BACKOFF_SECONDS = 5.0
BACKOFF_FACTOR = 4.0
"""A host that no proxy brings us to is left alone for the first time, and each further time so many times longer."""
MAX_SUSPECTED_PROXIES = 3
"""Where a failure may be the proxy's or the host's: after so many proxies with one, it counts as the host's."""
MAX_CREDENTIAL_BYTES = 255
"""RFC 1929; HTTP would take more."""

ProxyScheme: TypeAlias = Literal["http", "https", "socks5"]
_DEFAULT_PORTS: dict[str, int] = {"http": 80, "https": 443, "socks5": 1080}
_MAX_SHOWN_BANS = 3
_T = TypeVar("_T")


class Proxy(Value, frozen=True):
    """One proxy, with the secrets that only it may hear. Neither its name nor its text shows them."""

    name: str
    """`host:port`; a second one there, for another user, has `#2` after it."""
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
        """The header line for the proxy itself (RFC 7617), with its end; empty when it asks for no user."""
        if not self.user:
            return ""
        return f"Proxy-Authorization: Basic {b64encode(self.user + b':' + self.password).decode()}\r\n"


def parse_proxies(urls: tuple[str, ...]) -> tuple[Proxy, ...]:
    """The proxies that `proxy.urls` names. Raises `ConfigError`, which does not quote them: they hold secrets."""
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
    if b"\0" in user + password:  # where some libraries take it to end
        return None
    name = whole = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    nth = 1
    while name in used_names:
        nth += 1
        name = f"{whole}#{nth}"
    return Proxy(name, cast(ProxyScheme, parts.scheme), host, port, user, password)


class _ProxyState:
    """How a proxy has done so far."""

    __slots__ = ("banned_until", "failures_in_a_row", "requests", "why")

    def __init__(self) -> None:
        self.requests = 0
        self.failures_in_a_row = 0
        self.banned_until = 0.0
        self.why = ""


class ProxyPool:
    """The proxies of one section of the configuration. Time is passed in; for one event loop."""

    def __init__(
        self, config: ProxyConfig, draw: Callable[[], float], states: dict[Proxy, _ProxyState] | None = None
    ) -> None:
        """`draw` gives a number from 0 to 1 by chance. Pools that share `states` share their bans."""
        self.all = parse_proxies(config.urls)
        self._config = config
        self._draw = draw
        states = states if states is not None else {}
        self._states = {proxy: states.setdefault(proxy, _ProxyState()) for proxy in self.all}
        self._positions = {proxy: place for place, proxy in enumerate(self.all)}
        self._proxy_by_host: dict[str, Proxy] = {}
        self._backoffs: dict[str, float] = {}
        """Of hosts that no proxy brought us to when we last asked."""
        self._suspects: dict[str, tuple[Proxy, ...]] = {}
        """By host, the proxies that failed since its last answer, where it is not known whose fault that is."""
        self._next_position = 0

    def choose_proxy(self, host: str, now: float, excluded: Collection[Proxy] = ()) -> Proxy | None:
        """The proxy for a request to this host: the one it had, or the strategy's choice. None: all are banned."""
        doubts = self._suspects.get(host)
        if doubts and self._has_other_free((*excluded, *doubts), now):
            excluded = (*excluded, *doubts)
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
        """An answer came through. True when it bans the proxy: this is how a site says that it is not wanted."""
        self._backoffs.pop(host, None)
        self._suspects.pop(host, None)
        if self.is_ban_status(status):
            return self._ban(proxy, host, f"answer {status}", now)
        self._states[proxy].failures_in_a_row = 0
        return False

    def record_failure(self, proxy: Proxy, host: str, why: str, now: float) -> bool:
        """Nothing came through, and the host is given another one. True when that bans the proxy."""
        standing = self._states[proxy]
        standing.failures_in_a_row += 1
        if standing.failures_in_a_row >= self._config.ban_failures:
            return self._ban(proxy, host, why, now)
        self._forget(host, proxy)
        return False

    def record_suspicion(self, proxy: Proxy, host: str, now: float) -> bool:
        """A failure that may be this proxy's or the host's. True: another proxy is to be asked; False: the host's."""
        doubts = (*self._suspects.get(host, ()), proxy)
        if len(doubts) >= MAX_SUSPECTED_PROXIES or not self._has_other_free(doubts, now):
            self._suspects.pop(host, None)
            return False
        _store_bounded(self._suspects, host, doubts)
        return True

    def is_ban_status(self, status: int) -> bool:
        """Whether an answer with this status bans the proxy that brings it."""
        return status in self._config.ban_statuses

    def host_backoff_seconds(self, host: str) -> float:
        """Every proxy has declined to bring us to this host: how long it is left alone, up to the length of a ban.

        What all of them say of a host is believed, and held against none of them: else a few hosts that are gone would
        ban every proxy.
        """
        rest = min(
            self._backoffs.get(host, FIRST_BACKOFF_SECONDS / BACKOFF_FACTOR) * BACKOFF_FACTOR, self._config.ban_seconds
        )
        _store_bounded(self._backoffs, host, rest)
        return rest

    def first_unban_at(self) -> float:
        """When the first ban ends."""
        return min(standing.banned_until for standing in self._states.values())

    def unavailable_reason(self) -> str:
        """The reason for a wait until then, in words."""
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
                # The next in the configured order, so that one that is banned for a while keeps its place in it.
                count = len(self.all)
                proxy = min(free, key=lambda proxy: (self._positions[proxy] - self._next_position) % count)
                self._next_position = self._positions[proxy] + 1
                return proxy

    def _ban(self, proxy: Proxy, host: str, why: str, now: float) -> bool:
        self._forget(host, proxy)
        standing = self._states[proxy]
        standing.failures_in_a_row = 0
        if standing.banned_until > now:
            return False  # requests that were under way when it was banned do not make it longer
        standing.banned_until = now + self._config.ban_seconds
        standing.why = why
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
    """The proxies of each host. Hosts with the same section share a pool, and a ban holds in every pool."""

    def __init__(self, section_for_host: Callable[[str], ProxyConfig], draw: Callable[[], float]) -> None:
        """`section_for_host` gives the section that holds for a host name; its URLs must have passed `parse_proxies`."""
        self._section_for_host = section_for_host
        self._draw = draw
        self._pools: dict[ProxyConfig, ProxyPool] = {}
        self._states: dict[Proxy, _ProxyState] = {}

    def for_host(self, host: str) -> ProxyPool | None:
        """None when requests to this host go straight to it."""
        section = self._section_for_host(host)
        if not section.urls:
            return None
        pool = self._pools.get(section)
        if pool is None:
            pool = self._pools[section] = ProxyPool(section, self._draw, self._states)
        return pool


def build_proxy_pools(sites: Sites, draw: Callable[[], float]) -> ProxyPools | None:
    """The pools that a configuration asks for; None when no site has a proxy. Raises `ConfigError`, now or never."""
    sections = [site.proxy for site in sites]
    for section in sections:
        parse_proxies(section.urls)
    if not any(section.urls for section in sections):
        return None
    return ProxyPools(lambda host: sites.for_host(f"[{host}]" if ":" in host else host).proxy, draw)
