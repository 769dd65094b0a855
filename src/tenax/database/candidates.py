"""Offers on their way into the queue, as every ledger takes them in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tenax.database import rows
from tenax.database.admission_rate import Inflow
from tenax.database.in_links import lead_of
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.model import Offer, cut_off_by_limits

KNOWN_KEPT = 250_000
"""URLs remembered as known, twice at most: most links of a site stand on every page of it."""
HOST_IDS_KEPT = 200_000
HOSTS_BUDGET = "hosts_per_domain"


class Batch(NamedTuple):
    """Offers made together: by a visit, or outside of any."""

    offers: Sequence[Offer]
    via: int | None
    """The record of the page they stand on."""
    source_host: int
    """The host of that page; 0 outside of a visit."""
    are_first: bool = False
    """The page was not visited before: its links were not counted yet."""
    linked: Mapping[str, int] = MappingProxyType({})
    """URLs that are known, and how many more links they were found to have."""


NO_OFFERS = Batch((), None, 0)


def entry_of(offer: Offer, key: int, batch: Batch, inflow: Inflow, now: float, in_links: int = 0) -> Entry:
    """A new task, as the queue holds it; due later where its source is too fast."""
    lead = offer.lead_seconds + lead_of(in_links) / 1000
    due = (inflow.due(batch.source_host, now) if batch.source_host else now) - lead
    if offer.due is not None:
        due = max(due, offer.due)
    return Entry(
        3 - offer.priority, milliseconds(due), key, offer.url[len(offer.origin) :], offer.depth,
        rows.SOURCE_NUMBER[offer.source], milliseconds(now), batch.via, 0, None, rows.chain_blob(offer.chain),
        rows.hint_for(offer), offer.via,
    )  # fmt: skip


def cut_off_rows(batches: Sequence[Batch], refused: Sequence[Mapping[str, int]]) -> list[tuple[int, str, int]]:
    """What budgets cut off of pages: record, name of the budget, offers."""
    return [
        (batch.via, name, count)
        for batch, reasons in zip(batches, refused, strict=True)
        if batch.via is not None and reasons
        for name, count in cut_off_by_limits(reasons).items()
    ]


def found_by(entries: Iterable[Entry]) -> Counter[str]:
    """How many tasks each source brought, by the names of the tally; sitemaps and feeds themselves stand apart."""
    counted = Counter(
        "catalogue" if entry.hint and entry.hint & rows.CATALOGUE else str(rows.SOURCES[entry.source])
        for entry in entries
    )
    return Counter({f"found:{source}": count for source, count in counted.items()})
