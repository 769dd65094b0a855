"""Which addresses are public: everything that is not set aside for something else (IANA's special registries)."""

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
        "169.254.0.0/16",  # link-local, and the clouds' metadata services
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

# Global unicast is one block; what lies outside of it is loopback, link-local, unique local, multicast or unassigned.
_GLOBAL_V6 = IPv6Network("2000::/3")
_RESERVED_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments; Teredo is among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address of anyone's choice inside
        "3fff::/20",  # documentation
    )
)
# RFC 6052: how a network without IPv4 reaches IPv4 hosts. As public as the address inside.
_NAT64 = IPv6Network("64:ff9b::/96")


def parse_address(text: str) -> Address | None:
    """The address that this text spells, as a URL or a resolver writes it; None when it is something else."""
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
    """True when anyone may connect to it, or when it lies in an allowed network."""
    inner = _embedded_address(given)
    if any(candidate in net for candidate in (given, inner) for net in allowed if net.version == candidate.version):
        return True
    if isinstance(inner, IPv4Address):
        return not any(inner in net for net in _RESERVED_V4)
    return inner in _GLOBAL_V6 and not any(inner in net for net in _RESERVED_V6)


def _embedded_address(given: Address) -> Address:
    """The IPv4 address that a connection to a mapped or NAT64 address ends at."""
    if isinstance(given, IPv6Address):
        if given.ipv4_mapped is not None:
            return given.ipv4_mapped
        if given in _NAT64:
            return IPv4Address(int(given) & 0xFFFF_FFFF)
    return given
