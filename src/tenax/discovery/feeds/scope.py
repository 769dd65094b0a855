"""What holds around an element of a feed: the base of its links, and what its prefixes are bound to."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from tenax.discovery.feeds.names import FORMATS, ElementKind, find_element_kind, known_prefix
from tenax.discovery.feeds.values import MAX_BASE_CHARS, MAX_PREFIXES, MAX_RESOLVED_CHARS, MAX_TEXT_CHARS

_ABSOLUTE = re.compile(r"https?://[^/\s?#\[\]][^\s;\[\]]*[^\s?#;\[\]]")
"""What joining would leave as it is, which is most links."""
_WEB_SCHEMES = ("http://", "https://")
_SLASHES = re.compile(r"(?<=[A-Za-z0-9+.-]://)/+")


class ElementScope:
    """Entered with every element that has attributes, left with every element."""

    def __init__(self, url: str) -> None:
        self.format = ""
        """The first that a namespace declared."""
        self.remaining_chars = MAX_RESOLVED_CHARS
        """What further relative links may come to; below 0 when they come to more."""
        self._base = url
        self._prefixes = {"atom": ""}  # what RSS forgets to declare most often
        self._kinds: dict[str, ElementKind] = {}
        """Of names that were met within these prefixes."""
        self._outer: list[tuple[int, str, dict[str, str], dict[str, ElementKind]]] = []

    def enter(self, depth: int, attributes: dict[str, str]) -> dict[str, str]:
        """The attributes with their names in lower case; those that hold for all within are taken in."""
        lowered = {name.lower(): value for name, value in attributes.items()}
        base = lowered.get("xml:base") or lowered.get("base")
        bound = [(name, value) for name, value in lowered.items() if name.startswith("xmlns")]
        if base or bound:
            self._outer.append((depth, self._base, self._prefixes, self._kinds))
        if base and 0 < len(within := self.resolve(base)) <= MAX_BASE_CHARS:
            # One on the web has no business with the files of those who read it.
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
        """Absolute, when the feed's own URL is; empty when it is too long, or there is no more room for it.

        `http:///host/` is a mistake that browsers forgive too.
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
