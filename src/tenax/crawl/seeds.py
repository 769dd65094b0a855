"""Seeds: checked before the first request, and added to a crawl that other processes work on."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

import msgspec

from tenax.config import Config, GuardConfig
from tenax.crawl.readmission import readmit, updated_bounds
from tenax.crawl.rules import CrawlRules, extend_rules, load_rules, resume_rules
from tenax.database import Admission, Records, Reports
from tenax.errors import NoSeedReachable
from tenax.fetch.addresses import is_public, parse_address, parse_network
from tenax.fetch.dns import Resolver, UnknownHost, make_resolver
from tenax.model import Value
from tenax.urls.admit import Rules, build_rules, seed_candidates
from tenax.urls.normalize import WebUrl, normalize, normalize_options

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
    """Resolve the hosts of the seeds. Raises `NoSeedReachable` if none is found."""
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
    """What the guard of this crawl allows besides public addresses. Stored with the crawl."""

    origins: tuple[str, ...] = ()
    """Private origins that a person typed as seeds in any run."""
    networks: tuple[str, ...] = ()
    """From the settings of the last run."""


async def load_allowed(reports: Reports) -> AllowedTargets:
    """What earlier runs have stored."""
    stored = await reports.get_meta(_ALLOWED_KEY)
    return msgspec.json.decode(stored, type=AllowedTargets) if stored is not None else AllowedTargets()


async def store_allowed(records: Records, typed_origins: Sequence[str], guard: GuardConfig) -> AllowedTargets:
    """Add the origins that were typed now, and the settings of this run. Store the result."""
    before = await load_allowed(records)
    allowed = AllowedTargets(tuple(sorted({*before.origins, *typed_origins})), tuple(guard.allow_networks))
    if allowed != before:
        await records.set_meta(_ALLOWED_KEY, msgspec.json.encode(allowed))
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
    """The first few, and how many more, because a crawl may have thousands of seeds."""
    more = len(texts) - MAX_LISTED
    return separator.join(texts) if more <= 0 else f"{separator.join(texts[:MAX_LISTED])} and {more:,} more"


class AddedSeeds(Value, frozen=True):
    """The result of adding seeds."""

    admission: Admission
    requeued: int = 0
    """The known seeds that had no page, and are visited again."""
    changed_rules: tuple[str, ...] = ()
    """The names of rules that changed."""
    refused_origins: tuple[str, ...] = ()
    """Origins that a worker with the same settings refuses to connect to."""


async def add_seeds(
    records: Records,
    seeds: Sequence[str],
    config: Config,
    year: int,
    explicit_settings: Collection[str],
    *,
    is_shared: bool,
) -> AddedSeeds:
    """Returns when the seeds wait for a visit, and all processes of the crawl use rules that include them.

    `explicit_settings` names the settings that were given. For all others the stored settings of the crawl are kept.
    """
    stored = await load_rules(records)
    new_rules = build_rules(seeds, _apply_stored_rules(config, stored, explicit_settings), year)
    crawl_rules = CrawlRules(records, stored or new_rules, is_shared=is_shared)
    await crawl_rules.change(
        lambda rules: extend_rules(rules, new_rules.seeds, _apply_stored_rules(config, rules, explicit_settings), year)
    )
    _, changed = resume_rules(crawl_rules.rules, stored)
    await readmit(records, crawl_rules.rules, config, await updated_bounds(records, crawl_rules.rules, config))
    candidates = seed_candidates(new_rules)
    admission = await records.admit(candidates)
    requeued = await records.requeue(candidates)
    names = tuple(name for name in changed if name not in ("seeds", "scope"))
    return AddedSeeds(admission, requeued, names, find_refused_origins(new_rules, config.guard))


def _apply_stored_rules(config: Config, stored: Rules | None, explicit_settings: Collection[str]) -> Config:
    """The config, with the stored rules of the crawl for all settings that were not given now."""
    if stored is None:
        return config
    names = ("include", "exclude", "max_depth", "max_links_per_page")
    rules = {"scope": stored.scope.name, **{name: getattr(stored, name) for name in names}}
    undecided = {name: value for name, value in rules.items() if f"crawl.{name}" not in explicit_settings}
    has_urls = any(key.startswith("urls.") for key in explicit_settings)
    return msgspec.structs.replace(
        config,
        crawl=msgspec.structs.replace(config.crawl, **undecided),
        urls=config.urls if has_urls else stored.urls,
    )


def find_refused_origins(rules: Rules, guard: GuardConfig) -> tuple[str, ...]:
    """The origins of seeds to which a worker with this guard refuses to connect.

    `tenax crawl` allows the private addresses of seeds that the user typed; a worker allows only what its settings
    allow. Names are not resolved, because there may be very many.
    """
    spelling = normalize_options(rules.urls)
    urls = [url for seed in rules.seeds if (url := normalize(seed, None, spelling)) is not None]
    networks = tuple(parse_network(text) for text in guard.allow_networks)

    def is_closed(url: WebUrl) -> bool:
        literal = parse_address("127.0.0.1" if url.host == "localhost" else url.host.strip("[]"))
        return url.port not in guard.ports or (literal is not None and not is_public(literal, networks))

    return tuple(dict.fromkeys(url.origin for url in urls if is_closed(url)))
