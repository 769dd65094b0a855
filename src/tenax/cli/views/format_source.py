"""How a URL was found, as text."""

from __future__ import annotations

from tenax.crawl.discovery_candidates import FEED_PATHS, SITEMAP_PATHS
from tenax.database import UrlHistory
from tenax.discovery.sitemaps.read import sitemaps_in_robots
from tenax.model import Failed, FailureKind, Fetched, HostRecord, Rejected, Source, UrlList

_WELL_KNOWN_PATHS: dict[Source, tuple[UrlList, tuple[str, ...]]] = {
    Source.SITEMAP: ("sitemap", SITEMAP_PATHS),
    Source.FEED: ("feed", FEED_PATHS),
}
_MISSING_KINDS = (FailureKind.NOT_FOUND, FailureKind.GONE)


def describe_source(history: UrlHistory, host: HostRecord | None) -> str:
    """Where it was found first. `via` is the URL visited then, also when its robots.txt was fetched."""
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
    """For a page in a sitemap or feed, or for one of these; unknown when it never answered."""
    what = find_url_list_kind(history, host)
    if _is_in_robots(history, host):
        return "as a sitemap in robots.txt"
    if is_well_known_path(history):
        return f"tried, as a usual path of a {what}"
    if what:
        return f"as a {what} linked from {via}"
    return f"in the {history.source} {via}" if history.page is not None else f"by {history.source}s: {via} lists it"


def find_url_list_kind(history: UrlHistory, host: HostRecord | None) -> UrlList:
    """The kind of URL list it was fetched as; empty when it is or may be a page."""
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
    """Whether it is a well-known path of a sitemap or feed; something may link to it as well."""
    _, paths = _WELL_KNOWN_PATHS.get(history.source, ("", ()))
    return history.url.endswith(paths) and history.url.count("/") == 3 if paths else False


def is_missed_guess(history: UrlHistory) -> bool:
    """Whether it was guessed and does not exist."""
    last = history.visits[-1].outcome if history.visits else None
    is_guess = history.source in (Source.ARCHIVE, Source.PAGINATION) or is_well_known_path(history)
    return is_guess and isinstance(last, Failed) and last.kind in _MISSING_KINDS


def _is_in_robots(history: UrlHistory, host: HostRecord | None) -> bool:
    robots = host.robots if host is not None else None
    return history.source is Source.SITEMAP and robots is not None and history.url in sitemaps_in_robots(robots.text)
