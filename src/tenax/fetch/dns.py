"""DNS look-ups: by the system resolver, or by configured DNS servers."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol

from tenax.errors import ConfigError
from tenax.fetch.addresses import parse_address
from tenax.model import Value
from tenax.runtime.resources import raise_file_limit

if TYPE_CHECKING:
    import pycares
    from pycares import AddrInfoResult

_MAX_THREADS = 32
FILES_PER_THREAD = 8
"""Each look-up opens one or two files. If few files are allowed, fewer look-ups run at the same time."""
_NO_SUCH_NAME = frozenset(code for code in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", None)) if code is not None)

# `9.9.9.9`, `127.0.0.1:5353`, `[2620:fe::fe]`, `[2620:fe::fe]:5353`, `2620:fe::fe`
_NAME_SERVER = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::([0-9]{1,5}))?|([0-9A-Fa-f:.]+)")
_TRIES = 3
_FIRST_TRY_SECONDS = 1.5
"""Timeout of a DNS server's first reply. Each retry has about twice the time of the one before."""
_MIN_TOTAL_SECONDS = 4.0
"""If a server was fast before, c-ares shortens the first timeout to as little as 250 ms. A name that the server must
look up itself takes longer, so it is asked again until at least this much time has passed."""
_REINIT_AFTER_QUERIES = 5_000
"""After this many look-ups c-ares clears its cache, which takes 2.4 kB per name. The guard has a cache of its own."""


class UnknownHost(OSError):
    """The resolver is certain that this name has no address."""


class LookupResult(Value, frozen=True):
    """The result of a look-up."""

    addresses: tuple[str, ...]
    """All addresses, of both kinds, best first."""
    ttl_seconds: float | None = None
    """The TTL of the record; None if unknown."""


class Resolver(Protocol):
    async def resolve(self, host: str) -> LookupResult:
        """All addresses of a name. Raises `UnknownHost`, or `OSError` if no answer was received."""

    def close(self) -> None: ...


def make_resolver(nameservers: Sequence[str]) -> Resolver:
    """A resolver for these servers; the system resolver if there are none."""
    return DnsResolver(nameservers) if nameservers else SystemResolver()


class SystemResolver:
    """getaddrinfo in threads of its own. The default threads of the event loop are few, and one slow server would block
    them all."""

    def __init__(self) -> None:
        threads = max(min(_MAX_THREADS, raise_file_limit() // FILES_PER_THREAD), 1)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="names")

    async def resolve(self, host: str) -> LookupResult:
        found = await asyncio.get_running_loop().run_in_executor(self._threads, _getaddrinfo, host)
        if not found:
            raise UnknownHost(None, "no address")
        return LookupResult(found)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class DnsResolver:
    """c-ares: the hosts file, then these servers; A and AAAA in parallel, with TTLs."""

    def __init__(
        self,
        nameservers: Sequence[str],
        first_try_seconds: float = _FIRST_TRY_SECONDS,
        min_total_seconds: float = _MIN_TOTAL_SECONDS,
    ) -> None:
        servers = [_parse_server(text) for text in nameservers]
        try:
            import pycares
        except ImportError:
            raise ConfigError("`guard.nameservers` needs another resolver: pip install 'tenax[dns]'") from None
        # Names are absolute: a search list would also try `example.com.our-office.example`.
        flags = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_STAYOPEN
        self._new_channel = partial(
            pycares.Channel, servers=servers, flags=flags, lookups="fb", timeout=first_try_seconds, tries=_TRIES
        )
        self._channel = self._new_channel()
        self._channel_error = pycares.AresError
        self._is_closed = False
        self._unknown_codes = frozenset({pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA})
        self._timeout_code = pycares.errno.ARES_ETIMEOUT
        self._unsent_codes = frozenset({pycares.errno.ARES_ECONNREFUSED, pycares.errno.ARES_ECANCELLED})
        self._error_text = pycares.errno.strerror
        self._min_total_seconds = min_total_seconds
        self._query_count = 0

    async def resolve(self, host: str) -> LookupResult:
        loop = asyncio.get_running_loop()
        until, is_new = loop.time() + self._min_total_seconds, True
        while True:
            channel = self._channel
            try:
                return await self._query(channel, host)
            except TimeoutError:
                if loop.time() >= until:
                    raise
            except ConnectionRefusedError:
                if not is_new or self._is_closed:
                    raise
                is_new = False
                self._replace(channel)

    def _replace(self, broken: pycares.Channel) -> None:
        """Continue with a new channel.

        c-ares may have had no socket, or may remember a failure of its servers, so the same channel would fail again.
        Look-ups that wait for the old channel are cancelled, and repeated.
        """
        if self._channel is broken:
            with suppress(self._channel_error):  # no file descriptor is left for a new one
                self._channel = self._new_channel()
                broken.close()

    async def _query(self, channel: pycares.Channel, host: str) -> LookupResult:
        self._query_count += 1
        if self._query_count % _REINIT_AFTER_QUERIES == 0:
            channel.reinit()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[LookupResult] = loop.create_future()

        def hand_over(result: AddrInfoResult | None, error: int | None) -> None:
            if answer.done():
                return  # nobody waits any more
            if result is not None:
                answer.set_result(_parse_result(result))
            elif error in self._unknown_codes:
                answer.set_exception(UnknownHost(None, "no such name"))
            elif error == self._timeout_code:
                answer.set_exception(TimeoutError(None, self._error_text(error or 0)))
            elif error in self._unsent_codes:
                answer.set_exception(ConnectionRefusedError(None, self._error_text(error or 0)))
            else:
                answer.set_exception(OSError(None, self._error_text(error or 0)))

        def receive(result: AddrInfoResult | None, error: int | None) -> None:
            """Called in the thread of c-ares, or at once in ours. The loop may be closed when the channel is closed."""
            if not loop.is_closed():
                loop.call_soon_threadsafe(hand_over, result, error)

        channel.getaddrinfo(host, None, type=socket.SOCK_STREAM, callback=receive)
        return await answer

    def close(self) -> None:
        self._is_closed = True
        self._channel.close()


def _getaddrinfo(host: str) -> tuple[str, ...]:
    try:
        # As bytes: text would go through Python's IDNA codec, which raises for unusual names.
        infos = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_NAME:
            raise UnknownHost(None, "no such name") from None
        raise
    return tuple(dict.fromkeys(str(info[4][0]) for info in infos))


def _parse_result(result: AddrInfoResult) -> LookupResult:
    addresses = dict.fromkeys(node.addr[0].decode("ascii") for node in result.nodes)
    # A changed alias changes the addresses too.
    ttls = [node.ttl for node in result.nodes] + [alias.ttl for alias in result.cnames]
    return LookupResult(tuple(addresses), float(max(min(ttls), 0)))


def _parse_server(text: str) -> str:
    """In c-ares notation, always with a port."""
    match = _NAME_SERVER.fullmatch(text)
    if match is not None:
        host, port = match[1] or match[2] or match[4], int(match[3] or 53)
        if parse_address(host) is not None and 0 < port < 65_536:
            return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    raise ConfigError(f"bad value {text!r} for `guard.nameservers`: a name server looks like 9.9.9.9 or 127.0.0.1:5353")
