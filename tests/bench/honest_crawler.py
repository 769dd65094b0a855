"""A crawler without faults, in memory: what it says of a random site must pass the judge of `soak_honest`.

It visits in an order of chance, and keeps what limits cut off. It goes by the same rules as the judge, so it shows only
that the judge asks for nothing impossible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from urllib.parse import urlsplit

from bench.soak_honest_answers import Answer, Ending, Snapshot
from bench.soak_honest_model import ATTEMPTS
from bench.soak_honest_plan import AS_STORED, Rules
from bench.soak_honest_rules import (
    DEPTH,
    FACETS,
    FEEDS,
    HOSTS,
    LINK,
    LINKS_PER_PAGE,
    LIST,
    LISTED,
    REDIRECT,
    SITEMAP_URLS,
    SITEMAPS,
    Mention,
    anchors,
    expected,
    is_disallowed,
    mentions,
    refusal,
    unfollowed,
)
from bench.soak_honest_server import Request
from bench.soak_honest_site import Kind, Site, origin_of

STATUS = {"not_found": 404, "gone": 410, "server_error": 500}


@dataclass
class HonestCrawler:
    site: Site
    chance: Random
    tasks: dict[str, Answer] = field(default_factory=dict)
    cut_off: dict[str, dict[str, str]] = field(default_factory=dict)
    """By URL: limits, each with the page that names it."""
    seeds: tuple[str, ...] = ()
    asked_robots: set[str] = field(default_factory=set)
    is_slow_to_forget: bool = False
    """What a page's limit cut off stays so until the limit is raised, though narrower rules would leave room."""
    cuts: dict[tuple[str, str], int] = field(default_factory=dict)
    """By page and URL: the limit."""
    rules: Rules = field(init=False)

    @property
    def pages(self) -> list[str]:
        return [url for url, answer in self.tasks.items() if answer.state == "stored"]

    def run(self, rules: Rules, most_visits: int | None = None) -> tuple[list[Request], str]:
        """Crawl to the end, or so far; the requests it sent, and how it ended."""
        rules = replace(rules, max_pages=len(self.pages)) if rules.max_pages == AS_STORED else rules
        self.rules, self.seeds = rules, tuple(dict.fromkeys((*self.seeds, *rules.seeds)))
        for seed in rules.seeds:
            self.tasks.setdefault(seed, Answer(seed, "waiting", is_admitted=True, source="seed", due=0.0))
        requests: list[Request] = []
        visits = 0
        while most_visits is None or visits < most_visits:
            self._admit()
            due = [url for url, answer in self.tasks.items() if answer.state == "waiting" and not self._is_stuck(url)]
            if not due or (rules.max_pages and len(self.pages) >= rules.max_pages):
                break
            requests += self._visit(self.chance.choice(due))
            visits += 1
        waiting = [url for url, answer in self.tasks.items() if answer.state == "waiting"]
        if any(not self._is_stuck(url) for url in waiting):
            return requests, "page_limit"
        return requests, "patience" if waiting else "limited" if self._limits() else "complete"

    def snapshot(self, universe: Sequence[str]) -> Snapshot:
        marked = unfollowed(self.site, self.tasks)
        named = {one.url for one in self._mentions()}
        answers = {url: self.tasks.get(url) or self._unknown(url, named | set(marked)) for url in universe}
        waiting = sum(answer.state == "waiting" for answer in self.tasks.values())
        return Snapshot(answers, waiting, len(self.pages), tuple((url, url) for url in self.pages))

    def ending(self, name: str) -> Ending:
        return Ending(name, 0, frozenset(self._limits()))

    def _limits(self) -> set[str]:
        """Those that keep something out which no rule refuses, nor a robots.txt that was read."""
        cut = {url: set(limits) for url, limits in self.cut_off.items()}
        deep = [one.url for one in self._mentions() if one.how != LIST and self._refusal(one) == "depth"]
        for url in deep:
            if url not in self.tasks and url not in self.site.traps:
                cut.setdefault(url, {"crawl.max_depth"})
        read = {url for url in cut if origin_of(url) in self.asked_robots}
        return {
            limit
            for url, limits in cut.items()
            if url not in read or not is_disallowed(self.site, url)
            for limit in limits
        }

    # -- admission --------------------------------------------------------------------------------------------

    def _mentions(self) -> list[Mention]:
        return [*mentions(self.site, self.rules, self.seeds, self.tasks, self.asked_robots)]

    def _admit(self) -> None:
        """Everything that was named is judged anew, so a limit that was raised gives back what it had cut off."""
        self.cut_off.clear()
        named = self._mentions()
        for one in named:
            if one.url in self.tasks or self._refusal(one):
                continue
            over = [*self._over(one, named)]
            for limit in over:
                self.cut_off.setdefault(one.url, {})[limit] = one.via
            if not over:
                source = "sitemap" if one.how == LIST and not one.is_feed else "link"
                self.tasks[one.url] = Answer(
                    one.url, "waiting", is_admitted=True, depth=one.depth, via=one.via, source=source, due=0.0
                )
        for url in self.tasks:
            self.cut_off.pop(url, None)

    def _refusal(self, one: Mention) -> str:
        if one.how == LIST:
            return "" if ("feeds" if one.is_feed else "sitemaps") in self.rules.discover else "discover"
        is_entry = one.how == REDIRECT and one.depth == 0
        return refusal(self.site, self.rules, self.seeds, one.url, one.depth, is_entry=is_entry)

    def _over(self, one: Mention, named: Sequence[Mention]) -> Iterator[str]:
        rules, url = self.rules, one.url
        if one.how == LINK:
            allowed = {m.url for m in named if m.how == LINK and m.via == one.via and not self._refusal(m)}
            is_kept = self.is_slow_to_forget and self.cuts.get((one.via, url), 0) >= rules.links_per_page
            if is_kept or sum(other in self.tasks for other in allowed) >= rules.links_per_page:
                self.cuts[one.via, url] = max(self.cuts.get((one.via, url), 0), rules.links_per_page)
                yield LINKS_PER_PAGE
        if one.how == LISTED and self.site.resources[one.via].kind is Kind.SITEMAP:
            listed = [link.url for link in self.site.resources[one.via].links]
            if listed.index(url) >= rules.sitemap_urls:
                yield SITEMAP_URLS
        if one.how == LIST and not one.is_feed:
            here = [task for task in self.tasks if "/sm/" in task and origin_of(task) == origin_of(url)]
            if len(here) >= rules.sitemaps:
                yield SITEMAPS
        if one.is_feed and one.depth >= rules.max_depth:
            yield DEPTH
        if one.is_feed:
            here = [task for task in self.tasks if "/news/" in task and origin_of(task) == origin_of(url)]
            if len(here) >= rules.feeds:
                yield FEEDS
        if one.how in (LINK, LISTED):
            path, _, query = url.partition("?")
            if query and sum(task.startswith(f"{path}?") for task in self.tasks) >= rules.facets_per_path:
                yield FACETS
            typed = {origin_of(seed) for seed in anchors(self.site, self.seeds)}
            hosts = {origin_of(task) for task in self.tasks} - typed
            near = {host for host in hosts if urlsplit(host).hostname == urlsplit(url).hostname}
            if origin_of(url) not in hosts | typed and len(near) >= rules.hosts_per_domain:
                yield HOSTS

    def _unknown(self, url: str, named: set[str]) -> Answer:
        rules = [self._refusal(one) for one in self._mentions() if one.url == url and one.how != LIST]
        rule = next(iter(rules), "") if all(rules) else ""
        if rule and url not in self.cut_off:
            return Answer(url, "refused", rule, f"refused by {rule}")
        if cuts := self.cut_off.get(url):
            return Answer(url, "cut_off", ",".join(cuts), f"cut off by `{min(cuts)}`", cut_off_via=(*cuts.values(),))
        return Answer(url, "never", "", "" if url in named else "no stored page links to it")

    # -- visits -----------------------------------------------------------------------------------------------

    def _is_stuck(self, url: str) -> bool:
        host, one = self.site.host_of(url), self.site.resources.get(url)
        is_closed = host is None or self._is_guarded(url)
        return not is_closed and bool((host and host.is_dead) or (one and one.kind is Kind.RESET))

    def _is_guarded(self, url: str) -> bool:
        return not self.rules.is_guard_open and origin_of(url) not in map(origin_of, self.seeds)

    def _visit(self, url: str) -> Iterator[Request]:
        if self._is_guarded(url) or self.site.host_of(url) is None:
            self._settle(url, "refused", "guard")
            return
        if origin_of(url) not in self.asked_robots:
            self.asked_robots.add(origin_of(url))
            yield Request("GET", f"{origin_of(url)}/robots.txt", 200)
        one = self.site.resources.get(url)
        state, detail = expected(self.site, url, was_guarded=False)[0]
        if one is not None and one.kind is Kind.REDIRECT and state == "redirected":
            detail = self._refusal(Mention(url, one.to, REDIRECT, self.tasks[url].depth))
        self._settle(url, state, detail)
        if state == "refused":
            return
        failures = one.failures if one is not None else 0
        yield from [Request("GET", url, 500)] * (ATTEMPTS if detail == "server_error" else failures)
        if detail != "server_error":
            yield Request("GET", url, 301 if state == "redirected" else STATUS.get(detail, 200))

    def _settle(self, url: str, state: str, detail: str) -> None:
        one = self.site.resources.get(url)
        original = one.text_of if one is not None else ""
        self.tasks[url] = replace(self.tasks[url], state=state, detail=detail, due=None, duplicate_of=original)
