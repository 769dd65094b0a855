from __future__ import annotations

import gc
import time
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.config import PolitenessConfig
from tenax.hosts.robots import (
    MAX_ROBOTS_BYTES,
    Robots,
    RobotsAnswer,
    RobotsCache,
    RobotsRedirectFailed,
    RobotsResult,
    RobotsUnreachable,
    decode_robots,
    make_robots_copy,
    product_token,
    robots_rules,
)
from tenax.hosts.robots_index import MAX_COMPARISONS
from tenax.model import RobotsCopy, RobotsVerdict

NOW = 1_000_000.0
POLITE = PolitenessConfig()
SITE = "https://example.org"


def copy(
    asked: RobotsResult, previous: RobotsCopy | None = None, now: float = NOW, polite: PolitenessConfig = POLITE
) -> RobotsCopy:
    return make_robots_copy(asked, previous, polite, now)


# ---- parsing of an answer ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "verdict", "allows", "again_in"),
    [
        (RobotsAnswer(200, b"User-agent: *\nDisallow: /"), RobotsVerdict.RULES, False, 3600),
        (RobotsAnswer(204), RobotsVerdict.RULES, True, 3600),
        (RobotsAnswer(401), RobotsVerdict.ALLOW_ALL, True, 3600),
        (RobotsAnswer(403), RobotsVerdict.ALLOW_ALL, True, 3600),
        (RobotsAnswer(404, b"User-agent: *\nDisallow: /"), RobotsVerdict.ALLOW_ALL, True, 3600),
        (RobotsAnswer(410), RobotsVerdict.ALLOW_ALL, True, 3600),
        (RobotsAnswer(429), RobotsVerdict.UNREACHABLE, False, 60),
        (RobotsAnswer(429, retry_after_seconds=500.0), RobotsVerdict.UNREACHABLE, False, 500),
        (RobotsAnswer(500), RobotsVerdict.UNREACHABLE, False, 60),
        (RobotsAnswer(503), RobotsVerdict.UNREACHABLE, False, 60),
        (RobotsAnswer(999), RobotsVerdict.UNREACHABLE, False, 60),
        (RobotsUnreachable("connection refused"), RobotsVerdict.UNREACHABLE, False, 60),
        (RobotsRedirectFailed(301), RobotsVerdict.ALLOW_ALL, True, 3600),
    ],
)
def test_each_answer_has_its_meaning(
    asked: RobotsResult, verdict: RobotsVerdict, allows: bool, again_in: float
) -> None:
    result = copy(asked)
    assert (result.verdict, result.fetched_at, result.expires_at) == (verdict, NOW, NOW + again_in)
    assert robots_rules(result).can_fetch(f"{SITE}/page") is allows


def test_the_last_good_copy_serves_for_a_day() -> None:
    good = copy(RobotsAnswer(200, b"User-agent: *\nDisallow: /private"))
    later = copy(RobotsAnswer(503), good, NOW + 3600)
    assert (later.verdict, later.text, later.fetched_at) == (RobotsVerdict.RULES, good.text, NOW)
    assert later.expires_at == NOW + 3600 + 60
    assert later.why == "HTTP 503: using the last good copy"
    at_the_end = copy(RobotsUnreachable("connection refused"), later, NOW + 86_400)
    assert at_the_end.verdict is RobotsVerdict.RULES
    over = copy(RobotsUnreachable("connection refused"), at_the_end, NOW + 86_401)
    assert (over.verdict, over.why) == (RobotsVerdict.UNREACHABLE, "connection refused")


def test_a_host_without_rules_keeps_none_while_it_is_away() -> None:
    none = copy(RobotsAnswer(404))
    assert copy(RobotsAnswer(500), none, NOW + 3600).verdict is RobotsVerdict.ALLOW_ALL


def test_asking_an_unreachable_file_grows_rarer() -> None:
    result, now, waits = None, NOW, []
    for _ in range(8):
        result = copy(RobotsAnswer(503), result, now)
        waits.append(result.expires_at - now)
        now = result.expires_at
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600]


def test_an_operator_may_take_silence_for_consent() -> None:
    result = copy(RobotsAnswer(503), polite=PolitenessConfig(robots_on_unreachable="allow"))
    assert (result.verdict, result.expires_at) == (RobotsVerdict.ALLOW_ALL, NOW + 60)
    assert result.why == "HTTP 503: allowed by config"


