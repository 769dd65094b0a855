from __future__ import annotations

import pytest

from tenax.errors import ConfigError
from tenax.fetch.addresses import is_public, parse_address, parse_network

CLOSED = (
    "127.0.0.1 127.255.255.254 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.254 192.168.0.1 192.168.255.255 "
    "169.254.169.254 169.254.0.1 100.64.0.1 100.127.255.255 0.0.0.0 0.1.2.3 192.0.0.1 192.0.0.170 192.0.2.1 198.18.0.1 "
    "198.19.255.255 198.51.100.7 203.0.113.9 192.88.99.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 "
    "::1 :: fc00::1 fdff::1 fe80::1 febf::1 fec0::1 ff02::1 fe80::1%eth0 100::1 2001:db8::1 3fff::1 5f00::1 "
    "::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:7f00:1 ::ffff:0:7f00:1 "
    "64:ff9b::127.0.0.1 64:ff9b::a00:1 64:ff9b::169.254.169.254 64:ff9b:1::7f00:1 64:ff9b:1::808:808 "
    "2002:7f00:1:: 2002:a00:1::1 2002:808:808:: ::127.0.0.1 ::10.0.0.1 ::8.8.8.8 "
    "2001:0:4136:e378:8000:63bf:3fff:fdd2 2001::1 2001:10::1 2001:2::1 4000::1 "
)
OPEN = (
    "8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.1 100.63.255.255 100.128.0.1 192.0.1.1 198.17.255.255 198.20.0.1 "
    "169.253.255.255 223.255.255.255 11.0.0.1 9.255.255.255 126.255.255.255 128.0.0.1 192.167.255.255 192.169.0.1 "
    "2606:4700::1111 2a00:1450:4001::200e 2001:4860:4860::8888 2001:200::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 "
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [*((text, False) for text in CLOSED.split()), *((text, True) for text in OPEN.split())],
)
def test_which_addresses_are_public(text: str, expected: bool) -> None:
    parsed = parse_address(text)
    assert parsed is not None
    assert is_public(parsed) is expected


@pytest.mark.parametrize(
    ("text", "networks", "expected"),
    [
        ("10.1.2.3", "10.1.0.0/16", True),
        ("10.2.0.1", "10.1.0.0/16", False),
        ("::ffff:10.1.2.3", "10.1.0.0/16", True),
        ("fd00::5", "fd00::/64", True),
        ("fd00:0:0:1::5", "fd00::/64", False),
        ("127.0.0.1", "10.1.0.0/16 127.0.0.0/8", True),
        ("::1", "127.0.0.0/8", False),
        ("8.8.8.8", "10.1.0.0/16", True),
    ],
)
def test_networks_an_operator_allows(text: str, networks: str, expected: bool) -> None:
    parsed = parse_address(text)
    assert parsed is not None
    assert is_public(parsed, tuple(parse_network(one) for one in networks.split())) is expected


@pytest.mark.parametrize(
    "text", ["", "example.org", "127.1", "0x7f.1", "2130706433", "127.0.0.01", "1.2.3.4.5", "[::1]"]
)
def test_what_is_no_address(text: str) -> None:
    assert parse_address(text) is None


def test_a_bad_network_names_its_setting() -> None:
    with pytest.raises(ConfigError, match=r"guard\.allow_networks"):
        parse_network("10.1.0.0/99")
