"""Whether a URL may join the crawl: scope, patterns, depth and traps, in this order, each with its reason.

Results are cached for a while, because a site repeats its links on every page. `describe_admission` explains the same
decisions to a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from tenax.config import Config, UrlsConfig
from tenax.model import Budget, Candidate, Priority, Source, Task, Value
from tenax.urls import NO_URLS, FoundOn, KnownUrls
from tenax.urls.normalize import MAX_HREF_CHARS, NormalizeOptions, WebUrl, normalize, normalize_options, split_base
from tenax.urls.priority import Rank, lag_seconds, queue_positions, url_rank
from tenax.urls.scope import Scope, build_scope, compile_patterns, is_in_scope, parse_seed, site_key
from tenax.urls.traps import find_trap, required_budgets

MAX_REMEMBERED_LINKS = 16_384
MAX_REMEMBERED_CHARS = 1024
URL_LIST_LEAD_SECONDS = 1980.0
"""A sitemap or a feed comes before all other URLs of its level that were found at the same time."""
MAX_AGE_DAYS = 1000.0
MAX_HREFS_PER_LINK = 10
"""How many hrefs are read for each link that may be taken: a page with a million links to other hosts is not read to
its end."""

_USER_SOURCES = frozenset({Source.SEED, Source.REPLAY})
"""A person named these URLs."""
_RULES_BEFORE_DEPTH = frozenset({"scheme", "invalid", "scope", "include", "exclude"})


class Rules(Value, frozen=True, cache_hash=True):
    """Everything that admission depends on; stored with the crawl and sent to the readers."""

    seeds: tuple[str, ...]
    scope: Scope
    year: int
    """The current year, for calendar traps."""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_depth: int = 10
    max_links_per_page: int = 1000
    urls: UrlsConfig = UrlsConfig()
    moved_to: tuple[str, ...] = ()
    """Redirect targets of seeds. They are in scope like the seeds themselves, whatever the scope is."""
    revision: int = 0
    """How often the rules have changed since the crawl began. At 0, no admitted task needs to be checked again."""


class LinkDecision(NamedTuple):
    """What is known about a link, on whichever page of the site it is."""

    url: str
    """Normalized; the href itself if it is not an http(s) URL."""
    origin: str
    refusal: str | None
    rank: Rank
    budgets: tuple[Budget, ...]
    lag_seconds: float = 0.0


class AdmittedLinks(NamedTuple):
    """The links of a page, after the rules were applied."""

    candidates: tuple[Candidate, ...]
    """Each URL once, without the page itself."""
    refusals: dict[str, int]
    """The number of refusals, by reason."""
    known: set[str]
    """Links to known URLs: neither candidates nor refused, but they count towards the page's limit."""
    targets: list[str | None]
    """The target of each link, as from `link_targets`, up to the last one read."""


def build_rules(seeds: Sequence[str], config: Config, year: int, moved_to: Sequence[str] = ()) -> Rules:
    """The rules of a crawl. Raises `UsageError` for a seed that is not a URL, `ConfigError` for an invalid pattern."""
    spelling = normalize_options(config.urls)
    urls = [parse_seed(seed, spelling) for seed in seeds]
    compile_patterns((*config.crawl.include, *config.crawl.exclude))
    return Rules(
        seeds=tuple(dict.fromkeys(url.url for url in urls)),
        scope=build_scope([*urls, *(parse_seed(url, spelling) for url in moved_to)], config.crawl.scope),
        year=year,
        include=config.crawl.include,
        exclude=config.crawl.exclude,
        max_depth=config.crawl.max_depth,
        max_links_per_page=config.crawl.max_links_per_page,
        urls=config.urls,
        moved_to=tuple(moved_to),
    )


def seed_candidates(rules: Rules) -> tuple[Candidate, ...]:
    """The seeds as candidates. A person named them, so no rule is checked."""
    urls = (normalize(seed, None, normalize_options(rules.urls)) for seed in rules.seeds)
    return tuple(Candidate(url.url, url.origin, 0, Priority.HIGH, Source.SEED) for url in urls if url is not None)


def url_refusal(rules: Rules, url: WebUrl, depth: int) -> str | None:
    """The first rule that refuses this URL at this depth, or None. For URLs that were not links of a page."""
    checker = _rule_checker(rules)
    reason = checker.rule_refusal(url)
    return reason or ("depth" if depth > rules.max_depth else checker.trap_refusal(url))


