"""What a visit teaches: about its host, about where more of the site may be, and about how often its page changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from tenax.config import SiteConfig
from tenax.crawl.discovery_candidates import count_withheld_guesses, guess_urls, robots_sitemap_candidates
from tenax.crawl.duplicates import page_similarity
from tenax.crawl.reader.messages import ExtractedPage
from tenax.crawl.recrawl_plan import plan_recrawl
from tenax.discovery.facets import is_combined, record_facet_page
from tenax.discovery.series import SeriesPage, record_series_page, shape_of
from tenax.fetch.answer import FetchResult
from tenax.fetch.host_update import update_host
from tenax.model import (
    Candidate,
    ChangeHistory,
    Claim,
    DeadLetter,
    Done,
    Fetched,
    GuessState,
    HostRecord,
    Outcome,
    Plan,
    Reschedule,
    TransportKind,
)
from tenax.urls.admit import Rules


class VisitUpdate(NamedTuple):
    """What is known after a visit."""

    host: HostRecord
    candidates: tuple[Candidate, ...] = ()
    """Where more may be, besides the links of the page."""
    change_history: ChangeHistory | None = None
    next_visit_at: float | None = None
    """When the page is to be visited again to keep up with it; None: it is not kept up with."""
    why: str = ""
    cut_off: Mapping[str, int] = {}
    """What limits cut off besides links of the page: guesses that were not made."""

    def adjust_plan(self, plan: Plan) -> Plan:
        """What happens to the task: one that is done, or given up, comes back in its time, if it is kept up with."""
        if self.next_visit_at is None or not isinstance(plan, (Done, DeadLetter)):
            return plan
        return Reschedule(self.next_visit_at, why=self.why)


def apply_visit(
    host: HostRecord,
    claim: Claim,
    answer: FetchResult,
    outcome: Outcome,
    extracted: ExtractedPage | None,
    new_candidates: tuple[Candidate, ...],
    now: float,
    jitter: float,
    available_transports: frozenset[TransportKind],
    rules: Rules,
    site: SiteConfig,
) -> VisitUpdate:
    """`host` as it is known now. `new_candidates` is what the page offered, `jitter` a random number from 0 to 1."""
    after = update_host(host, answer, outcome, now, site, jitter, available_transports)
    guess_state, guesses = guess_urls(
        after.guess_state, claim, outcome, extracted, len(new_candidates), now, rules, site, page_similarity
    )
    guess_state = _update_facets(guess_state, claim, outcome, extracted, new_candidates)
    if extracted is not None and isinstance(outcome, Fetched) and not outcome.url_list:
        task = claim.task
        shape = shape_of(extracted.text, extracted.words)
        page = SeriesPage(task.url, task.via, extracted.content_hash, extracted.fingerprint, extracted.words, shape)
        guess_state = record_series_page(guess_state, page, task.origin, new_candidates, page_similarity)
    if guess_state is not after.guess_state:
        after = msgspec.structs.replace(after, guess_state=guess_state)
    named = (
        robots_sitemap_candidates(claim.task.origin, answer.robots, rules, site.discovery)
        if answer.robots is not None
        else ()
    )
    candidates = named + guesses
    cut_off = count_withheld_guesses(host.guess_state, guess_state, claim.task.url, now, site.discovery)
    if not site.recrawl.continuous:
        return VisitUpdate(after, candidates, cut_off=cut_off)
    similarity = _stored_copy_similarity(claim, extracted)
    kept = plan_recrawl(after.recrawl_cost, claim, answer, outcome, extracted, now, site.recrawl, similarity)
    after = msgspec.structs.replace(after, recrawl_cost=kept.recrawl_cost)
    return VisitUpdate(after, candidates, kept.change_history, kept.next_visit_at, kept.why, cut_off)


def _update_facets(
    guess_state: GuessState,
    claim: Claim,
    outcome: Outcome,
    extracted: ExtractedPage | None,
    new_candidates: tuple[Candidate, ...],
) -> GuessState:
    """What a page with a query in its address says of the others of its path."""
    url, origin = claim.task.url, claim.task.origin
    if extracted is None or "?" not in url or not isinstance(outcome, Fetched):
        return guess_state
    own = url.partition("?")[0] + "?"
    beyond = sum(1 for candidate in new_candidates if not candidate.url.startswith(own))
    narrowed = is_combined(url, (candidate.url for candidate in new_candidates))
    return record_facet_page(
        guess_state,
        url,
        origin,
        extracted.kind,
        extracted.content_hash,
        extracted.fingerprint,
        beyond,
        page_similarity,
        narrowed,
    )


def _stored_copy_similarity(claim: Claim, extracted: ExtractedPage | None) -> float | None:
    """Of the page to the one we held."""
    stored_copy = claim.stored_copy
    if extracted is None or stored_copy is None or not extracted.fingerprint or not stored_copy.fingerprint:
        return None
    return page_similarity(extracted.fingerprint, stored_copy.fingerprint)
