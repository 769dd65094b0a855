"""The history of a URL as a timeline: how it was found, its visits, and what comes next."""

from __future__ import annotations

from tenax.cli.output import TextStyle, sanitize_text, terminal_width, wrap_paragraph
from tenax.cli.views import format_values
from tenax.cli.views.format_host import guess_lines, next_request_line, robots_lines, state_lines
from tenax.cli.views.format_visit import outcome_text, visit_lines
from tenax.crawl.cut_offs import CutOff, LinkingPage, LinkSearch
from tenax.crawl.discovery_candidates import FEED_PATHS, SITEMAP_PATHS
from tenax.database import TaskState, UrlHistory, VisitRecord
from tenax.discovery.sitemaps.read import sitemaps_in_robots
from tenax.model import (
    NEEDS_BROWSER,
    Failed,
    FailureKind,
    Fetched,
    HostRecord,
    Page,
    PageKind,
    Rejected,
    Source,
    UrlList,
    Value,
    limit_setting,
)
from tenax.urls.describe_admission import RuleVerdict

_WELL_KNOWN_PATHS: dict[Source, tuple[UrlList, tuple[str, ...]]] = {
    Source.SITEMAP: ("sitemap", SITEMAP_PATHS),
    Source.FEED: ("feed", FEED_PATHS),
}
_MISSING_KINDS = (FailureKind.NOT_FOUND, FailureKind.GONE)


def describe_source(history: UrlHistory, host: HostRecord | None) -> str:
    """How the URL was first found. `history.via` is the URL that was visited then, even if only robots.txt was
    fetched."""
    via = history.via or "a page"
    match history.source:
        case Source.SEED:
            return "given as a seed"
        case Source.LINK:
            return f"as a link on {via}"
        case Source.REDIRECT:
            return f"by a redirect of {via}"
        case Source.REPLAY:
            return "replayed by a person"
        case Source.ARCHIVE:
            return f"guessed as an archive, after the visit of {via}"
        case Source.PAGINATION:
            return f"guessed as the next page of a list, after the visit of {via}"
    return _describe_listed_source(history, host, via)


def _describe_listed_source(history: UrlHistory, host: HostRecord | None, via: str) -> str:
    """The source of a URL that a sitemap or a feed lists, or of a sitemap or feed itself; unknown if it never
    responded."""
    what = find_url_list_kind(history, host)
    if _is_in_robots(history, host):
        return "as a sitemap in robots.txt"
    if is_well_known_path(history):
        return f"tried, as a usual path of a {what}"
    if what:
        return f"as a {what} linked from {via}"
    return f"in the {history.source} {via}" if history.page is not None else f"by {history.source}s: {via} lists it"


def find_url_list_kind(history: UrlHistory, host: HostRecord | None) -> UrlList:
    """The kind of URL list that the URL was fetched as; empty if it is a page, or may be one."""
    outcomes = (one.outcome for one in history.visits)
    read: UrlList = next((outcome.url_list for outcome in outcomes if isinstance(outcome, Fetched)), "")
    if read or history.source not in _WELL_KNOWN_PATHS:
        return read
    is_rejected_list = any(
        isinstance(one.outcome, Rejected) and "url_list" in one.outcome.why for one in history.visits
    )
    is_one = is_rejected_list or is_well_known_path(history) or _is_in_robots(history, host)
    return _WELL_KNOWN_PATHS[history.source][0] if is_one else ""


def is_well_known_path(history: UrlHistory) -> bool:
    """Whether this is a well-known path of a sitemap or a feed. Something may link to it as well."""
    _, paths = _WELL_KNOWN_PATHS.get(history.source, ("", ()))
    return history.url.endswith(paths) and history.url.count("/") == 3 if paths else False


def is_missed_guess(history: UrlHistory) -> bool:
    """Whether the URL was guessed and does not exist."""
    last = history.visits[-1].outcome if history.visits else None
    is_guess = history.source in (Source.ARCHIVE, Source.PAGINATION) or is_well_known_path(history)
    return is_guess and isinstance(last, Failed) and last.kind in _MISSING_KINDS


def _is_in_robots(history: UrlHistory, host: HostRecord | None) -> bool:
    robots = host.robots if host is not None else None
    return history.source is Source.SITEMAP and robots is not None and history.url in sitemaps_in_robots(robots.text)


