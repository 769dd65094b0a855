from __future__ import annotations

import pytest

from tenax.config import Config, CrawlConfig, ScopeName, UrlsConfig
from tenax.urls.admit import Rules, build_rules
from tenax.urls.describe_admission import RuleVerdict, rule_verdicts
from tenax.urls.normalize import WebUrl, normalize, normalize_options
from tenax.urls.traps import find_trap

RULES = build_rules(["https://example.org/"], Config(), 2026)


def web(text: str) -> WebUrl:
    url = normalize(text, None, normalize_options(UrlsConfig()))
    assert url is not None
    return url


def with_crawl(crawl: CrawlConfig, *seeds: str) -> Rules:
    return build_rules(seeds or ["https://example.org/"], Config(crawl=crawl), 2026)


def test_a_url_that_passes() -> None:
    assert rule_verdicts(RULES, web("https://example.org/a"), 1) == [
        RuleVerdict("scope", True, "inside the scope `host`: example.org"),
        RuleVerdict("include", True, "no include patterns are set"),
        RuleVerdict("exclude", True, "no exclude patterns are set"),
        RuleVerdict("depth", True, "1 link from a seed; `crawl.max_depth` is 10"),
        RuleVerdict("trap", True, "looks like no trap"),
    ]


def test_a_url_that_fails_everywhere() -> None:
    rules = with_crawl(CrawlConfig(include=("*.html",), exclude=("*/private/*",), max_depth=2))
    assert rule_verdicts(rules, web("https://other.org/private/a/a/a"), 3) == [
        RuleVerdict("scope", False, "outside the scope `host`: example.org"),
        RuleVerdict("include", False, "matches none of the include patterns: *.html"),
        RuleVerdict("exclude", False, "matches the exclude pattern `*/private/*`"),
        RuleVerdict("depth", False, "3 links from a seed; `crawl.max_depth` is 2"),
        RuleVerdict(
            "trap:max_repeated_segments",
            False,
            "its path repeats itself more than 2 times (`urls.max_repeated_segments`)",
        ),
    ]


def test_patterns_that_let_it_through() -> None:
    rules = with_crawl(CrawlConfig(include=("*.html",), exclude=("*/private/*",)))
    _, include, exclude, depth, _ = rule_verdicts(rules, web("https://example.org/a.html"), 0)
    assert include == RuleVerdict("include", True, "matches the include pattern `*.html`")
    assert exclude == RuleVerdict("exclude", True, "matches no exclude pattern")
    assert depth == RuleVerdict("depth", True, "a seed; `crawl.max_depth` is 10")


@pytest.mark.parametrize(
    ("scope", "why"),
    [
        ("host", "inside the scope `host`: a.org, b.org, c.org and 1 more"),
        ("domain", "inside the scope `domain`: a.org, b.org, c.org and 1 more"),
        ("prefix", "inside the scope `prefix`: a.org/x, b.org, c.org and 1 more"),
        ("any", "the scope is `any`: every host may be visited"),
    ],
)
def test_scopes(scope: ScopeName, why: str) -> None:
    rules = with_crawl(CrawlConfig(scope=scope), "a.org/x/", "b.org", "c.org", "d.org")
    assert rule_verdicts(rules, web("https://d.org/x"), 1)[0] == RuleVerdict("scope", True, why)


@pytest.mark.parametrize("path", ["a" * 3000, "a/" * 30, "x/x/x", "?" + "a&" * 30, "?year=2099"])
def test_every_trap_has_its_sentence(path: str) -> None:
    url = web("https://example.org/" + path)
    setting = find_trap(url, RULES.urls, RULES.year)
    verdict = rule_verdicts(RULES, url, 1)[-1]
    assert verdict.rule == f"trap:{setting}"
    assert not verdict.passed
    assert f"`urls.{setting}`" in verdict.why
    assert str(getattr(RULES.urls, str(setting))) in verdict.why
