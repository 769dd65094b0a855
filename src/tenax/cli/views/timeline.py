"""The life of a URL as a timeline people can read."""

from __future__ import annotations

from tenax.cli.link_search import CutOff, LinkingPage, LinkSearch
from tenax.cli.views import format_values
from tenax.cli.views.format_host import guess_lines, next_request_line, robots_lines, state_lines
from tenax.cli.views.format_source import describe_source, find_url_list_kind, is_missed_guess
from tenax.cli.views.format_visit import outcome_text, visit_lines
from tenax.cli.views.tables import TextStyle, sanitize_text, terminal_width, wrap_paragraph
from tenax.database import TaskState, UrlHistory, VisitRecord
from tenax.model import NEEDS_BROWSER, Fetched, HostRecord, Page, PageKind, Source, Value, limit_setting
from tenax.urls.describe_admission import RuleVerdict

_TIME_COLUMNS = 19
_NAME_COLUMNS = 10
_NEVER_SEEN = "Never offered: no stored page links to it, and no sitemap or feed that was read lists it."


class Explanation(Value, frozen=True):
    """All that is known about one URL, and what the rules say to it."""

    typed_url: str
    url: str
    now: float
    normalization_changes: tuple[str, ...] = ()
    """What normalisation did to the URL as it was typed."""
    is_seed: bool = False
    history: UrlHistory | None = None
    """None: the crawl never took it."""
    depth: int = 1
    """By which it was judged."""
    links: LinkSearch | None = None
    """For a URL that the crawl never took: who leads there."""
    cut_off: tuple[CutOff, ...] = ()
    """The limits that kept it out, each with the page where it did."""
    verdicts: tuple[RuleVerdict, ...] = ()
    host: HostRecord | None = None
    robots_allows: bool | None = None
    """None: the host's robots.txt was never asked for."""
    is_private: bool = False


class TimelineEvent(Value, frozen=True):
    """One entry of the timeline."""

    name: str
    lines: tuple[str, ...]
    at: float | None = None


def format_timeline(explanation: Explanation, style: TextStyle) -> list[str]:
    """The headline, then what happened in order."""
    lines = [style.bold(sanitize_text(explanation.url)), *wrap_paragraph(headline(explanation), "  "), ""]
    for moment in timeline_events(explanation):
        lines += _format_event(moment, style)
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
    """Where it stands now, in a sentence."""
    history = explanation.history
    if history is None:
        return _describe_not_admitted(explanation)
    if history.state is TaskState.WAITING:
        again = " again" if history.visits else ""
        return f"Waiting to be visited{again}{_due_phrase(history, explanation.now)}."
    if history.state is TaskState.DEAD and (history.cause or "").startswith(NEEDS_BROWSER):
        why = sanitize_text(history.cause or "").partition(": ")[2]
        return f"Waits for a run with a browser: {why}. `tenax dead-letters replay` tries it without one."
    if history.state is TaskState.DEAD:
        return f"Given up: {sanitize_text(history.cause or 'no cause was kept')}. `tenax dead-letters replay` tries it again."
    if history.state is TaskState.PARKED:
        return _describe_parked(history.cause or "")
    if history.page is not None:
        stored = f"Visited and stored, as {_describe_page_kind(history.page)}"
        if history.page.stale_since is None:
            return f"{stored}."
        return f"{stored}; stale since {format_values.format_time(history.page.stale_since)}: {sanitize_text(history.page.stale_why)}."
    last = history.visits[-1].outcome if history.visits else None
    if isinstance(last, Fetched) and last.url_list:
        return f"Read as a {last.url_list}: what it lists was offered to the crawl."
    if last is None:
        return "Settled."
    why = "Guessed, and nothing is there" if is_missed_guess(history) else "Settled without a page"
    return f"{why}: {sanitize_text(outcome_text(last))}."


def _describe_parked(cause: str) -> str:
    name, _, why = cause.partition(": ")
    if name == "robots":
        return f"Not fetched: {sanitize_text(why)}."
    setting = limit_setting(name) or name
    return f"Kept back by a setting, `{setting}`: {sanitize_text(why)}. A run whose settings allow it visits it."


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
                f"Cut off by `{first.limit}`: {sanitize_text(first.via)} leads to it. robots.txt would refuse it, too."
            )
        return f"Cut off by `{first.limit}`: {sanitize_text(first.via)} leads to it. Raise the limit and resume to take it up."
    if explanation.links is not None and explanation.links.pages:
        return _describe_unfollowed(explanation.links)
    unseen = _describe_unseen(explanation.links)
    if explanation.robots_allows is False:
        return f"{unseen} It would be admitted, then refused by robots.txt."
    if explanation.is_private:
        return (
            f"{unseen} It would be admitted, then refused by the guard, because the address is private; typed "
            "as a seed it is allowed."
        )
    return f"{unseen} Every rule lets it pass: it would be admitted when one does, unless a limit cuts it off."


