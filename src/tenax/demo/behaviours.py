"""The bad behaviours of the demo site: hosts, links, responses, and the pages that a correct crawl stores."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import lru_cache
from html import escape
from itertools import islice, product
from urllib.parse import parse_qsl

import msgspec

from tenax.demo import Answer, Request, Site
from tenax.demo.host_site import write_article, write_paragraph
from tenax.demo.pages import (
    PageContent,
    PageContext,
    encode_html,
    page_content_type,
    render_items,
    render_link,
    render_page,
    render_paragraphs,
    standalone_page,
)
from tenax.model import Value

CALENDAR_YEAR = 2061
"""The first year of the endless calendar, far in the future."""
RATE_LIMITED_REQUEST = 40
FACETS = {"colour": ("blue", "green", "red"), "size": ("large", "medium", "small")}

COUNTED_PATHS = frozenset({"/moody"})
"""Paths whose response depends on the number of requests."""
REDIRECT_CHAIN = {"/old-address": "/older-address", "/older-address": "/found-at-last"}
REDIRECT_LOOP = {"/round": "/and-round", "/and-round": "/round"}


class Behaviour(Value, frozen=True):
    """One behaviour of one host."""

    name: str
    home_host: int
    links: tuple[str, ...] = ()
    """Links on the curiosities page of its host."""
    expected_paths: tuple[str, ...] = ()
    """Paths with a query that a correct crawl stores because of it."""
    is_slow: bool = False


def _facet_paths() -> tuple[str, ...]:
    colours = ("", *(f"colour={colour}" for colour in FACETS["colour"]))
    sizes = ("", *(f"size={size}" for size in FACETS["size"]))
    queries = ("&".join(part for part in (colour, size) if part) for colour in colours for size in sizes)
    return tuple(f"/finder?{query}" if query else "/finder" for query in queries)


BEHAVIOURS = (
    Behaviour("disallowed", 0, ("/private/accounts", "/private/letters")),
    Behaviour("redirect-disallowed", 0, ("/side-door",)),
    Behaviour("missing", 0, ("/lost", "/lost/and-not-found")),
    Behaviour("gone", 0, ("/closed-for-ever",)),
    Behaviour(
        "schemes", 0, ("mailto:editor@example.org", "javascript:void(0)", "tel:+441632960001", "data:text/html,hi")
    ),
    Behaviour("title", 0, ("/headline",), ("/headline",)),
    Behaviour("slow", 0, ("/patience",), ("/patience",), is_slow=True),
    Behaviour("crawl-delay", 1),
    Behaviour("noindex", 1, ("/unlisted",), ("/quiet/garden",)),
    Behaviour("nofollow", 1, ("/no-further",), ("/no-further",)),
    Behaviour("nofollow-links", 1),
    Behaviour("flaky", 2, ("/moody",), ("/moody",)),
    Behaviour(
        "spellings",
        2,
        (
            "/visit",
            "/visit#map",
            "/./visit",
            "/tags/../visit",
            "/%76isit",
            "/visit?utm_source=letter&utm_medium=mail",
            "/visit?sid=8f14e45f",
            "/visit;jsessionid=0A1B2C3D",
            "/visit?fbclid=IwAR0&gclid=Cj0K",
        ),
        ("/visit",),
    ),
    Behaviour("facets", 2, ("/finder",), _facet_paths()),
    Behaviour("truncated", 2, ("/cut-short",)),
    Behaviour("rate-limited", 3),
    Behaviour("picture", 3, ("/picture",)),
    Behaviour("empty", 3, ("/empty",)),
    Behaviour("tag-soup", 3, ("/soup",), ("/soup", "/soup/spoon", "/soup/bowl")),
    Behaviour("echo", 4, ("/echo/",), ("/echo/", "/echo/a/b/", "/echo/a/b/a/b/")),
    Behaviour("bomb", 4, ("/bomb",)),
    Behaviour("feed", 4, ("/feed.xml",)),
    Behaviour("drip", 4, ("/drip",), is_slow=True),
    Behaviour("redirect-chain", 5, ("/old-address",), ("/found-at-last",)),
    Behaviour("redirect-loop", 5, ("/round",)),
    Behaviour("redirect-inside", 5, ("/cloud",)),
    Behaviour("redirect-file", 5, ("/passwords",)),
    Behaviour("calendar", 5, ("/calendar",), ("/calendar",)),
    Behaviour("many-links", 5, ("/almanac",), ("/almanac",)),
)

BEHAVIOUR_HOSTS = 1 + max(behaviour.home_host for behaviour in BEHAVIOURS)
"""With this many hosts, each behaviour has its own home host. With fewer, behaviours share hosts."""


@lru_cache(maxsize=1024)
def host_behaviours(site: Site, index: int) -> dict[str, Behaviour]:
    """The behaviours of this host, by name."""
    if site.behaviours == "none":
        return {}
    wanted = (behaviour for behaviour in BEHAVIOURS if site.behaviours == "all" or not behaviour.is_slow)
    return {behaviour.name: behaviour for behaviour in wanted if behaviour.home_host % site.hosts == index}


def stored_paths(site: Site, index: int) -> set[str]:
    """Paths that a correct crawl stores because of this host's behaviours."""
    behaviours = host_behaviours(site, index)
    paths = {path for behaviour in behaviours.values() for path in behaviour.expected_paths}
    return paths | {"/curiosities"} if behaviours else paths


