"""Which IP addresses are public."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from tenax.errors import ConfigError

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_RESERVED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers' NAT
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, and cloud metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)

# Global unicast is one block; outside of it are loopback, link-local, unique local, multicast or unassigned.
_GLOBAL_V6 = IPv6Network("2000::/3")
_RESERVED_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments; Teredo is among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: contains any IPv4 address
        "3fff::/20",  # documentation
    )
)
# RFC 6052: IPv6-only networks reach IPv4 hosts in this way. The address is public if the embedded address is.
_NAT64 = IPv6Network("64:ff9b::/96")


def parse_address(text: str) -> Address | None:
    """The address written in a URL or by a resolver; None if the text is not an address."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def parse_network(text: str) -> Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise ConfigError(f"bad value {text!r} for `guard.allow_networks`: a network looks like 10.1.0.0/16") from None


def is_public(given: Address, allowed: tuple[Network, ...] = ()) -> bool:
    """Whether this is a public address, or one in an allowed network."""
    inner = _embedded_address(given)
    if any(candidate in net for candidate in (given, inner) for net in allowed if net.version == candidate.version):
        return True
    if isinstance(inner, IPv4Address):
        return not any(inner in net for net in _RESERVED_V4)
    return inner in _GLOBAL_V6 and not any(inner in net for net in _RESERVED_V6)


def _embedded_address(given: Address) -> Address:
    """The IPv4 address that a mapped or NAT64 address leads to."""
    if isinstance(given, IPv6Address):
        if given.ipv4_mapped is not None:
            return given.ipv4_mapped
        if given in _NAT64:
            return IPv4Address(int(given) & 0xFFFF_FFFF)
    return given