@pytest.mark.parametrize(
    ("body", "content_type", "is_flagged"),
    [
        (b"<!DOCTYPE html><html><body>User-agent: *\nDisallow: /</body></html>", "text/html", True),
        (b"\xef\xbb\xbf\n <html>\nUser-agent: *\nDisallow: /", "text/plain", True),
        (b"<div>User-agent: *</div>\nUser-agent: *\nDisallow: /", "text/html", True),
        (b"User-agent: *\nDisallow: /", "text/html", False),
        (b"", "text/html", False),
    ],
)
def test_an_html_page_is_no_robots_txt(body: bytes, content_type: str, is_flagged: bool) -> None:
    result = copy(RobotsAnswer(200, body, content_type))
    assert bool(result.why) is is_flagged
    assert robots_rules(result).can_fetch(f"{SITE}/") is (is_flagged or not body)


# ---- bytes to text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: *\nDisallow: /x",
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /x",
        b"User-agent: *\rDisallow: /x\r",
        b"User-agent: *\r\nDisallow: /x\r\n",
        b"User-agent: *\n\r\rDisallow: /x",
        b"User-agent\0: *\nDis\0allow: /x\0",
        "User-agent: *\nDisallow: /x".encode("utf-16"),
        "User-agent: *\nDisallow: /x".encode("utf-16-le"),
        b"  user-AGENT :*  # all\n\tDISALLOW:/x # that",
    ],
)
def test_however_it_is_written(body: bytes) -> None:
    robots = robots_rules(copy(RobotsAnswer(200, body)))
    assert (robots.can_fetch(f"{SITE}/x"), robots.can_fetch(f"{SITE}/y")) == (False, True)


def test_only_the_first_500_kib_count_and_no_rule_is_cut() -> None:
    filler = b"# filler\n" * 60_000
    body = (b"User-agent: *\nDisallow: /early\n" + filler)[: MAX_ROBOTS_BYTES - 12] + b"\nDisallow: /late\n"
    text = decode_robots(body)
    assert len(text.encode()) <= MAX_ROBOTS_BYTES
    robots = Robots(text)
    assert not robots.can_fetch(f"{SITE}/early")
    assert robots.can_fetch(f"{SITE}/late")
    assert robots.can_fetch(f"{SITE}/"), "`Disallow: /` is not what it said"


@given(st.binary(max_size=2000))
def test_any_bytes_become_text_that_can_be_stored(body: bytes) -> None:
    text = decode_robots(body)
    assert "\0" not in text
    assert text.encode().decode() == text
    Robots(text).can_fetch(f"{SITE}/a?b=c")


# ---- RFC 9309, section 2.2 --------------------------------------------------------------------------------

