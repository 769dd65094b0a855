"""Where a redirect leads: to a new task, to another spelling of the same URL, or nowhere."""

from __future__ import annotations

import re

from can_ada import parse

from tenax.model import Hop, Value
from tenax.urls.normalize import MAX_HREF_CHARS, NormalizeOptions, normalize

_NOT_UTF8 = re.compile("[\udc80-\udcff]")


class RedirectTarget(Value, frozen=True):
    """Another URL: a candidate with its own host, robots.txt and rate limit."""

    url: str
    origin: str
    chain: tuple[Hop, ...]


class SameUrl(Value, frozen=True):
    """Another spelling of the task's own normalized URL, which the site requires. Requested at once."""

    exact_url: str


class Stop(Value, frozen=True):
    """Not followed."""

    why: str
    to: str = ""
    """The target, if it is a URL."""


def next_hop(
    visit_hops: tuple[Hop, ...],
    chain: tuple[Hop, ...],
    location: str | None,
    max_redirects: int,
    options: NormalizeOptions,
    https_domains: tuple[str, ...] = (),
) -> RedirectTarget | SameUrl | Stop:
    """What a redirect to `location` leads to: another URL, another spelling of the same one, or nothing.

    `visit_hops` are the URLs requested in this visit: that of the task, then other spellings of it. `chain` are the
    hops before this visit. Redirects to http on the `https_domains` and their subdomains are treated as redirects to
    https.
    """
    if not location:
        return Stop("redirect without a target")
    if len(location) > MAX_HREF_CHARS:
        return Stop(f"redirect to a URL of more than {MAX_HREF_CHARS:,} characters")
    exact_url = _resolve_location(location, visit_hops[-1].url, https_domains)
    target = normalize(exact_url, None, options) if exact_url is not None else None
    if exact_url is None or target is None:
        return Stop("redirect to something that is no http or https URL")
    if any(hop.url == exact_url for hop in visit_hops) or any(hop.url == target.url for hop in chain):
        return Stop("redirect loop", target.url)
    if len(chain) + len(visit_hops) > max_redirects:
        return Stop(f"more than {max_redirects} redirects", target.url)
    if target.url == visit_hops[0].url:
        return SameUrl(exact_url)
    return RedirectTarget(target.url, target.origin, (*chain, *visit_hops))


def _resolve_location(location: str, base: str, https_domains: tuple[str, ...]) -> str | None:
    """The absolute URL without fragment and credentials. Bytes that were not UTF-8 arrive as surrogates and are
    escaped."""
    location = _NOT_UTF8.sub(lambda match: f"%{ord(match[0]) - 0xDC00:02X}", location)
    try:
        url = parse(base) + location
    except (ValueError, TypeError):
        return None
    url.username = url.password = ""
    if url.protocol == "http:" and not url.port and _is_in_domains(url.hostname, https_domains):
        url.protocol = "https:"
    return url.href.partition("#")[0]


def _is_in_domains(host: str, domains: tuple[str, ...]) -> bool:
    return any(f".{host}".endswith(f".{domain.lower()}") for domain in domains)
