"""Numbers, times and reasons as people say them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from tenax.model import setting_of

_KINDS = {
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
    "guess_least": "beyond the guesses of a host",
    "catalogue": "no sitemap or feed there",
    "facets": "selections that show the same again",
    "series": "pages of a series that show the same again",
    "missed": "guessed, and nothing new was there",
}
_FOUND = {
    "seed": "seed",
    "link": "by links",
    "sitemap": "by sitemaps",
    "feed": "by feeds",
    "archive": "guessed as archives",
    "pagination": "guessed as next pages",
    "redirect": "by redirects",
    "catalogue": "sitemaps and feeds looked for",
}


def count(number: int) -> str:
    return f"{number:,}"


def several(number: int, noun: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(number: float) -> str:
    """`812 B`, `18.2 MB`; thousands, as disks and networks count."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s" if per_second >= 100 else f"{per_second:.1f}/s"


def duration(seconds: float) -> str:
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


def stopwatch(seconds: float) -> str:
    """`0:42`, `1:02:03`: a time that is still running."""
    minutes, second = divmod(max(int(seconds), 0), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def moment(at: float) -> str:
    """A time of day with its date, where the reader is."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def when(at: float, now: float) -> str:
    """`now`, `in 43 s (12:03:04)`, or with the date when it is another day."""
    if at <= now:
        return "now"
    clock = moment(at)
    is_today = clock[:10] == moment(now)[:10]
    return f"in {duration(at - now)} ({clock[11:] if is_today else clock})"


def browser_advice(number: int) -> str:
    """What to do about URLs that wait for a run with a browser."""
    need = "1 URL needs a browser" if number == 1 else f"{number:,} URLs need a browser"
    return (
        f"{need}: install one (`pip install 'tenax[browser]'`, and Chromium) and leave `browser` in `fetch.fallbacks`; "
        "the next run visits what waits for it"
    )


def reason(key: str) -> str:
    """A counted reason, such as `failed:dns` or `refused:robots`, in words; unknown ones are shown as they are."""
    name = key.rpartition(":")[2]
    return _KINDS.get(name, name.replace("_", " "))


def tally(counts: Mapping[str, int]) -> list[str]:
    """`12 timed out`, `3 not found`: most first."""
    merged: dict[str, int] = {}
    for key, number in counts.items():
        merged[reason(key)] = merged.get(reason(key), 0) + number
    return [f"{number:,} {word}" for word, number in sorted(merged.items(), key=lambda item: (-item[1], item[0]))]


def by_rules(refusals: Mapping[str, int]) -> dict[str, int]:
    """Refusals without those of limits: what these keep out is counted as it is now."""
    return {name: count for name, count in refusals.items() if not setting_of(name)}


def cut_off(name: str, links: int, pages: int) -> str:
    """`1,500 links of 1 page were not followed (`crawl.max_links_per_page`)`."""
    setting = f"(`{setting_of(name)}`)"
    match name:
        case "max_sitemap_urls":
            return f"{several(links, 'URL')} of {several(pages, 'sitemap')} {_were(links)} not read {setting}"
        case "max_sitemap_bytes":
            return f"{several(pages, 'sitemap')} {_were(pages)} not read to the end {setting}"
        case "sitemap_read":
            return f"{several(pages, 'sitemap')} {_were(pages)} not read to the end (at most {setting_of(name)})"
        case "links_read":
            return f"{several(pages, 'page')} {_were(pages)} not read to the end (at most {setting_of(name)})"
        case "max_sitemaps":
            return f"{several(links, 'sitemap')} {_were(links)} not read {setting}"
        case "max_feeds" | "feeds_too_deep":
            return f"{several(links, 'feed')} of {several(pages, 'page')} {_were(links)} not read {setting}"
        case "guesses":
            return f"{links:,} {'guess' if links == 1 else 'guesses'} {_were(links)} not made {setting}"
        case "pages_guessed":
            return f"{several(links, 'list')} {_were(links)} not guessed to the end {setting}"
    return f"{several(links, 'link')} of {several(pages, 'page')} {_were(links)} not followed {setting}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


_PARKED = {
    "robots": "closed by robots.txt",
    "guard": "address or port closed to us (see section `guard`)",
    "rules": "refused by the rules of this run",
    "redirect": "redirected to where the rules do not allow",
    "facets": "selections that show the same again",
    "series": "pages of a series that show the same again",
}


def parked(cause: str, count: int) -> str:
    """Tasks that a setting keeps back."""
    setting = f" (`{setting_of(cause)}`)" if setting_of(cause) else ""
    return f"{several(count, 'URL')}: {_PARKED.get(cause, cause)}{setting}"


def found(counts: Mapping[str, int]) -> list[str]:
    """`1 seed`, `120 by links`, `14 by sitemaps`: how the URLs of a crawl came to it."""
    known = [(number, _FOUND[source]) for source in _FOUND if (number := counts.get(source, 0))]
    return [several(number, word) if word == "seed" else f"{number:,} {word}" for number, word in known]


def listing(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *first, last = list(words) or [""]
    return f"{', '.join(first)} and {last}" if first else last
