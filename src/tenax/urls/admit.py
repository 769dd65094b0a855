"""Whether a URL may join the crawl: scope, patterns, depth and traps, in that order, each with its reason.

Answers are remembered for a while, because a site repeats its links on every page. `verdicts` tells the same
decisions to a person.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from tenax.config import Config, UrlsConfig
from tenax.model import Budget, Offer, Priority, Source, Task, Value
from tenax.urls.normalize import MAX_HREF_CHARS, Spelling, WebUrl, normalize, place_of, spelling_of
from tenax.urls.patterns import compile_patterns
from tenax.urls.priority import Rank, behind_seconds, rank_of, standings_at
from tenax.urls.scope import Scope, in_scope, scope_of, site_of
from tenax.urls.seeds import seed_url
from tenax.urls.traps import budgets_of, trap

MAX_REMEMBERED_LINKS = 16_384
MAX_REMEMBERED_CHARS = 1024
CATALOGUE_LEAD_SECONDS = 1980.0
"""A sitemap or a feed goes before all other URLs of its level that were found with it."""
OLD_DAYS = 1000.0
"""What is older counts as this old."""
LOOKS_PER_LINK = 10
"""Hrefs looked at for each link that may be taken: a page of a million foreign links is not read to its end."""

_UNJUDGED = frozenset({Source.SEED, Source.REPLAY})
"""A person named these."""
_JUDGED_BEFORE_DEPTH = frozenset({"scheme", "invalid", "scope", "include", "exclude"})


class Rules(Value, frozen=True, cache_hash=True):
    """Everything that admission depends on; kept with the crawl and sent to the readers."""

    seeds: tuple[str, ...]
    scope: Scope
    year: int
    """The present one, for what calls itself a calendar."""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_depth: int = 10
    max_links_per_page: int = 1000
    urls: UrlsConfig = UrlsConfig()
    moved_to: tuple[str, ...] = ()
    """Where seeds were redirected to: in scope like the seeds themselves, whatever the scope is."""
    revision: int = 0
    """How often they were changed since the crawl began. While never, no admitted task need be judged again."""


class Link(NamedTuple):
    """What can be said about a link wherever on the site it stands."""

    url: str
    """Normalised; the href itself when it has no http(s) URL."""
    origin: str
    refusal: str | None
    rank: Rank
    budgets: tuple[Budget, ...]
    behind_seconds: float = 0.0


def rules_of(seeds: Sequence[str], config: Config, year: int, moved_to: Sequence[str] = ()) -> Rules:
    """Raises `UsageError` for a seed that is no URL and `ConfigError` for a pattern that cannot be read."""
    spelling = spelling_of(config.urls)
    urls = [seed_url(seed, spelling) for seed in seeds]
    compile_patterns((*config.crawl.include, *config.crawl.exclude))
    return Rules(
        seeds=tuple(dict.fromkeys(url.url for url in urls)),
        scope=scope_of([*urls, *(seed_url(url, spelling) for url in moved_to)], config.crawl.scope),
        year=year,
        include=config.crawl.include,
        exclude=config.crawl.exclude,
        max_depth=config.crawl.max_depth,
        max_links_per_page=config.crawl.max_links_per_page,
        urls=config.urls,
        moved_to=tuple(moved_to),
    )


def seed_offers(rules: Rules) -> tuple[Offer, ...]:
    """The seeds as offers. A person named them, so no rule is asked."""
    urls = (normalize(seed, None, spelling_of(rules.urls)) for seed in rules.seeds)
    return tuple(Offer(url.url, url.origin, 0, Priority.HIGH, Source.SEED) for url in urls if url is not None)


def refusal(rules: Rules, url: WebUrl, depth: int) -> str | None:
    """The first rule that refuses this URL at this depth, or None; for what did not come as a page's link."""
    judge = _judge_of(rules)
    if reason := judge.outside(url):
        return reason
    return "depth" if depth > rules.max_depth else judge.trapped(url)


