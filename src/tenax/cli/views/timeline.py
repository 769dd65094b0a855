"""The life of a URL as a timeline people can read."""

from __future__ import annotations

from tenax.cli.link_search import CutOff, LinkingPage, LinkSearch
from tenax.cli.views import format_values
from tenax.cli.views.format_host import guess_lines, robots_lines, state_lines, turn_line
from tenax.cli.views.format_source import catalogue, is_missed_guess, way_found
from tenax.cli.views.format_visit import outcome_text, visit_lines
from tenax.cli.views.tables import Ink, columns, plain, wrapped
from tenax.database import Life, TaskState, VisitRecord
from tenax.model import NEEDS_BROWSER, Fetched, HostRecord, Page, PageKind, Source, Value, setting_of
from tenax.urls.describe_admission import Verdict

_TIME_COLUMNS = 19
_NAME_COLUMNS = 10
_NEVER_OFFERED = "Never offered: no stored page links to it, and no sitemap or feed that was read lists it."


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
    depth: int = 1
    """By which it was judged."""
    links: LinkSearch | None = None
    """For a URL that the crawl never took: who leads there."""
    cut_off: tuple[CutOff, ...] = ()
    """The limits that kept it out, each with the page where it did."""
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
    time = format_values.moment(moment.at) if moment.at is not None else ""
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
    if life.state is TaskState.DEAD and (life.cause or "").startswith(NEEDS_BROWSER):
        why = plain(life.cause or "").partition(": ")[2]
        return f"Waits for a run with a browser: {why}. `tenax dead-letters replay` tries it without one."
    if life.state is TaskState.DEAD:
        return f"Given up: {plain(life.cause or 'no cause was kept')}. `tenax dead-letters replay` tries it again."
    if life.state is TaskState.PARKED:
        return _kept_back(life.cause or "")
    if life.page is not None:
        stored = f"Visited and stored, as {_kind(life.page)}"
        if life.page.stale_since is None:
            return f"{stored}."
        return f"{stored}; stale since {format_values.moment(life.page.stale_since)}: {plain(life.page.stale_why)}."
    last = life.visits[-1].outcome if life.visits else None
    if isinstance(last, Fetched) and last.catalogue:
        return f"Read as a {last.catalogue}: what it lists was offered to the crawl."
    if last is None:
        return "Settled."
    why = "Guessed, and nothing is there" if is_missed_guess(life) else "Settled without a page"
    return f"{why}: {plain(outcome_text(last))}."


def _kept_back(cause: str) -> str:
    name, _, why = cause.partition(": ")
    if name == "robots":
        return f"Not fetched: {plain(why)}."
    setting = setting_of(name) or name
    return f"Kept back by a setting, `{setting}`: {plain(why)}. A run whose settings allow it visits it."


def _kind(page: Page) -> str:
    if page.duplicate_of is not None:
        return f"a duplicate of {plain(page.duplicate_of)}"
    return {PageKind.ARTICLE: "an article", PageKind.OTHER: "a page"}.get(page.kind, f"a page of kind {page.kind}")


def _never_taken(explanation: Explanation) -> str:
    refusing = [verdict for verdict in explanation.verdicts if not verdict.passed]
    by_rule = next((one for one in refusing if one.rule != "depth" or not explanation.cut_off), None)
    if by_rule is not None:
        return f"Never admitted: the rule `{by_rule.rule}` refuses it ({plain(by_rule.why)})."
    if explanation.cut_off:
        first = explanation.cut_off[0]
        if explanation.robots_allows is False:
            return f"Cut off by `{first.limit}`: {plain(first.via)} leads to it. robots.txt would refuse it, too."
        return f"Cut off by `{first.limit}`: {plain(first.via)} leads to it. Raise the limit and resume to take it up."
    if explanation.links is not None and explanation.links.pages:
        return _linked_but_out(explanation.links)
    unseen = _unseen(explanation.links)
    if explanation.robots_allows is False:
        return f"{unseen} It would be admitted, then refused by robots.txt."
    if explanation.is_private:
        return (
            f"{unseen} It would be admitted, then refused by the guard, because the address is private; typed "
            "as a seed it is allowed."
        )
    return f"{unseen} Every rule lets it pass: it would be admitted when one does, unless a limit cuts it off."


def _linked_but_out(links: LinkSearch) -> str:
    first = plain(links.pages[0].url)
    match links.unfollowed:
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
        f"Not admitted yet: {plain(links.pages[0].url)} leads to it, and every rule lets it pass now; "
        "the next run takes it up."
    )


def _unseen(links: LinkSearch | None) -> str:
    """What is known of a URL that nothing kept leads to."""
    if links is not None and links.pages_without_links:
        pages = format_values.several(links.pages_without_links, "stored page")
        return f"Not seen, as far as is known: the links of {pages} are not kept."
    if links is not None and links.maybe:
        first = links.maybe[0]
        return (
            f"Not seen. It may be in what `{first.limit}` cut off at {plain(first.via)}; no stored page links to it, "
            "and no sitemap or feed lists it as far as those were read."
        )
    return _NEVER_OFFERED


