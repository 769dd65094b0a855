"""robots.txt by RFC 9309: how a response is parsed, how long it is valid, and what it allows.

`protego` matches the rules (longest match in octets, a tie allows, `*` and `$`). Where it parses differently from the
RFC, `_normalize_rules` rewrites the file first. The rules of long files are indexed.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from urllib.parse import urlsplit

import msgspec
from protego import Protego
from protego._utils import _quote_path

from tenax.config import FetchConfig, PolitenessConfig
from tenax.hosts.robots_index import RuleIndex
from tenax.hosts.throttle import pace_seconds, retry_delay_seconds, start_backoff
from tenax.model import Failed, FailureKind, HostRecord, RobotsCopy, RobotsVerdict, Value

PRODUCT_TOKEN = "tenax"
OUR_NAMES = frozenset({PRODUCT_TOKEN})
"""Names by which a robots.txt addresses us when no other User-Agent is sent; see `product_token`."""
MAX_ROBOTS_BYTES = 500 * 1024
"""RFC 9309, 2.5 requires that at least this much of a file is used. We use exactly this much."""
MAX_ROBOTS_REDIRECTS = 5
"""RFC 9309, 2.3.1.2: at most this many redirects are followed, across hosts too. With more, the file counts as
unavailable."""

_MAX_LINE_CHARS = 16 * 1024
_MAX_UNINDEXED_RULES = 100
_MAX_UNINDEXED_WILDCARDS = 1_000
"""Files with fewer wildcards are matched by protego, which takes microseconds."""

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
# Characters that Python's splitlines() also splits at, and bytes that were not UTF-8.
_UNSAFE_CHARS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029\udc80-\udcff]")
_FIELD = re.compile(
    r"\s*(?:(?P<agent>user[- ]?agent)|sitemaps?|site-map|crawl[- ]delay|(?P<allow>allow)"
    r"|disallow|dissallow|dissalow|disalow|diasllow|disallaw)(?:\s*:|\s)(?P<value>.*)",
    re.IGNORECASE | re.DOTALL,
)
_TOKEN = re.compile(r"[A-Za-z_-]+")
_NAME = re.compile(r"[A-Za-z0-9_.-]*")
_COMMENT = re.compile(r"\(([^()]*)\)")
_BROWSER_NAMES = frozenset({
    "applewebkit", "chrome", "chromium", "crios", "edg", "edge", "firefox", "fxios", "gecko", "headlesschrome", "khtml",
    "like", "mobile", "mozilla", "msie", "opera", "opr", "presto", "safari", "trident", "version",
})  # fmt: skip
"""Products in the User-Agent of browsers. A crawler that imitates a browser adds its own product."""


class RobotsAnswer(Value, frozen=True):
    """The response to /robots.txt, after redirects."""

    status: int
    body: bytes = b""
    content_type: str = ""
    retry_after_seconds: float | None = None
    """The host's Retry-After with a 429 or 503, already limited."""


class RobotsUnreachable(Value, frozen=True):
    """No usable response: a network error, a decompression bomb, a forbidden address."""

    why: str


class RobotsRedirectFailed(Value, frozen=True):
    """Too many redirects, or one without a target."""

    status: int


RobotsResult = RobotsAnswer | RobotsUnreachable | RobotsRedirectFailed


def make_robots_copy(
    result: RobotsResult, previous: RobotsCopy | None, politeness: PolitenessConfig, now: float
) -> RobotsCopy:
    """The copy to store. If there is no response, the last good copy is used while it is young enough."""
    fresh_until = now + politeness.robots_ttl_seconds
    match result:
        case RobotsRedirectFailed(status):
            return RobotsCopy(
                RobotsVerdict.ALLOW_ALL, now, fresh_until, http_status=status, why="redirects lead nowhere: no rules"
            )
        case RobotsAnswer(status) if 200 <= status < 300:
            why = "an HTML page was sent as robots.txt: no rules" if _is_html(result) else ""
            text = "" if why else decode_robots(result.body)
            return RobotsCopy(RobotsVerdict.RULES, now, fresh_until, text, http_status=status, why=why)
        case RobotsAnswer(status) if 400 <= status < 500 and status != 429:
            return RobotsCopy(RobotsVerdict.ALLOW_ALL, now, fresh_until, http_status=status)
        case RobotsAnswer(status):
            return _unreachable_copy(result, f"HTTP {status}", previous, politeness, now)
        case RobotsUnreachable(why):
            return _unreachable_copy(None, why, previous, politeness, now)


