"""Numbers, times and reasons as text; and what normalization has changed in a typed URL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from urllib.parse import SplitResult, unquote, urlsplit

from tenax.model import Progress, limit_setting

_REASONS = {
    "dns": "name not found",
    "connect": "could not connect",
    "tls": "TLS error",
    "reset": "connection closed",
    "timeout_connect": "timed out connecting",
    "timeout_headers": "timed out waiting for an answer",
    "timeout_body": "timed out within the page",
    "timeout_total": "timed out",
    "truncated": "truncated",
    "too_large": "too large",
    "bad_response": "invalid response",
    "server_error": "server error",
    "rate_limited": "too many requests",
    "blocked": "blocked by the site",
    "not_found": "not found",
    "gone": "gone",
    "client_error": "refused by the site",
    "not_modified": "unexpected 304",
    "redirect": "redirect failed",
    "proxy": "proxy error",
    "internal": "internal error",
    "robots": "closed by robots.txt",
    "guard": "address or port not allowed",
    "noindex": "marked noindex",
    "content": "not a web page",
    "empty": "empty response",
    "small": "too small for a page",
    "limited": "rate limit page",
    "captcha": "captcha",
    "challenge": "browser check",
    "javascript": "needs JavaScript",
    "shell": "empty without JavaScript",
    "consent": "consent wall",
    "login": "login wall",
    "refresh": "meta refresh",
    "unreadable": "unreadable",
    "known": "known to be missing",
    "partial": "partial content",
    "scope": "out of scope",
    "include": "not included",
    "exclude": "excluded",
    "depth": "too deep",
    "nofollow": "marked nofollow",
    "scheme": "not http",
    "invalid": "not a URL",
    "max_length": "too long (trap)",
    "max_path_segments": "too many path segments (trap)",
    "max_repeated_segments": "repeating path (trap)",
    "max_query_params": "too many parameters (trap)",
    "calendar_years": "endless calendar (trap)",
    "max_links_per_page": "over the link limit of a page",
    "facets_per_path": "over the facet limit of a path",
    "hosts_per_domain": "over the host limit of a domain",
    "max_sitemaps": "over the sitemap limit of a host",
    "max_feeds": "over the feed limit of a host",
    "max_sitemap_bytes": "over the size limit of a sitemap",
    "feeds_too_deep": "feeds of pages that are too deep",
    "rules": "refused by the current rules",
    "links_read": "pages not read to the end",
    "links_not_kept": "refused and not stored",
    "sitemap_read": "over the read limit of a sitemap",
    "max_sitemap_urls": "over the URL limit of a sitemap",
    "guesses": "guess budget used up",
    "pages_guessed": "guess budget of a list used up",
    "min_guesses": "guess budget used up",
    "url_list": "not a sitemap or feed",
    "facets": "facets that repeat known pages",
    "series": "pages of a series that repeat themselves",
    "missed": "guessed, nothing new found",
}
_SOURCES = {
    "seed": ("seed", "seeds"),
    "link": ("by a link", "by links"),
    "sitemap": ("by a sitemap", "by sitemaps"),
    "feed": ("by a feed", "by feeds"),
    "archive": ("guessed as an archive", "guessed as archives"),
    "pagination": ("guessed as a next page", "guessed as next pages"),
    "redirect": ("by a redirect", "by redirects"),
    "url_list": ("sitemap or feed looked for", "sitemaps and feeds looked for"),
}
"""Words for each source, singular and plural."""


def format_count(number: int) -> str:
    return f"{number:,}"


def pluralize(number: int, noun: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_size(number: float) -> str:
    """`812 B`, `18.2 MB`; decimal units."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def format_rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s" if per_second >= 100 else f"{per_second:.1f}/s"


