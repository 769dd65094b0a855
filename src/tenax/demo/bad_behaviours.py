"""What a host with bad manners sends: one function for each habit that has an address of its own."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import lru_cache
from html import escape
from itertools import islice, product
from urllib.parse import parse_qsl

import msgspec

from tenax.demo import Answer, Request
from tenax.demo.behaviours import CALENDAR_YEAR, CHAIN, FACETS, LOOP, Manner, manners_of
from tenax.demo.pages import loose_page
from tenax.demo.prose import paragraph, story
from tenax.demo.render import Sheet, Stage, content_type, encoded, items, link, page, paragraphs

SLOW_SECONDS = 2.0
DRIP_SECONDS = 0.5
BOMB_BYTES = 32 * 1024 * 1024
ALMANAC_LINKS = 1500

Habit = Callable[[Stage, Request], Answer]


def rude_answer(stage: Stage, request: Request) -> Answer | None:
    """The answer of one of this host's bad manners; None when the path is none of theirs."""
    manners = manners_of(stage.site, stage.place.index)
    if not manners:
        return None
    if request.path == "/curiosities":
        return _curiosities(stage, manners)
    if request.path.startswith("/echo/") and "echo" in manners:
        return _echo(stage, request)
    name, habit = _HABITS.get(request.path, ("", None))
    return habit(stage, request) if habit is not None and name in manners else None


def _curiosities(stage: Stage, manners: dict[str, Manner]) -> Answer:
    """The page that links to every manner of the host; the footer of every page links to it."""
    parts, head = [], ""
    for manner in manners.values():
        links = [link(href, href) for href in manner.links]
        if manner.name == "nofollow-links":
            links.append(link("/quiet/nook", "/quiet/nook", ' rel="nofollow"'))
        if manner.name == "feed":
            head = '\n<link rel="alternate" type="application/rss+xml" href="/feed.xml">'
        parts.append(f"\n  <h2>{manner.name}</h2>\n  <ul>{items(links)}\n  </ul>")
    title = stage.place.theme.labels.curiosities
    return loose_page(stage, "/curiosities", title, extra="".join(parts), head=head)


def _plain(stage: Stage, request: Request, extra: str = "", head: str = "", query: str = "") -> Answer:
    title = f"{stage.place.theme.labels.curiosities}: {request.path.strip('/')}"
    return loose_page(stage, request.path, title, extra, head, query)


def _pointing_to(*paths: str) -> str:
    return f"\n  <ul>{items(link(path, path) for path in paths)}\n  </ul>"


# ---- pages that are pages ---------------------------------------------------------------------------------


def _headline(stage: Stage, request: Request) -> Answer:
    sound = _plain(stage, request)
    hostile = '<title><script>alert("title")</script> \x1b[31mRed\x1b[0m \x1b]0;owned\x07 \u202eevil "quoted" \'title\''
    body = sound.body.replace(b"<title>", encoded(stage.place, hostile), 1)
    return msgspec.structs.replace(sound, body=body)


def _patience(stage: Stage, request: Request) -> Answer:
    return msgspec.structs.replace(_plain(stage, request), delay_seconds=SLOW_SECONDS)


def _unlisted(stage: Stage, request: Request) -> Answer:
    return _plain(stage, request, _pointing_to("/quiet/garden"), '\n<meta name="robots" content="noindex">')


def _no_further(stage: Stage, request: Request) -> Answer:
    return _plain(stage, request, _pointing_to("/quiet/room"), '\n<meta name="robots" content="nofollow">')


def _moody(stage: Stage, request: Request) -> Answer:
    if request.path_requests <= 2:
        return Answer(500, b"Something went wrong. Please try again.", "text/plain", is_steady=False)
    return msgspec.structs.replace(_plain(stage, request), is_steady=False)


def _finder(stage: Stage, request: Request) -> Answer:
    """A list with two filters. Each choice is linked with its parameters in both orders."""
    chosen = {name: value for name, value in parse_qsl(request.query) if value in FACETS.get(name, ())}
    query = "&".join(f"{name}={value}" for name, value in sorted(chosen.items()))
    links = []
    for colour, size in product(("", *FACETS["colour"]), ("", *FACETS["size"])):
        pairs = [f"{name}={value}" for name, value in (("size", size), ("colour", colour)) if value]
        turned = pairs if (colour, size) > (chosen.get("colour", ""), chosen.get("size", "")) else pairs[::-1]
        links.append(link("/finder" + ("?" + "&".join(turned) if turned else ""), f"{colour} {size}".strip() or "all"))
    dice = stage.place.dice(f"/finder?{query}")
    found = paragraphs([paragraph(stage.place.theme, dice) for _ in range(3)])
    return _plain(stage, request, f"\n  <ul>{items(links)}\n  </ul>{found}", query=query)


def _echo(stage: Stage, request: Request) -> Answer:
    return _plain(stage, request, _pointing_to("a/b/"))


def _calendar(stage: Stage, request: Request) -> Answer:
    """A month; the next one is always only a link away."""
    asked = dict(parse_qsl(request.query))
    year, month = _number(asked.get("year"), CALENDAR_YEAR), _number(asked.get("month"), 0)
    later = (year, month + 1) if month < 12 else (year + 1, 1)
    earlier = (year, month - 1) if month > 1 else (year - 1, 12)
    months = _pointing_to(*(f"/calendar?year={year}&month={month}" for year, month in (later, earlier)))
    return msgspec.structs.replace(_plain(stage, request, months, query=request.query), is_steady=not request.query)


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 6 else otherwise


