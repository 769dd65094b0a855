"""Before the first request: can the seeds be found at all, and did a person name a private one?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from tenax.config import GuardConfig
from tenax.database import Ledger
from tenax.errors import NoSeedReachable
from tenax.fetch.addresses import address, is_public, network
from tenax.fetch.dns import Lookup, NameUnknown, lookup_of
from tenax.model import Value
from tenax.urls.normalize import WebUrl

_ALLOWED = "allowed"
MOST_NAMED = 3
"""Of seeds that there is something to say about."""


class Surveyed(Value, frozen=True):
    """What is known about the seeds' hosts."""

    allowed_origins: tuple[str, ...] = ()
    """Origins the guard must let through because a person typed them."""
    notices: tuple[str, ...] = ()


async def survey(
    seeds: Sequence[WebUrl], guard: GuardConfig, typed_by_person: bool, lookup: Lookup | None = None
) -> Surveyed:
    """Look the seeds' hosts up. Raises `NoSeedReachable` when none of them can be found."""
    lookup = lookup or lookup_of(guard.nameservers)
    by_origin = {seed.origin: seed for seed in seeds}
    try:
        found = await asyncio.gather(*(_addresses(seed.host, lookup) for seed in by_origin.values()))
    finally:
        lookup.close()
    troubles = {seed.host: one for seed, one in zip(by_origin.values(), found, strict=True) if isinstance(one, str)}
    if len(troubles) == len(by_origin):
        raise NoSeedReachable(_none_found(troubles))
    allowed: list[str] = []
    private: list[str] = []
    networks = tuple(network(text) for text in guard.allow_networks)
    for (origin, seed), addresses in zip(by_origin.items(), found, strict=True):
        if isinstance(addresses, str) or not typed_by_person:
            continue
        literals = [address(one) for one in addresses]
        if not all(one is not None and is_public(one, networks) for one in literals):
            private.append(origin)
        elif seed.port in guard.ports:
            continue
        allowed.append(origin)
    return Surveyed(tuple(allowed), (*_untraceable(list(troubles.values())), *_allowed(private)))


class Allowed(Value, frozen=True):
    """What the guard of this crawl lets through besides public addresses; kept with it."""

    origins: tuple[str, ...] = ()
    """Private origins that a person has ever typed as seeds: what was allowed in one run, the next may fetch too."""
    networks: tuple[str, ...] = ()
    """As the settings of the last run have them."""


async def allowed_in(ledger: Ledger) -> Allowed:
    """What earlier runs have left."""
    kept = await ledger.recall(_ALLOWED)
    return msgspec.json.decode(kept, type=Allowed) if kept is not None else Allowed()


async def allow(ledger: Ledger, typed: Sequence[str], guard: GuardConfig) -> Allowed:
    """The same, with what a person typed now and the settings of this run; remembered."""
    before = await allowed_in(ledger)
    allowed = Allowed(tuple(sorted({*before.origins, *typed})), tuple(guard.allow_networks))
    if allowed != before:
        await ledger.remember(_ALLOWED, msgspec.json.encode(allowed))
    return allowed


async def _addresses(host: str, lookup: Lookup) -> tuple[str, ...] | str:
    """A host's addresses, or why it has none."""
    host = host.strip("[]")
    if address(host) is not None:
        return (host,)
    try:
        async with asyncio.timeout(15):
            return (await lookup.addresses(host)).addresses
    except NameUnknown:
        return f"there is no host called {host}"
    except (OSError, TimeoutError):
        return f"the name {host} cannot be looked up"


def _none_found(troubles: dict[str, str]) -> str:
    first = next(iter(troubles.values()))
    if first.startswith("there is no host"):
        return f"{first}; check the spelling of the URL"
    return f"{first}; is this machine connected to the network?"


def _untraceable(troubles: Sequence[str]) -> list[str]:
    if len(troubles) <= MOST_NAMED:
        return [f"{why}; its pages are tried again later" for why in troubles]
    return [f"{_some(troubles, '; ')}; their pages are tried again later"]


def _allowed(private: Sequence[str]) -> list[str]:
    if not private:
        return []
    if len(private) == 1:
        return [f"{private[0]} is not a public address; allowed because you typed it, this one origin only"]
    return [f"{_some(private, ', ')} are not public addresses; allowed because you typed them, these origins only"]


def _some(texts: Sequence[str], sign: str) -> str:
    """The first few, and how many more there are: a crawl may have thousands of seeds."""
    more = len(texts) - MOST_NAMED
    return sign.join(texts) if more <= 0 else f"{sign.join(texts[:MOST_NAMED])} and {more:,} more"