def _unreachable_copy(
    answer: RobotsAnswer | None, why: str, previous: RobotsCopy | None, politeness: PolitenessConfig, now: float
) -> RobotsCopy:
    status, asked = (answer.status, answer.retry_after_seconds) if answer is not None else (None, None)
    retry_at = now + max(politeness.robots_retry_seconds, asked or 0.0)
    if previous is not None and previous.verdict is not RobotsVerdict.UNREACHABLE:
        if now - previous.fetched_at <= politeness.robots_stale_seconds:
            why = f"{why}: using the last good copy"
            return msgspec.structs.replace(previous, expires_at=retry_at, http_status=status, why=why)
    elif previous is not None:
        # Each failure in a row doubles the wait.
        waited = previous.expires_at - previous.fetched_at
        retry_at = max(retry_at, now + min(2 * waited, politeness.robots_max_retry_seconds))
    if politeness.robots_on_unreachable == "allow":
        return RobotsCopy(RobotsVerdict.ALLOW_ALL, now, retry_at, http_status=status, why=f"{why}: allowed by config")
    return RobotsCopy(RobotsVerdict.UNREACHABLE, now, retry_at, http_status=status, why=why)


def decode_robots(body: bytes) -> str:
    """The first 500 KiB as text that any database can store; bytes that are not UTF-8 become `%XX`."""
    body = _first_lines(body)
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = body.decode("utf-16", "replace")
    else:
        text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    text = text.replace("\0", "")  # UTF-16 without a byte order mark becomes ASCII
    text = _UNSAFE_CHARS.sub(_percent_encode, text)
    return _first_lines(text.encode()).decode()


def _first_lines(body: bytes) -> bytes:
    """The first `MAX_ROBOTS_BYTES` bytes, up to the last complete line, because a truncated rule would mean something
    else."""
    if len(body) <= MAX_ROBOTS_BYTES:
        return body
    head = body[:MAX_ROBOTS_BYTES]
    return head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]


def _percent_encode(match: re.Match[str]) -> str:
    return "".join(f"%{octet:02X}" for octet in match[0].encode("utf-8", "surrogateescape"))


def _is_html(answer: RobotsAnswer) -> bool:
    start = answer.body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<body", b"<?xml", b"<!--")):
        return True
    # Some hosts send a real robots.txt as text/html, so the type alone is not enough.
    return "html" in answer.content_type.lower() and start.startswith(b"<")


# ---- rules ------------------------------------------------------------------------------------------------


def product_token(user_agent: str) -> str:
    """The name in this User-Agent by which a robots.txt may address us, in lower case; empty if there is none.

    It is the first product: `foobot` in `FooBot/1.0 (+url)`. If the first product is `Mozilla`, it is the first name
    after `compatible;` in a comment, or else the first product that is not a browser's. If there is neither, it is
    `mozilla`.
    """
    words = map(_NAME.match, _COMMENT.sub(" ", user_agent).split())
    products = [word[0].lower() for word in words if word is not None and word[0]]
    if not products or products[0] != "mozilla":
        return products[0] if products else ""
    named = (name for comment in _COMMENT.findall(user_agent) for name in _compatible_names(comment))
    return next((name for name in (*named, *products) if name not in _BROWSER_NAMES), "mozilla")


def _compatible_names(comment: str) -> list[str]:
    """The first name after `compatible` in a comment: `compatible; FooBot/1.0; +https://foo.example`."""
    parts = [part.strip() for part in comment.lower().split(";")]
    after = parts[parts.index("compatible") + 1 :] if "compatible" in parts else []
    words = [_NAME.match(part) for part in after if "://" not in part]
    return [word[0] for word in words if word is not None and word[0]][:1]