def redirect_refusal(rules: Rules, url: WebUrl, depth: int) -> str | None:
    """The same for the target of a redirect. Where a seed leads, at depth 0, the crawl begins, as it would at the seed:
    it need not be among what is included."""
    judge = _judge_of(rules)
    reason = judge.outside(url)
    if reason == "include" and depth == 0:
        reason = judge.outside(url, is_included=True)
    return reason or ("depth" if depth > rules.max_depth else judge.trapped(url))


def refusal_now(rules: Rules, task: Task) -> str | None:
    """The rule that refuses an admitted task since the rules were changed; None for what no rule is asked about."""
    if task.is_catalogue or task.depth == 0 or task.source in _UNJUDGED:
        return None
    url = normalize(task.url, None, spelling_of(rules.urls))
    return "invalid" if url is None else refusal(rules, url, task.depth)


def cut_links(rules: Rules, page_url: str, depth: int, links: Iterable[tuple[str, bool]]) -> dict[str, str]:
    """Links of a stored page that no rule refuses, with the limit that surely keeps each out: `depth`, or none.

    `links` are normalised, each with whether it is marked nofollow.
    """
    judge = _judge_of(rules)
    limit = "depth" if depth + 1 > rules.max_depth else ""
    found: dict[str, str] = {}
    for url, is_nofollow in links:
        if not is_nofollow and url != page_url and url not in found and judge.listed(url, page_url).refusal is None:
            found[url] = limit
    return found


def budgets_at(rules: Rules, url: str) -> tuple[Budget, ...]:
    """What admitting this normalised URL uses up."""
    return _judge_of(rules).listed(url, url).budgets


def admit_links(
    rules: Rules,
    page_url: str,
    base: str,
    depth: int,
    hrefs: Iterable[tuple[str, bool]],
    known: Container[str] = (),
    known_before: Container[str] = (),
    left_out: set[str] | None = None,
    targets: list[str | None] | None = None,
) -> tuple[tuple[Offer, ...], dict[str, int]]:
    """A page's links as offers, each URL once and the page itself left out; and how many were refused, by reason.

    `hrefs` are as written in the page, each with whether it is marked nofollow. `page_url` is normalised. Links in
    `known` or `known_before` are neither: they are left out, but count towards the page's limit. Whoever wants to know
    them gives an empty `left_out`; whoever wants to know where each link leads, as of `leads_to`, an empty `targets`,
    which ends where no more of them are looked at.
    """
    judge = _judge_of(rules)
    here, directory = place_of(base) or ("", "")
    rooted, relative = judge.remembered(here, directory)
    below = depth + 1
    is_too_deep = below > rules.max_depth
    standings = standings_at(below)
    most = rules.max_links_per_page
    offers: list[Offer] = []
    refusals: dict[str, int] = {}
    seen = {page_url}
    left_out = set() if left_out is None else left_out
    targets = [] if targets is None else targets
    stream = iter(hrefs)
    for href, is_nofollow in islice(stream, most * LOOKS_PER_LINK):
        link = rooted.get(href) or relative.get(href)
        if link is not None:
            url = link[0]
        else:
            # Most links are written as we spell them: one that is known needs no judgement, and takes no memory.
            url = here + href if href[:1] == "/" != href[1:2] else _as_written(href, directory)
            if url not in known and url not in known_before:
                link = judge.link(href, base, rooted, relative)
                url = link[0]
        targets.append(url if link is None or link[1] else None)
        if is_nofollow:
            refusals["nofollow"] = refusals.get("nofollow", 0) + 1
            continue
        # Asked first, because it ends most looks: on a site half read, most links of a page are known.
        if link is None or url in known or url in known_before:
            left_out.add(url)
            continue
        if url in seen:
            continue
        seen.add(url)
        _, origin, reason, rank, budgets, behind = link
        if is_too_deep and reason not in _JUDGED_BEFORE_DEPTH:
            reason = "depth"
        elif reason is None and len(offers) + len(left_out) - (page_url in left_out) >= most:
            reason = "max_links_per_page"
        if reason is None:
            priority, lead = standings[rank]
            offers.append(Offer(url, origin, below, priority, Source.LINK, page_url, None, (), budgets, lead - behind))
        else:
            refusals[reason] = refusals.get(reason, 0) + 1
    if unread := sum(1 for _ in stream):
        refusals["max_links_per_page"] = refusals.get("max_links_per_page", 0) + unread
    return tuple(offers), refusals


