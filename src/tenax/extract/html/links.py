"""The links of a page in document order, each once, as written. The caller resolves them against the page's URL or its
`<base href>`.

What a crawl cannot follow is left out: schemes other than http and https, fragments of the page itself, and URLs that
are longer than any stored URL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final, Literal, get_args, overload

from tenax.extract.html.dom import Dom, collapse_spaces
from tenax.extract.html.tree import BREAK, tag_number
from tenax.model import IN_ARTICLE_LINK, NOFOLLOW_LINK, Value

LinkKind = Literal["a", "area", "iframe", "canonical", "alternate"]
LINK_KINDS: Final[tuple[LinkKind, ...]] = get_args(LinkKind)

MAX_LINKS = 50_000
"""Maximum number of links per page. It bounds the memory, and is far above any limit of a crawl."""
MAX_HREF_CHARS = 65_536
MAX_TEXT_CHARS = 300
MAX_REL_CHARS = 100
_MAX_FRAGMENTS = 200
# The text is sliced before it is joined, because links can be nested: a thousand of them around the same ten megabytes.
_leading_chars = itemgetter(slice(4 * MAX_TEXT_CHARS))

_A, _AREA, _IFRAME, LINK = (tag_number(name) for name in ("a", "area", "iframe", "link"))
_KINDS: dict[int, LinkKind] = {_A: "a", _AREA: "area", _IFRAME: "iframe"}
# What browsers remove from both ends of a URL: C0 controls and spaces.
_STRIPPED_CHARS = "".join(map(chr, range(0x21)))
# Browsers also remove tabs and line breaks inside of a URL, so `java\nscript:` is a scheme too.
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-\t\n\r]*):")
_NO_LINE_BREAKS = str.maketrans("", "", "\t\n\r")
_FOLLOWED_SCHEMES = frozenset(("http", "https"))
_FOLLOWED_PREFIXES = ("/", "https://", "http://")


class Link(Value, frozen=True):
    """One link of a page."""

    href: str
    """The URL as written, without white space around it. It is not resolved."""
    kind: LinkKind = "a"
    is_nofollow: bool = False
    """Whether every occurrence on the page is nofollow."""
    text: str = ""
    """The text of the first occurrence that has a text."""
    rel: str = ""
    is_in_article: bool = False
    """Whether any occurrence is in the article."""


class Links(Value, frozen=True, array_like=True):
    """The links of a page, a sequence of `Link`. They are in columns, because most steps need one property of all
    links."""

    hrefs: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    rels: tuple[str, ...] = ()
    flags: str = ""
    """A digit for each link, the sum of `NOFOLLOW_LINK` and `IN_ARTICLE_LINK`."""
    kinds: str = ""
    """A digit for each link, its index in `LINK_KINDS`."""

    @classmethod
    def from_links(cls, links: Iterable[Link]) -> Links:
        found = list(links)
        return cls(
            tuple([link.href for link in found]),
            tuple([link.text for link in found]),
            tuple([link.rel for link in found]),
            "".join([str(NOFOLLOW_LINK * link.is_nofollow + IN_ARTICLE_LINK * link.is_in_article) for link in found]),
            "".join([str(LINK_KINDS.index(link.kind)) for link in found]),
        )

    @property
    def is_nofollow(self) -> list[bool]:
        """Whether each link is nofollow; empty if none is."""
        if "1" not in self.flags and "3" not in self.flags:
            return []
        return [bool(int(flag) & NOFOLLOW_LINK) for flag in self.flags]

    def __len__(self) -> int:
        return len(self.hrefs)

    def __iter__(self) -> Iterator[Link]:
        return map(self._build_link, range(len(self.hrefs)))

    @overload
    def __getitem__(self, number: int) -> Link: ...
    @overload
    def __getitem__(self, number: slice) -> Links: ...
    def __getitem__(self, number: int | slice) -> Link | Links:
        if isinstance(number, slice):
            return Links(
                self.hrefs[number], self.texts[number], self.rels[number], self.flags[number], self.kinds[number]
            )
        return self._build_link(number)

    def _build_link(self, number: int) -> Link:
        flags = int(self.flags[number])
        return Link(
            self.hrefs[number],
            LINK_KINDS[int(self.kinds[number])],
            bool(flags & NOFOLLOW_LINK),
            text=self.texts[number],
            rel=self.rels[number],
            is_in_article=bool(flags & IN_ARTICLE_LINK),
        )


def read_links(dom: Dom, kept_runs: Sequence[bool] = ()) -> Links:
    """The links of the page. Of equal hrefs the first one is kept, and may be followed if any of them may.

    `kept_runs` says for each run of the walk whether it is in the article.
    """
    walk = dom.walk
    found: dict[str, Link] = {}
    fragments, run_starts, is_judged = walk.fragments, walk.run_starts, bool(kept_runs)
    run, run_ends = 0, [*run_starts[1:], len(fragments)]
    for node, start, end in zip(walk.link_nodes, walk.link_starts, walk.link_ends, strict=True):
        attributes = node.attributes
        tag = node.tag_id
        href = attributes.get("href" if tag != _IFRAME else "src")
        if not href:
            continue
        href = href.strip(_STRIPPED_CHARS)
        # The fast way for most links: a URL that certainly leads to a page.
        is_sure = (href[:1] == "/" or href.startswith(_FOLLOWED_PREFIXES)) and len(href) <= MAX_HREF_CHARS
        if not is_sure and not is_followable(href):
            continue
        text, is_kept = "", False
        if start < end:
            if end - start == 1:
                text = fragments[start] if fragments[start] != BREAK else ""
                # Most texts are short and clean. The space is the only printable white space.
                is_tidy = text.isprintable() and "  " not in text and text.strip() == text
                if not is_tidy or len(text) > MAX_TEXT_CHARS:
                    text = collapse_spaces(_leading_chars(text))[:MAX_TEXT_CHARS]
            else:
                parts = fragments[start : min(end, start + _MAX_FRAGMENTS)]
                text = " ".join("".join(map(_leading_chars, parts)).replace(BREAK, " ").split())[:MAX_TEXT_CHARS]
            while run_ends[run] < end:
                run += 1
            is_kept = is_judged and kept_runs[run]
        rel = attributes.get("rel") or ""
        kind: LinkKind | None = _KINDS.get(tag) or _link_element_kind(rel, attributes.get("type"))
        if kind is None:
            continue
        is_nofollow = "nofollow" in rel.lower().split() if rel else False
        known = found.get(href)
        if known is None:
            found[href] = Link(href, kind, is_nofollow, text=text, rel=rel[:MAX_REL_CHARS], is_in_article=is_kept)
            if len(found) >= MAX_LINKS:
                break
        elif (
            (known.is_nofollow and not is_nofollow)
            or (is_kept and not known.is_in_article)
            or (text and not known.text)
        ):
            found[href] = Link(
                href,
                known.kind,
                known.is_nofollow and is_nofollow,
                text=known.text or text,
                rel=known.rel,
                is_in_article=known.is_in_article or is_kept,
            )
    return Links.from_links(found.values())


def is_followable(href: str) -> bool:
    """Whether an href without surrounding space may lead to another page: it is relative or http(s), and not only a
    fragment."""
    if not href or href[0] == "#" or len(href) > MAX_HREF_CHARS:
        return False
    if ":" not in href or href.startswith(_FOLLOWED_PREFIXES):
        return True
    scheme = _SCHEME.match(href)
    return scheme is None or scheme[1].lower().translate(_NO_LINE_BREAKS) in _FOLLOWED_SCHEMES


def strip_href(value: str | None) -> str:
    """A URL attribute as browsers read it, without surrounding controls and spaces."""
    return value.strip(_STRIPPED_CHARS) if value else ""


def _link_element_kind(rel: str | None, media_type: str | None) -> LinkKind | None:
    """How a crawl uses a <link>. An alternate that is not HTML is a feed, an embed or a stylesheet."""
    relations = (rel or "").lower().split()
    if "canonical" in relations:
        return "canonical"
    if "alternate" in relations and "stylesheet" not in relations and "html" in (media_type or "html").lower():
        return "alternate"
    return None