def moments(explanation: Explanation) -> list[Moment]:
    """The timeline."""
    result = []
    if explanation.changes:
        steps = "; ".join(explanation.changes)
        result.append(Moment("normalised", (f"from {plain(explanation.asked)}", steps)))
    life = explanation.life
    if life is not None:
        result.append(_found(life, explanation.host))
    if explanation.links is not None and explanation.links.pages:
        result.append(Moment("linked", _linked(explanation.links)))
    host = explanation.host
    result += [_judged(explanation), Moment("robots", tuple(robots_lines(host, explanation.robots_allows)))]
    if life is not None:
        result += [_visited(number, visit) for number, visit in enumerate(life.visits, 1)]
        result += [_stored(life.page)] if life.page is not None else []
    if host is not None and (state := state_lines(host, explanation.now)):
        result.append(Moment("host", tuple(state)))
    if host is not None and (guesses := guess_lines(host, explanation.url)):
        result.append(Moment("guesses", tuple(guesses)))
    if life is not None and life.state is TaskState.WAITING:
        result.append(Moment("now", _waiting(life, explanation.now)))
    return result


def _linked(links: LinkSearch) -> tuple[str, ...]:
    """Who leads there."""
    lines = [f"{_how_linked(page)} {page.url}{', nofollow' if page.is_nofollow else ''}" for page in links.pages]
    more = links.count - len(links.pages)
    return (
        *lines,
        *([f"and {more:,} more"] if more else []),
        *(f"✗ {one.limit} cut it off there" for one in links.cut_off[:1]),
    )


def _how_linked(page: LinkingPage) -> str:
    if page.is_url_list:
        return "named as a URL list by"
    return "listed in" if page.catalogue else "from"


def _found(life: Life, host: HostRecord | None) -> Moment:
    hops = [f"{hop.url} answered HTTP {hop.status} and led on" for hop in life.chain]
    place = f"depth {life.depth}, priority {life.priority.name.lower()}"
    return Moment("found", (way_found(life, host), *hops, place), life.discovered_at)


def _judged(explanation: Explanation) -> Moment:
    if explanation.is_seed:
        return Moment("admitted", ("✓ seed: a person named it, no rule is asked",))
    if explanation.life is not None and (what := catalogue(explanation.life, explanation.host)):
        return Moment("admitted", (f"✓ {what}: it is no page, so no rule but that of its host is asked",))
    if explanation.links is not None and explanation.links.is_url_list:
        return Moment("judged", ("it is named as a URL list, not as a page: no rule but that of its host is asked",))
    life = explanation.life
    lines = tuple(f"{'✓' if verdict.passed else '✗'} {verdict.rule}: {verdict.why}" for verdict in explanation.verdicts)
    if life is not None and life.depth == 0 and life.source is Source.REDIRECT:
        entry = "✓ include: not asked, because a seed leads here"
        lines = tuple(entry if line.startswith("✗ include:") else line for line in lines)
    if life is not None:
        return Moment("admitted", lines)
    is_refused = any(not verdict.passed for verdict in explanation.verdicts)
    return Moment("refused" if is_refused else "would pass", (*lines, _judged_how(explanation)))


def _judged_how(explanation: Explanation) -> str:
    is_linked = explanation.links is not None and explanation.links.depth is not None
    return "judged now, by the rules as they are" if is_linked else "judged now, as if a seed linked to it"


def _visited(number: int, visit: VisitRecord) -> Moment:
    return Moment(f"visit {number}", tuple(visit_lines(visit)), visit.at)


def _stored(page: Page) -> Moment:
    facts = [
        "page" if page.kind is PageKind.OTHER else page.kind.value,
        f"{format_values.count(len(page.text))} characters of text",
        *([format_values.several(page.words, "word") + " in the article"] if page.words else []),
        format_values.several(page.links_count, "link"),
    ]
    facts += [page.language] if page.language else []
    facts += [f"{page.charset} by {page.charset_source}" if page.charset_source else page.charset]
    lines = [f"“{page.title}”" if page.title else "without a title", ", ".join(facts)]
    lines += [f"duplicate of {page.duplicate_of}, likeness {page.likeness:.2f}"] if page.duplicate_of else []
    told = [f"by {', '.join(page.authors)}"] if page.authors else []
    told += [f"published {page.published}"] if page.published else []
    lines += [", ".join(told)] if told else []
    lines += [f"canonical {page.canonical}"] if page.canonical and page.canonical != page.url else []
    if page.etag or page.last_modified:
        validators = [f"ETag {page.etag}"] if page.etag else []
        validators += [f"Last-Modified {page.last_modified}"] if page.last_modified else []
        lines.append(", ".join(validators))
    if page.stale_since is not None:
        lines.append(f"✗ stale since {format_values.moment(page.stale_since)}: {page.stale_why}")
    return Moment("stored", (*lines, f"content {page.content_hash[:16]}…"), page.fetched_at)


def _waiting(life: Life, now: float) -> tuple[str, ...]:
    turn = turn_line(life.host, now) if life.host is not None else None
    waiting = f"waiting{_not_before(life, now)}"
    return (waiting, turn) if turn is not None else (waiting,)


def _not_before(life: Life, now: float) -> str:
    host_at = life.host.next_at if life.host is not None and life.host.resting_why else 0.0
    due = max(life.due or 0.0, host_at)
    return f", due {format_values.when(due, now)}" if due > now else ", due now"