def catalogue_offer(
    rules: Rules,
    href: str,
    base: str,
    depth: int,
    source: Source,
    via: str | None,
    budget: Budget,
    *,
    is_named: bool = False,
) -> Offer | None:
    """A sitemap or a feed as an offer; None when it leads nowhere, or to a host that the seeds do not name.

    No pattern is asked, and no depth: it is no page. One that `is_named` by robots.txt may be on any host.
    """
    judge = _judge_of(rules)
    url = normalize(href, base, judge.spelling)
    if url is None or len(url.url) > rules.urls.max_length or not (is_named or is_of_seeds(rules, url)):
        return None
    return Offer(
        url.url, url.origin, depth, Priority.MEDIUM, source, via, None, (), (budget,), CATALOGUE_LEAD_SECONDS, True
    )


def guess_offer(rules: Rules, guess: str, depth: int, source: Source, via: str) -> Offer | None:
    """A URL that nobody named, as an offer; None when the rules refuse it."""
    link = _judge_of(rules).listed(guess, via)
    if link.refusal is not None or depth > rules.max_depth:
        return None
    return Offer(link.url, link.origin, depth, Priority.DISCOVERY, source, via, None, (), link.budgets)


def is_of_seeds(rules: Rules, url: WebUrl) -> bool:
    """Whether its host is one that the seeds name, or was found to be where a seed lives; whatever its path."""
    scope = rules.scope
    if scope.name == "host":
        return site_of(url) in scope.hosts
    if scope.name == "domain":
        return in_scope(scope, url)
    return site_of(url) in _judge_of(rules).seed_sites


class Listed(NamedTuple):
    """A URL that a sitemap or a feed names."""

    url: str
    at: float | None = None
    """When it was published or changed, as far as it says."""
    changefreq: str = ""


