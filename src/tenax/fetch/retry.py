"""What the end of a visit leads to: the new record of the host, and the plan of the task.

A task is done, is retried later or by another transport, or becomes a dead letter.
"""

from __future__ import annotations

import msgspec

from tenax.config import FetchConfig, SiteConfig
from tenax.fetch.answer import VisitEnd
from tenax.fetch.headers import robot_names
from tenax.fetch.setting_conditions import (
    attempt_conditions,
    join_conditions,
    rejection_cause,
    rejection_conditions,
)
from tenax.hosts.robots import apply_robots, robots_failure
from tenax.hosts.rules import SentRequests, host_after_probe, host_after_visit
from tenax.hosts.throttle import allowed_retry_after, retry_delay_seconds
from tenax.model import (
    NEEDS_BROWSER,
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    HostRecord,
    Outcome,
    Park,
    Plan,
    Redirected,
    Refused,
    Rejected,
    Reschedule,
    Source,
    Task,
    TransportKind,
)

# A reset often means that the host recognizes our TLS handshake and refuses it. (`fetch.fallbacks` gives the order.)
_FALLBACKS_AFTER_FAILURE = {FailureKind.RESET: frozenset({TransportKind.CURL, TransportKind.BROWSER})}
# A page without content yet, such as "enable JavaScript", may have some in a browser.
_FALLBACKS_AFTER_SOFT_REJECTION = frozenset({TransportKind.BROWSER})
# A browser would get the same result.
_FINAL_REASONS = "content empty guess login noindex partial refresh small unreadable url_list"
_FINAL_REJECTIONS = frozenset(f"rejected:{word}" for word in _FINAL_REASONS.split())


def fallback_transport(
    outcome: Outcome, transport: TransportKind, fetch: FetchConfig, available: frozenset[TransportKind]
) -> TransportKind | None:
    """The transport to try next for the same URL, after a visit by `transport`; None if none is left or would help.

    `available` are the installed transports. Each is tried once: after one of `fetch.fallbacks`, only the later ones
    in that list are left; after plain HTTP, all of them.
    """
    cures = _useful_transports(outcome)
    if not cures:
        return None
    order = [TransportKind(name) for name in fetch.fallbacks]
    untried = order[order.index(transport) + 1 :] if transport in order else order
    return next((other for other in untried if other in cures and other in available and other is not transport), None)


def needs_browser(outcome: Outcome, transport: TransportKind) -> bool:
    """Whether the response is not a page yet, and only a browser could tell."""
    return (
        isinstance(outcome, Rejected)
        and transport is not TransportKind.BROWSER
        and TransportKind.BROWSER in _useful_transports(outcome)
    )


def _useful_transports(outcome: Outcome) -> frozenset[TransportKind]:
    match outcome:
        case Failed(kind=kind):
            return _FALLBACKS_AFTER_FAILURE.get(kind, frozenset())
        case Rejected(is_hard=False) if outcome.label not in _FINAL_REJECTIONS:
            return _FALLBACKS_AFTER_SOFT_REJECTION
        case _:
            return frozenset()


# The site has responded, and there is nothing left to try.
_FINAL_KINDS = frozenset({FailureKind.NOT_FOUND, FailureKind.GONE})
# A person named these URLs, and may want them at once after the guard allows them.
_USER_SOURCES = frozenset({Source.SEED, Source.REPLAY})
# Another run may allow these URLs: a setting never settles a URL.
_SETTING_REASONS = ("guard:", "rules:", "facets:", "series:", "robots:")
# A retry would give the same result. A person may replay the URL.
_PERMANENT_KINDS = frozenset(
    {
        FailureKind.CLIENT_ERROR,
        FailureKind.BLOCKED,
        FailureKind.TOO_LARGE,
        FailureKind.REDIRECT,
        FailureKind.UNREADABLE,
    }
)


