from __future__ import annotations

import pickle
from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.config import Config, CrawlConfig, UrlsConfig
from tenax.errors import ConfigError, UsageError
from tenax.model import Budget, Candidate, Priority, Source
from tenax.urls import FoundOn, KnownUrls, admit
from tenax.urls.admit import Rules, admit_links, build_rules, link_targets, seed_candidates, url_refusal
from tenax.urls.describe_admission import rule_verdicts
from tenax.urls.normalize import normalize, normalize_options

PAGE = "https://example.org/news/today"
ON_PAGE = FoundOn(PAGE, 0, via=PAGE)
RULES = build_rules(["https://example.org/"], Config(), 2026)


def urls(candidates: Iterable[Candidate]) -> list[str]:
    return [candidate.url for candidate in candidates]


def with_crawl(crawl: CrawlConfig, *seeds: str) -> Rules:
    return build_rules(seeds or ["https://example.org/"], Config(crawl=crawl), 2026)


# ---- rules ------------------------------------------------------------------------------------------------


def test_rules_take_everything_from_the_config() -> None:
    crawl = CrawlConfig(scope="domain", max_depth=3, include=("*a*",), exclude=("*b*",), max_links_per_page=7)
    rules = build_rules(["example.org", "https://example.org/#top", "x.net:8080"], Config(crawl=crawl), 2026)
    assert rules.seeds == ("https://example.org/", "http://x.net:8080/")
    assert rules.scope.domains == {"example.org", "x.net"}
    assert (rules.max_depth, rules.include, rules.exclude) == (3, ("*a*",), ("*b*",))
    assert (rules.max_links_per_page, rules.urls, rules.year) == (7, UrlsConfig(), 2026)


def test_rules_travel() -> None:
    rules = with_crawl(CrawlConfig(scope="prefix", include=("*",)), "https://a.org/x/", "https://b.org/")
    assert msgspec.json.decode(msgspec.json.encode(rules), type=Rules) == rules
    copy = pickle.loads(pickle.dumps(rules))
    assert copy == rules
    assert hash(copy) == hash(rules)


def test_bad_seeds_and_patterns_stop_at_once() -> None:
    with pytest.raises(UsageError, match="not a URL"):
        build_rules(["https://example.org/", "nonsense"], Config(), 2026)
    with pytest.raises(UsageError, match="`ftp`"):
        build_rules(["ftp://example.org/"], Config(), 2026)
    with pytest.raises(ConfigError, match="missing"):
        with_crawl(CrawlConfig(exclude=("/(/",)))


def test_seed_candidates() -> None:
    rules = with_crawl(CrawlConfig(exclude=("*",)), "example.org", "https://b.org:8443/archive?page=2")
    assert seed_candidates(rules) == (
        Candidate("https://example.org/", "https://example.org", 0, Priority.HIGH, Source.SEED),
        Candidate("https://b.org:8443/archive?page=2", "https://b.org:8443", 0, Priority.HIGH, Source.SEED),
    )


# ---- links ------------------------------------------------------------------------------------------------


def test_an_candidate_carries_what_the_database_needs() -> None:
    candidates, refusals, *_ = admit_links(RULES, FoundOn(PAGE, 2, via=PAGE), ["/shop?color=red&utm_source=x#top"])
    assert refusals == {}
    assert candidates == (
        Candidate(
            url="https://example.org/shop?color=red",
            origin="https://example.org",
            depth=3,
            priority=Priority.MEDIUM,
            source=Source.LINK,
            via=PAGE,
            budgets=(Budget("facets_per_path", "/shop", 500),),
            lead_seconds=(56 - 34) * 60.0,
        ),
    )


def test_priorities_follow_depth_and_rank() -> None:
    hrefs = ["/", "/a", "/about", "/news?page=2"]
    by_depth = {
        depth: [
            candidate.priority.name[0] for candidate in admit_links(RULES, FoundOn(PAGE, depth, via=PAGE), hrefs)[0]
        ]
        for depth in (0, 1, 2, 5, 9)
    }
    assert {depth: "".join(letters) for depth, letters in by_depth.items()} == {
        0: "HHHL", 1: "HHHL", 2: "HMML", 5: "HLML", 9: "HLML",
    }  # fmt: skip


