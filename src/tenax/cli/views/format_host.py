"""The state of a host as text: rate limit, backoff, failures, transport and guesses."""

from __future__ import annotations

import re

from tenax.cli.output import sanitize_text
from tenax.cli.views import format_values
from tenax.cli.views.format_visit import TRANSPORT_PHRASES
from tenax.discovery.archives import fill_pattern
from tenax.discovery.guess_budget import news_signs
from tenax.model import ArchiveRule, GuessState, HostRecord, ListRule, RobotsVerdict

_MAX_GUESSES_SHOWN = 12
_GUESSES_HINT = '`discovery.guesses = "always"` turns them on'
_PLACEHOLDER_PATTERNS = {"{n}": r"\d++", "{yyyy}": r"\d{4}", "{mm}": r"\d\d", "{m}": r"\d\d?"}


def robots_lines(host: HostRecord | None, is_allowed: bool | None) -> list[str]:
    """What robots.txt says and when it was fetched. Shown once per host, not per URL."""
    if host is None or host.robots is None:
        return ["robots.txt of this host was not fetched yet"]
    copy = host.robots
    if copy.verdict is RobotsVerdict.UNREACHABLE:
        says = f"✗ robots.txt is unreachable ({copy.why}): nothing may be fetched"
    elif copy.verdict is RobotsVerdict.ALLOW_ALL:
        says = f"✓ there is no robots.txt (HTTP {copy.http_status}): everything is allowed"
    else:
        says = "✓ robots.txt allows it" if is_allowed else "✗ robots.txt forbids it"
    lines = [f"{says}; fetched {format_values.format_time(copy.fetched_at)}"]
    if host.crawl_delay_seconds:
        lines.append(f"it asks for {format_values.format_duration(host.crawl_delay_seconds)} between requests")
    return lines


def state_lines(host: HostRecord, now: float) -> list[str]:
    """Lines for everything that is unusual about this host; none if nothing is."""
    return [
        *_breaker_lines(host, now),
        *_backoff_lines(host, now),
        *_throttle_lines(host),
        *_failure_lines(host),
        *_transport_lines(host, now),
    ]


def guess_lines(host: HostRecord, url: str) -> list[str]:
    """Results of guessing for the lists and archives of this URL; for a home page, all results."""
    path, guess_state = url.removeprefix(host.origin), host.guess_state
    is_home = path == "/"
    lines = [
        _list_line(pattern, rule)
        for pattern, rule in guess_state.lists.items()
        if is_home or _matches_pattern(pattern, path)
    ]
    lines += [
        _archive_line(name, rule)
        for name, rule in guess_state.archives.items()
        if is_home or _matches_pattern(name, path)
    ]
    lines += [
        f"facets of {sanitize_text(name)}: {rule.visited} visited, {rule.useful_ratio:.0%} of the last useful"
        for name, rule in guess_state.facets.items()
        if is_home or name == path.partition("?")[0]
    ]
    # The most recently changed ones are last, and matter most.
    more = len(lines) - _MAX_GUESSES_SHOWN
    shown = lines[-_MAX_GUESSES_SHOWN:] + ([f"and {more} more"] if more > 0 else [])
    if not is_home:
        return shown
    if guess_state.guesses_made:
        visits = format_values.pluralize(guess_state.requests, "visit")
        made = format_values.format_count(guess_state.guesses_made)
        succeeded = format_values.format_count(guess_state.guesses_succeeded)
        shown.insert(0, f"{made} of {visits} were guesses, {succeeded} of them led to something new")
    return [*_guess_verdict_lines(guess_state), *shown]


def _guess_verdict_lines(guess_state: GuessState) -> list[str]:
    """Whether URLs are guessed on this host, and why; no line if this was never decided."""
    seen = format_values.join_words(news_signs(guess_state))
    match guess_state.verdict:
        case "asked":
            return ["✓ on: by `discovery.guesses`, or because archives or pagination were named"]
        case "news":
            return [f"✓ on: it looks like a news site or a blog ({seen or 'found earlier'})"]
        case "no_signs":
            why = (
                f"too few signs of a news site or a blog: {seen}"
                if seen
                else "no signs of a news site or a blog so far"
            )
            return [f"✗ off: {why}; {_GUESSES_HINT}"]
        case "own_site":
            return [f"✗ off: its rate is unlimited, as for one's own site; {_GUESSES_HINT}"]
        case "never":
            return ["✗ off: `discovery.guesses` is `never`"]
    return []