def admit_listed(
    rules: Rules,
    document_url: str,
    depth: int,
    entries: Iterable[Listed],
    source: Source,
    now: float,
    known: Container[str] = (),
    known_before: Container[str] = (),
) -> tuple[tuple[Offer, ...], dict[str, int]]:
    """What a sitemap or a feed names, as offers; see `admit_links`. Whoever calls has bounded the entries."""
    judge = _judge_of(rules)
    below = depth + 1
    offers: dict[str, Offer] = {}
    refusals: dict[str, int] = {}
    for entry in entries:
        link = judge.listed(entry.url, document_url)
        if link.url in known or link.url in known_before or link.url in offers:
            continue
        reason = link.refusal or ("depth" if below > rules.max_depth else None)
        if reason is not None:
            refusals[reason] = refusals.get(reason, 0) + 1
            continue
        days = None if entry.at is None else float(max(int((now - entry.at) // 86_400), 0))
        priority, lead = standings_at(below, source, min(days, OLD_DAYS) if days is not None else None)[link.rank]
        offers[link.url] = Offer(
            link.url, link.origin, below, priority, source, document_url, None, (), link.budgets, lead,
            changefreq=entry.changefreq,
        )  # fmt: skip
    return tuple(offers.values()), refusals


def leads_to(
    rules: Rules,
    base: str,
    hrefs: Iterable[str],
    known: Container[str] = (),
    known_before: Container[str] = (),
) -> list[str | None]:
    """Where a page's links lead, spelled as the crawl spells URLs, whatever the rules say of them; None: nowhere."""
    judge = _judge_of(rules)
    here, directory = place_of(base) or ("", "")
    rooted, relative = judge.remembered(here, directory)
    found: list[str | None] = []
    for href in hrefs:
        link = rooted.get(href) or relative.get(href)
        if link is None:
            plain = here + href if href[:1] == "/" != href[1:2] else _as_written(href, directory)
            if plain in known or plain in known_before:
                found.append(plain)
                continue
            link = judge.link(href, base, rooted, relative)
        found.append(link.url if link.origin else None)
    return found


class _Judge:
    """The rules made ready to use, and what they said about the links of late."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.spelling: Spelling = spelling_of(rules.urls)
        self.include = compile_patterns(rules.include)
        self.exclude = compile_patterns(rules.exclude)
        self._seeds = frozenset(rules.seeds)
        urls = (normalize(seed, None, self.spelling) for seed in (*rules.seeds, *rules.moved_to))
        self.seed_sites = frozenset(site_of(url) for url in urls if url is not None) | rules.scope.hosts
        self._links: dict[str, dict[str, Link]] = {}
        self._room = MAX_REMEMBERED_LINKS

    def outside(self, url: WebUrl, *, is_included: bool = False) -> str | None:
        """The rule before depth that refuses this URL."""
        if not in_scope(self.rules.scope, url):
            return "scope"
        if self.include and not is_included and self.include.first_match(url.url) is None:
            return "include"
        if self.exclude and self.exclude.first_match(url.url) is not None:
            return "exclude"
        return None

    def trapped(self, url: WebUrl) -> str | None:
        knob = trap(url, self.rules.urls, self.rules.year)
        return f"trap:{knob}" if knob else None

    def remembered(self, origin: str, directory: str) -> tuple[dict[str, Link], dict[str, Link]]:
        """Links known by their href: those that depend on the base's origin only, and on its directory only."""
        if not origin:
            return {}, {}
        if self._room <= 0:
            self._links.clear()
            self._room = MAX_REMEMBERED_LINKS
        is_short = len(directory) <= MAX_REMEMBERED_CHARS
        return self._links_at(origin), self._links_at(directory) if is_short else {}

    def link(self, href: str, base: str, rooted: dict[str, Link], relative: dict[str, Link]) -> Link:
        """Judge a link and remember it where its href can mean nothing else."""
        link = self._judged(href, base)
        if len(href) > MAX_REMEMBERED_CHARS or len(link.url) > MAX_REMEMBERED_CHARS:
            return link
        if href.startswith(("/", "http://", "https://")):
            rooted[href] = link
            self._room -= 1
        elif (href[:1].isalnum() or href[:1] == ".") and ":" not in href:
            relative[href] = link
            self._room -= 1
        return link

    def listed(self, url: str, base: str) -> Link:
        """Judge a URL that is named once, and need not be remembered."""
        return self._judged(url, base)

    def _links_at(self, place: str) -> dict[str, Link]:
        links = self._links.get(place)
        if links is None:
            links = self._links[place] = {}
            self._room -= 1
        return links

    def _judged(self, href: str, base: str) -> Link:
        url = normalize(href, base, self.spelling)
        if url is None:
            return Link(href, "", _why_unusable(href), Rank.ORDINARY, ())
        reason = self.outside(url) or self.trapped(url)
        if reason is not None:
            return Link(url.url, url.origin, reason, Rank.ORDINARY, ())
        rank = Rank.TOP if url.url in self._seeds else rank_of(url)
        budgets = budgets_of(url, self.rules.urls, site_of(url) in self.seed_sites)
        return Link(url.url, url.origin, None, rank, budgets, behind_seconds(url, rank))


@lru_cache(maxsize=4)
def _judge_of(rules: Rules) -> _Judge:
    return _Judge(rules)


def _as_written(href: str, directory: str) -> str:
    """The URL of an href that does not start at the root, if it is written as a crawl spells it; else no URL."""
    if href.startswith(("http://", "https://")):
        return href
    return directory + href if href[:1].isalnum() and ":" not in href else ""


def _why_unusable(href: str) -> str:
    scheme, colon, _ = href[:32].strip().partition(":")
    if colon and scheme.isascii() and scheme.lower() not in ("http", "https") and scheme[:1].isalpha():
        return "scheme"
    return "trap:max_length" if len(href) > MAX_HREF_CHARS else "invalid"
