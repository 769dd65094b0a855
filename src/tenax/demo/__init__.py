"""A small county on loopback: websites to crawl without the internet, some of them with bad behaviour.

Each host (127.0.0.1, 127.0.0.2, …) is one website with its own name, language and theme: a newspaper, a museum, a
shop, a weather station, a library and a council, then the same again in other towns. Everything is computed from a
`Site`, so the same `Site` is the same county on every machine, and `expected_pages` can say beforehand which pages a
correct crawl holds at its end. `tenax demo`, the soak and the tests all crawl it.

What is promised:

- **Pure.** `site.respond` knows no clock and keeps no state; how often it was asked is handed in.
- **Countable.** Without manners a host has exactly `pages_per_host` pages. Every page is listed by a page that is at
  most two links from its front page, so no order of visits and no depth limit of 4 or more can lose one.
- **Finite.** No trap costs a crawler with the default budgets more than a few dozen requests.

The manners, and what a polite crawler makes of each. *Home* is the host they live on, counted from 0 and wrapped
around when there are fewer hosts. `Site.manners` is `"all"`, `"quick"` (without those marked slow) or `"none"`.

| name | home | the site | the crawler |
|---|---|---|---|
| disallowed | 0 | links to /private/, which robots.txt closes | never asks for it |
| redirect-disallowed | 0 | redirects into /private/ | does not follow |
| missing | 0 | links to two pages that answer 404 | notes it |
| gone | 0 | links to a page that answers 410 | notes it |
| schemes | 0 | links with mailto:, javascript:, tel: and data: | drops them |
| title | 0 | has a script, ANSI escapes and a bidi mark in a title | stores it, shows it inert |
| slow | 0 | answers one page after 2 seconds (slow) | waits and stores it |
| crawl-delay | 1 | asks for 0.2 s between requests (0.05 s when quick) | keeps to it |
| noindex | 1 | marks a page `noindex` | follows its links, does not store it |
| nofollow | 1 | marks a page `nofollow` | stores it, does not follow its links |
| nofollow-links | 1 | marks one link `rel=nofollow` | does not follow that link |
| flaky | 2 | answers one page with 500 twice, then well | tries again and stores it |
| spellings | 2 | links to one page in nine spellings, with sessions and campaigns | stores it once |
| facets | 2 | filters a list by two parameters, in any order | stores each filter once |
| truncated | 2 | closes the connection in the middle of a body | stores nothing |
| rate-limited | 3 | answers its 40th request with 429, Retry-After: 1 | rests, comes back |
| picture | 3 | sends a PNG as text/html | looks at the bytes, stores nothing |
| empty | 3 | answers 200 with no body | stores nothing |
| tag-soup | 3 | has a page of broken markup | stores it, finds its links |
| echo | 4 | has a relative link that grows: /echo/a/b/a/b/a/b/ | stops at the third repetition |
| bomb | 4 | sends 32 MiB of HTML in 32 KB of gzip | stops at its size limit, stores nothing |
| feed | 4 | offers an RSS feed as an alternate | does not take it for a page |
| drip | 4 | sends a byte every half second for ever (slow) | gives up at its deadline |
| redirect-chain | 5 | reaches a page by two redirects | follows, stores the last |
| redirect-loop | 5 | redirects in a circle | stops |
| redirect-inside | 5 | redirects to http://169.254.169.254/ | refuses the address |
| redirect-file | 5 | redirects to file:///etc/passwd | refuses the scheme |
| calendar | 5 | has a calendar without end, far in the future | stays out of it |
| many-links | 5 | puts 1,500 links into that calendar on one page | counts them, follows none |
"""

from __future__ import annotations

from typing import Literal

from tenax.errors import UsageError
from tenax.model import Value

BehaviourSet = Literal["all", "quick", "none"]

MIN_PAGES_PER_HOST = 24
MAX_HOSTS = 250


class Site(Value, frozen=True):
    """A whole county of websites. Everything about it follows from these four."""

    hosts: int = 6
    pages_per_host: int = 64
    """Pages of each host, bad behaviour not counted."""
    seed: int = 1
    behaviours: BehaviourSet = "all"

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= MAX_HOSTS:
            raise UsageError(f"a demo site has 1 to {MAX_HOSTS} hosts, not {self.hosts}")
        if self.pages_per_host < MIN_PAGES_PER_HOST:
            raise UsageError(f"a demo host has at least {MIN_PAGES_PER_HOST} pages, not {self.pages_per_host}")


class Request(Value, frozen=True):
    """What is asked of one host, and how often it was asked before."""

    path: str
    query: str = ""
    host_requests: int = 1
    """Requests to this host so far, this one included, robots.txt not counted."""
    path_requests: int = 1
    """Requests for this path so far, this one included."""


class Answer(Value, frozen=True):
    """What the host sends, and how badly."""

    status: int
    body: bytes = b""
    content_type: str = "text/html"
    headers: tuple[tuple[str, str], ...] = ()
    delay_seconds: float = 0.0
    """Wait this long before the first byte."""
    cut_after_bytes: int | None = None
    """Announce the whole body, send this much of it, and hang up."""
    drip_seconds: float = 0.0
    """After the body, go on for ever: one more byte each time this has passed."""
    is_cacheable: bool = True
    """The same request always gets this answer; it may be kept."""


__all__ = ["Answer", "BehaviourSet", "Request", "Site"]