_TIME_COLUMNS = 19
_NAME_COLUMNS = 10
_NEVER_SEEN = "Never found: no stored page links to it, and no sitemap or feed that was read lists it."


class Explanation(Value, frozen=True):
    """Everything known about one URL, and the verdicts of the rules."""

    typed_url: str
    url: str
    now: float
    normalization_changes: tuple[str, ...] = ()
    """What normalization has changed in the typed URL."""
    is_seed: bool = False
    history: UrlHistory | None = None
    """None: the URL was never admitted."""
    depth: int = 1
    """The depth that is used for the verdicts."""
    links: LinkSearch | None = None
    """The links to the URL, if it was never admitted."""
    cut_off: tuple[CutOff, ...] = ()
    """The limits that cut it off, each with the page."""
    verdicts: tuple[RuleVerdict, ...] = ()
    host: HostRecord | None = None
    robots_allows: bool | None = None
    """None: robots.txt of the host was never fetched."""
    is_private: bool = False


class TimelineEvent(Value, frozen=True):
    """One entry of the timeline."""

    name: str
    lines: tuple[str, ...]
    at: float | None = None


def format_timeline(explanation: Explanation, style: TextStyle) -> list[str]:
    """The headline, and then the events in order."""
    lines = [style.bold(sanitize_text(explanation.url)), *wrap_paragraph(headline(explanation), "  "), ""]
    for event in timeline_events(explanation):
        lines += _format_event(event, style)
    return lines


def _format_event(event: TimelineEvent, style: TextStyle) -> list[str]:
    time = format_values.format_time(event.at) if event.at is not None else ""
    indent = " " * (_TIME_COLUMNS + _NAME_COLUMNS + 5)
    body = [
        part for line in event.lines for part in wrap_paragraph(sanitize_text(line), indent, max(terminal_width(), 80))
    ]
    start = f"  {style.dim(f'{time:<{_TIME_COLUMNS}}')}  {style.cyan(f'{event.name:<{_NAME_COLUMNS}}')} "
    first, *rest = [_color_mark(line, style) for line in body] or [""]
    return [start + first.removeprefix(indent), *rest]


def _color_mark(line: str, style: TextStyle) -> str:
    mark = line.lstrip()[:2]
    return line.replace("✓", style.green("✓"), 1) if mark == "✓ " else line.replace("✗", style.red("✗"), 1)


def headline(explanation: Explanation) -> str:
    """The current state in one sentence."""
    history = explanation.history
    if history is None:
        return _describe_not_admitted(explanation)
    if history.state is TaskState.WAITING:
        again = " again" if history.visits else ""
        return f"Waiting to be visited{again}{_due_phrase(history, explanation.now)}."
    if history.state is TaskState.DEAD and (history.cause or "").startswith(NEEDS_BROWSER):
        why = sanitize_text(history.cause or "").partition(": ")[2]
        return f"Waits for a run with a browser: {why}. `tenax dead-letters replay` visits it without one."
    if history.state is TaskState.DEAD:
        cause = sanitize_text(history.cause or "no cause was stored")
        return f"Given up: {cause}. `tenax dead-letters replay` visits it again."
    if history.state is TaskState.PARKED:
        return _describe_parked(history.cause or "")
    if history.page is not None:
        stored = f"Visited and stored, as {_describe_page_kind(history.page)}"
        if history.page.stale_since is None:
            return f"{stored}."
        since = format_values.format_time(history.page.stale_since)
        return f"{stored}; stale since {since}: {sanitize_text(history.page.stale_why)}."
    last = history.visits[-1].outcome if history.visits else None
    if isinstance(last, Fetched) and last.url_list:
        return f"Read as a {last.url_list}: its URLs are candidates for the crawl."
    if last is None:
        return "Settled."
    why = "Guessed, but it does not exist" if is_missed_guess(history) else "Settled without a page"
    return f"{why}: {sanitize_text(outcome_text(last))}."


def _describe_parked(cause: str) -> str:
    name, _, why = cause.partition(": ")
    if name == "robots":
        return f"Not fetched: {sanitize_text(why)}."
    setting = limit_setting("validation" if name in ("refresh", "empty") else name) or name
    return f"Kept back by a setting, `{setting}`: {sanitize_text(why)}. A run with other settings visits it."


def _describe_page_kind(page: Page) -> str:
    if page.duplicate_of is not None:
        return f"a duplicate of {sanitize_text(page.duplicate_of)}"
    return {PageKind.ARTICLE: "an article", PageKind.OTHER: "a page"}.get(page.kind, f"a page of kind {page.kind}")