def test_a_link_back_to_a_seed_is_high() -> None:
    rules = with_crawl(CrawlConfig(), "https://example.org/archive/")
    candidates, *_ = admit_links(rules, FoundOn(PAGE, 5, via=PAGE), ["/archive/", "/archive/x"])
    assert [candidate.priority for candidate in candidates] == [Priority.HIGH, Priority.LOW]


def test_each_url_once_and_never_the_page_itself() -> None:
    hrefs = ["/a", "/a#x", "https://EXAMPLE.org/a", "../a", "#top", "", PAGE, "today?utm_source=x", "/b"]
    candidates, refusals, *_ = admit_links(RULES, ON_PAGE, hrefs)
    assert urls(candidates) == ["https://example.org/a", "https://example.org/b"]
    assert refusals == {}


def test_links_are_resolved_against_the_base() -> None:
    candidates, *_ = admit_links(
        RULES, FoundOn("https://example.org/x/y/z", 0, via=PAGE), ["a", "../b", "?c", "#d", "//d.org/"]
    )
    assert urls(candidates) == [
        "https://example.org/x/y/a",
        "https://example.org/x/b",
        "https://example.org/x/y/z?c",
        "https://example.org/x/y/z",
    ]
    assert {candidate.via for candidate in candidates} == {PAGE}


def test_what_a_long_base_makes_of_links_is_not_remembered() -> None:
    rules = build_rules(["https://example.org/long/"], Config(), 2026)
    base = f"https://example.org/{'b' * 1500}/"
    candidates, *_ = admit_links(rules, FoundOn(base, 0, via=PAGE), [*map(str, range(100)), "/short", "/" + "c" * 1100])
    assert urls(candidates)[0] == f"{base}0"
    kept = admit._rule_checker(rules)._links
    assert sum(len(link.url) for links in kept.values() for link in links.values()) < 100
    assert all(len(name) < 100 for name in kept)


def test_refusals_are_counted_by_reason() -> None:
    rules = with_crawl(CrawlConfig(include=("*example.org/*",), exclude=("*/private*",)))
    hrefs = [
        *("/a", "https://other.org/", "https://other.org/#again", "https://third.org/"),
        *("/private/x", "mailto:a@b.c", " javascript:void(0)", "http://[::1", "https://a b/"),
        *("/x" * 1500, "/a/a/a", "/?year=2099", "https://example.org/" + "x" * 70_000),
    ]
    marked = ["/nofollow", "https://other.org/y", "/a"]
    is_nofollow = [False] * len(hrefs) + [True] * len(marked)
    candidates, refusals, *_ = admit_links(rules, ON_PAGE, hrefs + marked, is_nofollow)
    assert urls(candidates) == ["https://example.org/a"]
    assert refusals == {
        "scope": 2,
        "exclude": 1,
        "scheme": 2,
        "invalid": 2,
        "trap:max_length": 2,
        "trap:max_repeated_segments": 1,
        "trap:calendar_years": 1,
        "nofollow": 3,
    }


def test_include_is_a_reason_too() -> None:
    rules = with_crawl(CrawlConfig(include=("*.html", "/page/"), exclude=("*x.html",)))
    candidates, refusals, *_ = admit_links(rules, ON_PAGE, ["/a.html", "/x.html", "/page", "/other"])
    assert urls(candidates) == ["https://example.org/a.html", "https://example.org/page"]
    assert refusals == {"exclude": 1, "include": 1}


def test_too_deep() -> None:
    rules = with_crawl(CrawlConfig(max_depth=2))
    hrefs = ["/a", "/b", "https://other.org/", "/x/x/x", "mailto:x"]
    candidates, *_ = admit_links(rules, FoundOn(PAGE, 1, via=PAGE), hrefs)
    assert [candidate.depth for candidate in candidates] == [2, 2]
    assert admit_links(rules, FoundOn(PAGE, 2, via=PAGE), hrefs)[:2] == ((), {"depth": 3, "scope": 1, "scheme": 1})


def test_a_page_gives_so_many_links_and_no_more() -> None:
    rules = with_crawl(CrawlConfig(max_links_per_page=3))
    hrefs = [*(f"/{number}" for number in range(10)), "https://other.org/"]
    candidates, refusals, *_ = admit_links(rules, ON_PAGE, hrefs)
    assert urls(candidates) == ["https://example.org/0", "https://example.org/1", "https://example.org/2"]
    assert refusals == {"max_links_per_page": 7, "scope": 1}


