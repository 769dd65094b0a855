"""Opens a socket to the first of a host's checked addresses that answers."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from aiohappyeyeballs import AddrInfoType, start_connection

NEXT_ADDRESS_DELAY_SECONDS = 0.25
"""RFC 8305: the next address is tried if the one before has not answered by then."""


async def open_socket(addresses: Sequence[str], port: int) -> socket.socket:
    """A socket to the first of these addresses that answers. Raises `OSError`."""
    infos = [_address_info(address, port) for address in addresses]
    return await start_connection(infos, happy_eyeballs_delay=NEXT_ADDRESS_DELAY_SECONDS)


def _address_info(address: str, port: int) -> AddrInfoType:
    if ":" in address:
        return (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))
