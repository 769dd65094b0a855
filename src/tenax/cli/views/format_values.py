"""Numbers, times and reasons as people say them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from tenax.model import limit_setting

_REASONS = {
    "dns": "name not found",
    "connect": "could not connect",
    "tls": "TLS trouble",
    "reset": "connection broken",
    "timeout_connect": "timed out connecting",
    "timeout_headers": "timed out waiting for an answer",
    "timeout_body": "fell silent within the page",
    "timeout_total": "timed out",
    "truncated": "cut short",
    "too_large": "too large",
    "bad_response": "broken answer",
    "server_error": "server error",
    "rate_limited": "too many requests",
    "blocked": "blocked by the site",
    "not_found": "not found",
    "gone": "gone",
    "client_error": "refused by the site",
    "not_modified": "answered 304 for nothing",
    "redirect": "redirect led nowhere",
    "proxy": "proxy trouble",
    "internal": "internal error",
    "robots": "closed by robots.txt",
    "guard": "address or port closed to us",
    "noindex": "marked noindex",
    "content": "not a web page",
    "empty": "empty answer",
    "small": "smaller than a page must be",
    "limited": "a page that says: too many requests",
    "captcha": "a captcha",
    "challenge": "a check of the browser",
    "javascript": "needs JavaScript",
    "shell": "an empty shell without JavaScript",
    "consent": "a consent wall",
    "login": "a login wall",
    "refresh": "only leads on",
    "unreadable": "could not be read",
    "known": "known to be missing",
    "partial": "a part of a page",
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
    "max_links_per_page": "beyond the limit of a page",
    "facets_per_path": "beyond the facets of a path",
    "hosts_per_domain": "beyond the hosts of a domain",
    "max_sitemaps": "beyond the sitemaps of a host",
    "max_feeds": "beyond the feeds of a host",
    "max_sitemap_bytes": "beyond the size of a sitemap",
    "feeds_too_deep": "feeds of pages that are too deep",
    "rules": "refused by the rules now",
    "links_read": "pages too long to read to the end",
    "links_not_kept": "refused and not kept",
    "sitemap_read": "beyond what is read of a sitemap",
    "max_sitemap_urls": "beyond the URLs of a sitemap",
    "guesses": "beyond the guesses of a host",
    "pages_guessed": "beyond the guesses of a list",
    "min_guesses": "beyond the guesses of a host",
    "url_list": "no sitemap or feed there",
    "facets": "selections that show the same again",
    "series": "pages of a series that show the same again",
    "missed": "guessed, and nothing new was there",
}
_SOURCES = {
    "seed": "seed",
    "link": "by links",
    "sitemap": "by sitemaps",
    "feed": "by feeds",
    "archive": "guessed as archives",
    "pagination": "guessed as next pages",
    "redirect": "by redirects",
    "url_list": "sitemaps and feeds looked for",
}


def format_count(number: int) -> str:
    return f"{number:,}"


def pluralize(number: int, noun: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_size(number: float) -> str:
    """`812 B`, `18.2 MB`; thousands, as disks and networks count."""
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
    """`0:42`, `1:02:03`: a time that is still running."""
    minutes, second = divmod(max(int(seconds), 0), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def format_time(at: float) -> str:
    """A time of day with its date, where the reader is."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def format_due_time(at: float, now: float) -> str:
    """`now`, `in 43 s (12:03:04)`, or with the date when it is another day."""
    if at <= now:
        return "now"
    clock = format_time(at)
    is_today = clock[:10] == format_time(now)[:10]
    return f"in {format_duration(at - now)} ({clock[11:] if is_today else clock})"


def browser_advice(number: int) -> str:
    """What to do about URLs that wait for a run with a browser."""
    need = "1 URL needs a browser" if number == 1 else f"{number:,} URLs need a browser"
    return (
        f"{need}: install one (`pip install 'tenax[browser]'`, and Chromium) and leave `browser` in `fetch.fallbacks`; "
        "the next run visits what waits for it"
    )


def describe_reason(key: str) -> str:
    """A counted reason, such as `failed:dns` or `refused:robots`, in words; unknown ones are shown as they are."""
    name = key.rpartition(":")[2]
    return _REASONS.get(name, name.replace("_", " "))


def format_counts(counts: Mapping[str, int]) -> list[str]:
    """`12 timed out`, `3 not found`: most first."""
    merged: dict[str, int] = {}
    for key, number in counts.items():
        merged[describe_reason(key)] = merged.get(describe_reason(key), 0) + number
    return [f"{number:,} {word}" for word, number in sorted(merged.items(), key=lambda item: (-item[1], item[0]))]


def rule_refusals(refusals: Mapping[str, int]) -> dict[str, int]:
    """Refusals without those of limits: what these keep out is counted as it is now."""
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
            return f"{pluralize(pages, 'sitemap')} {_was_or_were(pages)} not read to the end (at most {limit_setting(name)})"
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
    "guard": "address or port closed to us (see section `guard`)",
    "rules": "refused by the rules of this run",
    "redirect": "redirected to where the rules do not allow",
    "facets": "selections that show the same again",
    "series": "pages of a series that show the same again",
}


def describe_parked(cause: str, count: int) -> str:
    """Tasks that a setting keeps back."""
    setting = f" (`{limit_setting(cause)}`)" if limit_setting(cause) else ""
    return f"{pluralize(count, 'URL')}: {_PARK_CAUSES.get(cause, cause)}{setting}"


def format_sources(counts: Mapping[str, int]) -> list[str]:
    """`1 seed`, `120 by links`, `14 by sitemaps`: how the URLs of a crawl came to it."""
    known = [(number, _SOURCES[source]) for source in _SOURCES if (number := counts.get(source, 0))]
    return [pluralize(number, word) if word == "seed" else f"{number:,} {word}" for number, word in known]


def join_words(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *first, last = list(words) or [""]
    return f"{', '.join(first)} and {last}" if first else last
