"""Visits: claimed tasks that are not requested, open visits by host, and a page from response to record. Pure.

Open visits may lead to further URLs, so they count as remaining work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from tenax.config import SiteConfig
from tenax.crawl.reader.messages import ExtractedPage, ExtractJob
from tenax.database.page_codec import page_text_bytes
from tenax.discovery.paged_urls import is_beyond_next, is_unproven, own_list_page, parse_paged_url, past_end_reason
from tenax.discovery.repeats import (
    facet_path,
    facet_skip_reason,
    is_open,
    missing_repeats,
    most_at_once,
    series_pattern,
    series_skip_reason,
)
from tenax.fetch import Response
from tenax.fetch.answer import FetchResult
from tenax.fetch.headers import robot_names, usable_validator
from tenax.model import (
    Claim,
    Deferred,
    Failed,
    FailureKind,
    Fetched,
    FetchRecord,
    GuessState,
    Hop,
    Outcome,
    Page,
    Refused,
    Rejected,
    Source,
    Task,
    Unchanged,
    Visit,
    content_values,
)
from tenax.urls.admit import Rules, task_refusal

_MISSING_KINDS = frozenset({FailureKind.NOT_FOUND, FailureKind.GONE})
MAX_PREDECESSOR_WAIT_SECONDS = 5.0
"""How long after its discovery a page waits for a page before it that is not in flight yet. That page may never be
requested."""
RECHECK_SECONDS = 0.5
"""How long a page waits for responses to similar URLs before it is checked again."""


def skip_outcome(claim: Claim, guess_state: GuessState, rules: Rules) -> Refused | None:
    """Why this task is not requested; None if it is requested."""
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
    URLs and start times by lease number: a task waits only for those that were claimed before it.
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
    """Whether the page is already stored, or is a seed."""
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
    """Why a page of a list waits. The second page shows whether there is a third, whatever the first one links to."""
    own = own_list_page(claim.task.url, claim.task.via)
    if own is None or not is_unproven(guess_state, own.pattern):
        return ""
    others = (parse_paged_url(url) for url in _earlier_urls(claim, in_flight))
    is_in_flight = any(other is not None and other.pattern == own.pattern for other in others)
    is_new = now < claim.task.discovered_at + MAX_PREDECESSOR_WAIT_SECONDS
    must_wait = is_in_flight or (is_new and is_beyond_next(guess_state, own))
    return f"pages of {own.pattern}" if must_wait else ""


class OpenVisits:
    """The open visits of this process; and for each host the number of tasks that waited at its latest claim."""

    def __init__(self) -> None:
        self._origins: dict[int, str] = {}
        self._counts: Counter[str] = Counter()
        self._waiting: dict[str, int | None] = {}

    def begin(self, claim: Claim) -> None:
        origin = claim.task.origin
        self._origins[claim.lease.number] = origin
        self._counts[origin] += 1
        self._waiting[origin] = claim.waiting

    def record_answer(self, claim: Claim) -> int | None:
        """End the visit. Returns how many tasks its host has left, waiting or open; None: many, or not counted.

        Waiting tasks are as counted at the latest claim of the host, which may be later than this one.
        """
        origin = claim.task.origin
        waiting = self._waiting.get(origin, claim.waiting)
        self.end(claim)
        return None if waiting is None else waiting + self._counts[origin]

    def end(self, claim: Claim) -> None:
        """The visit has a response, or was abandoned. A second call has no effect."""
        origin = self._origins.pop(claim.lease.number, None)
        if origin is None:
            return
        self._counts[origin] -= 1
        if self._counts[origin] <= 0:
            del self._counts[origin], self._waiting[origin]


CANDIDATE_BYTES = 512
"""Approximate memory of a link on its way to the database."""


def build_extract_job(task: Task, response: Response, site: SiteConfig, now: float) -> ExtractJob:
    """The job that extracts a response. A crawl adds the number of the job, and whether the page is new."""
    return ExtractJob(
        number=0,
        url=task.url,
        fetched_url=response.url,
        depth=task.depth,
        body=response.body,
        content_type=response.headers.content_type,
        robots_header="\n".join(response.headers.get_all("X-Robots-Tag")) or None,
        robot_names=tuple(sorted(robot_names(site.fetch))),
        status=response.status,
        transport=response.transport,
        validation=site.validation,
        extract=site.extract,
        discovery=site.discovery,
        source=task.source,
        is_url_list=task.is_url_list,
        is_continuous=site.recrawl.continuous,
        now=now,
    )


def outcome_after_extraction(fetched: Outcome, extracted: ExtractedPage) -> Outcome:
    """The outcome of a fetched page, when its content is known."""
    if extracted.failure is not None:
        return extracted.failure
    if extracted.rejection is not None:
        return extracted.rejection
    if extracted.url_list and isinstance(fetched, Fetched):
        return msgspec.structs.replace(fetched, url_list=extracted.url_list)
    if extracted.is_noindex:
        return Rejected(why="noindex: the page asks not to be kept")
    return fetched


def fetched_page(task: Task, answer: FetchResult, extracted: ExtractedPage | None, seconds: float) -> Page | None:
    """The page to store; None for a URL list, or if there is no response."""
    if extracted is None or extracted.url_list or answer.response is None:
        return None
    return build_page(task, answer.response, answer.chain, extracted, seconds)


def build_page(
    task: Task, response: Response, chain: tuple[Hop, ...], extracted: ExtractedPage, duration_seconds: float
) -> Page:
    """The page to store. `duration_seconds` is that of the visit. The database finds out whether the page is a
    duplicate."""
    return Page(
        *content_values(extracted),
        url=task.url,
        status=response.status,
        content_type=response.headers.content_type,
        content_length=len(response.body),
        fetched_at=round(response.finished_at, 3),  # rounded as it is stored, so that an event and the database agree
        links=extracted.links,
        links_count=extracted.links_count,
        depth=task.depth,
        via=task.via,
        duration_ms=int(duration_seconds * 1000),
        chain=chain,
        etag=usable_validator(response.headers.get("ETag")),
        last_modified=usable_validator(response.headers.get("Last-Modified")),
    )


def build_fetch_record(answer: FetchResult, extracted: ExtractedPage | None) -> FetchRecord:
    """The measurements of the fetch, and the validation result of the reader."""
    if extracted is None:
        return answer.record
    return msgspec.structs.replace(
        answer.record,
        charset_source=extracted.charset_source,
        validation=extracted.validation,
        evidence=extracted.evidence,
    )


def visit_bytes(visit: Visit) -> int:
    """Approximate memory of a visit until it is committed: its texts and links."""
    text_bytes = page_text_bytes(visit.page) if visit.page is not None else 0
    return text_bytes + len(visit.link_targets or b"") + CANDIDATE_BYTES * len(visit.candidates)


def response_validators(outcome: Outcome, answer: FetchResult) -> tuple[str | None, str | None]:
    """The ETag and Last-Modified of a 304 for the stored copy, or of a URL list."""
    is_list = isinstance(outcome, Fetched) and bool(outcome.url_list)
    if not (is_list or isinstance(outcome, Unchanged)) or answer.response is None:
        return None, None
    headers = answer.response.headers
    return usable_validator(headers.get("ETag")), usable_validator(headers.get("Last-Modified"))


def visit_label(task: Task, outcome: Outcome) -> str:
    """See `Visit.label`."""
    if isinstance(outcome, Failed):
        is_missed = outcome.kind in _MISSING_KINDS
    else:  # or it shows only what another page shows
        is_missed = isinstance(outcome, Rejected) and outcome.why.startswith("guess:")
    return "missed" if is_missed and task.is_guess else outcome.label