def format_duration(seconds: float) -> str:
    """`0.4 s`, `42 s`, `3 min 05 s`, `2 h 10 min`, `3 d 4 h`: two units at most."""
    if 0 < seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(max(seconds, 0.0))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days} d {hour} h"
    if hours:
        return f"{hours} h {minute:02} min"
    return f"{minutes} min {second:02} s" if minutes else f"{second} s"


def format_elapsed(seconds: float) -> str:
    """`0:42`, `1:02:03`: a running time."""
    minutes, second = divmod(max(int(seconds), 0), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def format_time(at: float) -> str:
    """Date and time in the local time zone."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def format_due_time(at: float, now: float) -> str:
    """`now`, or `in 43 s (12:03:04)`, with the date if it is another day."""
    return "now" if at <= now else f"in {format_duration(at - now)} ({_format_clock(at, now)})"


def format_until(at: float, now: float) -> str:
    """`12:03:04 (in 43 s)`, with the date if it is another day."""
    return f"{_format_clock(at, now)} (in {format_duration(at - now)})"


def _format_clock(at: float, now: float) -> str:
    clock = format_time(at)
    return clock[11:] if clock[:10] == format_time(now)[:10] else clock


def describe_extraction(progress: Progress) -> list[str]:
    """Why extraction was slower than it could be; empty if it was not."""
    if not progress.pages_in_python:
        return []
    return [
        f"{pluralize(progress.pages_in_python, 'page')} in Python, several times slower: {progress.native_refusal}",
    ]


def describe_reason(key: str) -> str:
    """A counted reason, such as `failed:dns` or `refused:robots`, as text. An unknown reason is returned unchanged."""
    name = key.rpartition(":")[2]
    return _REASONS.get(name, name.replace("_", " "))


def format_counts(counts: Mapping[str, int]) -> list[str]:
    """`12 timed out`, `3 not found`: the most frequent one first."""
    merged: dict[str, int] = {}
    for key, number in counts.items():
        merged[describe_reason(key)] = merged.get(describe_reason(key), 0) + number
    return [f"{number:,} {word}" for word, number in sorted(merged.items(), key=lambda item: (-item[1], item[0]))]


def rule_refusals(refusals: Mapping[str, int]) -> dict[str, int]:
    """The number of refusals by rules. What limits cut off is counted separately."""
    return {name: count for name, count in refusals.items() if not limit_setting(name)}


def describe_cut_off(name: str, links: int, pages: int) -> str:
    """`1,500 links of 1 page were not followed (`crawl.max_links_per_page`)`."""
    setting = f"(`{limit_setting(name)}`)"
    match name:
        case "max_sitemap_urls":
            return (
                f"{pluralize(links, 'URL')} of {pluralize(pages, 'sitemap')} {_was_or_were(links)} not read {setting}"
            )
        case "max_sitemap_bytes":
            return f"{pluralize(pages, 'sitemap')} {_was_or_were(pages)} not read to the end {setting}"
        case "sitemap_read":
            most = f"(at most {limit_setting(name)})"
            return f"{pluralize(pages, 'sitemap')} {_was_or_were(pages)} not read to the end {most}"
        case "links_read":
            return (
                f"{pluralize(pages, 'page')} {_was_or_were(pages)} not read to the end (at most {limit_setting(name)})"
            )
        case "max_sitemaps":
            return f"{pluralize(links, 'sitemap')} {_was_or_were(links)} not read {setting}"
        case "max_feeds" | "feeds_too_deep":
            return f"{pluralize(links, 'feed')} of {pluralize(pages, 'page')} {_was_or_were(links)} not read {setting}"
        case "guesses":
            return f"{links:,} {'guess' if links == 1 else 'guesses'} {_was_or_were(links)} not made {setting}"
        case "pages_guessed":
            return f"{pluralize(links, 'list')} {_was_or_were(links)} not guessed to the end {setting}"
    return f"{pluralize(links, 'link')} of {pluralize(pages, 'page')} {_was_or_were(links)} not followed {setting}"


def _was_or_were(number: int) -> str:
    return "was" if number == 1 else "were"


_PARK_CAUSES = {
    "robots": "closed by robots.txt",
    "guard": "address or port not allowed (see section `guard`)",
    "rules": "refused by the rules of this run",
    "redirect": "redirected to a URL that the rules refuse",
    "facets": "facets that repeat known pages",
    "series": "pages of a series that repeat themselves",
    "small": "too small for a page",
    "validation": "taken for no page by validation",
    "refresh": "a meta refresh, which was followed",
    "empty": "nothing to read",
}


def describe_parked(cause: str, count: int) -> str:
    """URLs that are parked because of a setting, as text."""
    setting = f" (`{limit_setting(cause)}`)" if limit_setting(cause) else ""
    return f"{pluralize(count, 'URL')}: {_PARK_CAUSES.get(cause, cause)}{setting}"


def format_sources(counts: Mapping[str, int]) -> list[str]:
    """`1 seed`, `120 by links`, `1 by a sitemap`: how the URLs of a crawl were found."""
    known = [(number, _SOURCES[source]) for source in _SOURCES if (number := counts.get(source, 0))]
    return [f"{number:,} {words[number != 1]}" for number, words in known]


def join_words(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *first, last = list(words) or [""]
    return f"{', '.join(first)} and {last}" if first else last


_PORT_SUFFIX = re.compile(r":\d*$")


def describe_normalization(typed_url: str, url: str) -> tuple[str, ...]:
    """The changes, part by part; empty if both URLs are equal."""
    typed_url = typed_url.strip()
    if typed_url == url:
        return ()
    try:
        before, after = (
            urlsplit(typed_url if "://" in typed_url else f"{url.partition('://')[0]}://{typed_url}"),
            urlsplit(url),
        )
    except ValueError:  # Python's parser accepts more than the WHATWG parser in places, and less in others
        return ("normalized as in browsers",)
    found = [
        *_host_changes(typed_url, before, after),
        *_path_changes(before, after),
        *_query_changes(before.query, after.query),
    ]
    if before.fragment or typed_url.endswith("#"):
        found.append("fragment dropped")
    return tuple(found) or ("normalized as in browsers",)


def _host_changes(typed_url: str, before: SplitResult, after: SplitResult) -> list[str]:
    found = []
    if "://" not in typed_url:
        found.append(f"{after.scheme} assumed")
    if "@" in before.netloc:
        found.append("user name and password dropped")
    name = before.netloc.rpartition("@")[2]
    has_port = bool(_PORT_SUFFIX.search(name))
    name = _PORT_SUFFIX.sub("", name)
    spelled = _PORT_SUFFIX.sub("", after.netloc)
    if name != spelled:
        found.append("host in lower case" if name.lower() == spelled else "host normalized")
    if has_port and not _PORT_SUFFIX.search(after.netloc):
        found.append("default port dropped")
    return found


def _path_changes(before: SplitResult, after: SplitResult) -> list[str]:
    if (before.path or "/") == after.path:
        return [] if before.path else ["empty path set to /"]
    if unquote(before.path) == unquote(after.path):
        return ["escapes normalized"]
    if before.path.rstrip("/") == after.path:
        return ["trailing slash dropped"]
    return ["path normalized"]


def _query_changes(before: str, after: str) -> list[str]:
    names_before = [pair.partition("=")[0] for pair in before.split("&") if pair]
    names_after = [pair.partition("=")[0] for pair in after.split("&") if pair]
    spelled = {unquote(name) for name in names_after}
    dropped = list(dict.fromkeys(name for name in names_before if unquote(name) not in spelled))
    found = [f"tracking or session parameters dropped: {', '.join(dropped)}"] if dropped else []
    kept = [name for name in names_before if name not in dropped]
    if kept != names_after and sorted(kept) == sorted(names_after):
        found.append("parameters sorted by name")
    return found
