"""The life of a URL as a timeline people can read."""

from __future__ import annotations

from tenax.cli import words
from tenax.cli.layout import Ink, columns, plain, wrapped
from tenax.ledger import Life, TaskState, VisitRecord
from tenax.model import (
    Again,
    DeadLetter,
    Deferred,
    Failed,
    Fetched,
    FetchRecord,
    HostRecord,
    Outcome,
    Page,
    Plan,
    Redirected,
    Refused,
    Rejected,
    RobotsVerdict,
    Source,
    Unchanged,
    Value,
)
from tenax.urls.verdicts import Verdict

_TIME_COLUMNS = 19
_NAME_COLUMNS = 10


class Explanation(Value, frozen=True):
    """All that is known about one URL, and what the rules say to it."""

    asked: str
    url: str
    now: float
    changes: tuple[str, ...] = ()
    """What normalisation did to the URL as it was typed."""
    is_seed: bool = False
    life: Life | None = None
    """None: the crawl never took it."""
    verdicts: tuple[Verdict, ...] = ()
    host: HostRecord | None = None
    robots_allows: bool | None = None
    """None: the host's robots.txt was never asked for."""
    is_private: bool = False


class Moment(Value, frozen=True):
    """One entry of the timeline."""

    name: str
    lines: tuple[str, ...]
    at: float | None = None


def told(explanation: Explanation, ink: Ink) -> list[str]:
    """The headline, then what happened in order."""
    lines = [ink.bold(plain(explanation.url)), *wrapped(headline(explanation), "  "), ""]
    for moment in moments(explanation):
        lines += _drawn(moment, ink)
    return lines


def _drawn(moment: Moment, ink: Ink) -> list[str]:
    time = words.moment(moment.at) if moment.at is not None else ""
    indent = " " * (_TIME_COLUMNS + _NAME_COLUMNS + 5)
    body = [part for line in moment.lines for part in wrapped(plain(line), indent, max(columns(), 80))]
    start = f"  {ink.dim(f'{time:<{_TIME_COLUMNS}}')}  {ink.cool(f'{moment.name:<{_NAME_COLUMNS}}')} "
    first, *rest = [_marked(line, ink) for line in body] or [""]
    return [start + first.removeprefix(indent), *rest]


def _marked(line: str, ink: Ink) -> str:
    mark = line.lstrip()[:2]
    return line.replace("✓", ink.good("✓"), 1) if mark == "✓ " else line.replace("✗", ink.bad("✗"), 1)


def headline(explanation: Explanation) -> str:
    """Where it stands now, in a sentence."""
    life = explanation.life
    if life is None:
        return _never_taken(explanation)
    if life.state is TaskState.WAITING:
        again = " again" if life.visits else ""
        return f"Waiting to be visited{again}{_not_before(life, explanation.now)}."
    if life.state is TaskState.DEAD:
        return f"Given up: {plain(life.cause or 'no cause was kept')}. `tenax dead-letters replay` tries it again."
    if life.page is not None:
        return f"Visited and stored, as {'an article' if life.page.kind == 'article' else 'a page'}."
    last = life.visits[-1].outcome if life.visits else None
    return f"Settled without a page: {plain(outcome_text(last))}." if last else "Settled."


def _never_taken(explanation: Explanation) -> str:
    refusing = next((verdict for verdict in explanation.verdicts if not verdict.passed), None)
    if refusing is not None:
        return f"Never admitted: the rule `{refusing.rule}` refuses it ({plain(refusing.why)})."
    if explanation.robots_allows is False:
        return "Never offered: no visited page links to it. It would be admitted, then refused by robots.txt."
    if explanation.is_private:
        return (
            "Never offered: no visited page links to it. It would be admitted, then refused by the guard, "
            "because the address is private; typed as a seed it is allowed."
        )
    return (
        "Never offered: no visited page links to it. Every rule lets it pass: it would be admitted when a page links "
        "to it, unless a budget (`urls.facets_per_path`, `urls.hosts_per_domain`) is used up."
    )


def moments(explanation: Explanation) -> list[Moment]:
    """The timeline."""
    result = []
    if explanation.changes:
        steps = "; ".join(explanation.changes)
        result.append(Moment("normalised", (f"from {plain(explanation.asked)}", steps)))
    life = explanation.life
    if life is not None:
        result.append(_found(life))
    result += [_judged(explanation), _robots(explanation)]
    if life is None:
        return result
    result += [_visited(number, visit) for number, visit in enumerate(life.visits, 1)]
    if life.page is not None:
        result.append(_stored(life.page))
    if life.state is TaskState.WAITING:
        result.append(Moment("now", _waiting(life, explanation.now)))
    return result


def _found(life: Life) -> Moment:
    how = {
        Source.SEED: "given as a seed",
        Source.LINK: f"as a link on {life.via or 'a page'}",
        Source.REDIRECT: f"by a redirect of {life.via or 'a page'}",
        Source.REPLAY: "put back by a person",
    }[life.source]
    return Moment("found", (how, f"depth {life.depth}, priority {life.priority.name.lower()}"), life.discovered_at)