def robots_txt(site: Site, index: int) -> str:
    behaviours = host_behaviours(site, index)
    lines = ["# Welcome, and mind the steps.", "User-agent: *"]
    lines.append("Disallow: /private/" if "disallowed" in behaviours else "Disallow:")
    if "crawl-delay" in behaviours:
        lines.append(f"Crawl-delay: {crawl_delay_seconds(site)}")
    return "\n".join(lines) + "\n"


def crawl_delay_seconds(site: Site) -> float:
    """The Crawl-delay. It is shorter for `quick`, so that hosts with many pages do not take long."""
    return 0.2 if site.behaviours == "all" else 0.05


def is_rate_limited(site: Site, index: int, path: str, host_requests: int) -> bool:
    """Whether this request gets a 429. The front page never does, because all other pages are found from it."""
    return (
        host_requests == RATE_LIMITED_REQUEST
        and path not in ("/", "/robots.txt")
        and "rate-limited" in host_behaviours(site, index)
    )


SLOW_SECONDS = 2.0
DRIP_SECONDS = 0.5
BOMB_BYTES = 32 * 1024 * 1024
MANY_LINKS_COUNT = 1500

BehaviourHandler = Callable[[PageContext, Request], Answer]


def behaviour_answer(context: PageContext, request: Request) -> Answer | None:
    """The response of a bad behaviour of this host; None for other paths."""
    behaviours = host_behaviours(context.site, context.host.index)
    if not behaviours:
        return None
    if request.path == "/curiosities":
        return _curiosities_page(context, behaviours)
    if request.path.startswith("/echo/") and "echo" in behaviours:
        return _echo_page(context, request)
    name, handler = _HANDLERS.get(request.path, ("", None))
    return handler(context, request) if handler is not None and name in behaviours else None


def _curiosities_page(context: PageContext, behaviours: dict[str, Behaviour]) -> Answer:
    """The page that links to all bad behaviours of the host. Every footer links to it."""
    parts, head = [], ""
    for behaviour in behaviours.values():
        links = [render_link(href, href) for href in behaviour.links]
        if behaviour.name == "nofollow-links":
            links.append(render_link("/quiet/nook", "/quiet/nook", ' rel="nofollow"'))
        if behaviour.name == "feed":
            head = '\n<link rel="alternate" type="application/rss+xml" href="/feed.xml">'
        parts.append(f"\n  <h2>{behaviour.name}</h2>\n  <ul>{render_items(links)}\n  </ul>")
    title = context.host.theme.labels.curiosities
    return standalone_page(context, "/curiosities", title, extra="".join(parts), head=head)


def _plain_page(context: PageContext, request: Request, extra: str = "", head: str = "", query: str = "") -> Answer:
    title = f"{context.host.theme.labels.curiosities}: {request.path.strip('/')}"
    return standalone_page(context, request.path, title, extra=extra, head=head, query=query)


def _render_link_list(*paths: str) -> str:
    return f"\n  <ul>{render_items(render_link(path, path) for path in paths)}\n  </ul>"


# ---- pages ------------------------------------------------------------------------------------------------


def _hostile_title_page(context: PageContext, request: Request) -> Answer:
    sound = _plain_page(context, request)
    hostile = '<title><script>alert("title")</script> \x1b[31mRed\x1b[0m \x1b]0;owned\x07 \u202eevil "quoted" \'title\''
    body = sound.body.replace(b"<title>", encode_html(context.host, hostile), 1)
    return msgspec.structs.replace(sound, body=body)


