"""What is claimed and not asked for: the rules refuse it by now, or others like it showed the same again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tenax.discovery.facets import is_open, most_at_once, path_of, why_spared
from tenax.discovery.list_order import is_beyond_next, is_unproven, of_own_list, why_past_end
from tenax.discovery.page_numbers import paged
from tenax.discovery.series import series_of, until_enough, why_left
from tenax.model import Claim, Deferred, Finds, Refused, Source
from tenax.urls.admit import Rules, refusal_now

LONGEST_HOLD_SECONDS = 5.0
"""How long, from when it was found, a page waits for one that was not even begun: that one may never be."""
HOLD_SECONDS = 0.5
"""How long a page waits for the answers to others like it, before it is looked at again."""


def spared(claim: Claim, finds: Finds, rules: Rules) -> Refused | None:
    """Why nothing is sent for this task; None: it is visited."""
    task = claim.task
    if rules.revision and (why := refusal_now(rules, task)) is not None:
        return Refused(f"rules: {why}")
    if _is_wanted(claim):
        return None
    if why := why_spared(finds, task.url, task.origin, rules.urls.facets_tried):
        return Refused(f"facets: {why}")
    if why := why_left(finds, task.url, task.via, task.origin, rules.urls.max_same_in_series):
        return Refused(f"series: {why}")
    if rules.urls.max_same_in_series and (why := why_past_end(finds, task.url, task.via)):
        return Refused(f"series: {why}")
    return None


def waits_for_others(
    claim: Claim, finds: Finds, rules: Rules, in_flight: Mapping[int, tuple[str, float]], now: float
) -> Deferred | None:
    """Whether as many pages like this one are being asked for as will tell about all of them: it waits for the answers.

    Else a fast crawl would ask for dozens before the first few have shown that they are all the same. `in_flight` are
    URLs by the number of their lease: who was claimed first waits for nobody.
    """
    if _is_wanted(claim):
        return None
    most = rules.urls.max_same_in_series
    what = (
        _too_many_selections(claim, finds, rules.urls.facets_tried, in_flight)
        or _too_many_of_series(claim, finds, most, in_flight)
        or (most and _page_before(claim, finds, in_flight, now))
    )
    return Deferred(now + HOLD_SECONDS, f"others first: {what} are being asked for") if what else None


def _is_wanted(claim: Claim) -> bool:
    """It is stored already, or a person named it."""
    return claim.held is not None or claim.task.source is Source.SEED


def _earlier(claim: Claim, in_flight: Mapping[int, tuple[str, float]]) -> Iterator[str]:
    origin, number = claim.task.origin, claim.lease.number
    return (url for lease, (url, _) in in_flight.items() if lease < number and url.startswith(origin))


def _too_many_selections(claim: Claim, finds: Finds, tried: int, in_flight: Mapping[int, tuple[str, float]]) -> str:
    origin = claim.task.origin
    path = path_of(claim.task.url, origin) if tried else None
    if path is None:
        return ""
    rule = finds.facets.get(path)
    if rule is not None and not is_open(rule, tried):
        return ""
    others = sum(1 for url in _earlier(claim, in_flight) if path_of(url, origin) == path)
    return f"selections of {path}" if others >= most_at_once(rule, tried) else ""


def _too_many_of_series(claim: Claim, finds: Finds, most: int, in_flight: Mapping[int, tuple[str, float]]) -> str:
    task = claim.task
    pattern = series_of(task.url, task.origin) if most and finds.series else None
    rule = finds.series.get(pattern) if pattern is not None else None
    if pattern is None or rule is None or not rule.same or task.via is None:
        return ""
    if series_of(task.via, task.origin) != pattern:
        return ""
    others = sum(1 for url in _earlier(claim, in_flight) if series_of(url, task.origin) == pattern)
    return f"pages of {pattern}" if others >= until_enough(rule, most) else ""


def _page_before(claim: Claim, finds: Finds, in_flight: Mapping[int, tuple[str, float]], now: float) -> str:
    """The second page of a list says whether there is a third, whatever the first one links to."""
    own = of_own_list(claim.task.url, claim.task.via)
    if own is None or not is_unproven(finds, own.pattern):
        return ""
    others = (paged(url) for url in _earlier(claim, in_flight))
    is_asked = any(other is not None and other.pattern == own.pattern for other in others)
    is_new = now < claim.task.discovered_at + LONGEST_HOLD_SECONDS
    is_held = is_asked or (is_new and is_beyond_next(finds, own))
    return f"pages of {own.pattern}" if is_held else ""
