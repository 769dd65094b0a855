from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Iterator

import pytest

from tenax.errors import ConfigError
from tenax.fetch import dns
from tenax.fetch.dns import DnsResolver, LookupResult, SystemResolver, UnknownHost, make_resolver
from tests.loops import FAULT_SECONDS, outlasted, reached
from tests.site.dns import NameServer, Says, says

V4, V6 = "93.184.216.34", "2606:2800::1"


@pytest.fixture
def lookup() -> Iterator[SystemResolver]:
    lookup = SystemResolver()
    yield lookup
    lookup.close()


@pytest.fixture
async def server() -> AsyncIterator[NameServer]:
    async with NameServer() as server:
        yield server


@pytest.fixture
async def asking(server: NameServer) -> AsyncIterator[DnsResolver]:
    lookup = DnsResolver([server.address], first_try_seconds=0.05, min_total_seconds=FAULT_SECONDS)
    yield lookup
    lookup.close()


async def test_a_name_has_its_addresses_once(lookup: SystemResolver) -> None:
    found = await lookup.resolve("localhost")
    assert found.addresses
    assert set(found.addresses) <= {"127.0.0.1", "::1"}
    assert len(set(found.addresses)) == len(found.addresses)
    assert found.ttl_seconds is None


@pytest.mark.parametrize("name", ["a..b", f"{'x' * 70}.example", "no-such-name.invalid", "-"])
async def test_an_odd_name_is_an_os_error_like_any_other(
    lookup: SystemResolver, asking: DnsResolver, name: str
) -> None:
    for one in (lookup, asking):
        with pytest.raises(OSError):
            await one.resolve(name)


# ---- DNS servers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (says(V4, ttl=60), LookupResult((V4,), 60.0)),
        (says(V6, ttl=0), LookupResult((V6,), 0.0)),
        (says(V4, V6, ttl=7), LookupResult((V4, V6), 7.0)),
        (says(V4, V4), LookupResult((V4,), 60.0)),
        (says(V4, ttl=2**31 - 1), LookupResult((V4,), 2.0**31 - 1)),
        (says("ours.example", ttl=600), LookupResult((V4,), 5.0)),
        (says("alias.example", ttl=600), LookupResult((V4,), 3.0)),
        # one of the two queries fails, the other has an answer
        (Says((V4,), behaviour="servfail", only_for="AAAA"), LookupResult((V4,), 60.0)),
        (Says((V6,), behaviour="servfail", only_for="A"), LookupResult((V6,), 60.0)),
        (Says((V4,), behaviour="nxdomain", only_for="AAAA"), LookupResult((V4,), 60.0)),
        (Says((V4,), behaviour="silent", only_for="AAAA"), LookupResult((V4,), 60.0)),
        (Says((V4,), behaviour="forged"), LookupResult((V4,), 60.0)),
    ],
)
async def test_what_a_name_server_says(
    server: NameServer, asking: DnsResolver, said: Says, found: LookupResult
) -> None:
    server.knows("ours.example", says(V4, ttl=5))
    server.knows("alias.example", says("ours.example", ttl=3))
    server.knows("a.example", said)
    answer = await asking.resolve("a.example")
    assert (set(answer.addresses), answer.ttl_seconds) == (set(found.addresses), found.ttl_seconds)
    assert len(answer.addresses) == len(found.addresses)
    assert server.asked["a.example", "A"] >= 1
    assert server.asked["a.example", "AAAA"] >= 1, "both are asked"


@pytest.mark.parametrize(
    ("said", "is_unknown"),
    [
        (Says(behaviour="nxdomain"), True),
        (says(), True),
        (says("nowhere.example"), True),
        (Says(behaviour="servfail"), False),
        (Says(behaviour="refused"), False),
        (Says(behaviour="silent"), False),
        (Says(behaviour="garbage"), False),
        # no address of one kind, and no answer for the other: that is not "no such name"
        (Says(behaviour="servfail", only_for="A"), False),
        (Says(behaviour="servfail", only_for="AAAA"), False),
        (Says(behaviour="silent", only_for="AAAA"), False),
    ],
)
async def test_a_name_server_that_is_sure_and_one_that_is_not(
    server: NameServer, asking: DnsResolver, said: Says, is_unknown: bool
) -> None:
    server.knows("a.example", said)
    with pytest.raises(OSError) as raised:
        await outlasted(asking.resolve("a.example"), FAULT_SECONDS, lambda: server.asked.total() > 0)
    assert isinstance(raised.value, UnknownHost) is is_unknown


async def test_a_server_that_was_quick_may_take_its_time(server: NameServer) -> None:
    silent = Says(behaviour="silent")
    server.knows("a.example", *[silent] * 4, says(V4))
    lookup = DnsResolver([server.address], first_try_seconds=0.05, min_total_seconds=FAULT_SECONDS)
    assert (await lookup.resolve("a.example")).addresses == (V4,)
    lookup.close()