def redirect_refusal(rules: Rules, url: WebUrl, depth: int) -> str | None:
    """The first rule that refuses the target of a redirect. The target of a seed, at depth 0, need not match
    `include`."""
    checker = _rule_checker(rules)
    reason = checker.rule_refusal(url)
    if reason == "include" and depth == 0:
        reason = checker.rule_refusal(url, is_included=True)
    return reason or ("depth" if depth > rules.max_depth else checker.trap_refusal(url))


def task_refusal(rules: Rules, task: Task) -> str | None:
    """The rule that refuses an admitted task after the rules have changed; None for tasks that no rule applies to."""
    if task.is_url_list or task.depth == 0 or task.source in _USER_SOURCES:
        return None
    url = normalize(task.url, None, normalize_options(rules.urls))
    return "invalid" if url is None else url_refusal(rules, url, task.depth)


def links_with_limits(rules: Rules, page_url: str, depth: int, links: Iterable[tuple[str, bool]]) -> dict[str, str]:
    """The links of a stored page that no rule refuses. The value of a link is `depth` if it is too deep, else empty.

    `links` are normalized URLs, each with whether it is marked nofollow. Nofollow links are left out.
    """
    checker = _rule_checker(rules)
    limit = "depth" if depth + 1 > rules.max_depth else ""
    found: dict[str, str] = {}
    for url, is_nofollow in links:
        is_new = not is_nofollow and url != page_url and url not in found
        if is_new and checker.check_url(url, page_url).refusal is None:
            found[url] = limit
    return found


def url_budgets(rules: Rules, url: str) -> tuple[Budget, ...]:
    """The budgets that admitting this normalized URL uses up."""
    return _rule_checker(rules).check_url(url, url).budgets


def admit_links(
    rules: Rules,
    page: FoundOn,
    hrefs: Sequence[str],
    is_nofollow: Sequence[bool] = (),
    known_urls: KnownUrls = NO_URLS,
) -> AdmittedLinks:
    """`hrefs` are as written in the page; `is_nofollow` says of each whether it is marked so, empty if none is."""
    checker = _rule_checker(rules)
    base, (known, known_before) = page.base, known_urls
    here, directory = split_base(base) or ("", "")
    rooted, relative = checker.cached_links(here, directory)
    page_url, below = page.via or "", page.depth + 1
    is_too_deep = below > rules.max_depth
    standings = queue_positions(below)
    most = rules.max_links_per_page
    candidates: list[Candidate] = []
    refusals: dict[str, int] = {}
    seen = {page_url}
    left_out: set[str] = set()
    read = hrefs[: most * MAX_HREFS_PER_LINK]
    # Most links are written as we would write them, and halfway through a site most of them are known.
    plain = [here + href if href[:1] == "/" != href[1:2] else _plain_url(href, directory) for href in read]
    unknown = [number for number, url in enumerate(plain) if url not in known and url not in known_before]
    targets: list[str | None] = [*plain]
    judges_all = bool(is_nofollow) or len(read) > most  # marks of known links matter, or the order for the limit
    if not judges_all:
        left_out |= set(plain).difference([plain[number] for number in unknown])
    for number in range(len(read)) if judges_all else unknown:
        url, href = plain[number], read[number]
        if url not in known and url not in known_before:
            link = rooted.get(href) or relative.get(href) or checker.check_link(href, base, rooted, relative)
            url = link[0]
            targets[number] = url if link[1] else None
        if is_nofollow and is_nofollow[number]:
            refusals["nofollow"] = refusals.get("nofollow", 0) + 1
            continue
        if url in known or url in known_before:
            left_out.add(url)
            continue
        if url in seen:
            continue
        seen.add(url)
        _, origin, reason, rank, budgets, behind = link
        if is_too_deep and reason not in _RULES_BEFORE_DEPTH:
            reason = "depth"
        elif reason is None and len(candidates) + len(left_out) - (page_url in left_out) >= most:
            reason = "max_links_per_page"
        if reason is None:
            priority, lead = standings[rank]
            candidates.append(
                Candidate(
                    url, origin, below, priority, page.source, via=page_url, budgets=budgets, lead_seconds=lead - behind
                )
            )
        else:
            refusals[reason] = refusals.get(reason, 0) + 1
    if unread := len(hrefs) - len(read):
        refusals["max_links_per_page"] = refusals.get("max_links_per_page", 0) + unread
    return AdmittedLinks(tuple(candidates), refusals, left_out, targets)


