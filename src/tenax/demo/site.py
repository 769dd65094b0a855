"""The site as a function: the answer to each request, and the pages a correct crawl stores."""

from __future__ import annotations

import re

from tenax.demo import Answer, Request, Site
from tenax.demo.bad_behaviours import behaviour_answer
from tenax.demo.behaviours import host_behaviours, is_rate_limited, robots_txt, stored_paths
from tenax.demo.host_site import build_host_site, page_paths
from tenax.demo.pages import ordinary_page
from tenax.demo.render import PageContext

_SESSION_ID = re.compile(r";jsessionid=[^/]*$")


def respond(site: Site, host_index: int, request: Request, origins: tuple[str, ...]) -> Answer:
    """The answer of this host. `origins` are those of all hosts, in order, such as `http://127.0.0.1:8000`."""
    if request.path == "/robots.txt":
        return Answer(200, robots_txt(site, host_index).encode(), "text/plain; charset=utf-8")
    if is_rate_limited(site, host_index, request.path, request.host_requests):
        return Answer(429, b"Too many requests.", "text/plain", (("Retry-After", "1"),), is_cacheable=False)
    context = _page_context(site, host_index, origins)
    path = _SESSION_ID.sub("", request.path)
    answer = ordinary_page(context, path) or behaviour_answer(context, _with_path(request, path))
    return answer or Answer(404, b"There is no such page here.", "text/plain", is_cacheable=False)


def expected_pages(site: Site, origins: tuple[str, ...]) -> set[str]:
    """The normalised URLs that a correct crawl of all hosts stores: exactly these, each once."""
    return {
        origins[index] + path
        for index in range(site.hosts)
        for path in page_paths(site, index) | stored_paths(site, index)
    }


def _page_context(site: Site, index: int, origins: tuple[str, ...]) -> PageContext:
    host = build_host_site(site, index)
    behaviours = host_behaviours(site, index)
    footer = [("/curiosities", host.theme.labels.curiosities)] if behaviours else []
    if "disallowed" in behaviours:
        footer.append(("/private/accounts", "Accounts"))
    return PageContext(site, host, origins, tuple(footer))


def _with_path(request: Request, path: str) -> Request:
    return Request(path, request.query, request.host_requests, request.path_requests)


__all__ = ["Answer", "Request", "Site", "expected_pages", "respond"]