def test_a_page_of_foreign_links_is_not_read_to_its_end() -> None:
    rules = with_crawl(CrawlConfig(max_links_per_page=3))
    hrefs = [*(f"https://h{number}.net/" for number in range(100)), "/late"]
    assert admit_links(rules, ON_PAGE, hrefs)[:2] == ((), {"scope": 30, "max_links_per_page": 71})


def test_hosts_below_a_domain_have_a_budget_but_seeds_do_not() -> None:
    rules = with_crawl(CrawlConfig(scope="domain"), "https://www.example.org/")
    candidates, *_ = admit_links(rules, ON_PAGE, ["https://a.example.org/", "http://example.org/x"])
    assert [candidate.budgets for candidate in candidates] == [
        (Budget("hosts_per_domain", "example.org", 1000, counts_hosts=True),),
        (),
    ]


def test_a_useless_base_refuses_but_does_not_fail() -> None:
    assert admit_links(RULES, FoundOn("about:blank", 0, via=PAGE), ["/a", "b"])[:2] == ((), {"invalid": 2})
    assert admit_links(RULES, FoundOn("\ud800", 0, via=PAGE), ["/a"])[:2] == ((), {"invalid": 1})


# ---- caching ----------------------------------------------------------------------------------------------

_HREFS = [
    "/a", "//example.org/b", "https://example.org/c", "http://example.org/d", "a", "a/b", "../a", "./", ".", "..",
    "?x=1", "", "#top", " ?x=2", "\t#x", "https:?x=3", "https:e", "http:?x=4", "http:f", "\\g", " h", "é", "1?x",
    "mailto:x", "x:y", "/\t/example.org/i", "https://example.org", "HTTPS:?x=5", "ht\ntps:?x=6", "a\n?x", ";x", "&",
]  # fmt: skip
_BASES = [
    "https://example.org/", "https://example.org/a", "https://example.org/a/", "https://example.org/a/b?c/d",
    "http://example.org/a/b", "https://example.org:8443/a", "https://www.example.org/q", "https://u@example.org/a/b",
]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(_BASES), st.lists(st.sampled_from(_HREFS), max_size=8)), max_size=12))
@settings(max_examples=200, deadline=None)
def test_memory_changes_no_answer(pages: list[tuple[str, list[str]]]) -> None:
    """Cached decisions equal those of fresh rules."""
    spelling = normalize_options(RULES.urls)
    for base, hrefs in pages:
        page = "https://example.org/elsewhere"
        candidates, refusals, *_ = admit_links(RULES, FoundOn(base, 0, via=page), hrefs)
        fresh = (normalize(href, base, spelling) for href in hrefs)
        allowed = (url.url for url in fresh if url is not None and url_refusal(RULES, url, 1) is None)
        assert urls(candidates) == list(dict.fromkeys(allowed))
        assert (candidates, refusals) == admit_links(RULES, FoundOn(base, 0, via=page), hrefs)[:2]


@given(st.sampled_from(_BASES), st.lists(st.sampled_from(_HREFS), max_size=8), st.sets(st.sampled_from(_HREFS)))
@settings(max_examples=200, deadline=None)
def test_a_link_is_known_by_its_url_however_it_is_written(base: str, hrefs: list[str], before: set[str]) -> None:
    """Exactly the links to known URLs are left out, however they are written."""
    spelling = normalize_options(RULES.urls)
    lookalikes = {"https://example.org//example.org/b", "https://example.org/a/x:y", "https://example.org/https:e"}
    known = {url.url for href in before if (url := normalize(href, base, spelling)) is not None} | lookalikes
    candidates, *_ = admit_links(
        RULES, FoundOn(base, 0, via="https://example.org/elsewhere"), hrefs, (), KnownUrls(known)
    )
    fresh = (normalize(href, base, spelling) for href in hrefs)
    allowed = (url.url for url in fresh if url is not None and url_refusal(RULES, url, 1) is None)
    assert urls(candidates) == list(dict.fromkeys(url for url in allowed if url not in known))


