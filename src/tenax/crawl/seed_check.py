"""Before the first request: can the seeds be found at all, and did a person name a private one?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from tenax.config import GuardConfig
from tenax.database import Database
from tenax.errors import NoSeedReachable
from tenax.fetch.addresses import is_public, parse_address, parse_network
from tenax.fetch.dns import Resolver, UnknownHost, make_resolver
from tenax.model import Value
from tenax.urls.normalize import WebUrl

_ALLOWED_KEY = "allowed"
MAX_LISTED = 3
"""Of seeds that there is something to say about."""


class SeedCheck(Value, frozen=True):
    """What is known about the seeds' hosts."""

    allowed_origins: tuple[str, ...] = ()
    """Origins the guard must let through because a person typed them."""
    notices: tuple[str, ...] = ()


async def check_seeds(
    seeds: Sequence[WebUrl], guard: GuardConfig, typed_by_person: bool, lookup: Resolver | None = None
) -> SeedCheck:
    """Look the seeds' hosts up. Raises `NoSeedReachable` when none of them can be found."""
    lookup = lookup or make_resolver(guard.nameservers)
    by_origin = {seed.origin: seed for seed in seeds}
    try:
        found = await asyncio.gather(*(_resolve_host(seed.host, lookup) for seed in by_origin.values()))
    finally:
        lookup.close()
    troubles = {seed.host: one for seed, one in zip(by_origin.values(), found, strict=True) if isinstance(one, str)}
    if len(troubles) == len(by_origin):
        raise NoSeedReachable(_format_unresolved(troubles))
    allowed: list[str] = []
    private: list[str] = []
    networks = tuple(parse_network(text) for text in guard.allow_networks)
    for (origin, seed), addresses in zip(by_origin.items(), found, strict=True):
        if isinstance(addresses, str) or not typed_by_person:
            continue
        literals = [parse_address(one) for one in addresses]
        if not all(one is not None and is_public(one, networks) for one in literals):
            private.append(origin)
        elif seed.port in guard.ports:
            continue
        allowed.append(origin)
    return SeedCheck(tuple(allowed), (*_unresolved_notices(list(troubles.values())), *_private_seed_notices(private)))


class AllowedTargets(Value, frozen=True):
    """What the guard of this crawl lets through besides public addresses; kept with it."""

    origins: tuple[str, ...] = ()
    """Private origins that a person has ever typed as seeds: what was allowed in one run, the next may fetch too."""
    networks: tuple[str, ...] = ()
    """As the settings of the last run have them."""


async def load_allowed(database: Database) -> AllowedTargets:
    """What earlier runs have left."""
    kept = await database.get_meta(_ALLOWED_KEY)
    return msgspec.json.decode(kept, type=AllowedTargets) if kept is not None else AllowedTargets()


async def store_allowed(database: Database, typed_origins: Sequence[str], guard: GuardConfig) -> AllowedTargets:
    """The same, with what a person typed now and the settings of this run; remembered."""
    before = await load_allowed(database)
    allowed = AllowedTargets(tuple(sorted({*before.origins, *typed_origins})), tuple(guard.allow_networks))
    if allowed != before:
        await database.set_meta(_ALLOWED_KEY, msgspec.json.encode(allowed))
    return allowed


async def _resolve_host(host: str, lookup: Resolver) -> tuple[str, ...] | str:
    """A host's addresses, or why it has none."""
    host = host.strip("[]")
    if parse_address(host) is not None:
        return (host,)
    try:
        async with asyncio.timeout(15):
            return (await lookup.resolve(host)).addresses
    except UnknownHost:
        return f"there is no host called {host}"
    except (OSError, TimeoutError):
        return f"the name {host} cannot be looked up"


def _format_unresolved(errors: dict[str, str]) -> str:
    first = next(iter(errors.values()))
    if first.startswith("there is no host"):
        return f"{first}; check the spelling of the URL"
    return f"{first}; is this machine connected to the network?"


def _unresolved_notices(errors: Sequence[str]) -> list[str]:
    if len(errors) <= MAX_LISTED:
        return [f"{why}; its pages are tried again later" for why in errors]
    return [f"{_format_list(errors, '; ')}; their pages are tried again later"]


def _private_seed_notices(private: Sequence[str]) -> list[str]:
    if not private:
        return []
    if len(private) == 1:
        return [f"{private[0]} is not a public address; allowed because you typed it, this one origin only"]
    return [
        f"{_format_list(private, ', ')} are not public addresses; allowed because you typed them, these origins only"
    ]


def _format_list(texts: Sequence[str], separator: str) -> str:
    """The first few, and how many more there are: a crawl may have thousands of seeds."""
    more = len(texts) - MAX_LISTED
    return separator.join(texts) if more <= 0 else f"{separator.join(texts[:MAX_LISTED])} and {more:,} more"