def _slow_page(context: PageContext, request: Request) -> Answer:
    return msgspec.structs.replace(_plain_page(context, request), delay_seconds=SLOW_SECONDS)


def _noindex_page(context: PageContext, request: Request) -> Answer:
    return _plain_page(context, request, _render_link_list("/quiet/garden"), '\n<meta name="robots" content="noindex">')


def _nofollow_page(context: PageContext, request: Request) -> Answer:
    return _plain_page(context, request, _render_link_list("/quiet/room"), '\n<meta name="robots" content="nofollow">')


def _flaky_page(context: PageContext, request: Request) -> Answer:
    if request.path_requests <= 2:
        return Answer(500, b"Something went wrong. Please try again.", "text/plain", is_cacheable=False)
    return msgspec.structs.replace(_plain_page(context, request), is_cacheable=False)


def _facets_page(context: PageContext, request: Request) -> Answer:
    """A list with two filters. Links have the parameters in both orders."""
    chosen = {name: value for name, value in parse_qsl(request.query) if value in FACETS.get(name, ())}
    query = "&".join(f"{name}={value}" for name, value in sorted(chosen.items()))
    links = []
    for colour, size in product(("", *FACETS["colour"]), ("", *FACETS["size"])):
        pairs = [f"{name}={value}" for name, value in (("size", size), ("colour", colour)) if value]
        ordered = pairs if (colour, size) > (chosen.get("colour", ""), chosen.get("size", "")) else pairs[::-1]
        links.append(
            render_link("/finder" + ("?" + "&".join(ordered) if ordered else ""), f"{colour} {size}".strip() or "all")
        )
    dice = context.host.page_rng(f"/finder?{query}")
    found = render_paragraphs([write_paragraph(context.host.theme, dice) for _ in range(3)])
    return _plain_page(context, request, f"\n  <ul>{render_items(links)}\n  </ul>{found}", query=query)


def _echo_page(context: PageContext, request: Request) -> Answer:
    return _plain_page(context, request, _render_link_list("a/b/"))


def _calendar_page(context: PageContext, request: Request) -> Answer:
    """A month that links to the next and the previous one, without end."""
    asked = dict(parse_qsl(request.query))
    year, month = _parse_number(asked.get("year"), CALENDAR_YEAR), _parse_number(asked.get("month"), 0)
    later = (year, month + 1) if month < 12 else (year + 1, 1)
    earlier = (year, month - 1) if month > 1 else (year - 1, 12)
    months = _render_link_list(*(f"/calendar?year={year}&month={month}" for year, month in (later, earlier)))
    return msgspec.structs.replace(
        _plain_page(context, request, months, query=request.query), is_cacheable=not request.query
    )


