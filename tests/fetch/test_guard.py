from __future__ import annotations

import asyncio
import socket

import pytest
from yarl import URL

from tenax.clock import ManualClock
from tenax.config import FetchConfig, GuardConfig
from tenax.fetch import Request, Response
from tenax.fetch.guard import UNKNOWN_TTL_SECONDS, Guard
from tenax.fetch.http import HttpTransport
from tenax.fetch.names import NameUnknown
from tenax.model import Failed, FailureKind, Refused
from tests.site.manners import MANNERS
from tests.site.server import Site


class Names:
    """A resolver that says what the test wants."""

    def __init__(self, **names: tuple[str, ...]) -> None:
        self.names = {name.replace("_", "."): addresses for name, addresses in names.items()}
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def addresses(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        await self.gate.wait()
        if host == "broken.example":
            raise OSError("server failure")
        if host not in self.names:
            raise NameUnknown
        return self.names[host]

    def close(self) -> None: ...


def guard_with(
    names: Names, clock: ManualClock | None = None, *origins: str, allow_networks: tuple[str, ...] = ()
) -> Guard:
    return Guard(GuardConfig(allow_networks=allow_networks), clock or ManualClock(), origins, names)


async def verdict(guard: Guard, url: str) -> Refused | Failed | None:
    return await guard.check(URL(url, encoded=True), timeout_seconds=0.2)


@pytest.mark.parametrize(
    ("url", "is_refused"),
    [
        ("http://8.8.8.8/", False),
        ("https://[2606:4700::1111]/", False),
        ("http://[::ffff:8.8.8.8]/", False),
        ("http://127.0.0.1/", True),
        ("http://[::1]/", True),
        ("http://[::ffff:127.0.0.1]/", True),
        ("http://169.254.169.254/latest/meta-data/", True),
        # an address in a spelling that only a resolver would understand
        ("http://127.1/", True),
        ("http://0x7f.1/", True),
        ("http://0x7f000001/", True),
        ("http://2130706433/", True),
        ("http://0177.0.0.1/", True),
        ("http://127.0.0.1./", True),
        ("http://public.example/", False),
        ("http://PUBLIC.example/", False),
        ("http://private.example/", True),
        ("http://mixed.example/", True),
        ("http://mapped.example/", True),
        ("http://public.example:22/", True),
        ("http://public.example:25/", True),
        ("http://public.example:6379/", True),
        ("http://public.example:9200/", True),
        ("http://public.example:8080/", False),
        ("http://8.8.8.8:22/", True),
        ("ftp://public.example/", True),
        ("http://a..b/", True),
        ("http://pub%6cic.example/", True),
    ],
)
async def test_what_may_be_connected_to(url: str, is_refused: bool) -> None:
    names = Names(
        public_example=("93.184.216.34", "2606:2800::1"),
        private_example=("10.0.0.8",),
        mixed_example=("93.184.216.34", "192.168.1.1"),
        mapped_example=("::ffff:10.0.0.9",),
    )
    refused = await verdict(guard_with(names), url)
    assert isinstance(refused, Refused) is is_refused, refused
    if isinstance(refused, Refused):
        assert refused.why.startswith("guard: ")
        for addresses in names.names.values():
            assert not any(address in refused.why for address in addresses), "it names no resolved address"


async def test_a_typed_origin_is_allowed_and_nothing_beside_it() -> None:
    names = Names(box_local=("192.168.1.5",))
    guard = guard_with(names, None, "http://box.local:9999", "http://127.0.0.1:7000")
    assert await verdict(guard, "http://box.local:9999/a") is None
    assert await verdict(guard, "http://127.0.0.1:7000/") is None
    for other in (
        "https://box.local:9999/",
        "http://box.local/",
        "http://box.local:8080/",
        "http://192.168.1.5:9999/",
        "http://127.0.0.1:7001/",
        "http://127.0.0.1/",
        "http://localhost:7000/",
        "http://sub.box.local:9999/",
    ):
        assert await verdict(guard, other) is not None, other
    with pytest.raises(OSError, match="not checked"):
        await guard.resolve("box.local", 8080)


async def test_an_allowed_network_opens_addresses_but_no_ports() -> None:
    guard = guard_with(Names(inside_example=("10.1.2.3",)), allow_networks=("10.1.0.0/16",))
    assert await verdict(guard, "http://inside.example/") is None
    assert await verdict(guard, "http://10.1.9.9/") is None
    assert isinstance(await verdict(guard, "http://10.2.0.1/"), Refused)
    assert isinstance(await verdict(guard, "http://inside.example:6379/"), Refused)


async def test_only_what_was_checked_is_handed_to_the_connector() -> None:
    names = Names(turncoat_example=("93.184.216.34",), private_example=("10.0.0.8",))
    clock = ManualClock()
    guard = guard_with(names, clock)
    with pytest.raises(OSError, match="not checked"):
        await guard.resolve("turncoat.example", 80)
    assert await verdict(guard, "http://turncoat.example/") is None
    names.names["turncoat.example"] = ("127.0.0.1",)
    pinned = await guard.resolve("turncoat.example", 80)
    assert [(result["host"], result["family"]) for result in pinned] == [("93.184.216.34", socket.AF_INET)]
    clock.advance(GuardConfig().dns_ttl_seconds + 1)
    assert isinstance(await verdict(guard, "http://turncoat.example/"), Refused)
    with pytest.raises(OSError, match="not checked"):
        await guard.resolve("turncoat.example", 80)
    assert isinstance(await verdict(guard, "http://private.example/"), Refused)
    with pytest.raises(OSError, match="not checked"):
        await guard.resolve("private.example", 80)


async def test_names_that_lead_nowhere() -> None:
    names = Names()
    clock = ManualClock()
    guard = guard_with(names, clock)
    unknown = await verdict(guard, "http://missing.example/")
    assert unknown == Failed("no such host", FailureKind.DNS, is_site_wide=False)
    assert await verdict(guard, "http://missing.example/") == unknown
    assert names.asked == ["missing.example"], "not asked again at once"
    clock.advance(UNKNOWN_TTL_SECONDS + 0.1)
    names.names["missing.example"] = ("93.184.216.34",)
    assert await verdict(guard, "http://missing.example/") is None
    broken = await verdict(guard, "http://broken.example/")
    assert broken == Failed("the name look-up failed", FailureKind.DNS, is_site_wide=True)


async def test_one_look_up_serves_all_who_wait_and_outlives_the_impatient() -> None:
    names = Names(slow_example=("93.184.216.34",))
    names.gate.clear()
    guard = guard_with(names)
    async with asyncio.TaskGroup() as group:
        impatient = group.create_task(guard.check(URL("http://slow.example/"), timeout_seconds=0.01))
        patient = [group.create_task(guard.check(URL("http://slow.example/"), 5.0)) for _ in range(20)]
        await asyncio.wait([impatient])
        names.gate.set()
    assert isinstance(impatient.result(), Failed)
    assert [task.result() for task in patient] == [None] * 20
    assert names.asked == ["slow.example"]


async def test_a_look_up_in_flight_does_not_outlive_the_guard() -> None:
    names = Names()
    names.gate.clear()
    guard = guard_with(names)
    assert isinstance(await verdict(guard, "http://slow.example/"), Failed)
    await guard.close()
    assert len(asyncio.all_tasks()) == 1


async def test_rebinding_never_reaches_the_private_server() -> None:
    names = Names(turncoat_example=("127.0.0.1",))
    clock = ManualClock()
    async with Site(MANNERS) as allowed, Site(MANNERS, host="127.0.0.2", port=allowed.port) as private:
        knobs = GuardConfig(allow_networks=("127.0.0.1/32",), ports=(allowed.port,))
        transport = HttpTransport(FetchConfig(), Guard(knobs, clock, (), names), clock)
        request = Request(f"http://turncoat.example:{allowed.port}/page", 1_000_000, 2.0)
        assert isinstance(await transport.get(request), Response)
        names.names["turncoat.example"] = ("127.0.0.2",)
        assert isinstance(await transport.get(request), Response), "the pinned address still holds"
        clock.advance(knobs.dns_ttl_seconds + 1)
        refused = await transport.get(request)
        assert refused == Refused("guard: turncoat.example leads to an address that is not public")
        assert (len(allowed.hits), private.connections) == (2, 0)
        await transport.close()