def _almanac(stage: Stage, request: Request) -> Answer:
    """Every day of some far years: more links than anyone takes. Into the calendar, so that none costs a visit."""
    days = product(range(CALENDAR_YEAR, CALENDAR_YEAR + 6), range(1, 13), range(1, 29))
    links = (f"/calendar?year={y}&month={m}&day={d}" for y, m, d in islice(days, ALMANAC_LINKS))
    body = "".join(f"\n  {link(href, href[-8:])}" for href in links)
    theme, dice = stage.place.theme, stage.place.dice(request.path)
    return page(stage, Sheet(request.path, "Almanac", paragraphs([paragraph(theme, dice)]) + body))


def _soup(stage: Stage, request: Request) -> Answer:
    """Markup that no parser was promised: nothing closed, nothing nested right, attributes as they fell."""
    theme, dice = stage.place.theme, stage.place.dice(request.path)
    texts = story(theme, paragraph(theme, dice), dice) + story(theme, paragraph(theme, dice), dice)
    lines = "".join(f"<p><b><i>{escape(text, quote=False)}</b></div><td><p" for text in texts)
    links = "<A HREF=/soup/spoon>spoon<a href = '/soup/bowl' href=/lost title=\"a > b\">bowl</p></table>"
    text = f"<html><title>Soup</title><body bgcolor=#fff><table><tr>{links}<!-- > -->{lines}><li><ul></html>"
    return Answer(200, encoded(stage.place, text), content_type(stage.place))


# ---- answers that are not pages ---------------------------------------------------------------------------


def _elsewhere(stage: Stage, request: Request) -> Answer:
    """A redirect: some say it with a path, some with a whole URL, to places good and bad."""
    path = request.path
    to = {**CHAIN, **LOOP, "/side-door": "/private/accounts"}.get(path)
    if to is None:
        to = {"/cloud": "http://169.254.169.254/latest/meta-data/", "/passwords": "file:///etc/passwd"}[path]
    elif path in ("/old-address", "/round"):
        to = stage.origin + to
    return Answer(301 if path in CHAIN else 302, b"Moved.", "text/plain", (("Location", to),))


def _gone(stage: Stage, request: Request) -> Answer:
    return Answer(410, b"This page has been closed for ever.", "text/plain")


def _private(stage: Stage, request: Request) -> Answer:
    return _plain(stage, request)


def _cut_short(stage: Stage, request: Request) -> Answer:
    whole = _plain(stage, request)
    return msgspec.structs.replace(whole, cut_after_bytes=len(whole.body) // 2)


def _drip(stage: Stage, request: Request) -> Answer:
    return msgspec.structs.replace(_plain(stage, request), drip_seconds=DRIP_SECONDS)


def _empty(stage: Stage, request: Request) -> Answer:
    return Answer(200, b"")


def _feed(stage: Stage, request: Request) -> Answer:
    entries = "".join(
        f"<item><title>{escape(article.title)}</title><link>{stage.origin}{article.path}</link></item>"
        for article in stage.place.articles[:15]
    )
    channel = f"<title>{escape(stage.place.name)}</title><link>{stage.origin}/</link>{entries}"
    text = f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel>{channel}</channel></rss>'
    return Answer(200, text.encode(), "application/rss+xml; charset=utf-8")


def _bomb(stage: Stage, request: Request) -> Answer:
    return Answer(200, _gzip_bomb(), "text/html", (("Content-Encoding", "gzip"),))


@lru_cache(maxsize=1)
def _gzip_bomb() -> bytes:
    line = b"<p>Boom.</p>\n" * 1024
    squeeze = zlib.compressobj(9, wbits=31)
    parts = [squeeze.compress(b"<!DOCTYPE html><title>Boom</title>")]
    parts += [squeeze.compress(line) for _ in range(BOMB_BYTES // len(line))]
    return b"".join([*parts, squeeze.flush()])


def _picture(stage: Stage, request: Request) -> Answer:
    return Answer(200, _png(64), "text/html")


def _png(side: int) -> bytes:
    """A square of many greys."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((x * y) % 251 for x in range(side)) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


_HABITS: dict[str, tuple[str, Habit]] = {
    "/private/accounts": ("disallowed", _private),
    "/private/letters": ("disallowed", _private),
    "/side-door": ("redirect-disallowed", _elsewhere),
    "/closed-for-ever": ("gone", _gone),
    "/headline": ("title", _headline),
    "/patience": ("slow", _patience),
    "/unlisted": ("noindex", _unlisted),
    "/quiet/garden": ("noindex", _plain),
    "/no-further": ("nofollow", _no_further),
    "/quiet/room": ("nofollow", _plain),
    "/quiet/nook": ("nofollow-links", _plain),
    "/moody": ("flaky", _moody),
    "/visit": ("spellings", _plain),
    "/finder": ("facets", _finder),
    "/cut-short": ("truncated", _cut_short),
    "/picture": ("picture", _picture),
    "/empty": ("empty", _empty),
    "/soup": ("tag-soup", _soup),
    "/soup/spoon": ("tag-soup", _plain),
    "/soup/bowl": ("tag-soup", _plain),
    "/bomb": ("bomb", _bomb),
    "/feed.xml": ("feed", _feed),
    "/drip": ("drip", _drip),
    **dict.fromkeys(CHAIN, ("redirect-chain", _elsewhere)),
    "/found-at-last": ("redirect-chain", _plain),
    **dict.fromkeys(LOOP, ("redirect-loop", _elsewhere)),
    "/cloud": ("redirect-inside", _elsewhere),
    "/passwords": ("redirect-file", _elsewhere),
    "/calendar": ("calendar", _calendar),
    "/almanac": ("many-links", _almanac),
}
