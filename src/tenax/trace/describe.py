"""Each decision about a URL in words."""

from __future__ import annotations

from collections.abc import Iterator, Set

from tenax.config import SiteConfig
from tenax.crawl.reader.messages import Reading
from tenax.fetch.answer import Answer
from tenax.fetch.cache import copy_that_serves
from tenax.fetch.headers import conditional_headers
from tenax.hosts.robots import matcher
from tenax.hosts.rules import must_probe, pace_seconds, usual_way
from tenax.model import (
    AddressClass,
    CanonicalCopy,
    Failed,
    Held,
    HostRecord,
    Page,
    Redirected,
    Refused,
    RobotsVerdict,
    Task,
    Way,
)
from tenax.text.masking import mask_reference, mask_url
from tenax.trace.values import Remembered, Step
from tenax.urls.describe_admission import verdicts
from tenax.urls.normalize import WebUrl


def of_url(asked: str, url: WebUrl, crawl: Remembered | None, depth: int) -> Iterator[Step]:
    if asked != url.url:
        yield Step("normalise", f"asked as {mask_url(asked)}")
    if crawl is None:
        yield Step("scope", "no crawl is asked for its rules: the URL counts as a seed", True)
        return
    if url.url in crawl.rules.seeds:
        yield Step("scope", f"a seed of the crawl in {crawl.place.name}", True)
        return
    refusing = [verdict for verdict in verdicts(crawl.rules, url, depth) if not verdict.passed]
    for verdict in refusing:
        why = f"the crawl in {crawl.place.name} refuses it, by its rule `{verdict.rule}`: {verdict.why}"
        yield Step("scope", f"{why}; asked all the same", False)
    if not refusing:
        yield Step("scope", f"the rules of the crawl in {crawl.place.name} let it pass", True)


def of_address(
    host: str, checked: tuple[str, ...] | Refused | Failed, classes: Set[AddressClass], crawl: Remembered | None
) -> Step:
    """`classes` are those of the checked addresses."""
    match checked:
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
            words = "a public address" if len(addresses) == 1 else f"{len(addresses)} addresses, all of them public"
            return Step("guard", f"{host}: {words}", True)


def of_host(host: HostRecord, site: SiteConfig, is_known_crawl: bool, now: float) -> Step:
    if host.resting_why and host.next_at > now:
        return Step("host", f"it rests for {span(host.next_at - now)}: {host.resting_why}", False)
    pace = pace_seconds(host, site.politeness)
    facts = [f"one request every {span(pace)}" if pace else "no pace is kept"]
    if host.rate_per_minute:
        facts.append(f"slowed down by a 429 to {host.rate_per_minute:.3g} a minute")
    if host.page_count or host.error_count:
        facts.append(f"{_several(host.page_count, 'page')} and {_several(host.error_count, 'failure')} so far")
    else:
        facts.append("not visited before" if is_known_crawl else "nothing is known of it")
    if must_probe(host):
        facts.append("it was down, so one small request asks first whether it is back")
    if (way := usual_way(host, now)) is not Way.HTTP:
        facts.append(f"it was found to need {in_words(way)}")
    return Step("host", "; ".join(facts), True)


def of_robots(host: HostRecord, url: str, names: frozenset[str], now: float, is_just_asked: bool) -> Step:
    copy = host.robots
    assert copy is not None, "only told once it is known"
    asked = "asked now" if is_just_asked else f"asked {span(now - copy.fetched_at)} ago"
    if copy.verdict is RobotsVerdict.UNREACHABLE:
        return Step("robots", f"robots.txt is unreachable ({copy.why}), so nothing may be fetched; {asked}", False)
    allows = matcher(copy, names).allows(url)
    if copy.verdict is RobotsVerdict.ALLOW_ALL:
        says = f"there is no robots.txt (HTTP {copy.http_status}), so all is allowed"
    else:
        says = "robots.txt allows it" if allows else "robots.txt does not allow it"
    facts = [says, asked]
    if copy.why:
        facts.append(copy.why)
    if host.crawl_delay_seconds:
        facts.append(f"it wants {span(host.crawl_delay_seconds)} between requests")
    return Step("robots", "; ".join(facts), allows)


def of_copy(
    task: Task, held: Held | None, site: SiteConfig, now: float, canonical: CanonicalCopy | None = None
) -> Step:
    if held is None or held.kind is None:
        served = copy_that_serves(task, held, site.cache, now, canonical)
        return Step("cache", served.why, True) if served is not None else Step("cache", "no stored copy")
    copy = f"a copy is stored, {span(now - held.fetched_at)} old"
    if task.is_unconditional:
        return Step("cache", f"{copy}; not used, as wanted")
    if copy_that_serves(task, held, site.cache, now) is not None:
        return Step("cache", f"{copy}: young enough to serve without asking", True)
    if names := [name for name, _ in conditional_headers(held)]:
        return Step("cache", f"{copy}; the site is asked whether it changed, by {' and '.join(names)}")
    return Step("cache", f"{copy}, without ETag and Last-Modified; all of the page is asked for")


def of_answer(answer: Answer, url: str) -> Iterator[Step]:
    """What the network gave. The measurements are in the record."""
    response = answer.response
    if response is None:
        if isinstance(answer.outcome, Failed) and answer.robots is None:
            yield Step("network", answer.outcome.why, False)
        return
    if response.url != url and not isinstance(answer.outcome, Redirected):
        yield Step("spelling", f"the site wants it written {response.url}, and was asked for that")
    yield Step("network", f"{response.protocol} {response.status} by {in_words(response.way)}")
    if response.is_redirect:
        # Bytes that are no text are replaced: this may be told as JSON.
        location = mask_reference(response.headers.get("Location", "none")).encode("utf-8", "replace").decode()
        yield Step("redirect", f"Location: {location}")


def of_reading(reading: Reading) -> Step:
    if reading.failed is not None:
        return Step("read", reading.failed.why, False)
    if reading.rejected is not None:
        seen = f"; seen: {reading.evidence}" if reading.evidence else ""
        return Step("validate", reading.rejected.why + seen, False)
    if reading.is_noindex:
        return Step("validate", "a page, but it asks not to be kept (noindex)", False)
    return Step("validate", "it reads like a page", True)


def of_stale(page: Page, now: float) -> Step:
    return Step("stale", f"the stored copy serves on, {span(now - page.fetched_at)} old and marked as stale", True)


def in_words(way: Way) -> str:
    return {Way.HTTP: "plain HTTP", Way.CURL: "curl", Way.BROWSER: "the browser"}[way]


def _several(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def span(seconds: float) -> str:
    for size, unit in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0.0):.2g} s" if seconds < 10 else f"{seconds:.0f} s"