async def test_the_second_server_answers_when_the_first_is_gone(server: NameServer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
        gone.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{gone.getsockname()[1]}"
    server.knows("a.example", says(V4))
    lookup = DnsResolver([dead, server.address], first_try_seconds=0.05, min_total_seconds=FAULT_SECONDS)
    assert (await lookup.resolve("a.example")).addresses == (V4,)
    lookup.close()


async def test_a_broken_channel_is_replaced_and_its_lookups_are_repeated(server: NameServer) -> None:
    server.knows("a.example", *[Says(behaviour="silent")] * 2, says(V4))  # A and AAAA
    lookup = DnsResolver([server.address], first_try_seconds=FAULT_SECONDS, min_total_seconds=0.0)
    looking = asyncio.ensure_future(lookup.resolve("a.example"))
    await reached(lambda: server.asked.total() == 2, "both to be asked")
    broken = lookup._channel
    lookup._replace(broken)
    lookup._replace(broken)  # by another look-up that failed with it
    assert lookup._channel is not broken
    assert (await asyncio.wait_for(looking, FAULT_SECONDS)).addresses == (V4,)
    lookup.close()


async def test_a_closed_resolver_opens_nothing_again(server: NameServer) -> None:
    server.knows("a.example", Says(behaviour="silent"))
    lookup = DnsResolver([server.address], first_try_seconds=FAULT_SECONDS, min_total_seconds=0.0)
    looking = asyncio.ensure_future(lookup.resolve("a.example"))
    await reached(lambda: server.asked.total() == 2, "both to be asked")
    lookup.close()
    with pytest.raises(OSError):
        await asyncio.wait_for(looking, FAULT_SECONDS)


async def test_many_names_at_once(server: NameServer, asking: DnsResolver) -> None:
    hosts = [f"{number}.example" for number in range(300)]
    for number, host in enumerate(hosts):
        server.knows(host, says(f"93.184.{number // 256}.{number % 256}"))
    found = await asyncio.gather(*(asking.resolve(host) for host in hosts))
    assert [one.addresses[0] for one in found] == [f"93.184.{n // 256}.{n % 256}" for n in range(300)]


async def test_forgetting_what_was_heard_disturbs_nobody(
    server: NameServer, asking: DnsResolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dns, "_REINIT_AFTER_QUERIES", 7)
    for number in range(50):
        server.knows(f"{number}.example", says(V4))
    found = await asyncio.gather(*(asking.resolve(f"{number}.example") for number in range(50)))
    assert {one.addresses for one in found} == {(V4,)}


async def test_the_hosts_file_of_the_system_holds_here_too(server: NameServer, asking: DnsResolver) -> None:
    found = await asking.resolve("localhost")
    assert set(found.addresses) <= {"127.0.0.1", "::1"}
    assert not server.asked


async def test_closing_ends_what_is_in_flight(server: NameServer) -> None:
    server.knows("slow.example", Says(behaviour="silent"))
    lookup = DnsResolver([server.address], first_try_seconds=30)
    slow = asyncio.ensure_future(lookup.resolve("slow.example"))
    await asyncio.sleep(0)
    lookup.close()
    with pytest.raises(OSError):
        await slow


async def test_nobody_waits_any_more(server: NameServer, asking: DnsResolver) -> None:
    server.knows("a.example", says(V4))
    impatient = asyncio.ensure_future(asking.resolve("a.example"))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await asking.resolve("a.example")).addresses == (V4,)


# ---- choice of resolver -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "nameserver", ["9.9.9.9", "127.0.0.1:5353", "2620:fe::fe", "[2620:fe::fe]", "[2620:fe::fe]:5353"]
)
def test_name_servers_are_asked_when_there_are_some(nameserver: str) -> None:
    lookup = make_resolver((nameserver,))
    assert isinstance(lookup, DnsResolver)
    lookup.close()


def test_the_system_is_asked_when_there_are_none() -> None:
    lookup = make_resolver(())
    assert isinstance(lookup, SystemResolver)
    lookup.close()


@pytest.mark.parametrize(
    "nameserver",
    [
        "",
        "dns.example",
        "9.9.9",
        "9.9.9.9:",
        "9.9.9.9:0",
        "9.9.9.9:70000",
        "9.9.9.9:x",
        "[2620:fe::fe",
        "[::1]x",
        ":53",
    ],
)
def test_what_is_no_name_server_is_said_so(nameserver: str) -> None:
    with pytest.raises(ConfigError, match=r"guard\.nameservers"):
        make_resolver((nameserver,))


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycares", None)
    with pytest.raises(ConfigError, match=r"tenax\[dns\]"):
        make_resolver(("9.9.9.9",))