def _matches_pattern(pattern: str, path: str) -> bool:
    """Whether the path matches the pattern, or is that of the list itself."""
    parts = (_PLACEHOLDER_PATTERNS.get(part, re.escape(part)) for part in re.split(r"(\{[a-z]+\})", pattern))
    return path == pattern.partition("?")[0] or re.fullmatch("".join(parts), path) is not None


def _list_line(pattern: str, rule: ListRule) -> str:
    name = f"list {sanitize_text(pattern)}"
    if rule.state == "invalid":
        since = format_values.format_time(rule.at)
        return f"✗ {name} ends at {rule.last_known}: {sanitize_text(rule.why)}; not guessed since {since}"
    if rule.state == "valid":
        return f"✓ {name} continues, known up to {rule.last_known}" + (
            f": {sanitize_text(rule.why)}" if rule.why else ""
        )
    guess = "not guessed yet" if rule.guessed_number is None else f"{rule.guessed_number} requested, no answer yet"
    return f"{name}, known up to {rule.last_known}: {guess}"


def _archive_line(pattern: str, rule: ArchiveRule) -> str:
    name = f"archive {sanitize_text(pattern)}"
    if rule.state == "invalid":
        return f"✗ {name}: {sanitize_text(rule.why)}; not guessed since {format_values.format_time(rule.at)}"
    if rule.state == "tried":
        return f"{name}: requested, no answer yet"
    back = (
        f", requested back to {sanitize_text(fill_pattern(pattern, rule.earliest_period))}"
        if rule.earliest_period is not None
        else ""
    )
    return f"✓ {name} led to something new{back}"


def next_request_line(host: HostRecord, now: float) -> str | None:
    """Why a due task of this host waits; None if the host may be requested now."""
    if host.next_at <= now:
        return None
    why = f"backing off: {sanitize_text(host.backoff_reason)}" if host.backoff_reason else "rate limit"
    return f"the next request to its host is due {format_values.format_due_time(host.next_at, now)}; {why}"


def _breaker_lines(host: HostRecord, now: float) -> list[str]:
    if host.breaker == "closed":
        if not host.failures_in_a_row:
            return []
        failures = format_values.pluralize(host.failures_in_a_row, "failure")
        return [f"{failures} in a row: with more the breaker opens"]
    probe = f"the next probe is due {format_values.format_due_time(host.next_at, now)}"
    if host.breaker == "half_open":
        passed = format_values.pluralize(host.probes_passed, "probe")
        return [f"✗ breaker half-open: {passed} passed, more are required; {probe}"]
    backoff = format_values.format_duration(host.breaker_backoff_seconds)
    failures = format_values.pluralize(host.failures_in_a_row, "failure")
    return [f"✗ breaker open: down after {failures} in a row, backing off for {backoff}; {probe}"]


def _backoff_lines(host: HostRecord, now: float) -> list[str]:
    """Lines about the backoff. Empty if the breaker is open, because `_breaker_lines` covers that."""
    if host.next_at <= now or not host.backoff_reason or host.breaker == "open":
        return []
    until = format_values.format_until(host.next_at, now)
    return [f"✗ backing off until {until}: {sanitize_text(host.backoff_reason)}"]


def _throttle_lines(host: HostRecord) -> list[str]:
    lines = []
    if host.rate_per_minute is not None:
        good = (
            f"; {format_values.pluralize(host.successes_in_a_row, 'good answer')} since"
            if host.successes_in_a_row
            else ""
        )
        lines.append(f"slowed to {host.rate_per_minute:.3g}/min after a 429{good}")
    if host.limited_in_a_row:
        lines.append(f"rate limited {format_values.pluralize(host.limited_in_a_row, 'time')} in a row (HTTP 429)")
    return lines


def _failure_lines(host: HostRecord) -> list[str]:
    lines = []
    if host.recent_failures:
        failures = format_values.pluralize(len(host.recent_failures), "recent failure")
        last = format_values.format_time(host.recent_failures[-1])
        lines.append(f"retry budget: {failures} counted, the last {last}")
    if host.blocks_in_a_row:
        refusals = format_values.pluralize(host.blocks_in_a_row, "refusal")
        lines.append(f"{refusals} in a row (401, 403, 429, 451): with more a cooldown begins")
    if host.unreadable_pages:
        pages = format_values.pluralize(len(host.unreadable_pages), "page")
        last = format_values.format_time(host.unreadable_pages[-1])
        lines.append(f"{pages} too costly to read, the last {last}: with more a cooldown begins")
    return lines


def _transport_lines(host: HostRecord, now: float) -> list[str]:
    if host.transport is None or host.transport_until <= now:
        return []
    until = format_values.format_time(host.transport_until)
    return [f"visited {TRANSPORT_PHRASES[host.transport]} until {until}, because it was found to need that"]
