"""A demo site on loopback: several websites, some with bad behaviour.

Each host (127.0.0.1, 127.0.0.2, …) is one website with its own name, language and theme: a newspaper, a museum, a
shop, a weather station, a library and a council, then the same themes again with other towns. Everything is computed
from a `Site`: the same `Site` gives the same pages on every machine, and `expected_pages` knows in advance which pages
a correct crawl stores. `tenax demo`, the soak test and the tests crawl it.

Promises:

- **Pure.** `server.respond` uses no clock and keeps no state; request counts are parameters.
- **Countable.** Without bad behaviour a host has exactly `pages_per_host` pages. Every page is linked from a page that
  is at most two links from the front page, so no order of visits and no depth limit of 4 or more can lose one.
- **Finite.** No trap costs a crawler with default limits more than a few dozen requests.

The behaviours, and how a polite crawler handles each. *Home* is the host, counted from 0, modulo the number of hosts.
`Site.behaviours` is `"all"`, `"quick"` (without those marked slow) or `"none"`.

| name | home | the site | the crawler |
|---|---|---|---|
| disallowed | 0 | links to /private/, which robots.txt closes | never asks for it |
| redirect-disallowed | 0 | redirects into /private/ | does not follow |
| missing | 0 | links to two pages that answer 404 | records it |
| gone | 0 | links to a page that answers 410 | records it |
| schemes | 0 | links with mailto:, javascript:, tel: and data: | drops them |
| title | 0 | has a script, ANSI escapes and a bidi mark in a title | stores it, shows it sanitized |
| slow | 0 | answers one page after 2 seconds (slow) | waits and stores it |
| crawl-delay | 1 | asks for 0.2 s between requests (0.05 s when quick) | obeys it |
| noindex | 1 | marks a page `noindex` | follows its links, does not store it |
| nofollow | 1 | marks a page `nofollow` | stores it, does not follow its links |
| nofollow-links | 1 | marks one link `rel=nofollow` | does not follow that link |
| flaky | 2 | answers one page with 500 twice, then with 200 | tries again and stores it |
| spellings | 2 | links to one page in nine spellings, with sessions and campaigns | stores it once |
| facets | 2 | filters a list by two parameters, in any order | stores each filter once |
| truncated | 2 | closes the connection in the middle of a body | stores nothing |
| rate-limited | 3 | answers its 40th request with 429, Retry-After: 1 | backs off, tries again |
| picture | 3 | sends a PNG as text/html | checks the bytes, stores nothing |
| empty | 3 | answers 200 with no body | stores nothing |
| tag-soup | 3 | has a page of broken markup | stores it, finds its links |
| echo | 4 | has a relative link that grows: /echo/a/b/a/b/a/b/ | stops at the third repetition |
| bomb | 4 | sends 32 MiB of HTML in 32 KB of gzip | stops at its size limit, stores nothing |
| feed | 4 | links to an RSS feed as an alternate | does not store it as a page |
| drip | 4 | sends a byte every half second for ever (slow) | gives up after its timeout |
| redirect-chain | 5 | reaches a page by two redirects | follows, stores the last |
| redirect-loop | 5 | redirects in a circle | stops |
| redirect-inside | 5 | redirects to http://169.254.169.254/ | refuses the address |
| redirect-file | 5 | redirects to file:///etc/passwd | refuses the scheme |
| calendar | 5 | has an endless calendar, far in the future | does not follow it |
| many-links | 5 | puts 1,500 links into that calendar on one page | counts them, follows none |
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec

from tenax.errors import UsageError
from tenax.model import Value

BehaviourSet = Literal["all", "quick", "none"]

MIN_PAGES_PER_HOST = 24
MAX_HOSTS = 250


class Site(Value, frozen=True):
    """All websites of the demo. These four fields define every page."""

    hosts: int = 6
    pages_per_host: int = 64
    """Pages of each host, without those of bad behaviours."""
    seed: int = 1
    behaviours: BehaviourSet = "all"

    def __post_init__(self) -> None:
        if not 1 <= self.hosts <= MAX_HOSTS:
            raise UsageError(f"a demo site has 1 to {MAX_HOSTS} hosts, not {self.hosts}")
        if self.pages_per_host < MIN_PAGES_PER_HOST:
            raise UsageError(f"a demo host has at least {MIN_PAGES_PER_HOST} pages, not {self.pages_per_host}")


class Request(Value, frozen=True):
    """One request to a host, with request counts."""

    path: str
    query: str = ""
    host_requests: int = 1
    """Requests to this host so far, including this one, without those for robots.txt."""
    path_requests: int = 1
    """Requests for this path so far, including this one."""


class Answer(Value, frozen=True):
    """What the host sends, and how."""

    status: int
    body: bytes = b""
    content_type: str = "text/html"
    headers: tuple[tuple[str, str], ...] = ()
    delay_seconds: float = 0.0
    """Wait for this long before the first byte."""
    cut_after_bytes: int | None = None
    """Announce the whole body, send this much of it, and close the connection."""
    drip_seconds: float = 0.0
    """After the body, send one further byte at this interval, without end."""
    is_cacheable: bool = True
    """The same request always gets this response."""


STOP_TIMEOUT_SECONDS = 5.0


class DemoProcess:
    """`async with DemoProcess(site) as demo:` serves the site while the block runs. `demo.origins` are its hosts.

    The child ends when the pipe to its stdin closes, also if this process is killed. The child has its own session, so
    that Ctrl-C stops the crawl first and the site after it.
    """

    def __init__(self, site: Site, *, port: int = 0, log: Path | None = None, is_warm: bool = False) -> None:
        self.site = site
        self.origins: tuple[str, ...] = ()
        self._options = [
            *("--hosts", str(site.hosts)),
            *("--pages", str(site.pages_per_host)),
            *("--seed", str(site.seed)),
            *("--behaviours", site.behaviours),
            *("--port", str(port)),
            *(() if log is None else ("--log", str(log))),
            *(("--warm",) if is_warm else ()),
        ]
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tenax.demo", *self._options),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=_child_environment(),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        try:
            line = await self._process.stdout.readline()
        except BaseException:
            await self._stop_process(self._process)
            raise
        if not line:
            await self._stop_process(self._process)
            raise UsageError("the demo site could not start; see its message above")
        self.origins = tuple(msgspec.json.decode(line, type=dict[str, list[str]])["origins"])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None:
            await self._stop_process(self._process)
            self._process = None

    async def _stop_process(self, process: asyncio.subprocess.Process) -> None:
        """Close the stdin of the process, wait, and kill it after the timeout."""
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_SECONDS):
                await process.communicate()
        except TimeoutError:
            process.kill()
            await process.communicate()


def _child_environment() -> dict[str, str]:
    """Our environment, with the directory of this package first on PYTHONPATH."""
    here = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))}


__all__ = ["Answer", "BehaviourSet", "Request", "Site"]