def update_host(host: HostRecord, end: VisitEnd) -> HostRecord:
    """The record after a visit."""
    answer, outcome, site = end.answer, end.outcome, end.site
    if answer.robots is not None:
        host = apply_robots(host, answer.robots, site.politeness, robot_names(site.fetch))
    if answer.probe is not None:
        host = host_after_probe(host, answer.probe.is_up, answer.probe.why, end.now, site, jitter=end.jitter)
    elif answer.robots is not None and isinstance(outcome, Deferred):
        outcome = robots_failure(answer.robots) or outcome
    other = fallback_transport(outcome, answer.transport, site.fetch, end.available)
    sent = SentRequests(answer.requests, answer.answered_at, answer.transport, other)
    return host_after_visit(host, outcome, sent, site, end.jitter)


def plan_task(task: Task, end: VisitEnd, host_next_at: float) -> Plan:
    """The plan for the task after a visit. `host_next_at` is the time of the host's next request, as known after the
    visit.

    If a task was found to need a transport or the whole page, it keeps this until a visit shows otherwise.
    """
    outcome, site, transport = end.outcome, end.site, end.answer.transport
    match outcome:
        case Deferred(until=until):
            return _reschedule(task, until)
        case Failed(kind=kind) if kind in _FINAL_KINDS:
            return Done()
        case Failed() | Rejected():
            other = fallback_transport(outcome, transport, site.fetch, end.available)
            if other is not None:
                return msgspec.structs.replace(_reschedule(task, host_next_at), transport=other)
            if isinstance(outcome, Failed):
                return _plan_after_failure(outcome, task, end, host_next_at)
            return _plan_after_rejection(outcome, task, end, host_next_at)
        case Refused(why=why) if why.startswith("guard:") and task.source in _USER_SOURCES:
            return DeadLetter(why)
        case Refused(why=why) if why.startswith(_SETTING_REASONS):
            return Park(why)
        case Redirected(to=to, why=why) if why:
            return Park(f"redirect: {why}, HTTP {outcome.status} to {to}")
        case _:
            return Done()


def _plan_after_rejection(rejected: Rejected, task: Task, end: VisitEnd, host_next_at: float) -> Plan:
    conditions = rejection_conditions(rejected, end.site)
    if needs_browser(rejected, end.answer.transport):
        return DeadLetter(f"{NEEDS_BROWSER}: {rejected.why}", conditions)
    if rejected.is_hard:
        return _spend_attempt(task, host_next_at, rejected.why, end.site, conditions)
    return Park(rejection_cause(rejected), conditions) if conditions else Done()


def _plan_after_failure(failed: Failed, task: Task, end: VisitEnd, host_next_at: float) -> Plan:
    now, site = end.now, end.site
    asked_for = now + allowed_retry_after(failed.retry_after_seconds, site.fetch)
    if (failed.kind is FailureKind.RESET and failed.is_site_wide) or failed.kind is FailureKind.PROXY:
        # Every transport was tried, or this one is refused. The next round begins with the host's usual transport.
        return msgspec.structs.replace(_reschedule(task, max(host_next_at, asked_for)), transport=None)
    if failed.is_site_wide or failed.kind is FailureKind.RATE_LIMITED:
        return _reschedule(task, max(host_next_at, asked_for))
    if failed.kind is FailureKind.NOT_MODIFIED and not task.is_unconditional:
        return Reschedule(now, transport=task.transport, is_unconditional=True)
    if failed.kind in _PERMANENT_KINDS:
        return DeadLetter(failed.why)
    wait = retry_delay_seconds(task.attempt, site.fetch, end.jitter)
    plan = _spend_attempt(task, max(now + wait, asked_for), failed.why, site)
    # As above: every transport was tried.
    is_new_round = failed.kind is FailureKind.RESET and isinstance(plan, Reschedule)
    return msgspec.structs.replace(plan, transport=None) if is_new_round else plan


def _spend_attempt(task: Task, at: float, why: str, site: SiteConfig, conditions: str = "") -> Plan:
    """`conditions` are those under which the visit may have ended otherwise."""
    attempts = task.attempt + 1
    if attempts >= site.fetch.max_attempts:
        return DeadLetter(f"{why} (tried {attempts} times)", join_conditions(conditions, attempt_conditions(site)))
    return msgspec.structs.replace(_reschedule(task, at), spends_attempt=True)


def _reschedule(task: Task, at: float) -> Reschedule:
    return Reschedule(at, transport=task.transport, is_unconditional=task.is_unconditional)