def _normalize_rules(text: str, names: frozenset[str]) -> tuple[str, bool]:
    """The same rules, rewritten so that protego parses them by RFC 9309; and whether there is any Allow.

    - Lines end at CR, LF or CRLF only.
    - A User-agent line names a whole product token: `Tenax/2.0` matches us, `Ten` does not (protego accepts a prefix).
      Groups for any of our names are merged.
    - Records that the RFC does not know must not end a group, so they are removed. Crawl-delay is kept, because we obey
      it.
    """
    lines = []
    has_allow = False
    for line in _LINE_ENDS.split(text):
        field = _FIELD.match(line[:_MAX_LINE_CHARS].partition("#")[0])
        if field is None:
            continue
        if field["agent"] is None:
            lines.append(field[0])
            has_allow = has_allow or (field["allow"] is not None and bool(field["value"].strip()))
        else:
            lines.append(f"User-agent: {_normalize_agent(field['value'].strip(), names)}")
    return "\n".join(lines), has_allow


def _normalize_agent(value: str, names: frozenset[str]) -> str:
    if value == "*" or value[:2] in ("* ", "*\t"):
        return "*"
    # RFC 9309 allows letters, `_` and `-`; some names have digits, too.
    found = (pattern.match(value) for pattern in (_TOKEN, _NAME))
    return PRODUCT_TOKEN if any(one is not None and one[0].lower() in names for one in found) else "another"


class Robots:
    """The rules of one robots.txt that apply to any of our names."""

    def __init__(self, text: str, names: frozenset[str] = OUR_NAMES) -> None:
        prepared, self._has_allow = _normalize_rules(text, names)
        self._rules = Protego.parse(prepared)
        self._index = _build_index(self._rules)

    def __del__(self) -> None:
        # The parser has reference cycles, which only the next full garbage collection frees. A crawl makes one in many
        # hours, and by then has the rules of very many hosts.
        vars(self._rules).clear()

    def can_fetch(self, url: str) -> bool:
        if self._index is None:
            return bool(self._rules.can_fetch(url, PRODUCT_TOKEN))
        is_robots = "/robots.txt" in url and urlsplit(url).path == "/robots.txt"
        return is_robots or self._index.is_allowed(_quote_path(url))

    def crawl_delay(self, max_seconds: float) -> float | None:
        """Seconds between requests, at most `max_seconds`; None when absent or not a number."""
        delay = self._rules.crawl_delay(PRODUCT_TOKEN)
        return None if delay is None else min(float(delay), max_seconds)

    def is_all_disallowed(self) -> bool:
        """Whether no path is allowed. A file with Allow lines is assumed to allow something."""
        return not self._has_allow and not self.can_fetch("/") and not self.can_fetch("/any/other/path")


def _build_index(rules: Protego) -> RuleIndex | None:
    """The index of a long file. It has protego's parsed patterns, which are quoted like URLs, those with precedence
    first."""
    ours = rules._get_matching_rule_set(PRODUCT_TOKEN)
    if ours is None:
        return None
    patterns = [(rule.value._pattern, rule.field == "allow") for rule in ours._rules]
    if (
        len(patterns) <= _MAX_UNINDEXED_RULES
        and sum(pattern.count("*") for pattern, _ in patterns) <= _MAX_UNINDEXED_WILDCARDS
    ):
        return None
    return RuleIndex(patterns)


class _DisallowAll(Robots):
    """The rules of an unreachable robots.txt: complete disallow (RFC 9309, 2.3.1.4).

    The host has not set this rule, so `is_all_disallowed` is false.
    """

    def __init__(self) -> None:
        super().__init__("")

    def can_fetch(self, url: str) -> bool:
        return False

    def is_all_disallowed(self) -> bool:
        return False


_NO_RULES = Robots("")
_DISALLOW_ALL = _DisallowAll()
_CACHE_CHARS = 4 * 1024 * 1024
"""Total size of the files whose rules stay parsed. Parsed rules take ten times the size of the file, so about 40 MB."""


