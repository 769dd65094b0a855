"""The request and the result of a trace, and its decisions as text."""

from __future__ import annotations

from collections.abc import Iterator, Set

from tenax.config import SiteConfig
from tenax.crawl.location import Location
from tenax.crawl.reader.messages import ExtractedPage
from tenax.database import UrlHistory
from tenax.fetch import REDIRECT_STATUSES
from tenax.fetch.answer import FetchResult
from tenax.fetch.headers import conditional_headers
from tenax.fetch.preflight import cached_outcome
from tenax.hosts.robots import robots_rules
from tenax.hosts.rules import should_probe, usual_transport
from tenax.hosts.throttle import pace_seconds
from tenax.model import (
    AddressClass,
    CanonicalCopy,
    Failed,
    FetchRecord,
    HostBackoff,
    HostRecord,
    Outcome,
    Page,
    Plan,
    Redirected,
    Refused,
    RobotsVerdict,
    StoredCopy,
    Task,
    TransportKind,
    Value,
)
from tenax.text.sanitize import mask_reference, mask_url
from tenax.urls.admit import Rules
from tenax.urls.describe_admission import rule_verdicts
from tenax.urls.normalize import WebUrl


class TraceRequest(Value, frozen=True):
    """A URL to trace, and how to fetch it."""

    url: str
    transport: TransportKind | None = None
    is_unconditional: bool = False
    crawl_location: Location | None = None
    """The crawl whose rules, host record and stored copy are used; None: no crawl, and the URL counts as a seed."""
    is_crawl_given: bool = True
    """False: the crawl was found automatically. It is ignored if it does not know the host."""


class StoredState(Value, frozen=True):
    """The records of a crawl about a URL and its host."""

    location: Location
    rules: Rules
    history: UrlHistory | None = None
    host: HostRecord | None = None
    canonical_copy: CanonicalCopy | None = None
    """A stored page whose canonical URL is this URL."""


class Step(Value, frozen=True):
    """One decision."""

    name: str
    why: str
    passed: bool | None = None
    """None: the step is only information."""


class Trace(Value, frozen=True):
    """The result of a trace."""

    typed_url: str
    """The URL as typed, with its password masked."""
    url: str
    outcome: Outcome
    plan: Plan
    """What a crawl would do next."""
    steps: tuple[Step, ...] = ()
    fetch: FetchRecord = FetchRecord()
    is_private: bool = False
    """Fetched only because a person typed it. The SSRF guard refuses links and redirects to its address."""
    backoff: HostBackoff | None = None
    """Set if a crawl would now back off from the host."""
    stale_page: Page | None = None
    """The stored copy that is kept, if no page came."""
    title: str = ""
    text: str = ""
    charset: str = ""
    links_count: int = 0
    candidate_count: int = 0
    """The number of links that a crawl would follow."""
    body: bytes = b""


def describe_url(typed_url: str, url: WebUrl, crawl: StoredState | None, depth: int) -> Iterator[Step]:
    if typed_url != url.url:
        yield Step("normalize", f"typed as {mask_url(typed_url)}")
    if crawl is None:
        yield Step("scope", "without a crawl: the URL counts as a seed", True)
        return
    if url.url in crawl.rules.seeds:
        yield Step("scope", f"a seed of the crawl in {crawl.location.name}", True)
        return
    refusing = [verdict for verdict in rule_verdicts(crawl.rules, url, depth) if not verdict.passed]
    for verdict in refusing:
        why = f"the rule `{verdict.rule}` of the crawl in {crawl.location.name} refuses it: {verdict.why}"
        yield Step("scope", f"{why}; fetched anyway", False)
    if not refusing:
        yield Step("scope", f"the rules of the crawl in {crawl.location.name} allow it", True)


def describe_address(
    host: str, guard_result: tuple[str, ...] | Refused | Failed, classes: Set[AddressClass], crawl: StoredState | None
) -> Step:
    """The addresses as text. `classes` are the classes of the checked addresses."""
    match guard_result:
        case Refused(why=why):
            return Step("guard", f"{why.removeprefix('guard: ')}; as a seed of the crawl it would be allowed", False)
        case Failed(why=why):
            return Step("guard", f"{host}: {why}", False)
        case addresses if "typed" in classes:
            why = "it is a seed of the crawl" if crawl is not None else "you typed it"
            return Step("guard", f"{host}: not a public address; allowed because {why}", True)
        case addresses if "allowed" in classes:
            return Step("guard", f"{host}: in a network of `guard.allow_networks`", True)
        case addresses:
            words = "a public address" if len(addresses) == 1 else f"{len(addresses)} addresses, all public"
            return Step("guard", f"{host}: {words}", True)