def _describe_not_admitted(explanation: Explanation) -> str:
    refusing = [verdict for verdict in explanation.verdicts if not verdict.passed]
    by_rule = next((one for one in refusing if one.rule != "depth" or not explanation.cut_off), None)
    if by_rule is not None:
        return f"Never admitted: the rule `{by_rule.rule}` refuses it ({sanitize_text(by_rule.why)})."
    if explanation.cut_off:
        first = explanation.cut_off[0]
        if explanation.robots_allows is False:
            return (
                f"Cut off by `{first.limit}`: {sanitize_text(first.via)} links to it. robots.txt would also refuse it."
            )
        return f"Cut off by `{first.limit}`: {sanitize_text(first.via)} links to it. Raise the limit and resume."
    if explanation.links is not None and explanation.links.pages:
        return _describe_unfollowed(explanation.links)
    unseen = _describe_unseen(explanation.links)
    if explanation.robots_allows is False:
        return f"{unseen} It would be admitted, then refused by robots.txt."
    if explanation.is_private:
        return (
            f"{unseen} It would be admitted, then refused by the SSRF guard, because the address is private; as a "
            "typed seed it is allowed."
        )
    return f"{unseen} Every rule allows it: it is admitted as soon as one does, unless a limit cuts it off."


def _describe_unfollowed(links: LinkSearch) -> str:
    first = sanitize_text(links.pages[0].url)
    match links.unfollowed_reason:
        case "nofollow":
            return f"Never admitted: every link to it is marked nofollow, also the one on {first}."
        case "sources" if links.is_url_list:
            return (
                f"Not read: {first} links to it as a sitemap or feed, and these are turned off (`discovery.sources`)."
            )
        case "sources":
            return f"Never admitted: {first} links to it, and links are not followed there (`discovery.sources`)."
        case "host":
            return f"Not read: {first} links to it as a sitemap or feed, but no seed is on its host."
        case "duplicate":
            return f"Never admitted: links of duplicates are not followed (`duplicates.follow`), and {first} is one."
    return (
        f"Not admitted yet: {sanitize_text(links.pages[0].url)} links to it, and every rule allows it now; "
        "the next run admits it."
    )


def _describe_unseen(links: LinkSearch | None) -> str:
    """The state of a URL without a stored link to it."""
    if links is not None and links.pages_without_links:
        pages = format_values.pluralize(links.pages_without_links, "stored page")
        return f"Not found in the stored links; the links of {pages} are not stored."
    if links is not None and links.possible_cut_offs:
        first = links.possible_cut_offs[0]
        return (
            f"Not found. It may be in the part of {sanitize_text(first.via)} that `{first.limit}` cut off; no stored "
            "page links to it, and no sitemap or feed lists it as far as it was read."
        )
    return _NEVER_SEEN


def timeline_events(explanation: Explanation) -> list[TimelineEvent]:
    """The timeline in order."""
    result = []
    if explanation.normalization_changes:
        steps = "; ".join(explanation.normalization_changes)
        result.append(TimelineEvent("normalized", (f"from {sanitize_text(explanation.typed_url)}", steps)))
    history = explanation.history
    if history is not None:
        result.append(_discovery_event(history, explanation.host))
    if explanation.links is not None and explanation.links.pages:
        result.append(TimelineEvent("linked", _link_lines(explanation.links)))
    host = explanation.host
    result += [
        _admission_event(explanation),
        TimelineEvent("robots", tuple(robots_lines(host, explanation.robots_allows))),
    ]
    if history is not None:
        result += [_visit_event(number, visit) for number, visit in enumerate(history.visits, 1)]
        result += [_page_event(history.page)] if history.page is not None else []
    if host is not None and (state := state_lines(host, explanation.now)):
        result.append(TimelineEvent("host", tuple(state)))
    if host is not None and (guesses := guess_lines(host, explanation.url)):
        result.append(TimelineEvent("guesses", tuple(guesses)))
    if history is not None and history.state is TaskState.WAITING:
        result.append(TimelineEvent("now", _waiting_lines(history, explanation.now)))
    return result


