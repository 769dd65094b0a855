from __future__ import annotations

from collections.abc import Iterator

import pytest

from tenax.fetch.names import SystemLookup


@pytest.fixture
def lookup() -> Iterator[SystemLookup]:
    lookup = SystemLookup()
    yield lookup
    lookup.close()


async def test_a_name_has_its_addresses_once(lookup: SystemLookup) -> None:
    found = await lookup.addresses("localhost")
    assert found
    assert set(found) <= {"127.0.0.1", "::1"}
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("name", ["a..b", f"{'x' * 70}.example", "no-such-name.invalid", "-"])
async def test_an_odd_name_is_an_os_error_like_any_other(lookup: SystemLookup, name: str) -> None:
    with pytest.raises(OSError):
        await lookup.addresses(name)