def describe_host(host: HostRecord, site: SiteConfig, is_known_crawl: bool, now: float) -> Step:
    if host.backoff_reason and host.next_at > now:
        return Step("host", f"backing off for {format_duration(host.next_at - now)}: {host.backoff_reason}", False)
    pace = pace_seconds(host, site.politeness)
    facts = [f"one request every {format_duration(pace)}" if pace else "no rate limit"]
    if host.rate_per_minute:
        facts.append(f"slowed to {host.rate_per_minute:.3g}/min after a 429")
    if host.page_count or host.error_count:
        facts.append(f"{_pluralize(host.page_count, 'page')} and {_pluralize(host.error_count, 'failure')} so far")
    else:
        facts.append("not visited before" if is_known_crawl else "no stored record")
    if should_probe(host):
        facts.append("it was down, so a small probe request comes first")
    if (transport := usual_transport(host, now)) is not TransportKind.HTTP:
        facts.append(f"found to need {transport_name(transport)}")
    return Step("host", "; ".join(facts), True)


def describe_robots(host: HostRecord, url: str, names: frozenset[str], now: float, is_just_fetched: bool) -> Step:
    copy = host.robots
    assert copy is not None, "only described once it is known"
    age = "fetched now" if is_just_fetched else f"fetched {format_duration(now - copy.fetched_at)} ago"
    if copy.verdict is RobotsVerdict.UNREACHABLE:
        return Step("robots", f"robots.txt is unreachable ({copy.why}), so nothing may be fetched; {age}", False)
    allows = robots_rules(copy, names).can_fetch(url)
    if copy.verdict is RobotsVerdict.ALLOW_ALL:
        says = f"there is no robots.txt (HTTP {copy.http_status}), so everything is allowed"
    else:
        says = "robots.txt allows it" if allows else "robots.txt does not allow it"
    facts = [says, age]
    if copy.why:
        facts.append(copy.why)
    if host.crawl_delay_seconds:
        facts.append(f"it asks for {format_duration(host.crawl_delay_seconds)} between requests")
    return Step("robots", "; ".join(facts), allows)


def describe_stored_copy(
    task: Task, stored_copy: StoredCopy | None, site: SiteConfig, now: float, canonical: CanonicalCopy | None = None
) -> Step:
    if stored_copy is None or stored_copy.kind is None:
        served = cached_outcome(task, stored_copy, site.cache, now, canonical)
        return Step("cache", served.why, True) if served is not None else Step("cache", "no stored copy")
    copy = f"a copy is stored, {format_duration(now - stored_copy.fetched_at)} old"
    if task.is_unconditional:
        return Step("cache", f"{copy}; not used, as requested")
    if cached_outcome(task, stored_copy, site.cache, now) is not None:
        return Step("cache", f"{copy}: young enough to use without a request", True)
    if names := [name for name, _ in conditional_headers(stored_copy)]:
        return Step("cache", f"{copy}; conditional request with {' and '.join(names)}")
    return Step("cache", f"{copy}, without ETag and Last-Modified; the whole page is requested")


def describe_answer(answer: FetchResult, url: str) -> Iterator[Step]:
    """The response as text. Its measurements are in the record."""
    response = answer.response
    if response is None:
        if isinstance(answer.outcome, Failed) and answer.robots is None:
            yield Step("network", answer.outcome.why, False)
        return
    if response.url != url and not isinstance(answer.outcome, Redirected):
        yield Step("spelling", f"the site redirects to {response.url}, another spelling, which was fetched")
    yield Step("network", f"{response.protocol} {response.status} by {transport_name(response.transport)}")
    if response.status in REDIRECT_STATUSES:
        # Invalid bytes are replaced, because this may become JSON.
        location = mask_reference(response.headers.get("Location", "none")).encode("utf-8", "replace").decode()
        yield Step("redirect", f"Location: {location}")


def describe_extraction(extracted: ExtractedPage) -> Step:
    if extracted.failure is not None:
        return Step("read", extracted.failure.why, False)
    if extracted.rejection is not None:
        evidence = f"; evidence: {extracted.evidence}" if extracted.evidence else ""
        return Step("validate", extracted.rejection.why + evidence, False)
    if extracted.is_noindex:
        return Step("validate", "a page, but it forbids storing (noindex)", False)
    return Step("validate", "a valid page", True)


def describe_stale_page(page: Page, now: float) -> Step:
    return Step(
        "stale", f"the stored copy is kept, {format_duration(now - page.fetched_at)} old and marked as stale", True
    )


def transport_name(transport: TransportKind) -> str:
    return {TransportKind.HTTP: "plain HTTP", TransportKind.CURL: "curl", TransportKind.BROWSER: "the browser"}[
        transport
    ]


def _pluralize(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_duration(seconds: float) -> str:
    for size, unit in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0.0):.2g} s" if seconds < 10 else f"{seconds:.0f} s"