def _link_lines(links: LinkSearch) -> tuple[str, ...]:
    """The pages that link to it."""
    lines = [f"{_link_phrase(page)} {page.url}{', nofollow' if page.is_nofollow else ''}" for page in links.pages]
    more = links.count - len(links.pages)
    return (
        *lines,
        *([f"and {more:,} more"] if more else []),
        *(f"✗ {one.limit} cut it off there" for one in links.cut_off[:1]),
    )


def _link_phrase(page: LinkingPage) -> str:
    if page.is_url_list:
        return "linked as a sitemap or feed by"
    return "listed in" if page.url_list_kind else "from"


def _discovery_event(history: UrlHistory, host: HostRecord | None) -> TimelineEvent:
    hops = [f"{hop.url} redirected, HTTP {hop.status}" for hop in history.chain]
    rank = f"depth {history.depth}, priority {history.priority.name.lower()}"
    return TimelineEvent("found", (describe_source(history, host), *hops, rank), history.discovered_at)


def _admission_event(explanation: Explanation) -> TimelineEvent:
    if explanation.is_seed:
        return TimelineEvent("admitted", ("✓ seed: the rules do not apply to seeds",))
    if explanation.history is not None and (what := find_url_list_kind(explanation.history, explanation.host)):
        return TimelineEvent("admitted", (f"✓ {what}: not a page, so only the rule for its host applies",))
    if explanation.links is not None and explanation.links.is_url_list:
        return TimelineEvent("judged", ("a sitemap or feed, not a page: only the rule for its host applies",))
    history = explanation.history
    lines = tuple(f"{'✓' if verdict.passed else '✗'} {verdict.rule}: {verdict.why}" for verdict in explanation.verdicts)
    if history is not None and history.depth == 0 and history.source is Source.REDIRECT:
        entry = "✓ include: does not apply, because a seed redirects here"
        lines = tuple(entry if line.startswith("✗ include:") else line for line in lines)
    if history is not None:
        return TimelineEvent("admitted", lines)
    is_refused = any(not verdict.passed for verdict in explanation.verdicts)
    return TimelineEvent("refused" if is_refused else "would pass", (*lines, _admission_basis(explanation)))


def _admission_basis(explanation: Explanation) -> str:
    is_linked = explanation.links is not None and explanation.links.depth is not None
    return "by the current rules" if is_linked else "by the current rules, as if a seed linked to it"


def _visit_event(number: int, visit: VisitRecord) -> TimelineEvent:
    return TimelineEvent(f"visit {number}", tuple(visit_lines(visit)), visit.at)


def _page_event(page: Page) -> TimelineEvent:
    facts = [
        "page" if page.kind is PageKind.OTHER else page.kind.value,
        f"{format_values.format_count(len(page.text))} characters of text",
        *([format_values.pluralize(page.words, "word") + " in the article"] if page.words else []),
        format_values.pluralize(page.links_count, "link"),
    ]
    facts += [page.language] if page.language else []
    facts += [f"{page.charset} by {page.charset_source}" if page.charset_source else page.charset]
    lines = [f"“{page.title}”" if page.title else "without a title", ", ".join(facts)]
    lines += [f"duplicate of {page.duplicate_of}, similarity {page.similarity:.2f}"] if page.duplicate_of else []
    byline = [f"by {', '.join(page.authors)}"] if page.authors else []
    byline += [f"published {page.published}"] if page.published else []
    lines += [", ".join(byline)] if byline else []
    lines += [f"canonical {page.canonical}"] if page.canonical and page.canonical != page.url else []
    if page.etag or page.last_modified:
        validators = [f"ETag {page.etag}"] if page.etag else []
        validators += [f"Last-Modified {page.last_modified}"] if page.last_modified else []
        lines.append(", ".join(validators))
    if page.stale_since is not None:
        lines.append(f"✗ stale since {format_values.format_time(page.stale_since)}: {page.stale_why}")
    return TimelineEvent("stored", (*lines, f"content {page.content_hash[:16]}…"), page.fetched_at)


def _waiting_lines(history: UrlHistory, now: float) -> tuple[str, ...]:
    request = next_request_line(history.host, now) if history.host is not None else None
    waiting = f"waiting{_due_phrase(history, now)}"
    return (waiting, request) if request is not None else (waiting,)


def _due_phrase(history: UrlHistory, now: float) -> str:
    host_at = history.host.next_at if history.host is not None and history.host.backoff_reason else 0.0
    due = max(history.due or 0.0, host_at)
    return f", due {format_values.format_due_time(due, now)}" if due > now else ", due now"
