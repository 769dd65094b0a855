"""What a visit teaches: about its host, about where more of the site may be, and about how often its page changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from tenax.config import SiteConfig
from tenax.crawl.discovery_candidates import guessed, held_back, of_robots
from tenax.crawl.duplicates import likeness_of
from tenax.crawl.reader.messages import Reading
from tenax.crawl.recrawl_plan import kept_up
from tenax.discovery.facets import after_selection, is_combined
from tenax.discovery.series import SeriesPage, after_page, shape_of
from tenax.fetch.answer import Answer
from tenax.fetch.host_update import learned
from tenax.model import Again, Claim, DeadLetter, Done, Fetched, Finds, Freshness, HostRecord, Offer, Outcome, Plan, Way
from tenax.urls.admit import Rules


class Lesson(NamedTuple):
    """What is known after a visit."""

    host: HostRecord
    offers: tuple[Offer, ...] = ()
    """Where more may be, besides the links of the page."""
    freshness: Freshness | None = None
    again_at: float | None = None
    """When the page is to be visited again to keep up with it; None: it is not kept up with."""
    why: str = ""
    cut_off: Mapping[str, int] = {}
    """What limits cut off besides links of the page: guesses that were not made."""

    def plan(self, plan: Plan) -> Plan:
        """What happens to the task: one that is done, or given up, comes back in its time, if it is kept up with."""
        if self.again_at is None or not isinstance(plan, (Done, DeadLetter)):
            return plan
        return Again(self.again_at, why=self.why)


def lesson_of(
    host: HostRecord,
    claim: Claim,
    answer: Answer,
    outcome: Outcome,
    reading: Reading | None,
    new: tuple[Offer, ...],
    now: float,
    jitter: float,
    ways: frozenset[Way],
    rules: Rules,
    site: SiteConfig,
) -> Lesson:
    """`host` as it is known now. `new` is what the page offered, `jitter` a random number from 0 to 1."""
    after = learned(host, answer, outcome, now, site, jitter, ways)
    finds, guesses = guessed(after.finds, claim, outcome, reading, len(new), now, rules, site, likeness_of)
    finds = _with_selection(finds, claim, outcome, reading, new)
    if reading is not None and isinstance(outcome, Fetched) and not outcome.catalogue:
        task = claim.task
        shape = shape_of(reading.text, reading.words)
        page = SeriesPage(task.url, task.via, reading.content_hash, reading.fingerprint, reading.words, shape)
        finds = after_page(finds, page, task.origin, new, likeness_of)
    if finds is not after.finds:
        after = msgspec.structs.replace(after, finds=finds)
    named = of_robots(claim.task.origin, answer.robots, rules, site.discovery) if answer.robots is not None else ()
    offers = named + guesses
    cut_off = held_back(host.finds, finds, claim.task.url, now, site.discovery)
    if not site.freshness.keep:
        return Lesson(after, offers, cut_off=cut_off)
    likeness = _likeness(claim, reading)
    kept = kept_up(after.upkeep, claim, answer, outcome, reading, now, site.freshness, likeness)
    after = msgspec.structs.replace(after, upkeep=kept.upkeep)
    return Lesson(after, offers, kept.freshness, kept.at, kept.why, cut_off)


def _with_selection(
    finds: Finds, claim: Claim, outcome: Outcome, reading: Reading | None, new: tuple[Offer, ...]
) -> Finds:
    """What a page with a query in its address says of the others of its path."""
    url, origin = claim.task.url, claim.task.origin
    if reading is None or "?" not in url or not isinstance(outcome, Fetched):
        return finds
    own = url.partition("?")[0] + "?"
    beyond = sum(1 for offer in new if not offer.url.startswith(own))
    narrowed = is_combined(url, (offer.url for offer in new))
    return after_selection(
        finds, url, origin, reading.kind, reading.content_hash, reading.fingerprint, beyond, likeness_of, narrowed
    )


def _likeness(claim: Claim, reading: Reading | None) -> float | None:
    """Of the page to the one we held."""
    held = claim.held
    if reading is None or held is None or not reading.fingerprint or not held.fingerprint:
        return None
    return likeness_of(reading.fingerprint, held.fingerprint)
