"""More seeds for a crawl that others work on."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from tenax.config import Config, GuardConfig
from tenax.crawl.readmission import bounds_with, readmit
from tenax.crawl.rules import Rulebook, agreed, kept_rules, with_seeds
from tenax.database import Admission, Ledger
from tenax.fetch.addresses import address, is_public, network
from tenax.model import Value
from tenax.urls.admit import Rules, rules_of, seed_offers
from tenax.urls.normalize import WebUrl, normalize, spelling_of


class Added(Value, frozen=True):
    """What became of the seeds."""

    admission: Admission
    requeued: int = 0
    """Of those that were known: how many had no page, and are visited again."""
    changed: tuple[str, ...] = ()
    """Rules that are others now than before, by name."""
    closed: tuple[str, ...] = ()
    """Origins that a worker with the same settings refuses to connect to."""


async def add_seeds(
    ledger: Ledger, seeds: Sequence[str], config: Config, year: int, decided: Collection[str], *, is_shared: bool
) -> Added:
    """Returns when they wait for a visit, and everyone who works on the crawl goes by rules that know them.

    `decided` names the knobs that somebody has set; what a crawl goes by stays as it is where nobody did.
    """
    kept = await kept_rules(ledger)
    fresh = rules_of(seeds, _as_kept(config, kept, decided), year)
    book = Rulebook(ledger, kept or fresh, is_shared=is_shared)
    await book.change(lambda rules: with_seeds(rules, fresh.seeds, _as_kept(config, rules, decided), year))
    _, changed = agreed(book.rules, kept)
    await readmit(ledger, book.rules, config, await bounds_with(ledger, book.rules, config))
    offers = seed_offers(fresh)
    admission = await ledger.admit(offers)
    requeued = await ledger.requeue(offers)
    names = tuple(name for name in changed if name not in ("seeds", "scope"))
    return Added(admission, requeued, names, closed_origins(fresh, config.guard))


def _as_kept(config: Config, kept: Rules | None, decided: Collection[str]) -> Config:
    """The config, with the rules of the crawl for all that was not decided now."""
    if kept is None:
        return config
    names = ("include", "exclude", "max_depth", "max_links_per_page")
    rules = {"scope": kept.scope.name, **{name: getattr(kept, name) for name in names}}
    undecided = {name: value for name, value in rules.items() if f"crawl.{name}" not in decided}
    has_urls = any(key.startswith("urls.") for key in decided)
    return msgspec.structs.replace(
        config,
        crawl=msgspec.structs.replace(config.crawl, **undecided),
        urls=config.urls if has_urls else kept.urls,
    )


def closed_origins(rules: Rules, guard: GuardConfig) -> tuple[str, ...]:
    """Of the seeds, the origins that the guard refuses. Nobody typed them for a worker: it has only its settings.

    Names are not looked up, there may be very many.
    """
    spelling = spelling_of(rules.urls)
    urls = [url for seed in rules.seeds if (url := normalize(seed, None, spelling)) is not None]
    networks = tuple(network(text) for text in guard.allow_networks)

    def is_closed(url: WebUrl) -> bool:
        literal = address("127.0.0.1" if url.host == "localhost" else url.host.strip("[]"))
        return url.port not in guard.ports or (literal is not None and not is_public(literal, networks))

    return tuple(dict.fromkeys(url.origin for url in urls if is_closed(url)))