def _describe_unfollowed(links: LinkSearch) -> str:
    first = sanitize_text(links.pages[0].url)
    match links.unfollowed_reason:
        case "nofollow":
            return f"Never admitted: every link to it is marked nofollow, the one on {first} too."
        case "sources" if links.is_url_list:
            return f"Not read: {first} names it as a URL list, and such are not looked for (`discovery.sources`)."
        case "sources":
            return f"Never admitted: {first} leads to it, and links are not followed there (`discovery.sources`)."
        case "host":
            return f"Not read: {first} names it as a URL list, but its host is none that the seeds name."
        case "duplicate":
            return f"Never admitted: links of duplicates are not followed (`duplicates.follow`), and {first} is one."
    return (
        f"Not admitted yet: {sanitize_text(links.pages[0].url)} leads to it, and every rule lets it pass now; "
        "the next run takes it up."
    )


def _describe_unseen(links: LinkSearch | None) -> str:
    """What is known of a URL that nothing kept leads to."""
    if links is not None and links.pages_without_links:
        pages = format_values.pluralize(links.pages_without_links, "stored page")
        return f"Not seen, as far as is known: the links of {pages} are not kept."
    if links is not None and links.possible_cut_offs:
        first = links.possible_cut_offs[0]
        return (
            f"Not seen. It may be in what `{first.limit}` cut off at {sanitize_text(first.via)}; no stored page links to it, "
            "and no sitemap or feed lists it as far as those were read."
        )
    return _NEVER_SEEN


def timeline_events(explanation: Explanation) -> list[TimelineEvent]:
    """The timeline."""
    result = []
    if explanation.normalization_changes:
        steps = "; ".join(explanation.normalization_changes)
        result.append(TimelineEvent("normalised", (f"from {sanitize_text(explanation.typed_url)}", steps)))
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
    """Who leads there."""
    lines = [f"{_link_phrase(page)} {page.url}{', nofollow' if page.is_nofollow else ''}" for page in links.pages]
    more = links.count - len(links.pages)
    return (
        *lines,
        *([f"and {more:,} more"] if more else []),
        *(f"✗ {one.limit} cut it off there" for one in links.cut_off[:1]),
    )


def _link_phrase(page: LinkingPage) -> str:
    if page.is_url_list:
        return "named as a URL list by"
    return "listed in" if page.url_list_kind else "from"


def _discovery_event(history: UrlHistory, host: HostRecord | None) -> TimelineEvent:
    hops = [f"{hop.url} answered HTTP {hop.status} and led on" for hop in history.chain]
    place = f"depth {history.depth}, priority {history.priority.name.lower()}"
    return TimelineEvent("found", (describe_source(history, host), *hops, place), history.discovered_at)


def _admission_event(explanation: Explanation) -> TimelineEvent:
    if explanation.is_seed:
        return TimelineEvent("admitted", ("✓ seed: a person named it, no rule is asked",))
    if explanation.history is not None and (what := find_url_list_kind(explanation.history, explanation.host)):
        return TimelineEvent("admitted", (f"✓ {what}: it is no page, so no rule but that of its host is asked",))
    if explanation.links is not None and explanation.links.is_url_list:
        return TimelineEvent(
            "judged", ("it is named as a URL list, not as a page: no rule but that of its host is asked",)
        )
    history = explanation.history
    lines = tuple(f"{'✓' if verdict.passed else '✗'} {verdict.rule}: {verdict.why}" for verdict in explanation.verdicts)
    if history is not None and history.depth == 0 and history.source is Source.REDIRECT:
        entry = "✓ include: not asked, because a seed leads here"
        lines = tuple(entry if line.startswith("✗ include:") else line for line in lines)
    if history is not None:
        return TimelineEvent("admitted", lines)
    is_refused = any(not verdict.passed for verdict in explanation.verdicts)
    return TimelineEvent("refused" if is_refused else "would pass", (*lines, _admission_basis(explanation)))


def _admission_basis(explanation: Explanation) -> str:
    is_linked = explanation.links is not None and explanation.links.depth is not None
    return "judged now, by the rules as they are" if is_linked else "judged now, as if a seed linked to it"


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
    told = [f"by {', '.join(page.authors)}"] if page.authors else []
    told += [f"published {page.published}"] if page.published else []
    lines += [", ".join(told)] if told else []
    lines += [f"canonical {page.canonical}"] if page.canonical and page.canonical != page.url else []
    if page.etag or page.last_modified:
        validators = [f"ETag {page.etag}"] if page.etag else []
        validators += [f"Last-Modified {page.last_modified}"] if page.last_modified else []
        lines.append(", ".join(validators))
    if page.stale_since is not None:
        lines.append(f"✗ stale since {format_values.format_time(page.stale_since)}: {page.stale_why}")
    return TimelineEvent("stored", (*lines, f"content {page.content_hash[:16]}…"), page.fetched_at)


def _waiting_lines(history: UrlHistory, now: float) -> tuple[str, ...]:
    turn = next_request_line(history.host, now) if history.host is not None else None
    waiting = f"waiting{_due_phrase(history, now)}"
    return (waiting, turn) if turn is not None else (waiting,)


def _due_phrase(history: UrlHistory, now: float) -> str:
    host_at = history.host.next_at if history.host is not None and history.host.backoff_reason else 0.0
    due = max(history.due or 0.0, host_at)
    return f", due {format_values.format_due_time(due, now)}" if due > now else ", due now"
