"""Candidates on their way into the queue, shared by all backends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tenax.database import rows
from tenax.database.admission_rate import AdmissionRate
from tenax.database.in_links import link_lead_ms
from tenax.database.rows import milliseconds
from tenax.database.schedule import Entry
from tenax.model import Candidate, limit_refusals

MAX_KNOWN_URLS = 250_000
"""URLs remembered as known, in up to two generations: most links of a site are on every page of it."""
MAX_HOST_IDS = 200_000
HOSTS_BUDGET = "hosts_per_domain"


class Batch(NamedTuple):
    """Candidates proposed together: by a visit, or outside of any."""

    candidates: Sequence[Candidate]
    via: int | None
    """The record id of the page they were found on."""
    source_host: int
    """The host of that page; 0 outside of a visit."""
    is_first_visit: bool = False
    """The page was not visited before, so its links are not counted yet."""
    link_counts: Mapping[str, int] = MappingProxyType({})
    """Known URLs, and how many more links to them were found."""


EMPTY_BATCH = Batch((), None, 0)


def build_entry(
    candidate: Candidate, key: int, batch: Batch, admission_rate: AdmissionRate, now: float, in_links: int = 0
) -> Entry:
    """The queue entry of a new task; due later when its source exceeds its rate."""
    lead = candidate.lead_seconds + link_lead_ms(in_links) / 1000
    due = (admission_rate.due_time(batch.source_host, now) if batch.source_host else now) - lead
    if candidate.due is not None:
        due = max(due, candidate.due)
    return Entry(
        3 - candidate.priority, milliseconds(due), key, candidate.url[len(candidate.origin) :], candidate.depth,
        rows.SOURCE_NUMBER[candidate.source], milliseconds(now), batch.via, 0, None, rows.encode_chain(candidate.chain),
        rows.candidate_hint(candidate), candidate.via,
    )  # fmt: skip


def cut_off_rows(batches: Sequence[Batch], refused: Sequence[Mapping[str, int]]) -> list[tuple[int, str, int]]:
    """Links cut off by budgets: record id, budget name, number of candidates."""
    return [
        (batch.via, name, count)
        for batch, reasons in zip(batches, refused, strict=True)
        if batch.via is not None and reasons
        for name, count in limit_refusals(reasons).items()
    ]


def count_by_source(entries: Iterable[Entry]) -> Counter[str]:
    """Tasks per source, by tally name; sitemaps and feeds are counted as `url_list`."""
    counted = Counter(
        "url_list" if entry.hint and entry.hint & rows.HINT_URL_LIST else str(rows.SOURCES[entry.source])
        for entry in entries
    )
    return Counter({f"found:{source}": count for source, count in counted.items()})
