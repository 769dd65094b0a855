"""Names to addresses, by the system's resolver, in threads of their own."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

_THREADS = 32
_NO_SUCH_NAME = frozenset(code for code in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", None)) if code is not None)


class NameUnknown(OSError):
    """The resolver is sure that this name has no address."""


class Lookup(Protocol):
    async def addresses(self, host: str) -> tuple[str, ...]:
        """All addresses of a name, best first. Raises `NameUnknown`, or `OSError` when it could not be asked."""

    def close(self) -> None: ...


class SystemLookup:
    """getaddrinfo. The loop's own threads would do, but they are few, and one slow name server would block them all."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="names")

    async def addresses(self, host: str) -> tuple[str, ...]:
        found = await asyncio.get_running_loop().run_in_executor(self._threads, _addresses, host)
        if not found:
            raise NameUnknown(None, "no address")
        return found

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _addresses(host: str) -> tuple[str, ...]:
    try:
        # As bytes: text would go through Python's IDNA codec, which raises at names that are merely odd.
        infos = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_NAME:
            raise NameUnknown(None, "no such name") from None
        raise
    return tuple(dict.fromkeys(str(info[4][0]) for info in infos))