RULES = [
    # the longest match in octets wins
    ("Allow: /p\nDisallow: /", "/page", True),
    ("Disallow: /p\nAllow: /", "/page", False),
    ("Allow: /example/page/\nDisallow: /example/page/disallowed.gif", "/example/page/disallowed.gif", False),
    ("Allow: /example/page/\nDisallow: /example/page/disallowed.gif", "/example/page/", True),
    ("Disallow: /x/page.html\nAllow: /x/", "/x/page.html", False),
    ("Allow: /page\nDisallow: /*.html", "/page.html", False),
    ("Allow: /page\nDisallow: /*.php", "/page.php5", False),
    ("Allow: /page\nDisallow: /*.ph", "/page.php5", True),
    ("Allow: /$\nDisallow: /", "/", True),
    ("Allow: /$\nDisallow: /", "/page.html", False),
    # a tie allows
    ("Disallow: /folder\nAllow: /folder", "/folder/page", True),
    ("Allow: /folder\nDisallow: /folder", "/folder/page", True),
    # no rules, empty rules
    ("Disallow:", "/page", True),
    ("Allow:", "/page", True),
    ("", "/page", True),
    # case matters in paths
    ("Disallow: /Page", "/page", True),
    ("Disallow: /Page", "/Page", False),
    # wildcards and the end
    ("Disallow: /*.gif$", "/a/b.gif", False),
    ("Disallow: /*.gif$", "/a/b.gif?x", True),
    ("Disallow: /fish*", "/fisherman", False),
    ("Disallow: /fish*", "/catfish", True),
    ("Disallow: /*/b/*/d", "/a/b/c/d/e", False),
    ("Disallow: /*/b/*/d", "/a/b/d", True),
    ("Disallow: /this/*/exactly", "/this/path/exactly", False),
    ("Disallow: /a$b", "/a$b", False),
    ("Disallow: *", "/anything", False),
    ("Disallow: /*?", "/a?b", False),
    ("Disallow: /*?", "/a", True),
    ("Disallow: /*?*id=", "/a?x=1&id=2", False),
    # octets and escapes
    ("Disallow: /foo/bar?baz=quz", "/foo/bar?baz=quz", False),
    ("Disallow: /foo/bar/ツ", "/foo/bar/%E3%83%84", False),
    ("Disallow: /foo/bar/%E3%83%84", "/foo/bar/%E3%83%84", False),
    ("Disallow: /foo/bar/%62%61%7A", "/foo/bar/baz", False),
    ("Disallow: /foo/bar/baz", "/foo/bar/%62%61%7A", False),
    ("Disallow: /a%2Fb", "/a/b", True),
    ("Disallow: /a%3cd", "/a%3Cd", False),
    ("Disallow: /path/file-with-a-%2A.html", "/path/file-with-a-*.html", False),
    ("Disallow: /path/file-with-a-%2A.html", "/path/file-with-a-x.html", True),
    ("Disallow: /caf\u2028e", "/caf%E2%80%A8e", False),
    # misspellings people really make
    ("Disalow: /x", "/x", False),
    ("Disallow /x", "/x", False),
    # robots.txt itself is always open
    ("Disallow: /", "/robots.txt", True),
]


@pytest.mark.parametrize(("rules", "path", "expected"), RULES)
def test_rules(rules: str, path: str, expected: bool) -> None:
    text = decode_robots(f"User-agent: tenax\n{rules}\n".encode())
    assert Robots(text).can_fetch(SITE + path) is expected


FILLER = "".join(f"Disallow: /nobody/goes/{number}/here*\n" for number in range(200))
"""Extends a few rules to a long file."""


@pytest.mark.parametrize(("rules", "path", "expected"), RULES)
def test_rules_of_a_long_file(rules: str, path: str, expected: bool) -> None:
    robots = Robots(decode_robots(f"User-agent: tenax\n{rules}\n{FILLER}".encode()))
    assert robots._index is not None
    assert robots.can_fetch(SITE + path) is expected


_PATTERN_SIGNS = st.sampled_from(["a", "b", "ab", "/", "*", "*", "$", "?", "=", ".", "é", "%41", "%2F", "index.html"])
_PATTERNS = st.lists(_PATTERN_SIGNS, max_size=7).map("".join)
_LINES = st.tuples(st.sampled_from(["Allow", "Disallow"]), st.booleans(), _PATTERNS).map(
    lambda line: f"{line[0]}: {'/' if line[1] else ''}{line[2]}\n"
)
_PATHS = st.lists(
    st.sampled_from(["a", "b", "ab", "/", "*", "$", "?", "=", ".", "%C3%A9", "%41", "%2f", "index.html", "robots.txt"]),
    max_size=9,
).map("".join)


@settings(max_examples=500)
@given(st.lists(_LINES, max_size=30), st.lists(_PATHS, min_size=1, max_size=20))
def test_a_long_file_is_obeyed_as_a_walk_through_its_rules_would(lines: list[str], paths: list[str]) -> None:
    robots = Robots("User-agent: *\n" + "".join(lines) + FILLER)
    assert robots._index is not None
    for path in paths:
        url = f"{SITE}/{path}"
        assert robots.can_fetch(url) == robots._rules.can_fetch(url, "tenax"), url


@pytest.mark.parametrize(
    ("line", "most"),
    [
        ("Disallow: /*a{0}*b\n", 500),
        ("Disallow: /shop/*?sort={0}\n", 500),
        ("Disallow: /*?a={0}&*b={0}$\n", 500),
        ("Disallow: /shop/{0}\n", 0),
        ("Allow: /*/{0}/*.html$\n", 500),
    ],
)
def test_a_url_is_compared_with_few_of_24_000_rules(line: str, most: int) -> None:
    robots = Robots(("User-agent: *\n" + "".join(line.format(number) for number in range(24_000)))[:MAX_ROBOTS_BYTES])
    assert robots._index is not None
    for number in range(30):
        url = f"{SITE}/shop/{number * 739}/a{number * 311}-b/page.html?sort={number * 57}&a={number * 613}"
        assert robots.can_fetch(url) == robots._rules.can_fetch(url, "tenax"), url
        assert robots._index.comparisons <= most