def _judged(explanation: Explanation) -> Moment:
    if explanation.is_seed:
        return Moment("admitted", ("✓ seed: a person named it, no rule is asked",))
    lines = tuple(f"{'✓' if verdict.passed else '✗'} {verdict.rule}: {verdict.why}" for verdict in explanation.verdicts)
    if explanation.life is not None:
        return Moment("admitted", lines)
    is_refused = any(not verdict.passed for verdict in explanation.verdicts)
    return Moment("refused" if is_refused else "would pass", (*lines, "judged now, as if a seed linked to it"))


def _robots(explanation: Explanation) -> Moment:
    """What robots.txt says, and how old that answer is; it was asked when the host was, not when the URL was."""
    host = explanation.host
    if host is None or host.robots is None:
        return Moment("robots", ("robots.txt of this host was not asked for yet",))
    copy = host.robots
    if copy.verdict is RobotsVerdict.UNREACHABLE:
        says = f"✗ robots.txt is unreachable ({copy.why}): nothing may be fetched"
    elif copy.verdict is RobotsVerdict.ALLOW_ALL:
        says = f"✓ there is no robots.txt (HTTP {copy.http_status}): all is allowed"
    else:
        says = "✓ robots.txt allows it" if explanation.robots_allows else "✗ robots.txt forbids it"
    lines = [f"{says}; asked {words.moment(copy.fetched_at)}"]
    if host.crawl_delay_seconds:
        lines.append(f"it asks for {words.duration(host.crawl_delay_seconds)} between requests")
    return Moment("robots", tuple(lines))


def _visited(number: int, visit: VisitRecord) -> Moment:
    lines = [outcome_text(visit.outcome)]
    if measured := fetch_text(visit.fetch):
        lines.append(measured)
    if visit.offered or visit.refusals:
        left = ", ".join(words.tally(visit.refusals))
        lines.append(f"{words.several(visit.offered, 'link')} offered" + (f"; not followed: {left}" if left else ""))
    lines.append(f"→ {plan_text(visit.plan)}")
    return Moment(f"visit {number}", tuple(lines), visit.at)


def outcome_text(outcome: Outcome) -> str:
    match outcome:
        case Fetched(status):
            return f"fetched, HTTP {status}"
        case Unchanged():
            return "unchanged, HTTP 304"
        case Redirected(status, to, why):
            return f"redirected, HTTP {status}, to {to}" + (f"; not followed: {why}" if why else "")
        case Deferred(until, why):
            return f"put off until {words.moment(until)}: {why}"
        case Refused(why):
            return f"not fetched: {why.partition(': ')[2] or why}"
        case Rejected(why):
            return f"answered, but not kept: {why}"
        case Failed(why, kind, is_site_wide):
            whose = "; the host's trouble, so it does not count as an attempt" if is_site_wide else ""
            return f"failed, {words.reason(kind)}: {why}{whose}"


def fetch_text(fetch: FetchRecord) -> str:
    """The measurements, those that were taken."""
    parts = [plain(fetch.content_type)] if fetch.content_type else []
    if fetch.wire_bytes:
        parts.append(f"{words.size(fetch.wire_bytes)} received")
    if fetch.body_bytes:
        parts.append(f"{words.size(fetch.body_bytes)} decoded")
    if fetch.ttfb_seconds:
        parts.append(f"first byte after {_short(fetch.ttfb_seconds)}")
    if fetch.total_seconds:
        parts.append(f"whole in {_short(fetch.total_seconds)}")
    return ", ".join(parts)


def plan_text(plan: Plan) -> str:
    match plan:
        case Again(at, spends_attempt):
            return f"again from {words.moment(at)} on" + (", one attempt spent" if spends_attempt else "")
        case DeadLetter(cause):
            return f"given up: {cause}"
    return "done"


def _stored(page: Page) -> Moment:
    facts = [
        page.kind.value,
        f"{words.count(len(page.text))} characters of text",
        words.several(page.links_count, "link"),
    ]
    facts += [page.language] if page.language else []
    facts += [f"{page.charset} by {page.charset_source}" if page.charset_source else page.charset]
    lines = [f"“{page.title}”" if page.title else "without a title", ", ".join(facts)]
    lines += [f"canonical {page.canonical}"] if page.canonical and page.canonical != page.url else []
    lines += [f"redirected here from {hop.url} (HTTP {hop.status})" for hop in page.chain]
    return Moment("stored", (*lines, f"content {page.content_hash[:16]}…"), page.fetched_at)


def _waiting(life: Life, now: float) -> tuple[str, ...]:
    lines = [f"waiting{_not_before(life, now)}"]
    host = life.host
    if host is not None and host.next_at > now:
        why = f"rests: {host.resting_why}" if host.resting_why else "keeps its pace"
        lines.append(f"its host's next turn is {words.when(host.next_at, now)}; it {why}")
    return tuple(lines)


def _not_before(life: Life, now: float) -> str:
    if life.due is None or life.due <= now:
        return ", due now"
    return f", due {words.when(life.due, now)}"


def _short(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else words.duration(seconds)
