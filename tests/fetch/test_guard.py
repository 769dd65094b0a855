from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Literal

import pytest

from tenax.clock import ManualClock
from tenax.config import FetchConfig, GuardConfig
from tenax.fetch import Request, Response
from tenax.fetch.dns import DnsResolver, LookupResult, UnknownHost
from tenax.fetch.guard import FAILED_LOOKUP_TTL_SECONDS, MIN_TTL_SECONDS, Guard, Origin, parse_origin
from tenax.fetch.http import HttpTransport
from tenax.model import Failed, FailureKind, Refused
from tests.loops import FAULT_SECONDS
from tests.site.behaviours import BEHAVIOURS
from tests.site.dns import NameServer, Says, says
from tests.site.server import Exchange, Site


class Names:
    """A resolver with answers set by the test."""

    def __init__(self, **names: tuple[str, ...]) -> None:
        self.names = {name.replace("_", "."): addresses for name, addresses in names.items()}
        self.ttl_seconds: float | None = None
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def resolve(self, host: str) -> LookupResult:
        self.asked.append(host)
        await self.gate.wait()
        if host == "broken.example":
            raise OSError(None, "server failure")
        if host not in self.names:
            raise UnknownHost
        return LookupResult(self.names[host], self.ttl_seconds)

    def close(self) -> None: ...


def guard_with(
    names: Names, clock: ManualClock | None = None, *origins: str, allow_networks: tuple[str, ...] = ()
) -> Guard:
    return Guard(GuardConfig(allow_networks=allow_networks), clock or ManualClock(), origins, names)


async def verdict(guard: Guard, url: str, timeout_seconds: float = FAULT_SECONDS) -> Refused | Failed | None:
    """None if it may be connected to."""
    origin = parse_origin(url)
    if origin is None:
        return Refused("guard: not a plain http or https URL")
    answer = await guard.check(origin, timeout_seconds)
    return None if isinstance(answer, tuple) else answer


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


async def test_an_allowed_network_opens_addresses_but_no_ports() -> None:
    guard = guard_with(Names(inside_example=("10.1.2.3",)), allow_networks=("10.1.0.0/16",))
    assert await verdict(guard, "http://inside.example/") is None
    assert await verdict(guard, "http://10.1.9.9/") is None
    assert isinstance(await verdict(guard, "http://10.2.0.1/"), Refused)
    assert isinstance(await verdict(guard, "http://inside.example:6379/"), Refused)


async def test_only_what_was_checked_may_be_connected_to() -> None:
    names = Names(turncoat_example=("93.184.216.34",), private_example=("10.0.0.8",))
    clock = ManualClock()
    guard = guard_with(names, clock)
    turncoat = Origin("http", "turncoat.example", 80)
    assert await guard.check(turncoat, 0.2) == ("93.184.216.34",)
    names.names["turncoat.example"] = ("127.0.0.1",)
    assert await guard.check(turncoat, 0.2) == ("93.184.216.34",), "pinned"
    clock.advance(GuardConfig().dns_ttl_seconds + 1)
    assert isinstance(await guard.check(turncoat, 0.2), Refused)
    assert isinstance(await guard.check(Origin("http", "private.example", 80), 0.2), Refused)


@pytest.mark.parametrize(
    ("ttl_seconds", "kept_seconds"),
    [(None, 300.0), (60.0, 60.0), (86_400.0, 300.0), (1.5, 1.5), (0.0, 1.0), (0.2, 1.0)],
)
async def test_an_address_is_kept_as_long_as_its_owner_and_our_setting_let_us(
    ttl_seconds: float | None, kept_seconds: float
) -> None:
    names, clock = Names(a_example=("93.184.216.34",)), ManualClock()
    names.ttl_seconds = ttl_seconds
    guard = guard_with(names, clock)
    a = Origin("http", "a.example", 80)
    await guard.check(a, 0.2)
    clock.advance(kept_seconds - 0.01)
    await guard.check(a, 0.2)
    assert len(names.asked) == 1
    clock.advance(0.02)
    await guard.check(a, 0.2)
    assert len(names.asked) == 2