def test_a_url_that_a_host_makes_costly_is_closed() -> None:
    """Thousands of rules that almost match a path made for them."""
    lines = (f"Disallow: /*{'*'.join(format(number, '017b'))}*2$\n" for number in range(12_000))
    robots = Robots(("User-agent: *\n" + "".join(lines))[:MAX_ROBOTS_BYTES])
    assert robots._index is not None
    assert not robots.can_fetch(f"{SITE}/" + "01" * 900 + "2x")
    assert robots._index.comparisons < MAX_COMPARISONS + 1_000
    assert robots.can_fetch(f"{SITE}/an/honest/page"), "and no other is"


GROUPS = [
    # the product token, whole, in any case
    ("User-agent: tenax\nDisallow: /", False),
    ("User-agent: TENAX\nDisallow: /", False),
    ("User-agent: Tenax/1.0\nDisallow: /", False),
    ("User-agent: Tenax crawler\nDisallow: /", False),
    ("User-agent: ten\nDisallow: /", True),
    ("User-agent: t\nDisallow: /", True),
    ("User-agent: tenaxbot\nDisallow: /", True),
    ("User-agent: tenax-news\nDisallow: /", True),
    ("User-agent: x-tenax\nDisallow: /", True),
    ("User-agent: tenax*\nDisallow: /", False),
    # `*` only when no group is ours
    ("User-agent: *\nDisallow: /", False),
    ("User-agent: *\nDisallow: /\n\nUser-agent: tenax\nAllow: /", True),
    ("User-agent: tenax\nDisallow:\n\nUser-agent: *\nDisallow: /", True),
    ("User-agent: tenax\nDisallow: /\n\nUser-agent: *\nAllow: /page-and-more", False),
    ("User-agent: *\nAllow: /\n\nUser-agent: other\nDisallow: /", True),
    # several lines open one group
    ("User-agent: other\nUser-agent: tenax\nDisallow: /", False),
    ("User-agent: tenax\n\nUser-agent: other\nDisallow: /", False),
    ("User-agent: tenax\n# note\n\n\nDisallow: /", False),
    # groups for one token are one
    ("User-agent: tenax\nDisallow: /a\n\nUser-agent: other\nAllow: /\n\nUser-agent: tenax\nDisallow: /p", False),
    ("User-agent: *\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\nUser-agent: *\nDisallow: /page", False),
    # records of other standards neither end a group nor begin one
    ("User-agent: tenax\nSitemap: https://example.org/s.xml\nUser-agent: other\nDisallow: /", False),
    ("User-agent: tenax\nNoindex: /x\nUser-agent: other\nDisallow: /", False),
    ("User-agent: tenax\nHost: example.org\nDisallow: /", False),
    ("User-agent: tenax\nClean-param: ref /\nDisallow: /", False),
    # rules before any group belong to nobody
    ("Disallow: /\nUser-agent: tenax\nAllow: /", True),
    ("Disallow: /", True),
    # but Crawl-delay is a rule of its group, as its authors intend
    ("User-agent: *\nCrawl-delay: 10\n\nUser-agent: other\nDisallow: /", True),
]


@pytest.mark.parametrize(("text", "expected"), GROUPS)
def test_groups(text: str, expected: bool) -> None:
    assert Robots(text).can_fetch(f"{SITE}/page") is expected


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("0.5", 0.5), ("30", 30.0), ("86400", 86400.0), ("86401", 86400.0), ("1e9", 86400.0), ("-1", None), ("abc", None)],
)
@pytest.mark.parametrize("agent", ["*", "Tenax"])
def test_crawl_delay(value: str, seconds: float | None, agent: str) -> None:
    assert Robots(f"User-agent: {agent}\nCrawl-delay: {value}").crawl_delay(86_400.0) == seconds


@pytest.mark.parametrize("value", ["nan", "inf", "", "1 2"])
def test_crawl_delay_that_is_no_number(value: str) -> None:
    assert Robots(f"User-agent: *\nCrawl-delay: {value}").crawl_delay(86_400.0) is None


