"""The state of a host in words: its pace, its rests, its trouble, and how it is visited."""

from __future__ import annotations

import re

from tenax.cli.views import format_values
from tenax.cli.views.format_fetch import WAYS
from tenax.cli.views.tables import plain
from tenax.discovery.archives import place_at
from tenax.discovery.site_signs import news_signs
from tenax.model import ArchiveRule, Finds, HostRecord, ListRule, RobotsVerdict

_GUESSES_SHOWN = 12
_ASK = '`discovery.guesses = "always"` asks for them'
_PARTS = {"{n}": r"\d++", "{yyyy}": r"\d{4}", "{mm}": r"\d\d", "{m}": r"\d\d?"}


def robots_lines(host: HostRecord | None, is_allowed: bool | None) -> list[str]:
    """What robots.txt says, and how old that answer is; it was asked when the host was, not when the URL was."""
    if host is None or host.robots is None:
        return ["robots.txt of this host was not asked for yet"]
    copy = host.robots
    if copy.verdict is RobotsVerdict.UNREACHABLE:
        says = f"✗ robots.txt is unreachable ({copy.why}): nothing may be fetched"
    elif copy.verdict is RobotsVerdict.ALLOW_ALL:
        says = f"✓ there is no robots.txt (HTTP {copy.http_status}): all is allowed"
    else:
        says = "✓ robots.txt allows it" if is_allowed else "✗ robots.txt forbids it"
    lines = [f"{says}; asked {format_values.moment(copy.fetched_at)}"]
    if host.crawl_delay_seconds:
        lines.append(f"it asks for {format_values.duration(host.crawl_delay_seconds)} between requests")
    return lines


def state_lines(host: HostRecord, now: float) -> list[str]:
    """Whatever is not as usual with this host; nothing when all is well."""
    return [*_breaker(host, now), *_rest(host, now), *_throttle(host), *_strikes(host), *_way(host, now)]


def guess_lines(host: HostRecord, url: str) -> list[str]:
    """What was learned by guessing of the lists and archives that the URL belongs to; for a home page, of all."""
    place, finds = url.removeprefix(host.origin), host.finds
    is_home = place == "/"
    lines = [_list_line(pattern, rule) for pattern, rule in finds.lists.items() if is_home or _holds(pattern, place)]
    lines += [_archive_line(name, rule) for name, rule in finds.archives.items() if is_home or _holds(name, place)]
    lines += [
        f"selections of {plain(path)}: {rule.seen} visited, {rule.fruitful} led to anything new"
        for path, rule in finds.facets.items()
        if is_home or path == place.partition("?")[0]
    ]
    # The last touched stand last, and say the most.
    more = len(lines) - _GUESSES_SHOWN
    shown = lines[-_GUESSES_SHOWN:] + ([f"and {more} more"] if more > 0 else [])
    if not is_home:
        return shown
    if finds.made:
        cost = f"{format_values.count(finds.made)} of {format_values.several(finds.requests, 'visit')} guessed"
        shown.insert(0, f"{cost}, {format_values.count(finds.succeeded)} of them led to something new")
    return [*_verdict(finds), *shown]


def _verdict(finds: Finds) -> list[str]:
    """Whether URLs are guessed on this host, and why; nothing where that was never asked."""
    seen = format_values.listing(news_signs(finds))
    match finds.verdict:
        case "asked":
            return ["✓ on: asked for, by `discovery.guesses` or by naming archives or pagination"]
        case "news":
            return [f"✓ on: it looks like a news site or a blog ({seen or 'as it was found to be before'})"]
        case "no_signs":
            yet = f"only {seen} says" if seen else "nothing seen so far says"
            return [f"✗ off: {yet} that it is a news site or a blog; {_ASK}"]
        case "own_site":
            return [f"✗ off: its pace has no limit, as on a site of one's own; {_ASK}"]
        case "never":
            return ["✗ off: `discovery.guesses` is `never`"]
    return []


def _holds(pattern: str, place: str) -> bool:
    """Whether the place is one of those that the pattern stands for, or the list itself."""
    parts = (_PARTS.get(part, re.escape(part)) for part in re.split(r"(\{[a-z]+\})", pattern))
    return place == pattern.partition("?")[0] or re.fullmatch("".join(parts), place) is not None


