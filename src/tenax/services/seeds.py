"""Adds seeds to a crawl that other processes work on."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from tenax.config import Config, GuardConfig
from tenax.crawl.readmission import readmit, updated_bounds
from tenax.crawl.rules import CrawlRules, extend_rules, load_rules, resume_rules
from tenax.database import Admission, Database
from tenax.fetch.addresses import is_public, parse_address, parse_network
from tenax.model import Value
from tenax.urls.admit import Rules, build_rules, seed_candidates
from tenax.urls.normalize import WebUrl, normalize, normalize_options


class AddedSeeds(Value, frozen=True):
    """The result of adding seeds."""

    admission: Admission
    requeued: int = 0
    """Of the known ones: those that had no page, and are visited again."""
    changed_rules: tuple[str, ...] = ()
    """The names of rules that changed."""
    refused_origins: tuple[str, ...] = ()
    """Origins that a worker with the same settings refuses to connect to."""


async def add_seeds(
    database: Database,
    seeds: Sequence[str],
    config: Config,
    year: int,
    explicit_settings: Collection[str],
    *,
    is_shared: bool,
) -> AddedSeeds:
    """Returns when the seeds wait for a visit, and all processes of the crawl use rules that include them.

    `explicit_settings` names the settings that were given; for all others the stored ones of the crawl stay.
    """
    stored = await load_rules(database)
    new_rules = build_rules(seeds, _apply_stored_rules(config, stored, explicit_settings), year)
    crawl_rules = CrawlRules(database, stored or new_rules, is_shared=is_shared)
    await crawl_rules.change(
        lambda rules: extend_rules(rules, new_rules.seeds, _apply_stored_rules(config, rules, explicit_settings), year)
    )
    _, changed = resume_rules(crawl_rules.rules, stored)
    await readmit(database, crawl_rules.rules, config, await updated_bounds(database, crawl_rules.rules, config))
    candidates = seed_candidates(new_rules)
    admission = await database.admit(candidates)
    requeued = await database.requeue(candidates)
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
    """The origins of seeds that the guard refuses. Nobody typed them for a worker: it has only its settings.

    Names are not resolved, as there may be very many.
    """
    spelling = normalize_options(rules.urls)
    urls = [url for seed in rules.seeds if (url := normalize(seed, None, spelling)) is not None]
    networks = tuple(parse_network(text) for text in guard.allow_networks)

    def is_closed(url: WebUrl) -> bool:
        literal = parse_address("127.0.0.1" if url.host == "localhost" else url.host.strip("[]"))
        return url.port not in guard.ports or (literal is not None and not is_public(literal, networks))

    return tuple(dict.fromkeys(url.origin for url in urls if is_closed(url)))
