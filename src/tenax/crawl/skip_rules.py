"""What is claimed and not asked for: the rules refuse it by now, or others like it showed the same again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tenax.discovery.facets import facet_path, facet_skip_reason, is_open, most_at_once
from tenax.discovery.list_order import is_beyond_next, is_unproven, own_list_page, past_end_reason
from tenax.discovery.page_numbers import parse_paged_url
from tenax.discovery.series import series_pattern, series_skip_reason, until_enough
from tenax.model import Claim, Deferred, GuessState, Refused, Source
from tenax.urls.admit import Rules, task_refusal

LONGEST_HOLD_SECONDS = 5.0
"""How long, from when it was found, a page waits for one that was not even begun: that one may never be."""
HOLD_SECONDS = 0.5
"""How long a page waits for the answers to others like it, before it is looked at again."""


def skip_outcome(claim: Claim, guess_state: GuessState, rules: Rules) -> Refused | None:
    """Why nothing is sent for this task; None: it is visited."""
    task = claim.task
    if rules.revision and (why := task_refusal(rules, task)) is not None:
        return Refused(f"rules: {why}")
    if _is_wanted(claim):
        return None
    if why := facet_skip_reason(guess_state, task.url, task.origin, rules.urls.facet_samples):
        return Refused(f"facets: {why}")
    if why := series_skip_reason(guess_state, task.url, task.via, task.origin, rules.urls.max_same_in_series):
        return Refused(f"series: {why}")
    if rules.urls.max_same_in_series and (why := past_end_reason(guess_state, task.url, task.via)):
        return Refused(f"series: {why}")
    return None


def waits_for_others(
    claim: Claim, guess_state: GuessState, rules: Rules, in_flight: Mapping[int, tuple[str, float]], now: float
) -> Deferred | None:
    """Whether as many pages like this one are being asked for as will tell about all of them: it waits for the answers.

    Else a fast crawl would ask for dozens before the first few have shown that they are all the same. `in_flight` are
    URLs by the number of their lease: who was claimed first waits for nobody.
    """
    if _is_wanted(claim):
        return None
    most = rules.urls.max_same_in_series
    what = (
        _too_many_selections(claim, guess_state, rules.urls.facet_samples, in_flight)
        or _too_many_of_series(claim, guess_state, most, in_flight)
        or (most and _page_before(claim, guess_state, in_flight, now))
    )
    return Deferred(now + HOLD_SECONDS, f"others first: {what} are being asked for") if what else None


def _is_wanted(claim: Claim) -> bool:
    """It is stored already, or a person named it."""
    return claim.stored_copy is not None or claim.task.source is Source.SEED


def _earlier(claim: Claim, in_flight: Mapping[int, tuple[str, float]]) -> Iterator[str]:
    origin, number = claim.task.origin, claim.lease.number
    return (url for lease, (url, _) in in_flight.items() if lease < number and url.startswith(origin))


def _too_many_selections(
    claim: Claim, guess_state: GuessState, tried: int, in_flight: Mapping[int, tuple[str, float]]
) -> str:
    origin = claim.task.origin
    path = facet_path(claim.task.url, origin) if tried else None
    if path is None:
        return ""
    rule = guess_state.facets.get(path)
    if rule is not None and not is_open(rule, tried):
        return ""
    others = sum(1 for url in _earlier(claim, in_flight) if facet_path(url, origin) == path)
    return f"selections of {path}" if others >= most_at_once(rule, tried) else ""


def _too_many_of_series(
    claim: Claim, guess_state: GuessState, most: int, in_flight: Mapping[int, tuple[str, float]]
) -> str:
    task = claim.task
    pattern = series_pattern(task.url, task.origin) if most and guess_state.series else None
    rule = guess_state.series.get(pattern) if pattern is not None else None
    if pattern is None or rule is None or not rule.same_pages or task.via is None:
        return ""
    if series_pattern(task.via, task.origin) != pattern:
        return ""
    others = sum(1 for url in _earlier(claim, in_flight) if series_pattern(url, task.origin) == pattern)
    return f"pages of {pattern}" if others >= until_enough(rule, most) else ""


def _page_before(claim: Claim, guess_state: GuessState, in_flight: Mapping[int, tuple[str, float]], now: float) -> str:
    """The second page of a list says whether there is a third, whatever the first one links to."""
    own = own_list_page(claim.task.url, claim.task.via)
    if own is None or not is_unproven(guess_state, own.pattern):
        return ""
    others = (parse_paged_url(url) for url in _earlier(claim, in_flight))
    is_asked = any(other is not None and other.pattern == own.pattern for other in others)
    is_new = now < claim.task.discovered_at + LONGEST_HOLD_SECONDS
    is_held = is_asked or (is_new and is_beyond_next(guess_state, own))
    return f"pages of {own.pattern}" if is_held else ""
