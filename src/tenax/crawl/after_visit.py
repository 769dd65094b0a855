"""Updates after a visit: the host's record, candidates from discovery, and the next visit of the page."""

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
    """The state after a visit."""

    host: HostRecord
    candidates: tuple[Candidate, ...] = ()
    """From discovery, besides the links of the page."""
    change_history: ChangeHistory | None = None
    next_visit_at: float | None = None
    """When to recrawl the page; None: never."""
    why: str = ""
    cut_off: Mapping[str, int] = {}
    """Guesses withheld by limits, by limit. The links of the page are counted elsewhere."""

    def adjust_plan(self, plan: Plan) -> Plan:
        """The plan of the task. A task that is done or given up is rescheduled if its page is recrawled."""
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
    """`host` is its latest record, `new_candidates` are those of the page, `jitter` is a random number from 0 to 1."""
    new_host = update_host(host, answer, outcome, now, site, jitter, available_transports)
    guess_state, guesses = guess_urls(
        new_host.guess_state, claim, outcome, extracted, len(new_candidates), now, rules, site, page_similarity
    )
    guess_state = _update_facets(guess_state, claim, outcome, extracted, new_candidates)
    if extracted is not None and isinstance(outcome, Fetched) and not outcome.url_list:
        task = claim.task
        shape = shape_of(extracted.text, extracted.words)
        page = SeriesPage(task.url, task.via, extracted.content_hash, extracted.fingerprint, extracted.words, shape)
        guess_state = record_series_page(guess_state, page, task.origin, new_candidates, page_similarity)
    if guess_state is not new_host.guess_state:
        new_host = msgspec.structs.replace(new_host, guess_state=guess_state)
    sitemaps = (
        robots_sitemap_candidates(claim.task.origin, answer.robots, rules, site.discovery)
        if answer.robots is not None
        else ()
    )
    candidates = sitemaps + guesses
    cut_off = count_withheld_guesses(host.guess_state, guess_state, claim.task.url, now, site.discovery)
    if not site.recrawl.continuous:
        return VisitUpdate(new_host, candidates, cut_off=cut_off)
    similarity = _stored_copy_similarity(claim, extracted)
    recrawl_plan = plan_recrawl(new_host.recrawl_cost, claim, answer, outcome, extracted, now, site.recrawl, similarity)
    new_host = msgspec.structs.replace(new_host, recrawl_cost=recrawl_plan.recrawl_cost)
    return VisitUpdate(
        new_host, candidates, recrawl_plan.change_history, recrawl_plan.next_visit_at, recrawl_plan.why, cut_off
    )


def _update_facets(
    guess_state: GuessState,
    claim: Claim,
    outcome: Outcome,
    extracted: ExtractedPage | None,
    new_candidates: tuple[Candidate, ...],
) -> GuessState:
    """Record whether a URL with a query shows anything new, for the other queries of its path."""
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
    """How similar the page is to the stored copy; None when they cannot be compared."""
    stored_copy = claim.stored_copy
    if extracted is None or stored_copy is None or not extracted.fingerprint or not stored_copy.fingerprint:
        return None
    return page_similarity(extracted.fingerprint, stored_copy.fingerprint)