def test_a_hostile_file_takes_bounded_time() -> None:
    began = time.process_time()
    for text in (
        "User-agent: *\n" + "Disallow: /" + "*a" * 250_000,
        "User-agent: *\n" + "Disallow: /*a*b*c\n" * 28_000,
        "User-agent: a\n" * 36_000,
        "User-agent:" + " " * 500_000 + "*",
        "Disallow" + " " * 500_000,
        ":" * 500_000,
    ):
        Robots(text[:MAX_ROBOTS_BYTES]).can_fetch(f"{SITE}/" + "ab" * 1000)
    assert time.process_time() - began < 60, "seconds, or hours"


def test_the_same_text_is_parsed_once() -> None:
    first = RobotsCopy(RobotsVerdict.RULES, 0, 1, "User-agent: *\nDisallow: /once")
    second = RobotsCopy(RobotsVerdict.RULES, 5, 6, "User-agent: *\nDisallow: /once")
    assert robots_rules(first) is robots_rules(second)


def test_what_is_not_kept_is_gone_at_once() -> None:
    """Not at the next full collection, which takes hours in a crawl."""
    gc.disable()
    try:
        robots = Robots("User-agent: *\nDisallow: /x")
        rules = weakref.ref(robots._rules._user_agents["*"])
        assert rules() is not None
        del robots
        assert rules() is None
    finally:
        gc.enable()


def test_what_is_kept_parsed_is_bounded_and_what_was_asked_for_last_stays() -> None:
    shelf = RobotsCache(max_chars=1000)
    texts = [f"User-agent: *\nDisallow: /{number:04}" for number in range(100)]
    first = shelf.get(texts[0])
    for text in texts:
        shelf.get(text)
        assert shelf.get(texts[0]) is first
        assert shelf.chars <= 1000
    huge = "#" * 5000
    assert shelf.get(huge) is shelf.get(huge), "at least one is kept, of any size"
    assert shelf.chars == 5000


# ---- the product token ------------------------------------------------------------------------------------

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("Tenax/1.0 (+https://example.org)", "tenax"),
        ("FooBot", "foobot"),
        ("FooBot/1.0 (+https://foo.example/bot)", "foobot"),
        ("foo-bot_2/1.0", "foo-bot_2"),
        ("Mozilla/5.0 (compatible; FooBot/1.0; +https://foo.example)", "foobot"),
        ("Mozilla/5.0 (compatible;FooBot/1.0)", "foobot"),
        ("Mozilla/5.0 (compatible; +https://foo.example; FooBot 1.0)", "foobot"),
        ("Mozilla/5.0 (compatible; https://foo.example; FooBot/1.0)", "foobot"),
        (CHROME.replace("Gecko)", "Gecko; compatible; FooBot/2.1; +https://foo.example)"), "foobot"),
        (f"{CHROME} (compatible; FooBot/2.1)", "foobot"),
        (f"{CHROME} FooBot/1.0", "foobot"),
        (CHROME, "mozilla"),
        ("Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)", "mozilla"),
        ("Mozilla/5.0", "mozilla"),
        ("(no product)", ""),
        ("", ""),
        ("((((((", ""),
    ],
)
def test_the_product_token_of_a_user_agent(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token


def test_groups_for_any_of_our_names_hold_together() -> None:
    text = "User-agent: FooBot2/7\nDisallow: /foo\n\nUser-agent: TENAX\nDisallow: /tenax\n\n"
    text += "User-agent: *\nDisallow: /\n"
    for names, closed in [({"foobot2", "tenax"}, "foo tenax"), ({"tenax"}, "tenax"), ({"bar"}, "foo tenax open")]:
        robots = Robots(text, frozenset(names))
        found = [path for path in ("foo", "tenax", "open") if not robots.can_fetch(f"{SITE}/{path}")]
        assert " ".join(found) == closed, names


def test_rules_are_kept_apart_by_the_names_they_are_read_for() -> None:
    found = copy(RobotsAnswer(200, b"User-agent: foobot\nDisallow: /\n"))
    assert robots_rules(found).can_fetch(f"{SITE}/x")
    assert not robots_rules(found, frozenset({"tenax", "foobot"})).can_fetch(f"{SITE}/x")