def _parse_number(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 6 else default


def _many_links_page(context: PageContext, request: Request) -> Answer:
    """More links than a crawler follows. They go into the calendar, which is refused, so none of them costs a visit."""
    days = product(range(CALENDAR_YEAR, CALENDAR_YEAR + 6), range(1, 13), range(1, 29))
    links = (f"/calendar?year={y}&month={m}&day={d}" for y, m, d in islice(days, MANY_LINKS_COUNT))
    body = "".join(f"\n  {render_link(href, href[-8:])}" for href in links)
    theme, dice = context.host.theme, context.host.page_rng(request.path)
    return render_page(
        context, PageContent(request.path, "Almanac", render_paragraphs([write_paragraph(theme, dice)]) + body)
    )


def _tag_soup_page(context: PageContext, request: Request) -> Answer:
    """Broken markup: unclosed tags, wrong nesting, odd attributes."""
    theme, dice = context.host.theme, context.host.page_rng(request.path)
    texts = write_article(theme, write_paragraph(theme, dice), dice) + write_article(
        theme, write_paragraph(theme, dice), dice
    )
    lines = "".join(f"<p><b><i>{escape(text, quote=False)}</b></div><td><p" for text in texts)
    links = "<A HREF=/soup/spoon>spoon<a href = '/soup/bowl' href=/lost title=\"a > b\">bowl</p></table>"
    text = f"<html><title>Soup</title><body bgcolor=#fff><table><tr>{links}<!-- > -->{lines}><li><ul></html>"
    return Answer(200, encode_html(context.host, text), page_content_type(context.host))


# ---- other answers ----------------------------------------------------------------------------------------


def _redirect_answer(context: PageContext, request: Request) -> Answer:
    """Redirects with relative and absolute targets, allowed and forbidden."""
    path = request.path
    to = {**REDIRECT_CHAIN, **REDIRECT_LOOP, "/side-door": "/private/accounts"}.get(path)
    if to is None:
        to = {"/cloud": "http://169.254.169.254/latest/meta-data/", "/passwords": "file:///etc/passwd"}[path]
    elif path in ("/old-address", "/round"):
        to = context.origin + to
    return Answer(301 if path in REDIRECT_CHAIN else 302, b"Moved.", "text/plain", (("Location", to),))


def _gone_answer(context: PageContext, request: Request) -> Answer:
    return Answer(410, b"This page has been closed for ever.", "text/plain")


def _private_page(context: PageContext, request: Request) -> Answer:
    return _plain_page(context, request)


def _truncated_page(context: PageContext, request: Request) -> Answer:
    whole = _plain_page(context, request)
    return msgspec.structs.replace(whole, cut_after_bytes=len(whole.body) // 2)


def _drip_page(context: PageContext, request: Request) -> Answer:
    return msgspec.structs.replace(_plain_page(context, request), drip_seconds=DRIP_SECONDS)


def _empty_answer(context: PageContext, request: Request) -> Answer:
    return Answer(200, b"")


def _rss_feed(context: PageContext, request: Request) -> Answer:
    entries = "".join(
        f"<item><title>{escape(article.title)}</title><link>{context.origin}{article.path}</link></item>"
        for article in context.host.articles[:15]
    )
    channel = f"<title>{escape(context.host.name)}</title><link>{context.origin}/</link>{entries}"
    text = f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel>{channel}</channel></rss>'
    return Answer(200, text.encode(), "application/rss+xml; charset=utf-8")


def _gzip_bomb_answer(context: PageContext, request: Request) -> Answer:
    return Answer(200, _gzip_bomb(), "text/html", (("Content-Encoding", "gzip"),))


@lru_cache(maxsize=1)
def _gzip_bomb() -> bytes:
    line = b"<p>Boom.</p>\n" * 1024
    squeeze = zlib.compressobj(9, wbits=31)
    parts = [squeeze.compress(b"<!DOCTYPE html><title>Boom</title>")]
    parts += [squeeze.compress(line) for _ in range(BOMB_BYTES // len(line))]
    return b"".join([*parts, squeeze.flush()])


def _picture_as_html(context: PageContext, request: Request) -> Answer:
    return Answer(200, _png(64), "text/html")


def _png(side: int) -> bytes:
    """A square grey-scale image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((x * y) % 251 for x in range(side)) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


_HANDLERS: dict[str, tuple[str, BehaviourHandler]] = {
    "/private/accounts": ("disallowed", _private_page),
    "/private/letters": ("disallowed", _private_page),
    "/side-door": ("redirect-disallowed", _redirect_answer),
    "/closed-for-ever": ("gone", _gone_answer),
    "/headline": ("title", _hostile_title_page),
    "/patience": ("slow", _slow_page),
    "/unlisted": ("noindex", _noindex_page),
    "/quiet/garden": ("noindex", _plain_page),
    "/no-further": ("nofollow", _nofollow_page),
    "/quiet/room": ("nofollow", _plain_page),
    "/quiet/nook": ("nofollow-links", _plain_page),
    "/moody": ("flaky", _flaky_page),
    "/visit": ("spellings", _plain_page),
    "/finder": ("facets", _facets_page),
    "/cut-short": ("truncated", _truncated_page),
    "/picture": ("picture", _picture_as_html),
    "/empty": ("empty", _empty_answer),
    "/soup": ("tag-soup", _tag_soup_page),
    "/soup/spoon": ("tag-soup", _plain_page),
    "/soup/bowl": ("tag-soup", _plain_page),
    "/bomb": ("bomb", _gzip_bomb_answer),
    "/feed.xml": ("feed", _rss_feed),
    "/drip": ("drip", _drip_page),
    **dict.fromkeys(REDIRECT_CHAIN, ("redirect-chain", _redirect_answer)),
    "/found-at-last": ("redirect-chain", _plain_page),
    **dict.fromkeys(REDIRECT_LOOP, ("redirect-loop", _redirect_answer)),
    "/cloud": ("redirect-inside", _redirect_answer),
    "/passwords": ("redirect-file", _redirect_answer),
    "/calendar": ("calendar", _calendar_page),
    "/almanac": ("many-links", _many_links_page),
}
