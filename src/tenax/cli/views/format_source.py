"""How a URL came to the crawl, in words."""

from __future__ import annotations

from tenax.crawl.discovery_candidates import FEED_PATHS, SITEMAP_PATHS
from tenax.database import Life
from tenax.discovery.sitemaps.read import sitemaps_in_robots
from tenax.model import Catalogue, Failed, FailureKind, Fetched, HostRecord, Rejected, Source

_USUAL: dict[Source, tuple[Catalogue, tuple[str, ...]]] = {
    Source.SITEMAP: ("sitemap", SITEMAP_PATHS),
    Source.FEED: ("feed", FEED_PATHS),
}
_NOT_THERE = (FailureKind.NOT_FOUND, FailureKind.GONE)


def way_found(life: Life, host: HostRecord | None) -> str:
    """Where it was seen first. Whoever was visited at that moment is `via`, also when robots.txt was what came."""
    via = life.via or "a page"
    match life.source:
        case Source.SEED:
            return "given as a seed"
        case Source.LINK:
            return f"as a link on {via}"
        case Source.REDIRECT:
            return f"by a redirect of {via}"
        case Source.REPLAY:
            return "put back by a person"
        case Source.ARCHIVE:
            return f"guessed as an archive, on the visit of {via}"
        case Source.PAGINATION:
            return f"guessed as the next page of a list, on the visit of {via}"
    return _listed(life, host, via)


def _listed(life: Life, host: HostRecord | None, via: str) -> str:
    """A page that a sitemap or a feed lists, or one of these itself; of one that never answered, nobody knows."""
    what = catalogue(life, host)
    if _is_in_robots(life, host):
        return "as a sitemap that robots.txt names"
    if is_usual_place(life):
        return f"looked for, as a usual place of a {what}"
    if what:
        return f"as a {what} that {via} names"
    return f"in the {life.source} {via}" if life.page is not None else f"by {life.source}s: {via} names it"


def catalogue(life: Life, host: HostRecord | None) -> Catalogue:
    """Which kind of list it was taken for; empty when it is a page, or may be one."""
    outcomes = (one.outcome for one in life.visits)
    read: Catalogue = next((outcome.catalogue for outcome in outcomes if isinstance(outcome, Fetched)), "")
    if read or life.source not in _USUAL:
        return read
    is_said_to_be = any(isinstance(one.outcome, Rejected) and "catalogue" in one.outcome.why for one in life.visits)
    is_one = is_said_to_be or is_usual_place(life) or _is_in_robots(life, host)
    return _USUAL[life.source][0] if is_one else ""


def is_usual_place(life: Life) -> bool:
    """A sitemap or a feed was looked for there, though it may have been named as well."""
    _, paths = _USUAL.get(life.source, ("", ()))
    return life.url.endswith(paths) and life.url.count("/") == 3 if paths else False


def is_missed_guess(life: Life) -> bool:
    """Nobody had named it, and nothing was there."""
    last = life.visits[-1].outcome if life.visits else None
    is_guess = life.source in (Source.ARCHIVE, Source.PAGINATION) or is_usual_place(life)
    return is_guess and isinstance(last, Failed) and last.kind in _NOT_THERE


def _is_in_robots(life: Life, host: HostRecord | None) -> bool:
    robots = host.robots if host is not None else None
    return life.source is Source.SITEMAP and robots is not None and life.url in sitemaps_in_robots(robots.text)