def robots_rules(copy: RobotsCopy, names: frozenset[str] = OUR_NAMES) -> Robots:
    """The rules of this copy for these names; cached."""
    if copy.verdict is RobotsVerdict.UNREACHABLE:
        return _DISALLOW_ALL
    if copy.verdict is RobotsVerdict.ALLOW_ALL or not copy.text:
        return _NO_RULES
    return _CACHE.get(copy.text, names)


class RobotsCache:
    """LRU cache of parsed rules, limited by the total length of their texts, because one text may be very long."""

    def __init__(self, max_chars: int = _CACHE_CHARS) -> None:
        self._max_chars = max_chars
        self._rules: OrderedDict[tuple[str, frozenset[str]], Robots] = OrderedDict()
        self.chars = 0

    def get(self, text: str, names: frozenset[str] = OUR_NAMES) -> Robots:
        key = (text, names)
        rules = self._rules.get(key)
        if rules is not None:
            self._rules.move_to_end(key)
            return rules
        rules = self._rules[key] = Robots(text, names)
        self.chars += len(text)
        while self.chars > self._max_chars and len(self._rules) > 1:
            (oldest, _), _ = self._rules.popitem(last=False)
            self.chars -= len(oldest)
        return rules


_CACHE = RobotsCache()


# ---- the host of a robots.txt -----------------------------------------------------------------------------


def apply_robots(
    record: HostRecord, copy: RobotsCopy, politeness: PolitenessConfig, names: frozenset[str] = OUR_NAMES
) -> HostRecord:
    """The record with this robots.txt, which may address us by any of these names.

    If robots.txt is unreachable, the host backs off until the next attempt to fetch it.
    """
    robots = robots_rules(copy, names)
    record = msgspec.structs.replace(
        record,
        robots=copy,
        crawl_delay_seconds=robots.crawl_delay(politeness.max_crawl_delay_seconds),
        is_allowed=not robots.is_all_disallowed(),
    )
    if copy.verdict is RobotsVerdict.UNREACHABLE:
        return start_backoff(record, copy.expires_at, f"robots.txt unreachable: {copy.why}")
    return record


def robots_failure(copy: RobotsCopy) -> Failed | None:
    """A server error on robots.txt, as a failure of the host: it counts towards an outage like a server error on a
    page.

    A 429 does not count, because the host is up.
    """
    if copy.verdict is not RobotsVerdict.UNREACHABLE or copy.http_status is None or copy.http_status < 500:
        return None
    why = f"robots.txt: HTTP {copy.http_status}"
    return Failed(why, FailureKind.SERVER_ERROR, is_site_wide=True, status=copy.http_status)


def extend_robots_expiry(
    copy: RobotsCopy,
    record: HostRecord,
    politeness: PolitenessConfig,
    now: float,
    requests: int,
    names: frozenset[str] = OUR_NAMES,
) -> RobotsCopy:
    """The copy, valid until after the next request that follows the `requests` of this visit.

    Otherwise a host with an hour or a day between requests would get only requests for robots.txt. An old copy that
    replaces an unreachable robots.txt is not extended beyond its limit.
    """
    delay = robots_rules(copy, names).crawl_delay(politeness.max_crawl_delay_seconds)
    pace = pace_seconds(msgspec.structs.replace(record, crawl_delay_seconds=delay), politeness)
    until = now + pace * (requests + 1)
    if copy.fetched_at < now:
        until = min(until, copy.fetched_at + politeness.robots_stale_seconds)
    if copy.verdict is RobotsVerdict.UNREACHABLE or until <= copy.expires_at:
        return copy
    return msgspec.structs.replace(copy, expires_at=until)


def shorten_robots_retry(copy: RobotsCopy, record: HostRecord, fetch: FetchConfig, now: float) -> RobotsCopy:
    """The copy of an unreachable robots.txt, with the time of the next try.

    The first failures in a row may be temporary, so they are retried like any failed request. After the attempts of one
    URL, the wait is that of an unreachable robots.txt.
    """
    failures = record.failures_in_a_row
    if copy.verdict is not RobotsVerdict.UNREACHABLE or failures + 1 >= fetch.max_attempts:
        return copy
    return msgspec.structs.replace(copy, expires_at=now + retry_delay_seconds(failures, fetch, 0.0))
