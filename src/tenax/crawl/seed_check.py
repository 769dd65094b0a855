"""Checks seeds before the first request: do their hosts exist, and did a person type the private ones?"""

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
"""Seeds listed in one notice."""


class SeedCheck(Value, frozen=True):
    """What is known about the hosts of the seeds."""

    allowed_origins: tuple[str, ...] = ()
    """Origins that the guard allows because a person typed them."""
    notices: tuple[str, ...] = ()


async def check_seeds(
    seeds: Sequence[WebUrl], guard: GuardConfig, typed_by_person: bool, lookup: Resolver | None = None
) -> SeedCheck:
    """Resolve the seeds' hosts. Raises `NoSeedReachable` when none is found."""
    lookup = lookup or make_resolver(guard.nameservers)
    by_origin = {seed.origin: seed for seed in seeds}
    try:
        found = await asyncio.gather(*(_resolve_host(seed.host, lookup) for seed in by_origin.values()))
    finally:
        lookup.close()
    errors = {seed.host: one for seed, one in zip(by_origin.values(), found, strict=True) if isinstance(one, str)}
    if len(errors) == len(by_origin):
        raise NoSeedReachable(_format_unresolved(errors))
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
    return SeedCheck(tuple(allowed), (*_unresolved_notices(list(errors.values())), *_private_seed_notices(private)))


class AllowedTargets(Value, frozen=True):
    """What the guard of this crawl allows besides public addresses; stored with the crawl."""

    origins: tuple[str, ...] = ()
    """Private origins that a person typed as seeds in any run."""
    networks: tuple[str, ...] = ()
    """From the settings of the last run."""


async def load_allowed(database: Database) -> AllowedTargets:
    """What earlier runs stored."""
    stored = await database.get_meta(_ALLOWED_KEY)
    return msgspec.json.decode(stored, type=AllowedTargets) if stored is not None else AllowedTargets()


async def store_allowed(database: Database, typed_origins: Sequence[str], guard: GuardConfig) -> AllowedTargets:
    """Add the origins typed now and the settings of this run, and store the result."""
    before = await load_allowed(database)
    allowed = AllowedTargets(tuple(sorted({*before.origins, *typed_origins})), tuple(guard.allow_networks))
    if allowed != before:
        await database.set_meta(_ALLOWED_KEY, msgspec.json.encode(allowed))
    return allowed


async def _resolve_host(host: str, lookup: Resolver) -> tuple[str, ...] | str:
    """The addresses of a host, or why it has none."""
    host = host.strip("[]")
    if parse_address(host) is not None:
        return (host,)
    try:
        async with asyncio.timeout(15):
            return (await lookup.resolve(host)).addresses
    except UnknownHost:
        return f"no such host: {host}"
    except (OSError, TimeoutError):
        return f"the name {host} cannot be resolved"


def _format_unresolved(errors: dict[str, str]) -> str:
    first = next(iter(errors.values()))
    if first.startswith("no such host"):
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
    """The first few, and how many more: a crawl may have thousands of seeds."""
    more = len(texts) - MAX_LISTED
    return separator.join(texts) if more <= 0 else f"{separator.join(texts[:MAX_LISTED])} and {more:,} more"
