from __future__ import annotations

import pytest

from tenax.config import Config, CrawlConfig, ScopeName, UrlsConfig
from tenax.urls.admit import Rules, rules_of
from tenax.urls.describe_admission import Verdict, verdicts
from tenax.urls.normalize import WebUrl, normalize, spelling_of
from tenax.urls.traps import trap

RULES = rules_of(["https://example.org/"], Config(), 2026)


def web(text: str) -> WebUrl:
    url = normalize(text, None, spelling_of(UrlsConfig()))
    assert url is not None
    return url


def with_crawl(crawl: CrawlConfig, *seeds: str) -> Rules:
    return rules_of(seeds or ["https://example.org/"], Config(crawl=crawl), 2026)


def test_a_url_that_passes() -> None:
    assert verdicts(RULES, web("https://example.org/a"), 1) == [
        Verdict("scope", True, "inside the scope `host`: example.org"),
        Verdict("include", True, "no include patterns are set"),
        Verdict("exclude", True, "no exclude patterns are set"),
        Verdict("depth", True, "1 link from a seed; `crawl.max_depth` is 10"),
        Verdict("trap", True, "looks like no trap"),
    ]


def test_a_url_that_fails_everywhere() -> None:
    rules = with_crawl(CrawlConfig(include=("*.html",), exclude=("*/private/*",), max_depth=2))
    assert verdicts(rules, web("https://other.org/private/a/a/a"), 3) == [
        Verdict("scope", False, "outside the scope `host`: example.org"),
        Verdict("include", False, "matches none of the include patterns: *.html"),
        Verdict("exclude", False, "matches the exclude pattern `*/private/*`"),
        Verdict("depth", False, "3 links from a seed; `crawl.max_depth` is 2"),
        Verdict(
            "trap:max_repeated_segments",
            False,
            "its path repeats itself more than 2 times (`urls.max_repeated_segments`)",
        ),
    ]


def test_patterns_that_let_it_through() -> None:
    rules = with_crawl(CrawlConfig(include=("*.html",), exclude=("*/private/*",)))
    _, include, exclude, depth, _ = verdicts(rules, web("https://example.org/a.html"), 0)
    assert include == Verdict("include", True, "matches the include pattern `*.html`")
    assert exclude == Verdict("exclude", True, "matches no exclude pattern")
    assert depth == Verdict("depth", True, "a seed; `crawl.max_depth` is 10")


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
    assert verdicts(rules, web("https://d.org/x"), 1)[0] == Verdict("scope", True, why)


@pytest.mark.parametrize("path", ["a" * 3000, "a/" * 30, "x/x/x", "?" + "a&" * 30, "?year=2099"])
def test_every_trap_has_its_sentence(path: str) -> None:
    url = web("https://example.org/" + path)
    knob = trap(url, RULES.urls, RULES.year)
    verdict = verdicts(RULES, url, 1)[-1]
    assert verdict.rule == f"trap:{knob}"
    assert not verdict.passed
    assert f"`urls.{knob}`" in verdict.why
    assert str(getattr(RULES.urls, str(knob))) in verdict.why
