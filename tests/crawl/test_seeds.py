"""Before the first request: which seeds resolve, and which private ones a person typed."""

from __future__ import annotations

import pytest

from tenax.config import GuardConfig
from tenax.crawl.seeds import SeedCheck, check_seeds
from tenax.errors import NoSeedReachable
from tenax.fetch.dns import LookupResult, UnknownHost
from tenax.urls.normalize import NormalizeOptions
from tenax.urls.scope import parse_seed


class Names:
    """A resolver with a few names."""

    def __init__(self, **known: str | OSError) -> None:
        self._known = {name.replace("_", "."): address for name, address in known.items()}
        self.asked: list[str] = []
        self.is_closed = False

    async def resolve(self, host: str) -> LookupResult:
        self.asked.append(host)
        found = self._known.get(host, UnknownHost(None, "no such name"))
        if isinstance(found, OSError):
            raise found
        return LookupResult(tuple(found.split()))

    def close(self) -> None:
        self.is_closed = True


async def surveyed(
    *seeds: str, names: Names | None = None, typed: bool = True, guard: GuardConfig | None = None
) -> SeedCheck:
    urls = [parse_seed(seed, NormalizeOptions()) for seed in seeds]
    names = names or Names(public_test="93.184.216.34", private_test="10.0.0.1", mixed_test="93.184.216.34 10.0.0.1")
    try:
        return await check_seeds(urls, guard or GuardConfig(), typed, names)
    finally:
        assert names.is_closed


async def test_a_public_seed_needs_nothing() -> None:
    assert await surveyed("https://public.test/", "http://93.184.216.34/") == SeedCheck()


@pytest.mark.parametrize(
    "seed", ["http://127.0.0.1:8000/a", "http://[::1]/", "https://private.test/", "https://mixed.test/"]
)
async def test_a_private_seed_is_allowed_when_a_person_typed_it_and_that_is_said(seed: str) -> None:
    origin = parse_seed(seed, NormalizeOptions()).origin
    found = await surveyed(seed)
    assert found.allowed_origins == (origin,)
    assert found.notices == (f"{origin} is not a public address; allowed because you typed it, this one origin only",)
    assert await surveyed(seed, typed=False) == SeedCheck()


async def test_several_private_seeds_are_said_in_one_line() -> None:
    found = await surveyed("http://10.0.0.1/", "http://10.0.0.2/a", "http://10.0.0.2/b", "https://public.test/")
    assert found.allowed_origins == ("http://10.0.0.1", "http://10.0.0.2")
    [notice] = found.notices
    assert notice.startswith("http://10.0.0.1, http://10.0.0.2 are not public addresses; allowed because you typed")


async def test_of_hundreds_of_seeds_a_few_are_named() -> None:
    private = [f"http://10.0.{number}.1/" for number in range(200)]
    missing = [f"https://nowhere-{number}.test/" for number in range(100)]
    found = await surveyed(*private, *missing)
    assert len(found.allowed_origins) == 200
    assert found.notices == (
        "no such host: nowhere-0.test; no such host: nowhere-1.test; no such host: "
        "nowhere-2.test and 97 more; their pages are tried again later",
        "http://10.0.0.1, http://10.0.1.1, http://10.0.2.1 and 197 more are not public addresses; allowed because you "
        "typed them, these origins only",
    )


async def test_a_network_that_is_allowed_anyway_is_no_news() -> None:
    guard = GuardConfig(allow_networks=("10.0.0.0/8",))
    assert await surveyed("http://10.0.0.1/", guard=guard) == SeedCheck()


async def test_an_odd_port_of_a_public_seed_is_allowed_for_that_origin_without_a_word() -> None:
    found = await surveyed("http://public.test:8123/")
    assert found == SeedCheck(allowed_origins=("http://public.test:8123",))
    assert await surveyed("http://public.test:8123/", typed=False) == SeedCheck()


async def test_one_seed_of_two_that_is_not_found_is_a_notice() -> None:
    found = await surveyed("https://public.test/", "https://nowhere.test/")
    assert found.notices == ("no such host: nowhere.test; its pages are tried again later",)
    assert found.allowed_origins == ()


async def test_no_seed_that_is_found_is_an_error_that_says_what_to_check() -> None:
    with pytest.raises(NoSeedReachable, match=r"no such host: nowhere\.test; check the spelling of the URL"):
        await surveyed("https://nowhere.test/", "https://nowhere.test/other")
    offline = Names(public_test=OSError(-3, "temporary failure"))
    with pytest.raises(NoSeedReachable, match="is this machine connected to the network"):
        await surveyed("https://public.test/", names=offline)


async def test_a_name_is_looked_up_once_and_an_address_never() -> None:
    names = Names(public_test="93.184.216.34")
    await surveyed("https://public.test/a", "https://public.test/b", "http://93.184.216.34/", names=names)
    assert names.asked == ["public.test"]
