"""robots.txt and the sitemaps of the discovery site, good and bad.

A sitemap has its own pages, some linked pages and a few dead ones. A defect never hides a page: pages with this only
source are before the defect, or in a good sitemap beside it.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterable, Sequence
from functools import cache

from bench.discover_behaviours import Sitemaps
from bench.discover_feeds import rss
from bench.discover_site import Article, Host, Site, Source

URLS_A_FILE = 200
EVERY_LINKED = 3
"""Every third linked page is also in a sitemap."""
HUGE_BYTES = 60_000_000
"""The protocol allows 50 MB uncompressed."""

BAD_SITEMAPS = ("/sitemaps/bomb.xml", "/sitemaps/huge.xml.gz", "/sitemaps/missing.xml")
"""In the index of a hostile host; the last one is a 404."""

XML, GZIP, TEXT = "application/xml", "application/gzip", "text/plain; charset=utf-8"

_ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
_BOMB = f'<!DOCTYPE urlset [<!ENTITY e0 "boom">{_ENTITIES}]>'
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SCHEMA = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def robots(host: Host, origin: str) -> str | None:
    """None: this host has no robots.txt."""
    named = {
        Sitemaps.NESTED: ("/sitemap_index.xml",),
        Sitemaps.TEXT: ("/sitemap-pages.xml", "/sitemap.txt"),
        Sitemaps.RSS: ("/sitemap.rss",),
    }
    if host.behaviour.sitemaps is Sitemaps.HOSTILE:
        return None
    lines = [f"Sitemap: {origin}{path}\n" for path in named.get(host.behaviour.sitemaps, ())]
    return "User-agent: *\nDisallow: /admin/\n\n" + "".join(lines)


def sitemap(site: Site, host: Host, target: str, origin: str) -> tuple[bytes, str] | None:
    """Bytes and media type of the sitemap at this URL, if any."""
    match host.behaviour.sitemaps, target:
        case Sitemaps.NESTED, _:
            return _nested(site, host, target, origin)
        case Sitemaps.BROKEN, "/sitemap.xml":
            return _broken(site, host, origin).encode(), XML
        case Sitemaps.TEXT, "/sitemap.txt":
            lines = "\r\n".join(origin + path for path in _listed(site, host))
            return f"\ufeff{lines}\r\n".encode(), TEXT
        case Sitemaps.TEXT, "/sitemap-pages.xml":
            return b"<!doctype html><title>Sitemap</title><h1>Sitemap</h1><p>It is being rebuilt.</p>", "text/html"
        case Sitemaps.HOSTILE, _:
            return _hostile(site, host, target, origin)
        case Sitemaps.RSS, "/sitemap.rss":
            return rss(_entries(site, host), origin).encode(), "application/rss+xml"
        case _:
            return None


def _nested(site: Site, host: Host, target: str, origin: str) -> tuple[bytes, str] | None:
    files = {f"/sitemaps/posts-{n}.xml.gz": part for n, part in enumerate(_parts(_listed(site, host)))}
    if target == "/sitemap_index.xml":
        return _index(("/sitemaps/posts.xml", "/sitemap_index.xml"), origin), XML
    if target == "/sitemaps/posts.xml":
        return _index(files, origin), XML
    return (gzip.compress(_urlset(files[target], origin).encode(), mtime=0), GZIP) if target in files else None


def _broken(site: Site, host: Host, origin: str) -> str:
    """Unlinked and dead pages, then an unopened end tag and a bare ampersand, then some linked pages."""
    linked = [one.path for one in host.linked[::EVERY_LINKED]]
    hidden = [path for path in _listed(site, host) if path not in set(linked)]
    good = _urlset(hidden, origin).removesuffix("</urlset>\n")
    rest = _urlset(linked, origin).partition(f"<urlset {_SCHEMA}>\n")[2]
    return f"{good}</entry><url><loc>{origin}/?a=1&b</url>\n{rest}"


def _hostile(site: Site, host: Host, target: str, origin: str) -> tuple[bytes, str] | None:
    files = {f"/sitemaps/good-{n}.xml": part for n, part in enumerate(_parts(_listed(site, host)))}
    if target == "/sitemap.xml":
        return _index((*BAD_SITEMAPS, *files), origin), XML
    if target == BAD_SITEMAPS[0]:
        return f"{_XML}{_BOMB}<urlset {_SCHEMA}><url><loc>{origin}/&e9;</loc></url></urlset>".encode(), XML
    if target == BAD_SITEMAPS[1]:
        return _huge(_urlset([one.path for one in host.linked[:URLS_A_FILE]], origin)), GZIP
    return (_urlset(files[target], origin).encode(), XML) if target in files else None


@cache
def _huge(text: str) -> bytes:
    """Comments after the entries make it too large."""
    comment = b"<!-- " + b"padding " * 125 + b"-->\n"
    entries, end = text.removesuffix("</urlset>\n").encode(), b"</urlset>\n"
    return gzip.compress(entries + comment * (HUGE_BYTES // len(comment)) + end, compresslevel=1, mtime=0)


def _entries(site: Site, host: Host) -> list[Article]:
    """Sitemap entries without dead pages."""
    entries = [*host.articles[Source.SITEMAPS], *host.linked[::EVERY_LINKED]]
    random.Random(f"sitemap {site.seed} {host.index}").shuffle(entries)
    return entries


def _listed(site: Site, host: Host) -> list[str]:
    paths = [one.path for one in _entries(site, host)]
    dice = random.Random(f"dead {site.seed} {host.index}")
    for path in host.dead:
        paths.insert(dice.randrange(len(paths) + 1), path)
    return paths


def _parts(paths: Sequence[str]) -> list[Sequence[str]]:
    return [paths[first : first + URLS_A_FILE] for first in range(0, len(paths), URLS_A_FILE)]


def _index(paths: Iterable[str], origin: str) -> bytes:
    items = "".join(f"<sitemap><loc>{origin}{path}</loc></sitemap>\n" for path in paths)
    return f"{_XML}<sitemapindex {_SCHEMA}>\n{items}</sitemapindex>\n".encode()


def _urlset(paths: Iterable[str], origin: str) -> str:
    items = "".join(f"<url><loc>{origin}{path}</loc><changefreq>weekly</changefreq></url>\n" for path in paths)
    return f"{_XML}<urlset {_SCHEMA}>\n{items}</urlset>\n"