async def test_names_that_lead_nowhere() -> None:
    names = Names()
    clock = ManualClock()
    guard = guard_with(names, clock)
    unknown = await verdict(guard, "http://missing.example/")
    assert unknown == Failed("no such host", FailureKind.DNS, is_site_wide=False)
    assert await verdict(guard, "http://missing.example/") == unknown
    assert names.asked == ["missing.example"], "not asked again at once"
    clock.advance(FAILED_LOOKUP_TTL_SECONDS + 0.1)
    names.names["missing.example"] = ("93.184.216.34",)
    assert await verdict(guard, "http://missing.example/") is None
    broken = await verdict(guard, "http://broken.example/")
    assert broken == Failed("the name look-up failed: server failure", FailureKind.DNS, is_site_wide=True)


async def test_one_look_up_serves_all_who_wait_and_outlives_the_impatient() -> None:
    names = Names(slow_example=("93.184.216.34",))
    names.gate.clear()
    guard = guard_with(names)
    async with asyncio.TaskGroup() as group:
        slow = Origin("http", "slow.example", 80)
        impatient = group.create_task(guard.check(slow, timeout_seconds=0.01))
        patient = [group.create_task(guard.check(slow, FAULT_SECONDS)) for _ in range(20)]
        await asyncio.wait([impatient])
        names.gate.set()
    assert isinstance(impatient.result(), Failed)
    assert [task.result() for task in patient] == [("93.184.216.34",)] * 20
    assert names.asked == ["slow.example"]


@pytest.mark.parametrize(
    ("url", "address", "expected"),
    [
        ("http://any.example", "8.8.8.8", "public"),
        ("http://any.example", "2606:4700::1111", "public"),
        ("http://any.example", "10.1.2.3", "allowed"),
        ("http://typed.example", "127.0.0.1", "typed"),
        ("http://typed.example", "10.1.2.3", "allowed"),
        ("http://typed.example", "8.8.8.8", "public"),
        ("http://any.example", "127.0.0.1", ""),
        ("http://any.example", "any.example", ""),
    ],
)
async def test_the_class_of_an_address(url: str, address: str, expected: str) -> None:
    settings = GuardConfig(allow_networks=("10.0.0.0/8",))
    guard = Guard(settings, ManualClock(), ["http://typed.example"], Names())
    origin = parse_origin(url)
    assert origin is not None
    assert guard.classify_address(origin, address) == expected


async def test_a_look_up_in_flight_does_not_outlive_the_guard() -> None:
    names = Names()
    names.gate.clear()
    guard = guard_with(names)
    assert isinstance(await verdict(guard, "http://slow.example/", 0.01), Failed)
    await guard.close()
    assert len(asyncio.all_tasks()) == 1


async def test_rebinding_never_reaches_the_private_server() -> None:
    names = Names(turncoat_example=("127.0.0.1",))
    clock = ManualClock()
    async with Site(BEHAVIOURS) as allowed, Site(BEHAVIOURS, host="127.0.0.2", port=allowed.port) as private:
        settings = GuardConfig(allow_networks=("127.0.0.1/32",), ports=(allowed.port,))
        transport = HttpTransport(FetchConfig(), Guard(settings, clock, (), names), clock)
        request = Request(f"http://turncoat.example:{allowed.port}/page", 1_000_000, FAULT_SECONDS)
        assert isinstance(await transport.get(request), Response)
        names.names["turncoat.example"] = ("127.0.0.2",)
        assert isinstance(await transport.get(request), Response), "the pinned address still holds"
        clock.advance(settings.dns_ttl_seconds + 1)
        refused = await transport.get(request)
        assert refused == Refused("guard: turncoat.example leads to an address that is not public")
        assert (len(allowed.hits), private.connections) == (2, 0)
        await transport.close()


# ---- hostile DNS servers, with real queries -------------------------------------------------------------------

PUBLIC, PUBLIC_V6 = "93.184.216.34", "2606:2800::1"


@pytest.fixture
async def server() -> AsyncIterator[NameServer]:
    async with NameServer() as server:
        yield server


def guard_asking(
    server: NameServer,
    clock: ManualClock | None = None,
    allow_networks: tuple[str, ...] = (),
    ports: tuple[int, ...] = (80,),
    first_try_seconds: float = FAULT_SECONDS,
) -> Guard:
    """A guard as the wiring builds it, except for its look-up timeouts: nothing is asked twice."""
    settings = GuardConfig(allow_networks=allow_networks, ports=ports, nameservers=(server.address,))
    lookup = DnsResolver(settings.nameservers, first_try_seconds, min_total_seconds=0.0)
    return Guard(settings, clock or ManualClock(), (), lookup)