@given(
    base=st.sampled_from([PAGE, "https://example.org/", "https://example.org/a/b/"]),
    hrefs=st.lists(
        st.sampled_from(
            ["x", "/x", "//other.test/", "https://example.org/x?utm_a=1", "../x", "mailto:a@b", "?q=1", "%76"]
        )
    ),
    is_judged_before=st.booleans(),
)
def test_where_links_lead_whatever_is_remembered(base: str, hrefs: list[str], is_judged_before: bool) -> None:
    plainly = [normalize(href, base, normalize_options(RULES.urls)) for href in hrefs]
    wanted = [url.url if url is not None else None for url in plainly]
    if is_judged_before:
        admit_links(RULES, FoundOn(base, 1, via=PAGE), hrefs)
    assert link_targets(RULES, base, hrefs) == wanted
    known = {url for url in wanted if url}
    assert link_targets(RULES, base, hrefs, KnownUrls(known)) == wanted
    for known_now in (set(), known):
        marked = [number % 3 == 0 for number in range(len(hrefs))]
        found = admit_links(RULES, FoundOn(base, 1, via=PAGE), hrefs, marked, KnownUrls(known_now))
        assert found.targets == wanted, "those marked nofollow too"


@given(
    hrefs=st.lists(st.sampled_from(["x", "/x", "/y", "//other.test/", "https://example.org/y", "../x", "?q=1", ""])),
    known=st.sets(st.sampled_from([f"https://example.org{path}" for path in ("/x", "/y", "/news/x", "/news/today")])),
    most=st.integers(1, 9),
)
def test_links_that_are_surely_within_the_limit_are_judged_like_all_others(
    hrefs: list[str], known: set[str], most: int
) -> None:
    rules = with_crawl(CrawlConfig(max_links_per_page=most), "https://example.org/")
    results = []
    for is_nofollow in ([], [False] * len(hrefs)):  # with marks, each link is judged by itself
        results.append(admit_links(rules, ON_PAGE, hrefs, is_nofollow, KnownUrls(known)))
    assert results[0] == results[1]


def test_targets_are_given_for_the_links_that_are_read() -> None:
    rules = with_crawl(CrawlConfig(max_links_per_page=1), "https://example.org/")
    found = admit_links(rules, ON_PAGE, [*(f"/{number}" for number in range(20))])
    assert found.targets == [f"https://example.org/{number}" for number in range(10)]


def test_known_links_are_left_out_but_count() -> None:
    rules = with_crawl(CrawlConfig(max_links_per_page=3), "https://example.org/")
    known = {PAGE, "https://example.org/a", "https://example.org/b"}
    hrefs = [PAGE, "/a", "/a#again", "/c", "/c?", "/b", "/d"]
    candidates, refusals, *_ = admit_links(rules, ON_PAGE, hrefs, (), KnownUrls(known))
    assert (urls(candidates), refusals) == (["https://example.org/c"], {"max_links_per_page": 1})
    candidates, refusals, *_ = admit_links(rules, ON_PAGE, hrefs, (), KnownUrls({PAGE}, known))
    assert (urls(candidates), refusals) == (["https://example.org/c"], {"max_links_per_page": 1})


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admit, "MAX_REMEMBERED_LINKS", 50)
    rules = with_crawl(CrawlConfig(), "https://bounded.org/")
    judge = admit._rule_checker(rules)
    for number in range(100):
        page = f"https://bounded.org/{number}/"
        candidates, *_ = admit_links(rules, FoundOn(page, 0, via=page), [f"/x{number}", f"y{number}", "/nav", "nav"])
        assert len(candidates) == 4
        assert sum(1 + len(links) for links in judge._links.values()) <= 56
    huge = "/" + "x" * 1500
    admit_links(rules, FoundOn(page, 0, via=page), [huge])
    assert all(huge not in links for links in judge._links.values())


@pytest.mark.parametrize("depth", [0, 3, 11])
@pytest.mark.parametrize(
    "path",
    ["/a", "/private", "/a.txt", "/a.html/a.html/a.html", "https://other.org/a.html", "/ok.html", "/?year=2099.html"],
)
def test_refusals_agree_with_the_verdicts(path: str, depth: int) -> None:
    rules = with_crawl(CrawlConfig(include=("*.html",), exclude=("*private*",)))
    url = normalize(path, PAGE, normalize_options(rules.urls))
    assert url is not None
    refused_by = next((verdict.rule for verdict in rule_verdicts(rules, url, depth + 1) if not verdict.passed), None)
    assert url_refusal(rules, url, depth + 1) == refused_by
    candidates, refusals, *_ = admit_links(rules, FoundOn(PAGE, depth, via=PAGE), [path])
    assert refusals == ({refused_by: 1} if refused_by else {})
    assert len(candidates) == (0 if refused_by else 1)
