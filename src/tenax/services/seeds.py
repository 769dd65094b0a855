"""More seeds for a crawl that others work on."""

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
    """What became of the seeds."""

    admission: Admission
    requeued: int = 0
    """Of those that were known: how many had no page, and are visited again."""
    changed_rules: tuple[str, ...] = ()
    """Rules that are others now than before, by name."""
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
    """Returns when they wait for a visit, and everyone who works on the crawl goes by rules that know them.

    `explicit_settings` names the settings that somebody has set; what a crawl goes by stays as it is where nobody did.
    """
    kept = await load_rules(database)
    fresh = build_rules(seeds, _apply_stored_rules(config, kept, explicit_settings), year)
    book = CrawlRules(database, kept or fresh, is_shared=is_shared)
    await book.change(
        lambda rules: extend_rules(rules, fresh.seeds, _apply_stored_rules(config, rules, explicit_settings), year)
    )
    _, changed = resume_rules(book.rules, kept)
    await readmit(database, book.rules, config, await updated_bounds(database, book.rules, config))
    candidates = seed_candidates(fresh)
    admission = await database.admit(candidates)
    requeued = await database.requeue(candidates)
    names = tuple(name for name in changed if name not in ("seeds", "scope"))
    return AddedSeeds(admission, requeued, names, find_refused_origins(fresh, config.guard))


def _apply_stored_rules(config: Config, stored: Rules | None, explicit_settings: Collection[str]) -> Config:
    """The config, with the rules of the crawl for all that was not decided now."""
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
    """Of the seeds, the origins that the guard refuses. Nobody typed them for a worker: it has only its settings.

    Names are not looked up, there may be very many.
    """
    spelling = normalize_options(rules.urls)
    urls = [url for seed in rules.seeds if (url := normalize(seed, None, spelling)) is not None]
    networks = tuple(parse_network(text) for text in guard.allow_networks)

    def is_closed(url: WebUrl) -> bool:
        literal = parse_address("127.0.0.1" if url.host == "localhost" else url.host.strip("[]"))
        return url.port not in guard.ports or (literal is not None and not is_public(literal, networks))

    return tuple(dict.fromkeys(url.origin for url in urls if is_closed(url)))
