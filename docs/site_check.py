"""Checks a built website: no broken link, and nothing is loaded from another machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborHTMLParser

_LOADED = {
    "img": ("src", "srcset"),
    "script": ("src",),
    "link": ("href",),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "use": ("href",),
    "image": ("href",),
}
"""What a browser loads automatically, by element and attribute."""
_METADATA = frozenset({"canonical", "alternate", "next", "prev"})
"""Relations that no browser loads."""
_REMOTE = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_CSS_URL = re.compile(r"""(?:url\(\s*|@import\s+)["']?(?P<url>[^"')\s;]+)""", re.IGNORECASE)


def problems(site: Path) -> list[str]:
    """Every broken link, every link to a missing anchor and every remote resource."""
    pages = {file: LexborHTMLParser(file.read_bytes()) for file in sorted(site.rglob("*.html"))}
    anchors = {file: _anchors(page) for file, page in pages.items()}
    found = [f"{file.relative_to(site)}: {what}" for file, page in pages.items() for what in _remote_parts(page)]
    for file, page in pages.items():
        found += [f"{file.relative_to(site)}: {what}" for what in _broken_links(site, file, page, anchors)]
    for file in sorted([*site.rglob("*.css"), *site.rglob("*.svg")]):
        found += [f"{file.relative_to(site)}: {what}" for what in remote_urls(file.read_text("utf-8"))]
    return found


def _anchors(page: LexborHTMLParser) -> frozenset[str]:
    return frozenset(node.attributes["id"] or "" for node in page.css("[id]"))


def _remote_parts(page: LexborHTMLParser) -> Iterator[str]:
    for element, names in _LOADED.items():
        for node in page.css(element):
            if element == "link" and (node.attributes.get("rel") or "") in _METADATA:
                continue
            for address in (node.attributes.get(name) or "" for name in names):
                if _REMOTE.match(address):
                    yield f"loads {address}"
    for style in page.css("style"):
        yield from remote_urls(style.text())
    for node in page.css("[style]"):
        yield from remote_urls(node.attributes["style"] or "")


def remote_urls(css: str) -> Iterator[str]:
    """Remote resources of a style sheet, or of a picture with one."""
    for match in _CSS_URL.finditer(css):
        if _REMOTE.match(match["url"]):
            yield f"loads {match['url']}"


def _broken_links(site: Path, file: Path, page: LexborHTMLParser, anchors: dict[Path, frozenset[str]]) -> Iterator[str]:
    for address in _local_addresses(page):
        path, anchor = unquote(urlsplit(address).path), unquote(urlsplit(address).fragment)
        target = _target(site, file, path)
        if not target.is_file():
            yield f"links to {address}, which does not exist"
        elif anchor and target in anchors and anchor not in anchors[target]:
            yield f"links to {address}, but there is no such heading"


def _local_addresses(page: LexborHTMLParser) -> Iterator[str]:
    for selector, name in (("a[href]", "href"), ("link[href]", "href"), ("[src]", "src")):
        for node in page.css(selector):
            address = node.attributes[name] or ""
            if address and not _REMOTE.match(address) and not urlsplit(address).scheme:
                yield address


def _target(site: Path, file: Path, path: str) -> Path:
    if not path:
        return file
    target = (site / path.lstrip("/") if path.startswith("/") else file.parent / path).resolve()
    return target / "index.html" if target.is_dir() else target