def url_list_candidate(
    rules: Rules, href: str, found_on: FoundOn, budget: Budget, *, is_named: bool = False
) -> Candidate | None:
    """A sitemap or a feed as a candidate; None if it is not a URL, or is on a host that the seeds do not name.

    Patterns and depth are not checked, because a URL list is not a page. A sitemap that `is_named` by robots.txt may be
    on any host.
    """
    checker = _rule_checker(rules)
    url = normalize(href, found_on.base, checker.normalize_options)
    if url is None or len(url.url) > rules.urls.max_length or not (is_named or is_seed_host(rules, url)):
        return None
    return Candidate(
        url.url, url.origin, found_on.depth, Priority.MEDIUM, found_on.source, via=found_on.via, budgets=(budget,),
        lead_seconds=URL_LIST_LEAD_SECONDS, is_url_list=True,
    )  # fmt: skip


def guess_candidate(rules: Rules, guess: str, depth: int, source: Source, via: str) -> Candidate | None:
    """A guessed URL as a candidate; None if the rules refuse it."""
    link = _rule_checker(rules).check_url(guess, via)
    if link.refusal is not None or depth > rules.max_depth:
        return None
    return Candidate(link.url, link.origin, depth, Priority.DISCOVERY, source, via=via, budgets=link.budgets)


def is_seed_host(rules: Rules, url: WebUrl) -> bool:
    """Whether the host of this URL is that of a seed, or of a seed's redirect target, whatever the path."""
    scope = rules.scope
    if scope.name == "host":
        return site_key(url) in scope.hosts
    if scope.name == "domain":
        return is_in_scope(scope, url)
    return site_key(url) in _rule_checker(rules).seed_sites


class ListedUrl(NamedTuple):
    """A URL listed by a sitemap or a feed."""

    url: str
    at: float | None = None
    """When the URL was published or changed, if this is declared."""
    changefreq: str = ""


