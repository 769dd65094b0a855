"""What a visit teaches: about its host, about where more of the site may be, and about how often its page changes."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tenax.config import SiteConfig
from tenax.discover.facets import after_selection
from tenax.fetch.answer import Answer
from tenax.fetch.learn import learned
from tenax.finding import found_beside, guessed
from tenax.likeness import likeness_of
from tenax.model import Again, Claim, DeadLetter, Done, Fetched, Finds, Freshness, HostRecord, Offer, Outcome, Plan, Way
from tenax.reading import Reading
from tenax.upkeep import kept_up
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
    discovery = site.discovery
    after = learned(host, answer, outcome, now, site, jitter, ways)
    finds, guesses = guessed(after.finds, claim, outcome, reading, len(new), now, rules, discovery, likeness_of)
    finds = _with_selection(finds, claim, outcome, reading, new)
    if finds is not after.finds:
        after = msgspec.structs.replace(after, finds=finds)
    offers = found_beside(claim.task, answer, outcome, reading, rules, discovery) + guesses
    if not site.freshness.keep:
        return Lesson(after, offers)
    likeness = _likeness(claim, reading)
    kept = kept_up(after.upkeep, claim, answer, outcome, reading, now, site.freshness, likeness)
    after = msgspec.structs.replace(after, upkeep=kept.upkeep)
    return Lesson(after, offers, kept.freshness, kept.at, kept.why)


def _with_selection(
    finds: Finds, claim: Claim, outcome: Outcome, reading: Reading | None, new: tuple[Offer, ...]
) -> Finds:
    """What a page with a query in its address says of the others of its path."""
    url, origin = claim.task.url, claim.task.origin
    if reading is None or "?" not in url or not isinstance(outcome, Fetched):
        return finds
    own = url.partition("?")[0] + "?"
    beyond = sum(1 for offer in new if not offer.url.startswith(own))
    return after_selection(
        finds, url, origin, reading.kind, reading.content_hash, reading.fingerprint, beyond, likeness_of
    )


def _likeness(claim: Claim, reading: Reading | None) -> float | None:
    """Of the page to the one we held."""
    held = claim.held
    if reading is None or held is None or not reading.fingerprint or not held.fingerprint:
        return None
    return likeness_of(reading.fingerprint, held.fingerprint)