async def verdict_on(server: NameServer, *answers: Says, allow_networks: tuple[str, ...] = ()) -> Refused | None:
    """The verdict about a name with these answers. None: it may be connected to."""
    server.knows("name.example", *answers)
    guard = guard_asking(server, allow_networks=allow_networks)
    found = await verdict(guard, "http://name.example/")
    await guard.close()
    assert not isinstance(found, Failed), found
    return found


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "0.0.0.0", "0.1.2.3", "192.0.0.8", "198.18.0.1", "198.19.255.254"),
        *("224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
        *("::1", "::", "fc00::1", "fdff::1", "fe80::1", "febf::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1"),
    ],
)
async def test_a_name_that_leads_to_a_private_address_is_refused(server: NameServer, address: str) -> None:
    refused = await verdict_on(server, says(address))
    assert refused == Refused("guard: name.example leads to an address that is not public")


@pytest.mark.parametrize(
    "address", [PUBLIC, PUBLIC_V6, "::ffff:8.8.8.8", "172.32.0.1", "172.15.255.255", "100.128.0.1"]
)
async def test_a_name_that_leads_to_a_public_address_is_allowed(server: NameServer, address: str) -> None:
    assert await verdict_on(server, says(address)) is None


@pytest.mark.parametrize(
    "addresses",
    [
        (PUBLIC, "192.168.1.1"),
        ("10.0.0.1", PUBLIC),
        (PUBLIC, "::1"),
        ("127.0.0.1", PUBLIC_V6),
        (PUBLIC, PUBLIC_V6, "fe80::1"),
        ("inside.example",),
        ("mixed.example",),
    ],
)
async def test_a_name_with_one_public_and_one_private_address_is_refused_whole(
    server: NameServer, addresses: tuple[str, ...]
) -> None:
    server.knows("inside.example", says("10.0.0.8"))
    server.knows("mixed.example", says(PUBLIC, "10.0.0.8"))
    assert isinstance(await verdict_on(server, says(*addresses)), Refused)


async def test_an_allow_list_works_for_names_and_everything_else_stays_refused(server: NameServer) -> None:
    networks = ("10.1.0.0/16", "fd00:1::/32")
    for address, is_allowed in (("10.1.2.3", True), ("fd00:1::5", True), ("10.2.0.1", False), ("fd00:2::5", False)):
        found = await verdict_on(server, says(address), allow_networks=networks)
        assert (found is None) is is_allowed, address
    assert await verdict_on(server, says("10.1.0.1", PUBLIC), allow_networks=networks) is None
    assert isinstance(await verdict_on(server, says("10.1.0.1", "10.2.0.1"), allow_networks=networks), Refused)


async def test_rebinding_from_public_to_private_reaches_only_the_pinned_checked_address(server: NameServer) -> None:
    clock = ManualClock()
    async with Site(BEHAVIOURS) as allowed, Site(BEHAVIOURS, host="127.0.0.2", port=allowed.port) as private:
        server.knows("turncoat.example", says("127.0.0.1", ttl=0), says("127.0.0.2", ttl=0))
        guard = guard_asking(server, clock, ("127.0.0.1/32",), (allowed.port,))
        transport = HttpTransport(FetchConfig(), guard, clock)
        request = Request(f"http://turncoat.example:{allowed.port}/page", 1_000_000, FAULT_SECONDS)
        for _ in range(3):
            assert isinstance(await transport.get(request), Response), "pinned, whatever its owner says now"
        assert server.asked["turncoat.example", "A"] == 1
        clock.advance(MIN_TTL_SECONDS + 0.1)
        refused = await transport.get(request)
        assert refused == Refused("guard: turncoat.example leads to an address that is not public")
        assert (len(allowed.hits), private.connections) == (3, 0)
        await transport.close()


async def test_rebinding_with_every_question_reaches_only_checked_addresses(server: NameServer) -> None:
    async with Site(BEHAVIOURS) as allowed, Site(BEHAVIOURS, host="127.0.0.2", port=allowed.port) as private:
        clock = ManualClock()
        transport = HttpTransport(FetchConfig(), guard_asking(server, clock, ("127.0.0.1/32",), (allowed.port,)), clock)
        request = Request(f"http://flip.example:{allowed.port}/hang-up", 1_000_000, FAULT_SECONDS)
        for address in ("127.0.0.1", "127.0.0.2") * 5:
            server.knows("flip.example", says(address, ttl=0))
            await transport.get(request)
            clock.advance(MIN_TTL_SECONDS + 0.1)
        assert len(allowed.hits) == 5
        assert private.connections == 0
        await transport.close()


