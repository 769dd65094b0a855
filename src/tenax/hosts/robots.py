"""robots.txt by RFC 9309: how an answer is read, how long it holds, and what it allows us.

`protego` matches the rules (longest match in octets, a tie allows, `*` and `$`). It was held against the RFC's text;
`_normalize_rules` repairs, before it parses, what it reads differently. Long files have an index of their rules.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from urllib.parse import urlsplit

import msgspec
from protego import Protego
from protego._utils import _quote_path

from tenax.config import PolitenessConfig
from tenax.hosts.robots_index import RuleIndex
from tenax.model import RobotsCopy, RobotsVerdict, Value

PRODUCT_TOKEN = "tenax"
OUR_NAMES = frozenset({PRODUCT_TOKEN})
"""Those that a robots.txt may mean us by when no other User-Agent is sent; see `product_token`."""
MAX_ROBOTS_BYTES = 500 * 1024
"""RFC 9309, 2.5: at least this much of a file counts; here, exactly this much."""
MAX_ROBOTS_REDIRECTS = 5
"""RFC 9309, 2.3.1.2: followed this often, across hosts too; beyond, the file counts as unavailable."""

_MAX_LINE_CHARS = 16 * 1024
_MAX_UNINDEXED_RULES = 100
_MAX_UNINDEXED_WILDCARDS = 1_000
"""A file with no more than this is walked through by protego, which takes microseconds."""

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
# What Python's splitlines() would also split at, and bytes that were not UTF-8.
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
"""Products that a browser names; a crawler that looks like one names itself besides them."""


class RobotsAnswer(Value, frozen=True):
    """What came back for /robots.txt, after its redirects."""

    status: int
    body: bytes = b""
    content_type: str = ""
    retry_after_seconds: float | None = None
    """For a 429 or 503: what the host asked for, already capped."""


class RobotsUnreachable(Value, frozen=True):
    """Nothing usable came back: network trouble, a bomb, a forbidden address."""

    why: str


class RobotsRedirectFailed(Value, frozen=True):
    """More redirects than we follow, or one that leads nowhere."""

    status: int


RobotsResult = RobotsAnswer | RobotsUnreachable | RobotsRedirectFailed


def make_robots_copy(
    result: RobotsResult, previous: RobotsCopy | None, politeness: PolitenessConfig, now: float
) -> RobotsCopy:
    """What to remember of the answer. When there is none, the last good copy serves while it is young enough."""
    fresh_until = now + politeness.robots_ttl_seconds
    match result:
        case RobotsRedirectFailed(status):
            return RobotsCopy(
                RobotsVerdict.ALLOW_ALL, now, fresh_until, http_status=status, why="redirects lead nowhere: no rules"
            )
        case RobotsAnswer(status) if 200 <= status < 300:
            why = "an HTML page was sent as robots.txt: no rules" if _is_html(result) else ""
            text = "" if why else decode_robots(result.body)
            return RobotsCopy(RobotsVerdict.RULES, now, fresh_until, text, status, why)
        case RobotsAnswer(status) if 400 <= status < 500 and status != 429:
            return RobotsCopy(RobotsVerdict.ALLOW_ALL, now, fresh_until, http_status=status)
        case RobotsAnswer(status):
            return _unreachable_copy(f"HTTP {status}", status, result.retry_after_seconds, previous, politeness, now)
        case RobotsUnreachable(why):
            return _unreachable_copy(why, None, None, previous, politeness, now)


def _unreachable_copy(
    why: str,
    status: int | None,
    retry_after_seconds: float | None,
    previous: RobotsCopy | None,
    politeness: PolitenessConfig,
    now: float,
) -> RobotsCopy:
    retry_at = now + max(politeness.robots_retry_seconds, retry_after_seconds or 0.0)
    if previous is not None and previous.verdict is not RobotsVerdict.UNREACHABLE:
        if now - previous.fetched_at <= politeness.robots_stale_seconds:
            why = f"{why}: using the last good copy"
            return msgspec.structs.replace(previous, expires_at=retry_at, http_status=status, why=why)
    elif previous is not None:
        # Each refusal in a row doubles the wait.
        waited = previous.expires_at - previous.fetched_at
        retry_at = max(retry_at, now + min(2 * waited, politeness.robots_max_retry_seconds))
    if politeness.robots_on_unreachable == "allow":
        return RobotsCopy(RobotsVerdict.ALLOW_ALL, now, retry_at, http_status=status, why=f"{why}: allowed by config")
    return RobotsCopy(RobotsVerdict.UNREACHABLE, now, retry_at, http_status=status, why=why)


def decode_robots(body: bytes) -> str:
    """The first 500 KiB as text that any store can hold; bytes that are not UTF-8 become `%XX`."""
    body = _first_lines(body)
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = body.decode("utf-16", "replace")
    else:
        text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    text = text.replace("\0", "")  # what is left of UTF-16 without a mark reads as ASCII
    text = _UNSAFE_CHARS.sub(_percent_encode, text)
    return _first_lines(text.encode()).decode()


def _first_lines(body: bytes) -> bytes:
    """What counts, without a last line cut in the middle: half a rule is another rule."""
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
    # Some hosts label a real robots.txt text/html, so the label alone is not enough.
    return "html" in answer.content_type.lower() and start.startswith(b"<")


# ---- what it allows ---------------------------------------------------------------------------------------


def product_token(user_agent: str) -> str:
    """The name that a site sees in this User-Agent and may use in its robots.txt, in lower case; empty: it has none.

    The first product (`FooBot/1.0 (+url)`). Behind `Mozilla/5.0`, the first name after `compatible;` in a comment, or
    else the first product that is not a browser's. A browser's own User-Agent is `mozilla`.
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
    """The same rules, spelled so that protego reads them as RFC 9309 does; and whether any Allow is among them.

    - Lines end at CR, LF or CRLF only.
    - A User-agent line names a whole product token: `Tenax/2.0` is us, `Ten` is not (protego takes any beginning).
      Groups for any of our names hold together.
    - Records the RFC does not know must not end a group, so they are left out. Crawl-delay stays: we obey it.
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
    # RFC 9309 knows letters, `_` and `-`; some names have digits all the same.
    found = (pattern.match(value) for pattern in (_TOKEN, _NAME))
    return PRODUCT_TOKEN if any(one is not None and one[0].lower() in names for one in found) else "another"


class Robots:
    """The rules of one robots.txt for us, by whichever of our names."""

    def __init__(self, text: str, names: frozenset[str] = OUR_NAMES) -> None:
        prepared, self._has_allow = _normalize_rules(text, names)
        self._rules = Protego.parse(prepared)
        self._index = _build_index(self._rules)

    def __del__(self) -> None:
        # The parts of a parser refer to each other. Left alone they would stay until the next full collection, which a
        # crawl has once in many hours: by then they are the rules of half the web.
        vars(self._rules).clear()

    def can_fetch(self, url: str) -> bool:
        if self._index is None:
            return bool(self._rules.can_fetch(url, PRODUCT_TOKEN))
        is_robots = "/robots.txt" in url and urlsplit(url).path == "/robots.txt"
        return is_robots or self._index.is_allowed(_quote_path(url))

    def crawl_delay(self, max_seconds: float) -> float | None:
        """Seconds between requests, shortened to `max_seconds`; None when not asked for, or not a number."""
        delay = self._rules.crawl_delay(PRODUCT_TOKEN)
        return None if delay is None else min(float(delay), max_seconds)

    def is_all_disallowed(self) -> bool:
        """True when no path at all is open to us. A file with Allow lines is taken to open something."""
        return not self._has_allow and not self.can_fetch("/") and not self.can_fetch("/any/other/path")


def _build_index(rules: Protego) -> RuleIndex | None:
    """Of a long file, with what protego has made of it: patterns spelled like URLs, those that win first."""
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
    """Unreachable: complete disallow (RFC 9309, 2.3.1.4). That is no rule of the host, so it closes nothing."""

    def __init__(self) -> None:
        super().__init__("")

    def can_fetch(self, url: str) -> bool:
        return False

    def is_all_disallowed(self) -> bool:
        return False


_NO_RULES = Robots("")
_DISALLOW_ALL = _DisallowAll()
_CACHE_CHARS = 4 * 1024 * 1024
"""Of the files whose rules are kept parsed. Parsed, a file takes ten times its size: some 40 MB in all."""


def robots_rules(copy: RobotsCopy, names: frozenset[str] = OUR_NAMES) -> Robots:
    """The rules of this copy for us by these names, parsed once for as long as the host stays active."""
    if copy.verdict is RobotsVerdict.UNREACHABLE:
        return _DISALLOW_ALL
    if copy.verdict is RobotsVerdict.ALLOW_ALL or not copy.text:
        return _NO_RULES
    return _CACHE.get(copy.text, names)


class RobotsCache:
    """Parsed rules, those asked for last; bounded by the length of their texts, for one may be huge."""

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
