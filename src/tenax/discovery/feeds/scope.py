"""The scope of a feed element: base URL and prefix bindings."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from tenax.discovery.feeds.names import FORMATS, ElementKind, find_element_kind, known_prefix
from tenax.discovery.feeds.values import MAX_BASE_CHARS, MAX_PREFIXES, MAX_RESOLVED_CHARS, MAX_TEXT_CHARS

_ABSOLUTE = re.compile(r"https?://[^/\s?#\[\]][^\s;\[\]]*[^\s?#;\[\]]")
"""Most links; resolving would not change them."""
_WEB_SCHEMES = ("http://", "https://")
_SLASHES = re.compile(r"(?<=[A-Za-z0-9+.-]://)/+")


class ElementScope:
    """Entered with every element that has attributes, left with every element."""

    def __init__(self, url: str) -> None:
        self.format = ""
        """The first format declared by a namespace."""
        self.remaining_chars = MAX_RESOLVED_CHARS
        """Characters left for resolved relative links; below 0 when they exceed the limit."""
        self._base = url
        self._prefixes = {"atom": ""}  # the prefix that RSS most often fails to declare
        self._kinds: dict[str, ElementKind] = {}
        """Cache of element kinds for the current bindings."""
        self._outer: list[tuple[int, str, dict[str, str], dict[str, ElementKind]]] = []

    def enter(self, depth: int, attributes: dict[str, str]) -> dict[str, str]:
        """The attributes with lower-case names; applies `xml:base` and prefix bindings to the content."""
        lowered = {name.lower(): value for name, value in attributes.items()}
        base = lowered.get("xml:base") or lowered.get("base")
        bound = [(name, value) for name, value in lowered.items() if name.startswith("xmlns")]
        if base or bound:
            self._outer.append((depth, self._base, self._prefixes, self._kinds))
        if base and 0 < len(within := self.resolve(base)) <= MAX_BASE_CHARS:
            # A feed on the web must not link to local files.
            self._base = (
                within if within.startswith(_WEB_SCHEMES) or not self._base.startswith(_WEB_SCHEMES) else self._base
            )
        if bound:
            self._bind(bound)
        return lowered

    def _bind(self, bound: list[tuple[str, str]]) -> None:
        self._prefixes, self._kinds = dict(self._prefixes), {}
        for name, namespace in bound:
            prefix = name.partition(":")[2]
            if len(self._prefixes) < MAX_PREFIXES:
                self._prefixes[prefix] = known_prefix(namespace, prefix)
            self.format = self.format or FORMATS.get(namespace.lower(), "")

    def leave(self, depth: int) -> None:
        if self._outer and self._outer[-1][0] == depth:
            _, self._base, self._prefixes, self._kinds = self._outer.pop()

    def element_kind(self, name: str) -> ElementKind:
        found = self._kinds.get(name)
        if found is None:
            found = self._kinds[name] = find_element_kind(name, self._prefixes)
        return found

    def resolve(self, href: str) -> str:
        """The absolute URL if the feed's own URL is absolute; empty if it is too long or the limit is used up.

        `http:///host/` is a mistake that browsers accept too.
        """
        if len(href) > MAX_TEXT_CHARS:
            return ""
        if _ABSOLUTE.fullmatch(href):
            return href
        self.remaining_chars -= len(self._base) + len(href)
        if self.remaining_chars < 0:
            return ""
        try:
            return urljoin(self._base, _SLASHES.sub("", href, count=1) if ":///" in href else href)
        except ValueError:
            return ""