def _list_line(pattern: str, rule: ListRule) -> str:
    name = f"list {plain(pattern)}"
    if rule.state == "invalid":
        return f"✗ {name} ends at {rule.known}: {plain(rule.why)}; left alone since {format_values.moment(rule.at)}"
    if rule.state == "valid":
        return f"✓ {name} goes on, known to {rule.known}" + (f": {plain(rule.why)}" if rule.why else "")
    asked = "not guessed at yet" if rule.asked is None else f"{rule.asked} asked for, no answer yet"
    return f"{name}, known to {rule.known}: {asked}"


def _archive_line(pattern: str, rule: ArchiveRule) -> str:
    name = f"archive {plain(pattern)}"
    if rule.state == "invalid":
        return f"✗ {name}: {plain(rule.why)}; left alone since {format_values.moment(rule.at)}"
    if rule.state == "tried":
        return f"{name}: asked for, no answer yet"
    back = f", asked for back to {plain(place_at(pattern, rule.reached))}" if rule.reached is not None else ""
    return f"✓ {name} led to something new{back}"


def turn_line(host: HostRecord, now: float) -> str | None:
    """What keeps a task of it waiting, when its turn has not come."""
    if host.next_at <= now:
        return None
    why = f"rests: {plain(host.resting_why)}" if host.resting_why else "keeps its pace"
    return f"its host's next turn is {format_values.when(host.next_at, now)}; it {why}"


def _breaker(host: HostRecord, now: float) -> list[str]:
    if host.breaker == "closed":
        if not host.failures_in_a_row:
            return []
        failures = format_values.several(host.failures_in_a_row, "failure")
        return [f"{failures} in a row: enough of them, and it counts as down"]
    probe = f"the next probe is due {format_values.when(host.next_at, now)}"
    if host.breaker == "half_open":
        passed = format_values.several(host.probes_passed, "probe")
        return [f"✗ breaker half-open: {passed} passed, more are asked for; {probe}"]
    rest = format_values.duration(host.breaker_rest_seconds)
    failures = format_values.several(host.failures_in_a_row, "failure")
    return [f"✗ breaker open: down after {failures} in a row, rests for {rest}; {probe}"]


def _rest(host: HostRecord, now: float) -> list[str]:
    """The breaker, when it is open, has said so itself."""
    if host.next_at <= now or not host.resting_why or host.breaker == "open":
        return []
    return [f"✗ rests until {format_values.when(host.next_at, now).removeprefix('in ')}: {plain(host.resting_why)}"]


def _throttle(host: HostRecord) -> list[str]:
    lines = []
    if host.rate_per_minute is not None:
        good = (
            f"; {format_values.several(host.successes_in_a_row, 'good answer')} since"
            if host.successes_in_a_row
            else ""
        )
        lines.append(f"slowed to {host.rate_per_minute:.3g}/min after a 429{good}")
    if host.limited_in_a_row:
        lines.append(f"asked for too much {format_values.several(host.limited_in_a_row, 'time')} in a row (HTTP 429)")
    return lines


def _strikes(host: HostRecord) -> list[str]:
    lines = []
    if host.recent_failures:
        failures = format_values.several(len(host.recent_failures), "recent failure")
        last = format_values.moment(host.recent_failures[-1])
        lines.append(f"retry budget: {failures} counted, the last {last}")
    if host.blocks_in_a_row:
        refusals = format_values.several(host.blocks_in_a_row, "refusal")
        lines.append(f"{refusals} in a row (401, 403, 429, 451): enough of them begin a cooldown")
    if host.unreadable_pages:
        pages = format_values.several(len(host.unreadable_pages), "page")
        last = format_values.moment(host.unreadable_pages[-1])
        lines.append(f"{pages} too costly to read, the last {last}: enough of them begin a cooldown")
    return lines


def _way(host: HostRecord, now: float) -> list[str]:
    if host.way is None or host.way_until <= now:
        return []
    return [f"visited {WAYS[host.way]} until {format_values.moment(host.way_until)}, as it was found to need that"]
