"""Claimed tasks that are not requested: the rules refuse them by now, or similar URLs only repeated content. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tenax.discovery.facets import facet_path, facet_skip_reason, is_open, most_at_once
from tenax.discovery.paged_urls import is_beyond_next, is_unproven, own_list_page, parse_paged_url, past_end_reason
from tenax.discovery.series import missing_repeats, series_pattern, series_skip_reason
from tenax.model import Claim, Deferred, GuessState, Refused, Source
from tenax.urls.admit import Rules, task_refusal

MAX_PREDECESSOR_WAIT_SECONDS = 5.0
"""How long after its discovery a page waits for one that is not in flight yet: that one may never be requested."""
RECHECK_SECONDS = 0.5
"""How long a page waits for the answers to similar URLs before it is checked again."""


def skip_outcome(claim: Claim, guess_state: GuessState, rules: Rules) -> Refused | None:
    """Why this task is not requested; None: it is."""
    task = claim.task
    if rules.revision and (why := task_refusal(rules, task)) is not None:
        return Refused(f"rules: {why}")
    if _is_exempt(claim):
        return None
    if why := facet_skip_reason(guess_state, task.url, task.origin, rules.urls.facet_samples):
        return Refused(f"facets: {why}")
    if why := series_skip_reason(guess_state, task.url, task.via, task.origin, rules.urls.max_same_in_series):
        return Refused(f"series: {why}")
    if rules.urls.max_same_in_series and (why := past_end_reason(guess_state, task.url, task.via)):
        return Refused(f"series: {why}")
    return None


def defer_outcome(
    claim: Claim, guess_state: GuessState, rules: Rules, in_flight: Mapping[int, tuple[str, float]], now: float
) -> Deferred | None:
    """Defer a task while enough similar URLs are in flight to judge all of them.

    Otherwise a fast crawl requests dozens of pages before the first few show that all are the same. `in_flight` are
    URLs and start times by lease number: a task waits only for those claimed before it.
    """
    if _is_exempt(claim):
        return None
    max_same = rules.urls.max_same_in_series
    waited_for = (
        _facet_wait_reason(claim, guess_state, rules.urls.facet_samples, in_flight)
        or _series_wait_reason(claim, guess_state, max_same, in_flight)
        or (max_same and _list_wait_reason(claim, guess_state, in_flight, now))
    )
    return Deferred(now + RECHECK_SECONDS, f"waits for similar URLs: {waited_for}") if waited_for else None


def _is_exempt(claim: Claim) -> bool:
    """Whether the page is stored already, or is a seed."""
    return claim.stored_copy is not None or claim.task.source is Source.SEED


def _earlier_urls(claim: Claim, in_flight: Mapping[int, tuple[str, float]]) -> Iterator[str]:
    origin, number = claim.task.origin, claim.lease.number
    return (url for lease, (url, _) in in_flight.items() if lease < number and url.startswith(origin))


def _facet_wait_reason(
    claim: Claim, guess_state: GuessState, samples: int, in_flight: Mapping[int, tuple[str, float]]
) -> str:
    origin = claim.task.origin
    path = facet_path(claim.task.url, origin) if samples else None
    if path is None:
        return ""
    rule = guess_state.facets.get(path)
    if rule is not None and not is_open(rule, samples):
        return ""
    others = sum(1 for url in _earlier_urls(claim, in_flight) if facet_path(url, origin) == path)
    return f"facet URLs of {path}" if others >= most_at_once(rule, samples) else ""


def _series_wait_reason(
    claim: Claim, guess_state: GuessState, max_same: int, in_flight: Mapping[int, tuple[str, float]]
) -> str:
    task = claim.task
    pattern = series_pattern(task.url, task.origin) if max_same and guess_state.series else None
    rule = guess_state.series.get(pattern) if pattern is not None else None
    if pattern is None or rule is None or not rule.same_pages or task.via is None:
        return ""
    if series_pattern(task.via, task.origin) != pattern:
        return ""
    others = sum(1 for url in _earlier_urls(claim, in_flight) if series_pattern(url, task.origin) == pattern)
    return f"pages of {pattern}" if others >= missing_repeats(rule, max_same) else ""


def _list_wait_reason(
    claim: Claim, guess_state: GuessState, in_flight: Mapping[int, tuple[str, float]], now: float
) -> str:
    """The second page of a list shows whether there is a third, whatever the first one links to."""
    own = own_list_page(claim.task.url, claim.task.via)
    if own is None or not is_unproven(guess_state, own.pattern):
        return ""
    others = (parse_paged_url(url) for url in _earlier_urls(claim, in_flight))
    is_in_flight = any(other is not None and other.pattern == own.pattern for other in others)
    is_new = now < claim.task.discovered_at + MAX_PREDECESSOR_WAIT_SECONDS
    must_wait = is_in_flight or (is_new and is_beyond_next(guess_state, own))
    return f"pages of {own.pattern}" if must_wait else ""
