"""Recognizes page numbers of lists in URLs, how a host numbers its lists, and the order in which they are visited.

A wrong pattern costs requests, because dates, ids and versions are numbers too. Some forms, such as `?page=2` and
`/page/2`, are certain. Others, such as `?p=2` and `/2/`, count only if the links of the page confirm them.

The page numbers of a list may lead beyond its end. So its pages are requested one at a time until one after the first
had content, and none is requested after an empty one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal
from zlib import crc32

import msgspec

from tenax.model import GuessState, GuessStats, ListRule, PendingGuess, Value

_PAGE_NAMES = frozenset(
    {"page", "paged", "pg", "pagenum", "pageno", "page_no", "page_num", "pagenumber", "page_number", "pageindex"}
    | {"page_index", "currentpage", "current_page", "cur_page", "curpage", "_page", "_paged", "sf_paged", "wpv_paged"}
    | {"seite", "pagina", "pagine", "strona", "sida", "side", "sivu", "sayfa", "stranka", "halaman", "trang"}
    | {"pagen_1", "pagen_2", "pagen_3"}  # Bitrix also numbers the lists on a page in this way
)
_OFFSET_NAMES = frozenset({"offset", "start", "skip", "from", "startrow", "startindex", "start_index", "limitstart"})
_WEAK_NAMES = frozenset({"p", "pag", "pn"})  # `p=` is the id of a post in WordPress
_MAX_PAGE_DIGITS = 5
_MAX_OFFSET_DIGITS = 6  # with more digits it is a date or a timestamp
_MAX_WEAK_NUMBER = 999
_MAX_STEP = 1000

_PAGE_WORDS = frozenset(
    {"page", "paged", "seite", "pagina", "p%C3%A1gina", "pagine", "strona", "sida", "sivu", "sayfa", "stranka"}
)
_LAST_NUMBER = re.compile(r"(?<!\d)(\d{1,5})((?:\.[a-z]{3,5})?/?)$")
_ENDS_IN_DATE = re.compile(r"(?:^|\D)(?:19|20)\d\d(?:[-_/]\d\d?)?$")
_SURE_PREFIXES = (*sorted(_PAGE_WORDS), "index")
_INDEX_NAME = re.compile(r"/(?:index\.(?:s?html?|php))?$")

_LINK_FINGERPRINT_BITS = 512


class PagedUrl(Value, frozen=True):
    """A URL that is, or may be, one page of a list.

    URLs are stored as path and query, because the rules belong to one host.
    """

    pattern: str
    """The relative URL with `{n}` for the number."""
    number: int
    first_page: str
    """The relative URL of the first page, as sites usually write it."""
    is_offset: bool = False
    """The number counts entries. Only other pages show how many entries a page has."""
    is_sure: bool = True
    """False: it is a page number only if links confirm it."""


class Numbering(Value, frozen=True):
    """How the pages of a list are numbered, as seen from one of them."""

    pattern: str
    number: int
    """The number of this page. If its URL has none: 1, or 0 for offsets."""
    last_known: int
    """The highest number among this page and its links."""
    step: int = 1
    """0: unknown."""


def to_relative_url(url: str) -> str:
    """Path and query of a normalized URL."""
    return url[url.index("/", url.index("//") + 2) :]


def parse_paged_url(url: str) -> PagedUrl | None:
    """What the URL alone shows, certain or not."""
    relative_url = to_relative_url(url)
    if "{n}" in relative_url:
        return None  # the braces would be mistaken for a pattern
    path, _, query = relative_url.partition("?")
    in_query = _parse_query(path, query) if query else None
    if in_query is not None and in_query.is_sure:
        return in_query
    return _parse_path(path, relative_url[len(path) :]) or in_query


def may_be_sure(url: str) -> bool:
    """Whether `parse_paged_url` may give a result that is sure: a fast filter."""
    if "?" in url:
        return True
    _, folder, name = url.removesuffix("/").rsplit("/", 2)
    return folder in _PAGE_WORDS or name.startswith(_SURE_PREFIXES)


def page_url_prefix(url: str) -> str:
    """If this is a page of a list, the URLs of all its pages begin with this text; a fast filter for links."""
    own, relative_url = parse_paged_url(url), to_relative_url(url)
    before = own.pattern.partition("{n}")[0] if own is not None else relative_url
    stem = _first_page_key(before.partition("?")[0])
    name, dot, ending = stem.rpartition(".")
    return url[: len(url) - len(relative_url)] + (name if dot and "/" not in ending else stem)


def find_numbering(url: str, links: Iterable[str], rel_next: str | None = None) -> Numbering | None:
    """How the list of this URL continues; None if nothing shows that it does.

    `links` are those of the page to its own host; links without a digit are ignored. rel=next takes precedence.
    """
    return find_numbering_among(url, map(parse_paged_url, links), parse_paged_url(rel_next) if rel_next else None)


def find_numbering_among(url: str, others: Iterable[PagedUrl | None], following: PagedUrl | None) -> Numbering | None:
    """The same, for links that `parse_paged_url` has already parsed."""
    own, here = parse_paged_url(url), _first_page_key(to_relative_url(url))
    linked: dict[str, list[PagedUrl]] = {}
    for other in (following, *others):
        if other is not None and (
            (own is not None and other.pattern == own.pattern) or _first_page_key(other.first_page) == here
        ):
            linked.setdefault(other.pattern, []).append(other)
    if own is not None and own.is_sure:
        linked.setdefault(own.pattern, [])
    believed = following.pattern if following is not None else None
    for pattern in sorted(linked, key=lambda pattern: (pattern != believed, -len(linked[pattern]))):
        same = own if own is not None and own.pattern == pattern else None
        found = _build_numbering(pattern, same, linked[pattern], pattern == believed)
        if found is not None:
            return found
    return None


def link_fingerprint(links: Iterable[str]) -> bytes:
    """A fingerprint of a list's links for `count_new_links`. Leave out links to other pages of the list."""
    bits = 0
    for link in links:
        bits |= 1 << crc32(link.encode()) % _LINK_FINGERPRINT_BITS
    return bits.to_bytes(_LINK_FINGERPRINT_BITS // 8, "little")


def count_new_links(before: bytes, after: bytes) -> int:
    """About how many links the second page has that the first page does not have; never more than the true number."""
    return (int.from_bytes(after, "little") & ~int.from_bytes(before, "little")).bit_count()


def _parse_query(path: str, query: str) -> PagedUrl | None:
    params = query.split("&")
    possible: list[PagedUrl] = []
    for index, param in enumerate(params):
        name, _, value = param.partition("=")
        name = name.lower()
        if not (value.isascii() and value.isdecimal() and len(value) <= _MAX_OFFSET_DIGITS):
            continue
        is_offset = name in _OFFSET_NAMES
        is_sure = is_offset or name in _PAGE_NAMES
        if not is_sure and (name not in _WEAK_NAMES or int(value) > _MAX_WEAK_NUMBER):
            continue
        if _has_leading_zero(value) or (not is_offset and len(value) > _MAX_PAGE_DIGITS):
            continue
        numbered = "&".join((*params[:index], f"{param[: len(param) - len(value)]}{{n}}", *params[index + 1 :]))
        others = "&".join((*params[:index], *params[index + 1 :]))
        first = f"{path}?{others}" if others else path
        possible.append(PagedUrl(f"{path}?{numbered}", int(value), first, is_offset, is_sure))
    return min(possible, key=lambda found: (not found.is_sure, found.is_offset), default=None)


def _parse_path(path: str, tail: str) -> PagedUrl | None:
    found = _LAST_NUMBER.search(path)
    if found is None or _has_leading_zero(found[1]):
        return None
    before, number, after = path[: found.start()], found[1], found[2]
    mark = before[-1] if before[-1] in "/-_" else ""
    upper, slash, word = before.removesuffix(mark).rpartition("/")
    if slash and word in _PAGE_WORDS:
        first = upper + ("/" if after.endswith("/") or not upper else "")
        is_sure = True
    elif word == "index" and mark != "/" and after.startswith("."):
        first, is_sure = f"{before.removesuffix(mark)}{after}", True
    elif _may_be_page_number(before, mark, word, number, after):
        first = (before.removesuffix(mark).removesuffix("/p") if word == "p" else before.removesuffix(mark)) + after
        is_sure = False
    else:
        return None
    return PagedUrl(f"{before}{{n}}{after}{tail}", int(number), (first or "/") + tail, is_sure=is_sure)


def _may_be_page_number(before: str, mark: str, word: str, number: str, after: str) -> bool:
    """Whether the number in /2/, /p2 or -2.html may be a page number, and not a date."""
    if int(number) > _MAX_WEAK_NUMBER or number == "0" or _ENDS_IN_DATE.search(before.removesuffix(mark)):
        return False
    return mark == "/" or (word == "p" and mark != "_") or (mark != "" and after.startswith("."))


def _has_leading_zero(number: str) -> bool:
    """Whether the number is written like 07. A site that does so numbers its pages in another way than we would
    continue."""
    return len(number) > 1 and number.startswith("0")


def _build_numbering(pattern: str, own: PagedUrl | None, linked: list[PagedUrl], is_next: bool) -> Numbering | None:
    """The numbering that these numbers show. `own` is the page itself, if it has this pattern. `is_next`: one of the
    links is its rel=next."""
    is_offset = any(other.is_offset for other in linked) or (own is not None and own.is_offset)
    is_sure = is_next or any(other.is_sure for other in linked) or (own is not None and own.is_sure)
    number = own.number if own is not None else 0 if is_offset else 1
    numbers = {other.number for other in linked}
    if not is_sure and not _is_confirmed(numbers, number, own is None):
        return None
    step = _page_step(sorted({number, *numbers})) if is_offset else 1
    return Numbering(pattern, number, max(number, *numbers) if numbers else number, step)


def _is_confirmed(numbers: set[int], number: int, is_first: bool) -> bool:
    """Whether there are three consecutive pages, this one among them. A first page that links to a 1 lists items, not
    its own pages."""
    if is_first and 1 in numbers:
        return False
    together = numbers | {number}
    return any({start, start + 1, start + 2} <= together for start in (number - 2, number - 1, number))


def _page_step(numbers: list[int]) -> int:
    gaps = [after - before for before, after in pairwise(numbers)]
    step = min(gaps, default=0)
    return step if 0 < step <= _MAX_STEP and all(gap % step == 0 for gap in gaps) else 0


def _first_page_key(relative_url: str) -> str:
    """A first page has one key, whether it is written with a slash, without, or as index.html."""
    path, mark, query = relative_url.partition("?")
    return _INDEX_NAME.sub("", path) + mark + query


MAX_STYLES = 16
LINKED = "linked "
_STYLE = re.compile(
    r"[?&](?P<param>[^=&?]++=\{n\})"
    r"|(?P<path>/(?:page|paged|seite|pagina|p%C3%A1gina|pagine|strona|sida|sivu|sayfa|stranka)[/_-]?\{n\}/?)(?:\?|$)"
)


def numbering_style(pattern: str) -> str:
    """`?page={n}` or `/page/{n}/`. Rare styles share the name `other`."""
    found = _STYLE.search(pattern)
    if found is None:
        return "other"
    return f"?{found['param']}" if found["param"] else found["path"]


def has_numbered_lists(guess_state: GuessState) -> bool:
    """Whether lists of this host link their further pages by number."""
    return any(style.startswith(LINKED) and stats.worked for style, stats in guess_state.styles.items())


def guess_pattern(relative_url: str, guess_state: GuessState) -> str | None:
    """How a list without page numbers may be numbered: like other lists of its host, or in the most common style."""
    path, mark, _ = relative_url.partition("?")
    shown = {
        style: stats.worked
        for style, stats in guess_state.styles.items()
        if style.startswith(LINKED) and "{n}" in style
    }
    style = max(shown, key=lambda name: (shown[name], name)).removeprefix(LINKED) if shown else "?page={n}"
    if mark or "{n}" in path or (path == "/" and not shown):
        return None  # a home page is rarely the first page of a list, and a query is a filter
    if style.startswith("?"):
        return path + style
    return None if "." in path.rpartition("/")[2] else path.rstrip("/") + style


def guess_start(pattern: str | None, guess_state: GuessState) -> tuple[int, int]:
    """The first number and the step of a list that shows neither. For offsets, those of another list."""
    one = parse_paged_url(f"//x{pattern.replace('{n}', '2')}") if pattern is not None else None
    if one is None or pattern is None or not one.is_offset:
        return 1, 1
    style = numbering_style(pattern)
    return 0, next((rule.step for known, rule in guess_state.lists.items() if numbering_style(known) == style), 0)


def style_key(pattern: str, rule: ListRule | PendingGuess) -> str:
    return f"{'blank' if rule.is_unnumbered else 'beyond'} {numbering_style(pattern)}"


def count_style_result(
    guess_state: GuessState, key: str, now: float, what: Literal["open", "worked", "failed"]
) -> GuessState:
    styles = dict(guess_state.styles)
    old = styles.pop(key, GuessStats())
    if len(styles) >= MAX_STYLES:
        del styles[next(iter(styles))]
    styles[key] = GuessStats(
        worked=old.worked + (what == "worked"),
        failed=old.failed + (what == "failed"),
        unanswered=old.unanswered + 1 if what == "open" else max(0, old.unanswered - 1),
        at=now,
    )
    return msgspec.structs.replace(guess_state, styles=styles)


def past_end_reason(guess_state: GuessState, url: str, via: str | None) -> str | None:
    """Why a linked page of a list is skipped: only the list links to it, and the list has ended before it."""
    page = own_list_page(url, via) if guess_state.lists else None
    rule = guess_state.lists.get(page.pattern) if page is not None else None
    if page is None or rule is None or not rule.empty_at or page.number <= rule.empty_at:
        return None
    return f"page {rule.empty_at} of {page.pattern} had nothing new compared with the pages before it"


def own_list_page(url: str, via: str | None) -> PagedUrl | None:
    """The list page that this URL is, if it was found on another page of the same list and its form is certain."""
    page = parse_paged_url(url) if via is not None and may_be_sure(url) else None
    if page is None or via is None or not page.is_sure:
        return None
    via_page, via_relative = parse_paged_url(via), to_relative_url(via)
    is_same_list = via_page is not None and via_page.pattern == page.pattern
    return page if is_same_list or via_relative.rstrip("/") == page.first_page.rstrip("/") else None


def is_unproven(guess_state: GuessState, pattern: str) -> bool:
    """Whether only the first page of a list is known to have content."""
    rule = guess_state.lists.get(pattern)
    return rule is None or rule.last_known <= 1


def is_beyond_next(guess_state: GuessState, page: PagedUrl) -> bool:
    """Whether there are unread pages between the last known page of the list and this page."""
    rule = guess_state.lists.get(page.pattern)
    return rule is not None and rule.step > 0 and page.number > rule.last_known + rule.step