async def test_the_same_by_redirect_is_refused(server: NameServer) -> None:
    clock = ManualClock()
    async with Site(BEHAVIOURS, host="127.0.0.2") as private:

        async def moved(exchange: Exchange) -> None:
            await exchange.answer(b"", "302 Found", {"Location": f"http://inside.example:{private.port}/page"})

        async with Site({"/moved": moved}) as site:
            server.knows("outside.example", says("127.0.0.1"))
            server.knows("inside.example", says("127.0.0.2"))
            guard = guard_asking(server, clock, ("127.0.0.1/32",), (site.port, private.port))
            transport = HttpTransport(FetchConfig(), guard, clock)
            answer = await transport.get(Request(f"http://outside.example:{site.port}/moved", 1_000_000, FAULT_SECONDS))
            assert isinstance(answer, Response)
            assert answer.status == 302
            refused = await transport.get(Request(answer.headers.get("Location", ""), 1_000_000, FAULT_SECONDS))
            assert isinstance(refused, Refused)
            assert private.connections == 0
            await transport.close()


@pytest.mark.parametrize("path", ["/robots.txt", "/sitemap.xml", "/feed.xml"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_robots_sitemaps_and_feeds_have_the_same_guard(
    server: NameServer, path: str, method: Literal["GET", "HEAD"]
) -> None:
    server.knows("inside.example", says("127.0.0.1"))
    clock = ManualClock()
    async with Site(BEHAVIOURS) as private:
        transport = HttpTransport(FetchConfig(), guard_asking(server, clock, (), (private.port,)), clock)
        request = Request(f"http://inside.example:{private.port}{path}", 1_000_000, FAULT_SECONDS, method=method)
        assert isinstance(await transport.get(request), Refused)
        assert private.connections == 0
        await transport.close()


async def test_a_port_is_refused_before_its_name_is_looked_up(server: NameServer) -> None:
    server.knows("name.example", says(PUBLIC))
    guard = guard_asking(server)
    for port in (22, 25, 6379, 9200):
        assert await verdict(guard, f"http://name.example:{port}/") == Refused(f"guard: port {port} is not allowed")
    assert server.asked.total() == 0
    await guard.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://user@inside.example/",
        "http://outside.example@inside.example/",
        "http://outside.example\\@inside.example/",
        "http://outside.example\t.inside.example/",
        "http://inside.example\\.outside.example/",
        "http://inside.example%2eoutside.example/",
        "http://INSIDE.example/",
        "http://inside.example./",
    ],
)
async def test_userinfo_backslash_and_tab_tricks_reach_nobody(server: NameServer, url: str) -> None:
    server.knows("inside.example", says("127.0.0.1"))
    server.knows("outside.example", says(PUBLIC))
    guard = guard_asking(server)
    assert isinstance(await verdict(guard, url), Refused)
    await guard.close()


@pytest.mark.parametrize("behaviour", ["nxdomain", "servfail", "refused", "silent", "garbage"])
async def test_error_texts_name_no_resolved_address_and_no_server(
    server: NameServer, behaviour: Literal["nxdomain", "servfail", "refused", "silent", "garbage"]
) -> None:
    server.knows("name.example", Says(behaviour=behaviour))
    # Only where no answer will come: a late one on a busy machine is not a missing one.
    guard = guard_asking(server, first_try_seconds=0.05 if behaviour in ("silent", "garbage") else FAULT_SECONDS)
    failed = await verdict(guard, "http://name.example/", 0.1 if behaviour == "silent" else FAULT_SECONDS)
    await guard.close()
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.DNS
    assert failed.is_site_wide is (behaviour != "nxdomain")
    assert not any(char.isdigit() for char in failed.why)


async def test_a_forged_answer_under_another_number_is_not_believed(server: NameServer) -> None:
    server.knows("name.example", Says((PUBLIC,), behaviour="forged"))
    guard = guard_asking(server)
    assert await guard.check(Origin("http", "name.example", 80), FAULT_SECONDS) == (PUBLIC,)
    await guard.close()
