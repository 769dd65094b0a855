"""The infinite URL spaces of the discovery site; each answer depends only on the URL."""

from __future__ import annotations

import random
import re
from itertools import product
from urllib.parse import parse_qsl, urlencode

from bench.discover_behaviours import Trap
from bench.discover_pages import paragraph, plain_page, teasers
from bench.discover_site import ITEMS_A_PAGE, Host, Site

FACETS = {
    "colour": ("red", "blue", "green", "black", "white", "brown", "grey", "pink"),
    "size": ("xs", "s", "m", "l", "xl", "xxl"),
    "brand": ("acme", "bolt", "crest", "delta", "ember", "forge", "grove", "haven"),
    "sort": ("price", "name", "newest", "rating"),
}
"""Each is optional: 2,834 selections, without the empty one."""

_CALENDAR = re.compile(r"/calendar/(?P<year>\d{4})/(?P<month>0[1-9]|1[0-2])/")
_SAME_NEXT = re.compile(r"/moments/(?:page/(?P<n>\d{1,9})/)?")
_JUNK_NEXT = re.compile(r"/stream/(?:\?page=(?P<n>\d{1,9}))?")
_FACETS = re.compile(r"/catalogue/(?:\?(?P<query>.+))?")


def trap_page(site: Site, host: Host, target: str) -> str | None:
    """The answer, if the URL is in the trap of this host."""
    match host.behaviour.trap:
        case Trap.CALENDAR if found := _CALENDAR.fullmatch(target):
            return _month(host, int(found["year"]), int(found["month"]))
        case Trap.SAME_NEXT if found := _SAME_NEXT.fullmatch(target):
            return _same(site, host, int(found["n"] or 1))
        case Trap.JUNK_NEXT if found := _JUNK_NEXT.fullmatch(target):
            return _junk(site, host, int(found["n"] or 1))
        case Trap.FACETS if found := _FACETS.fullmatch(target):
            chosen = dict(parse_qsl(found["query"] or ""))
            return _selection(site, host, chosen) if _is_selection(chosen) else None
        case _:
            return None


def selections() -> int:
    """Number of selections, including the empty one."""
    return len(list(product(*((None, *values) for values in FACETS.values()))))


def _month(host: Host, year: int, month: int) -> str:
    count = year * 12 + month - 1
    links = []
    for words, other in (("Previous month", count - 1), ("Next month", count + 1)):
        links.append(f'<a href="/calendar/{other // 12:04}/{other % 12 + 1:02}/">{words}</a>')
    days = "".join(f"<td>{day}</td>" for day in range(1, 29))
    table = f"<table><tr>{days}</tr></table><p>There are no events in this month.</p>"
    return plain_page(host, f"Calendar {year:04}-{month:02}", f"{table}\n<p>{' '.join(links)}</p>")


def _same(site: Site, host: Host, number: int) -> str:
    following = f"/moments/page/{number + 1}/"
    main = (
        f'{teasers(site, host, host.linked[:ITEMS_A_PAGE])}\n<p><a rel="next" href="{following}">Older moments</a></p>'
    )
    return plain_page(host, "Moments", main, f'<link rel="next" href="{following}">')


def _junk(site: Site, host: Host, number: int) -> str:
    dice = random.Random(f"junk {site.seed} {number}")
    text = "\n".join(f"<p>{paragraph(dice)}</p>" for _ in range(8))
    return plain_page(host, "Stream", f'{text}\n<p><a rel="next" href="/stream/?page={number + 1}">Next</a></p>')


def _is_selection(chosen: dict[str, str]) -> bool:
    return all(value in FACETS.get(name, ()) for name, value in chosen.items())


def _selection(site: Site, host: Host, chosen: dict[str, str]) -> str:
    """Some of the same ten items, and links to all selections that differ in one facet."""
    dice = random.Random(f"facets {sorted(chosen.items())}")
    things = dice.sample(host.linked[:ITEMS_A_PAGE], min(4, len(host.linked)))
    links = []
    for name, values in FACETS.items():
        for value in values:
            query = urlencode(sorted((chosen | {name: value}).items())).replace("&", "&amp;")
            links.append(f'<li><a href="/catalogue/?{query}">{name}: {value}</a></li>')
    title = ", ".join(["Catalogue", *chosen.values()])
    return plain_page(host, title, f'<ul class="facets">{"".join(links)}</ul>\n{teasers(site, host, things)}')
