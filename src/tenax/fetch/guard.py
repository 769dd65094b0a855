"""The SSRF guard: takes a URL apart, resolves its name, checks the addresses, and pins them.

Every transport calls `parse_target` and `check` before each request. A name is looked up once for all concurrent
callers, and refused if any of its addresses is not public. `check` returns the addresses, and connections are only made
to those: a DNS record that changes after the check has no effect.
"""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from tenax.clock import Clock
from tenax.config import GuardConfig
from tenax.fetch.addresses import Address, is_public, parse_address, parse_network
from tenax.fetch.dns import LookupResult, Resolver, UnknownHost, make_resolver
from tenax.fetch.failures import file_limit_failure, is_file_limit_failure
from tenax.model import AddressClass, Failed, FailureKind, Refused, Value
from tenax.runtime.resources import are_files_used_up, is_out_of_files

MAX_NAMES = 20_000
"""Maximum cached names; the oldest look-ups are removed first."""
FAILED_LOOKUP_TTL_SECONDS = 1.0
"""A failed look-up is not repeated within this time."""
MIN_TTL_SECONDS = 1.0
"""An address is pinned for at least this long, even with a TTL of 0, which is typical of DNS rebinding attacks."""

_HOST_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)\.?")


# The URL parser has already normalized the URL. This pattern only ensures that it is unambiguous: no user or password,
# no backslash, no blank, nothing that a second parser could take for the end of the host.
_PLAIN_URL = re.compile(r"(https?)://([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?([/?][\x21-\x7e]*)?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """The scheme, host and port of a connection; an IPv6 address has no brackets."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """As in the Host header: with the port only if it is not the default of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


class Target(NamedTuple):
    """One URL to request."""

    origin: Origin
    path: str
    """Path and query, as sent."""


def parse_target(url: str) -> Target | None:
    """The target of an absolute, escaped http or https URL; None for anything else."""
    match = _PLAIN_URL.fullmatch(url)
    if match is None:
        return None
    scheme, host, port, path = match.groups()
    origin = _build_origin(scheme, host, port)
    if origin is None:
        return None
    path = (path or "/").partition("#")[0]
    return Target(origin, path if path[0] == "/" else f"/{path}")


def parse_origin(url: str) -> Origin | None:
    """The origin of such a URL."""
    target = parse_target(url)
    return target.origin if target is not None else None


@lru_cache(maxsize=4096)
def _build_origin(scheme: str, host: str, port: str | None) -> Origin | None:
    number = int(port) if port else _DEFAULT_PORTS[scheme]
    return Origin(scheme, host.lower().strip("[]"), number) if 0 < number < 65_536 else None


class _Resolution(Value, frozen=True):
    """The checked result of a look-up."""

    addresses: tuple[str, ...]
    is_permitted: bool
    expires_at: float
    failed: Failed | None = None


class Guard:
    """Checks every address of every visit. Safe for concurrent use."""

    def __init__(
        self,
        config: GuardConfig,
        clock: Clock,
        allowed_origins: Iterable[str] = (),
        resolver: Resolver | None = None,
    ) -> None:
        self._ports = frozenset(config.ports)
        self._networks = tuple(parse_network(text) for text in config.allow_networks)
        self._ttl_seconds = config.dns_ttl_seconds
        self._clock = clock
        self._resolver = resolver or make_resolver(config.nameservers)
        self._resolutions: dict[str, _Resolution] = {}
        self._pending_lookups: dict[str, asyncio.Task[_Resolution]] = {}
        self._seed_origins: set[Origin] = set()
        for origin in allowed_origins:
            self.allow_origin(origin)

    def allow_origin(self, origin: str) -> None:
        """Allow a seed that a person typed: exactly this scheme, host and port, whatever its address is."""
        typed = parse_origin(origin)
        if typed is not None:
            self._seed_origins.add(typed)

    async def check(self, origin: Origin, timeout_seconds: float) -> tuple[str, ...] | Refused | Failed:
        """The addresses to which a connection for this origin may be made now, or why none may be made.

        The timeout is that of a look-up.
        """
        _, host, port = origin
        is_typed = origin in self._seed_origins
        if port not in self._ports and not is_typed:
            return Refused(f"guard: port {port} is not allowed")
        literal = _parse_literal(host)
        if literal is not None:
            if is_typed or is_public(literal, self._networks):
                return (host,)
            return Refused(f"guard: {host} is not a public address")
        if not _is_host_name(host):
            return Refused("guard: not a host name")
        answer = self._resolutions.get(host)
        if answer is None or answer.expires_at <= self._clock.now():
            try:
                async with asyncio.timeout(timeout_seconds):
                    answer = await self._resolve_shared(host)
            except TimeoutError:
                return Failed("the name look-up took too long", FailureKind.DNS, is_site_wide=True)
        if answer.failed is not None:
            return answer.failed
        if is_typed or answer.is_permitted:
            return answer.addresses
        return Refused(f"guard: {host} leads to an address that is not public")

    def classify_address(self, origin: Origin, peer_address: str) -> AddressClass:
        """The class of the address to which a connection for this origin was made."""
        literal = _parse_literal(peer_address)
        if literal is None:
            return ""
        if is_public(literal):
            return "public"
        if is_public(literal, self._networks):
            return "allowed"
        return "typed" if origin in self._seed_origins else ""

    async def resolve_proxy(self, host: str) -> tuple[str, ...]:
        """The addresses of a proxy. The configuration may name a proxy at any address.

        They are cached like other names. Raises `OSError`.
        """
        if _parse_literal(host) is not None:
            return (host,)
        answer = self._resolutions.get(host)
        if answer is None or answer.expires_at <= self._clock.now():
            answer = await self._resolve_shared(host)
        if answer.failed is not None:
            raise OSError(errno.EMFILE if is_file_limit_failure(answer.failed) else None, answer.failed.why)
        return answer.addresses

    async def close(self) -> None:
        for task in self._pending_lookups.values():
            task.cancel()
        await asyncio.gather(*self._pending_lookups.values(), return_exceptions=True)
        self._resolver.close()

    async def _resolve_shared(self, host: str) -> _Resolution:
        task = self._pending_lookups.get(host)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._resolve(host))
            self._pending_lookups[host] = task
            task.add_done_callback(lambda _: self._pending_lookups.pop(host, None))
        # The look-up is shared: it continues when the visit that started it runs out of time.
        return await asyncio.shield(task)

    async def _resolve(self, host: str) -> _Resolution:
        try:
            answer = self._check_addresses(await self._resolver.resolve(host))
        except OSError as error:
            if is_out_of_files(error) or are_files_used_up():
                # The resolver could not send the query. Such a result is not cached.
                return self._failed_resolution(file_limit_failure())
            answer = self._failed_resolution(_lookup_failure(error))
        self._resolutions.pop(host, None)
        self._resolutions[host] = answer
        while len(self._resolutions) > MAX_NAMES:
            del self._resolutions[next(iter(self._resolutions))]
        return answer

    def _check_addresses(self, result: LookupResult) -> _Resolution:
        literals = [_parse_literal(one) for one in result.addresses]
        permitted = all(literal is not None and is_public(literal, self._networks) for literal in literals)
        ttl_seconds = self._ttl_seconds if result.ttl_seconds is None else min(result.ttl_seconds, self._ttl_seconds)
        return _Resolution(result.addresses, permitted, self._clock.now() + max(ttl_seconds, MIN_TTL_SECONDS))

    def _failed_resolution(self, failed: Failed) -> _Resolution:
        return _Resolution((), False, self._clock.now() + FAILED_LOOKUP_TTL_SECONDS, failed)


def _lookup_failure(error: OSError) -> Failed:
    if isinstance(error, UnknownHost):
        # This is not a failure of the host, because there is no such host. The URL is wrong, and may become a dead
        # letter.
        return Failed("no such host", FailureKind.DNS)
    why = f"the name look-up failed: {error.strerror}" if error.strerror else "the name look-up failed"
    return Failed(why, FailureKind.DNS, is_site_wide=True)


@lru_cache(maxsize=8192)
def _parse_literal(host: str) -> Address | None:
    return parse_address(host)


@lru_cache(maxsize=8192)
def _is_host_name(host: str) -> bool:
    """Whether this is a name. A resolver takes `127.1`, `0x7f.1` and `2130706433` for addresses, so they do not count
    as names."""
    if len(host) > 253 or _HOST_NAME.fullmatch(host) is None:
        return False
    return _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]) is None