def admit_url_list(
    rules: Rules, document: FoundOn, entries: Iterable[ListedUrl], now: float, known_urls: KnownUrls = NO_URLS
) -> tuple[tuple[Candidate, ...], dict[str, int]]:
    """The entries of a sitemap or a feed as candidates, and the number of refusals, by reason.

    See `admit_links`. The caller has limited the entries.
    """
    checker = _rule_checker(rules)
    below, (known, known_before) = document.depth + 1, known_urls
    candidates: dict[str, Candidate] = {}
    refusals: dict[str, int] = {}
    for entry in entries:
        link = checker.check_url(entry.url, document.base)
        if link.url in known or link.url in known_before or link.url in candidates:
            continue
        reason = link.refusal or ("depth" if below > rules.max_depth else None)
        if reason is not None:
            refusals[reason] = refusals.get(reason, 0) + 1
            continue
        days = None if entry.at is None else float(max(int((now - entry.at) // 86_400), 0))
        age = min(days, MAX_AGE_DAYS) if days is not None else None
        priority, lead = queue_positions(below, document.source, age)[link.rank]
        candidates[link.url] = Candidate(
            link.url, link.origin, below, priority, document.source, via=document.via, budgets=link.budgets,
            lead_seconds=lead, changefreq=entry.changefreq,
        )  # fmt: skip
    return tuple(candidates.values()), refusals


def link_targets(rules: Rules, base: str, hrefs: Iterable[str], known_urls: KnownUrls = NO_URLS) -> list[str | None]:
    """The targets of a page's links in normalized spelling, whatever the rules; None: no URL."""
    checker = _rule_checker(rules)
    here, directory = split_base(base) or ("", "")
    rooted, relative = checker.cached_links(here, directory)
    known, known_before = known_urls
    found: list[str | None] = []
    for href in hrefs:
        link = rooted.get(href) or relative.get(href)
        if link is None:
            plain = here + href if href[:1] == "/" != href[1:2] else _plain_url(href, directory)
            if plain in known or plain in known_before:
                found.append(plain)
                continue
            link = checker.check_link(href, base, rooted, relative)
        found.append(link.url if link.origin else None)
    return found


class _RuleChecker:
    """The compiled rules, and their recent decisions."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.normalize_options: NormalizeOptions = normalize_options(rules.urls)
        self.include = compile_patterns(rules.include)
        self.exclude = compile_patterns(rules.exclude)
        self._seeds = frozenset(rules.seeds)
        urls = (normalize(seed, None, self.normalize_options) for seed in (*rules.seeds, *rules.moved_to))
        self.seed_sites = frozenset(site_key(url) for url in urls if url is not None) | rules.scope.hosts
        self._links: dict[str, dict[str, LinkDecision]] = {}
        self._cache_room = MAX_REMEMBERED_LINKS

    def rule_refusal(self, url: WebUrl, *, is_included: bool = False) -> str | None:
        """The first rule before depth that refuses this URL."""
        if not is_in_scope(self.rules.scope, url):
            return "scope"
        if self.include and not is_included and self.include.first_match(url.url) is None:
            return "include"
        if self.exclude and self.exclude.first_match(url.url) is not None:
            return "exclude"
        return None

    def trap_refusal(self, url: WebUrl) -> str | None:
        setting = find_trap(url, self.rules.urls, self.rules.year)
        return f"trap:{setting}" if setting else None

    def cached_links(self, origin: str, directory: str) -> tuple[dict[str, LinkDecision], dict[str, LinkDecision]]:
        """Cached links by href: those that depend only on the origin of the base, and those that depend on its
        directory."""
        if not origin:
            return {}, {}
        if self._cache_room <= 0:
            self._links.clear()
            self._cache_room = MAX_REMEMBERED_LINKS
        is_short = len(directory) <= MAX_REMEMBERED_CHARS
        return self._cached_links_at(origin), self._cached_links_at(directory) if is_short else {}

    def check_link(
        self, href: str, base: str, rooted: dict[str, LinkDecision], relative: dict[str, LinkDecision]
    ) -> LinkDecision:
        """Check a link. Cache the result if its href always means the same URL."""
        link = self._decide(href, base)
        if len(href) > MAX_REMEMBERED_CHARS or len(link.url) > MAX_REMEMBERED_CHARS:
            return link
        if href.startswith(("/", "http://", "https://")):
            rooted[href] = link
            self._cache_room -= 1
        elif (href[:1].isalnum() or href[:1] == ".") and ":" not in href:
            relative[href] = link
            self._cache_room -= 1
        return link

    def check_url(self, url: str, base: str) -> LinkDecision:
        """Check a URL that occurs once. The result is not cached."""
        return self._decide(url, base)

    def _cached_links_at(self, key: str) -> dict[str, LinkDecision]:
        links = self._links.get(key)
        if links is None:
            links = self._links[key] = {}
            self._cache_room -= 1
        return links

    def _decide(self, href: str, base: str) -> LinkDecision:
        url = normalize(href, base, self.normalize_options)
        if url is None:
            return LinkDecision(href, "", _invalid_reason(href), Rank.ORDINARY, ())
        reason = self.rule_refusal(url) or self.trap_refusal(url)
        if reason is not None:
            return LinkDecision(url.url, url.origin, reason, Rank.ORDINARY, ())
        rank = Rank.TOP if url.url in self._seeds else url_rank(url)
        budgets = required_budgets(url, self.rules.urls, site_key(url) in self.seed_sites)
        return LinkDecision(url.url, url.origin, None, rank, budgets, lag_seconds=lag_seconds(url, rank))


@lru_cache(maxsize=4)
def _rule_checker(rules: Rules) -> _RuleChecker:
    return _RuleChecker(rules)


def _plain_url(href: str, directory: str) -> str:
    """The URL of an href that does not start at the root, if the href is in normalized spelling; else empty."""
    if href.startswith(("http://", "https://")):
        return href
    return directory + href if href[:1].isalnum() and ":" not in href else ""


def _invalid_reason(href: str) -> str:
    scheme, colon, _ = href[:32].strip().partition(":")
    if colon and scheme.isascii() and scheme.lower() not in ("http", "https") and scheme[:1].isalpha():
        return "scheme"
    return "trap:max_length" if len(href) > MAX_HREF_CHARS else "invalid"
