"""The rules of a run as a specification: the program's answers are compared with it.

Written from the documentation and for the sites of `soak_honest_site` only. Nothing of the program is imported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from bench.soak_honest_answers import Answer
from bench.soak_honest_plan import Rules
from bench.soak_honest_site import LISTS, PAGES, Kind, Resource, Site, origin_of, path_of

LINK, LISTED, REDIRECT, LIST = "link", "listed", "redirect", "list"
READ = frozenset({"stored", "list", "redirected"})
"""What was visited, and its answer used."""
LINKS_PER_PAGE = "crawl.max_links_per_page"
LOOKS_PER_LINK = 10
"""Links of a page that must be looked at for each that may be taken; what stands behind them may be cut off."""
FACETS = "urls.facets_per_path"
HOSTS = "urls.hosts_per_domain"
SITEMAP_URLS = "discovery.max_sitemap_urls"
SITEMAPS = "discovery.max_sitemaps"
FEEDS = "discovery.max_feeds"
DEPTH = "crawl.max_depth"
NOT_LOOKED_FOR = "discover"
"""Kept back by what `--discover` leaves out; no rule of admission has this name."""


@dataclass(frozen=True)
class Mention:
    """Something that was visited names a URL."""

    via: str
    url: str
    how: str
    """`link` of a page, `listed` by a sitemap or a feed, target of a `redirect`, or itself a `list`."""
    depth: int
    """That the URL has by this."""
    is_feed: bool = False


def anchors(site: Site, seeds: Sequence[str]) -> tuple[str, ...]:
    """The seeds, and where they lead: the scope is meant to be there."""
    found = dict.fromkeys(seeds)
    for seed in seeds:
        one = site.resources.get(seed)
        while one is not None and one.kind is Kind.REDIRECT and one.to not in found:
            found[one.to] = None
            one = site.resources.get(one.to)
    return tuple(found)


def refusal(site: Site, rules: Rules, seeds: Sequence[str], url: str, depth: int, *, is_entry: bool = False) -> str:
    """The first rule that refuses this URL, or nothing; `seeds` are those of all runs so far.

    Where a seed leads is an entry: the crawl begins there, whatever is to be included.
    """
    if not in_scope(rules.scope, anchors(site, seeds), url):
        return "scope"
    if rules.include and not is_entry and not any(fnmatchcase(url, pattern) for pattern in rules.include):
        return "include"
    if any(fnmatchcase(url, pattern) for pattern in rules.exclude):
        return "exclude"
    if depth > rules.max_depth:
        return "depth"
    return f"trap:{site.traps[url]}" if url in site.traps else ""


def in_scope(scope: str, seeds: Sequence[str], url: str) -> bool:
    match scope:
        case "host":
            return origin_of(url) in {origin_of(seed) for seed in seeds}
        case "domain":
            return urlsplit(url).hostname in {urlsplit(seed).hostname for seed in seeds}
        case "prefix":
            return any(url.startswith(f"{seed.rpartition('/')[0]}/") for seed in seeds)
        case _:
            return True


def is_looked_through(site: Site, rules: Rules, seeds: Sequence[str], origin: str) -> bool:
    """Whether lists of this host are read: it is a host of the seeds, or of their domains where that is the scope."""
    return in_scope("domain" if rules.scope == "domain" else "host", anchors(site, seeds), f"{origin}/")


def is_disallowed(site: Site, url: str) -> bool:
    host = site.host_of(url)
    return host is not None and path_of(url).startswith(host.disallowed) if host and host.disallowed else False


def expected(site: Site, url: str, *, was_guarded: bool) -> tuple[tuple[str, str], ...]:
    """What may be said of a URL that was admitted and visited: states, each with its detail.

    The guard was closed to its host in a run where `was_guarded`.
    """
    guarded = (("refused", "guard"),)
    if site.host_of(url) is None:
        return guarded
    came = _came(site, url)
    return came + guarded if was_guarded else came


def _came(site: Site, url: str) -> tuple[tuple[str, str], ...]:
    host, one = site.host_of(url), site.resources.get(url)
    assert host is not None
    if host.is_dead:
        return (("failed", "connect"),)
    if is_disallowed(site, url):
        return (("refused", "robots"),)
    if one is None:
        return (("failed", "not_found"),)
    match one.kind:
        case Kind.PAGE | Kind.SHAKY:
            return (("rejected", "noindex"),) if one.is_noindex else (("stored", ""),)
        case Kind.REDIRECT:
            return (("redirected", "*"), *((("failed", "redirect"),) if _may_not_arrive(url) else ()))
        case Kind.GONE:
            return (("failed", "gone"),)
        case Kind.BROKEN:
            return (("failed", "server_error"),)
        case Kind.RESET:
            return (("failed", "reset"),)
        case Kind.SITEMAP | Kind.SITEMAP_INDEX:
            return (("list", "sitemap"),)
        case Kind.FEED:
            return (("list", "feed"),)
        case _:
            return (("failed", "not_found"),)


def _may_not_arrive(url: str) -> bool:
    """Loops, and what comes after five redirects."""
    name = path_of(url).removeprefix("/r/")
    return name in ("round", "and-round") or (name.startswith("chain") and int(name.removeprefix("chain")) >= 5)


def is_read(site: Site, answer: Answer | None) -> bool:
    """Whether what this URL names is known to the crawl."""
    return answer is not None and (answer.state in READ or (answer.state, answer.detail) == ("rejected", "noindex"))


def mentions(
    site: Site, rules: Rules, seeds: Sequence[str], answers: dict[str, Answer], asked_robots: Collection[str]
) -> Iterator[Mention]:
    """What everything that was read names, and is to be followed. Robots.txt of `asked_robots` were read."""
    for url, one in site.resources.items():
        answer = answers.get(url)
        if answer is not None and is_read(site, answer):
            yield from _of_resource(one, answer.depth)
    for host in site.hosts:
        if host.origin in asked_robots and is_looked_through(site, rules, seeds, host.origin):
            yield from (Mention(f"{host.origin}/robots.txt", url, LIST, 0) for url in host.sitemaps)


def _of_resource(one: Resource, depth: int) -> Iterator[Mention]:
    if one.kind is Kind.REDIRECT:
        yield Mention(one.url, one.to, REDIRECT, depth)
    elif one.kind is Kind.SITEMAP_INDEX:
        yield from (Mention(one.url, link.url, LIST, depth) for link in one.links)
    elif one.kind in LISTS:
        yield from (Mention(one.url, link.url, LISTED, depth + 1) for link in one.links)
    elif one.kind in PAGES and not one.is_nofollow:
        yield from (Mention(one.url, link.url, LINK, depth + 1) for link in one.links if not link.is_nofollow)
        yield from (Mention(one.url, url, LIST, depth, is_feed=True) for url in one.feeds)


def unfollowed(site: Site, answers: dict[str, Answer]) -> dict[str, str]:
    """URLs that a page names which was read, by links marked nofollow; each with that page."""
    return {
        link.url: one.url
        for one in site.resources.values()
        if one.kind in PAGES and is_read(site, answers.get(one.url))
        for link in one.links
        if link.is_nofollow or one.is_nofollow
    }


class Limits:
    """Which limits of a run may have cut a URL off, as far as that does not depend on the order of visits."""

    def __init__(
        self, site: Site, rules: Rules, seeds: Sequence[str], answers: dict[str, Answer], named: Sequence[Mention]
    ) -> None:
        self._rules = rules
        self._answers = answers
        # Where a seed leads no budget is asked, as for the seed itself.
        self._seed_hosts = {origin_of(seed) for seed in anchors(site, seeds)}
        self._allowed: dict[str, set[str]] = {}
        """By page: what it names and no rule refuses."""
        for one in named:
            if one.how == LINK and not refusal(site, rules, seeds, one.url, one.depth) and one.url != one.via:
                self._allowed.setdefault(one.via, set()).add(one.url)
        self._links = {url: len(one.links) for url, one in site.resources.items()}
        self._listed = {
            url: len(one.links) for url, one in site.resources.items() if one.kind in (Kind.SITEMAP, Kind.FEED)
        }
        admitted = [url for url, answer in answers.items() if answer.is_admitted]
        self._sitemaps: dict[str, int] = {}
        self._feeds: dict[str, int] = {}
        self._facets: dict[str, int] = {}
        self._hosts: dict[str, set[str]] = {}
        for url in admitted:
            if answers[url].source == "sitemap" and (answers[url].depth == 0 or url.partition("/sm/")[1]):
                self._sitemaps[origin_of(url)] = self._sitemaps.get(origin_of(url), 0) + 1
            if url in site.resources and site.resources[url].kind is Kind.FEED:
                self._feeds[origin_of(url)] = self._feeds.get(origin_of(url), 0) + 1
            if urlsplit(url).query:
                self._facets[url.partition("?")[0]] = self._facets.get(url.partition("?")[0], 0) + 1
            if origin_of(url) not in self._seed_hosts:
                self._hosts.setdefault(urlsplit(url).hostname or "", set()).add(origin_of(url))

    def of(self, mention: Mention) -> set[str]:
        """Settings that may have kept this mention from being followed; one of them must have, if it was not."""
        found, rules, url = set(), self._rules, mention.url
        if mention.how == LINK and (
            len(self._allowed.get(mention.via, ())) > rules.links_per_page
            or self._links.get(mention.via, 0) > rules.links_per_page * LOOKS_PER_LINK
        ):
            found.add(LINKS_PER_PAGE)
        if mention.how == LISTED and self._listed.get(mention.via, 0) > rules.sitemap_urls:
            found.add(SITEMAP_URLS)
        if mention.how == LIST and not mention.is_feed and self._sitemaps.get(origin_of(url), 0) >= rules.sitemaps:
            found.add(SITEMAPS)
        if mention.is_feed and mention.depth >= rules.max_depth:  # what it names would be too deep
            found.add(DEPTH)
        if mention.is_feed and self._feeds.get(origin_of(url), 0) >= rules.feeds:
            found.add(FEEDS)
        if mention.how in (LINK, LISTED):
            path, query = url.partition("?")[0], urlsplit(url).query
            if query and self._facets.get(path, 0) >= rules.facets_per_path:
                found.add(FACETS)
            hosts = self._hosts.get(urlsplit(url).hostname or "", set())
            is_new = origin_of(url) not in hosts | self._seed_hosts
            if is_new and len(hosts) >= rules.hosts_per_domain:
                found.add(HOSTS)
        return found

    def troubles(self) -> Iterator[tuple[str, str, str]]:
        """Counts that no order of visits explains: what is wrong, where, and how."""
        rules = self._rules
        for page, urls in self._allowed.items():
            taken = sum(self._answers[url].is_admitted for url in urls)
            is_limit_alone = not any(self.of(Mention(page, url, LISTED, 0)) for url in urls)
            if is_limit_alone and taken < rules.links_per_page < len(urls):
                text = f"{taken} of its {len(urls)} links were taken, {LINKS_PER_PAGE} is {rules.links_per_page}"
                yield "fewer were taken than the limit allows", page, text
        for origin, count in self._feeds.items():
            if count > rules.feeds:
                yield "more were taken than the limit allows", origin, f"{count} feeds were taken, not {rules.feeds}"
        for path, count in self._facets.items():
            if count > rules.facets_per_path:
                text = f"{count} facets were taken, {FACETS} is {rules.facets_per_path}"
                yield "more were taken than the limit allows", path, text
        for address, hosts in self._hosts.items():
            if len(hosts) > rules.hosts_per_domain:
                text = f"{len(hosts)} hosts were taken, {HOSTS} is {rules.hosts_per_domain}"
                yield "more were taken than the limit allows", address, text
