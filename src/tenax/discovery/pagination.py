"""Lists that go on: the page after the last one known is guessed, and the answer says whether to go further.

A page is guessed only from the last one of its list that is known, and one at a time. A list ends where there is no
page, a redirect, or nothing that the page before had not; and when several pages in a row lead to nothing new, whatever
they say. How a way of numbering fared on the lists of a host decides whether it is tried on others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from tenax.discovery.page_numbers import Numbering, fresh_links, paged
from tenax.model import Finds, ListRule, Owed, Tally, Value

MOST_RULES = 64
MOST_PRINTS = 16
"""So many rules keep what their last page looked like, the last touched ones: it is most of what a rule weighs."""
MOST_OPEN = 56
"""Lists with a guess that has no answer yet: no rule that waits for one is forgotten for others."""
MOST_OWED = 192
"""A large site has many lists, and all are read before the share has room for a guess at each."""
MOST_STYLES = 16
FORGIVEN_AFTER_SECONDS = 30 * 86_400.0
LONGEST_PATTERN = 200
"""Chars; it is kept in the host's record, and what is longer is no plain list."""
FEW_LISTS = 3
"""A way of numbering that failed on so many lists, and worked on none, is not tried on others."""
SMALL_HOST = 200
"""Requests; on a host with fewer, one list less is enough."""
LEAST_ITEMS = 5
FEW_WORDS = 60
"""A page of a list with fewer words, and with so many links less than the one before, has nothing to list any more."""
LEAST_FRESH_LINKS = 2
"""One may be the way back to this very page, by way of the login."""
MANY_LINKS = 150
"""Who shows more links on a page shows them all."""
HASH_CHARS = 16

Prospect: TypeAlias = Literal["good", "open", "hopeless"]
"""Worth a guess; worth one if those that wait for an answer go well; not worth one."""
Likeness: TypeAlias = Callable[[bytes, bytes], float]
"""How alike two pages are by their fingerprints, 0 to 1."""

_LINKED = "linked "
_NO_FRESH_LINKS = "empty: no links that the page before had not"
_STYLE = re.compile(
    r"[?&](?P<param>[^=&?]++=\{n\})"
    r"|(?P<path>/(?:page|paged|seite|pagina|p%C3%A1gina|pagine|strona|sida|sivu|sayfa|stranka)[/_-]?\{n\}/?)(?:\?|$)"
)


class ListPage(Value, frozen=True):
    """A page of a list, as far as it is compared with others."""

    content_hash: str = ""
    fingerprint: bytes = b""
    trace: bytes = b""
    """Of its links; empty when they were not looked at."""
    new_urls: int = 0
    """How many URLs it led to that nobody had."""
    depth: int = 0
    links: int = 0
    """How many it has to its own host, those to other pages of its list left out."""
    words: int = 0
    is_hub: bool = False
    """It is a list by what it shows, not only by how it is numbered."""


class ListLimits(Value, frozen=True):
    """How far guessing may go on one list."""

    pages: int = 200
    """Guesses at most, however well they go."""
    barren: int = 3
    """Guessed pages in a row that lead to nothing new."""
    near_likeness: float = 0.9
    """Pages as alike as this are the same page with another number on it."""


def read_list(finds: Finds, place: str, numbering: Numbering | None, page: ListPage, now: float) -> Finds:
    """After a page of a list was read: its next page is owed, if this is the last one known."""
    if numbering is None:
        pattern = blank_pattern(place, finds)
        number, step = _blank_start(pattern, finds)
    else:
        if numbering.known > numbering.number:
            return _going_on(finds, numbering, page, now)
        pattern, number, step = numbering.pattern, numbering.number, numbering.step
    if pattern is None or len(pattern) > LONGEST_PATTERN or not any(page.trace):
        return finds
    rule = finds.lists.get(pattern)
    if rule is not None and numbering is not None and _is_empty(rule, numbering, page):
        return _ended(finds, rule, numbering, page, now)
    step = step or (rule.step if rule is not None else 0)
    if not step or not _may_be_owed(rule, number, now):
        return finds
    rule = ListRule(number, step, at=now, is_blank=numbering is None, guesses=rule.guesses if rule is not None else 0)
    finds = with_list(finds, pattern, _as_last_read(rule, page))
    is_blank = numbering is None
    return owing(finds, pattern, Owed(number, step, is_blank, page.depth, place if is_blank else ""))


def _going_on(finds: Finds, numbering: Numbering, page: ListPage, now: float) -> Finds:
    """After a page of a list that links to further ones: what it shows is kept, for comparison with the last one."""
    pattern, number = numbering.pattern, numbering.number
    finds = _with_tally(finds, _LINKED + style_of(pattern), now, "worked")
    if number <= 1 and page.links and page.is_hub:
        finds = _with_full(finds, page.links)
    rule = finds.lists.get(pattern)
    if len(pattern) > LONGEST_PATTERN or not any(page.trace) or (rule is not None and rule.known >= number):
        return finds
    if rule is not None and _is_empty(rule, numbering, page) and _lists_nothing(rule, page):
        return _ended(finds, rule, numbering, page, now)
    if rule is not None and (rule.asked is not None or rule.state != "tried"):
        return finds
    return with_list(finds, pattern, _as_last_read(ListRule(number, numbering.step, at=now), page))


def _with_full(finds: Finds, links: int) -> Finds:
    """A page of a list with so many links was followed by another."""
    full = min(links, finds.full_list or links)
    return msgspec.structs.replace(finds, full_list=full) if full != finds.full_list else finds


def _lists_nothing(rule: ListRule, page: ListPage) -> bool:
    """Whether a page is a list without entries, unlike the one before. Parts of a story, and pictures with a line each,
    lead nowhere either, and are pages all the same."""
    return page.words < FEW_WORDS and page.links + LEAST_ITEMS <= rule.links


def _ended(finds: Finds, rule: ListRule, numbering: Numbering, page: ListPage, now: float) -> Finds:
    """It is not guessed at any further; what it links beyond an empty page is not asked for either."""
    empty_at = min(numbering.number, rule.empty_at or numbering.number) if _lists_nothing(rule, page) else rule.empty_at
    ended = msgspec.structs.replace(rule, state="invalid", why=_NO_FRESH_LINKS, at=now, empty_at=empty_at)
    return with_list(without_owed(finds, numbering.pattern), numbering.pattern, _as_last_read(ended, ListPage()))


def _is_empty(rule: ListRule, numbering: Numbering, page: ListPage) -> bool:
    """Whether a page that was linked shows nothing that an earlier one of its list had not: pagers may link too far."""
    if page.new_urls or rule.asked is not None or not rule.trace or rule.known >= numbering.number:
        return False
    return fresh_links(rule.trace, page.trace) < LEAST_FRESH_LINKS


def why_not_on(rule: ListRule, page: ListPage, limits: ListLimits, likeness: Likeness) -> str:
    """Why a guessed page ends its list, in words; empty when it was worth it, or may lead to one that is."""
    if why := why_same(rule, page.content_hash, page.fingerprint, limits, likeness):
        return why
    if rule.trace and page.trace:
        if fresh_links(rule.trace, page.trace) < LEAST_FRESH_LINKS:
            return _NO_FRESH_LINKS
    elif not page.new_urls:
        return "empty: no new links"
    if not page.new_urls and rule.barren + 1 >= limits.barren:
        return f"nothing new on {rule.barren + 1} pages in a row"
    return ""


def why_same(rule: ListRule, content_hash: str, fingerprint: bytes, limits: ListLimits, likeness: Likeness) -> str:
    """Whether a page shows what the last one known of its list shows, in words; empty when it does not."""
    if content_hash and rule.content_hash == content_hash[:HASH_CHARS]:
        return "the same as the page before"
    if rule.fingerprint and fingerprint and likeness(rule.fingerprint, fingerprint) >= limits.near_likeness:
        return "like the page before"
    return ""


def after_guess(
    finds: Finds, rule: ListRule, numbering: Numbering, page: ListPage, why_not: str, now: float, limits: ListLimits
) -> Finds:
    """After a guessed page was answered: its list is over, or its next page is owed."""
    pattern = numbering.pattern
    if rule.state == "tried":
        finds = _with_tally(finds, _way_of(pattern, rule), now, "failed" if why_not else "worked")
        finds = _with_full(finds, rule.links) if rule.links and not why_not else finds
    if why_not:
        ended = msgspec.structs.replace(rule, state="invalid", why=why_not, at=now, asked=None)
        return with_list(finds, pattern, _as_last_read(ended, ListPage()))
    known = max(numbering.known, rule.known)
    is_over = rule.guesses >= limits.pages
    rule = msgspec.structs.replace(
        rule,
        known=known,
        # A page of entries that links to the first one only makes the step look longer than it is.
        step=min(numbering.step or rule.step, rule.step),
        state="valid",
        why="as many pages as allowed" if is_over else "",
        at=now,
        asked=None,
        barren=0 if page.new_urls else rule.barren + 1,
    )
    finds = with_list(finds, pattern, _as_last_read(rule, page))
    if known > numbering.number:
        return finds
    # One that has as many pages as allowed goes on when more are.
    return owing(finds, pattern, Owed(known, rule.step, rule.is_blank, page.depth), is_first=not is_over)


def prospect_of(finds: Finds, pattern: str, owed: Owed, now: float, share: float, waiting: int = 0) -> Prospect:
    """Whether the next page of a list may be guessed, as far as this way of guessing fared on others of the host.

    Beyond the end of a list that shows its pages, hope dies slowly: of a hundred honest lists one may hide its tail.
    """
    rule = finds.lists.get(pattern)
    if rule is not None and rule.state == "valid":
        return "good"
    if sum(kept.asked is not None for kept in finds.lists.values()) >= MOST_OPEN:
        return "open"
    if owed.is_blank and rule is not None and 0 < rule.links < finds.full_list:
        return "hopeless"  # a page of the other lists has room for more
    tally = finds.styles.get(_way_of(pattern, owed))
    if tally is None or now >= tally.at + FORGIVEN_AFTER_SECONDS:
        tally = Tally()
    patience = 0 if owed.is_blank else int((finds.requests + waiting) * share / 3)
    # Where other lists show their numbers, one that shows none rarely has any.
    is_small = finds.requests + waiting < SMALL_HOST
    few = 1 if owed.is_blank and shows_numbers(finds) else FEW_LISTS - (owed.is_blank and is_small)
    most = few * (1 + tally.worked) + patience
    if tally.failed >= most:
        return "hopeless"
    return "open" if tally.failed + tally.open >= most else "good"


def asked_list(finds: Finds, pattern: str, owed: Owed, now: float) -> Finds:
    """After the next page of a list was guessed; its rule may have been forgotten since it was owed."""
    rule = finds.lists.get(pattern) or ListRule(owed.known, owed.step, at=now, is_blank=owed.is_blank)
    if rule.state == "tried":
        finds = _with_tally(finds, _way_of(pattern, owed), now, "open")
    asked = msgspec.structs.replace(rule, asked=owed.known + owed.step, guesses=rule.guesses + 1)
    return with_list(finds, pattern, asked)


def owing(finds: Finds, pattern: str, owed: Owed, is_first: bool = False) -> Finds:
    """What has just worked comes before what may."""
    others = {known: kept for known, kept in finds.owed.items() if known != pattern}
    if len(others) >= MOST_OWED:
        if not is_first:
            return finds
        others.popitem()
    return msgspec.structs.replace(finds, owed={pattern: owed, **others} if is_first else {**others, pattern: owed})


def owed_lists(finds: Finds, with_blank: bool, pages: int, most: int) -> list[tuple[str, Owed]]:
    """Lists of which a page is owed, in their order; `with_blank` also those without a sign of one, longest first.

    Those are left out of which so many `pages` were guessed as may be.
    """
    lists = [(pattern, owed, finds.lists.get(pattern)) for pattern, owed in finds.owed.items() if "{n}" in pattern]
    lists = [one for one in lists if not is_full(one[2], pages)]
    shown = [one for one in lists if not is_blank(*one[1:])]
    blank = [one for one in lists if is_blank(*one[1:])] if with_blank else []
    return [one[:2] for one in (*shown, *sorted(blank, key=lambda one: -_links_shown(one[2])))][:most]


def is_full(rule: ListRule | None, pages: int) -> bool:
    """Whether as many pages of a list were guessed as may be."""
    return (rule.guesses if rule is not None else 0) >= pages


def is_blank(owed: Owed, rule: ListRule | None) -> bool:
    """Whether nothing says so far that the list goes on."""
    return owed.is_blank and (rule is None or rule.state != "valid")


def as_others(finds: Finds, pattern: str, owed: Owed) -> tuple[Finds, str, Owed]:
    """A list without a sign of further pages, numbered as the other lists of the host were found to be by now."""
    rule = finds.lists.get(pattern)
    style = blank_pattern(owed.place, finds) if owed.place and is_blank(owed, rule) else None
    if style is None or style == pattern or style in finds.lists:
        return finds, pattern, owed
    known, step = _blank_start(style, finds)
    if not step:
        return finds, pattern, owed
    lists = {other: kept for other, kept in finds.lists.items() if other != pattern}
    finds = msgspec.structs.replace(finds, lists=lists)
    if rule is not None:
        finds = with_list(finds, style, msgspec.structs.replace(rule, known=known, step=step))
    return finds, style, msgspec.structs.replace(owed, known=known, step=step)


def _links_shown(rule: ListRule | None) -> int:
    """About how many links the last page known of a list has: a full page is likelier to be followed by another.

    Nothing for one that has so many that they are all there are.
    """
    links = rule.links if rule is not None else 0
    return links if links <= MANY_LINKS else 0


def without_owed(finds: Finds, pattern: str) -> Finds:
    return msgspec.structs.replace(finds, owed={known: kept for known, kept in finds.owed.items() if known != pattern})


def blank_pattern(place: str, finds: Finds) -> str | None:
    """How a list that shows no further pages may be numbered: as others of its host are, or as most are."""
    path, mark, _ = place.partition("?")
    shown = {way: tally.worked for way, tally in finds.styles.items() if way.startswith(_LINKED) and "{n}" in way}
    style = max(shown, key=lambda way: (shown[way], way)).removeprefix(_LINKED) if shown else "?page={n}"
    if mark or "{n}" in path or (path == "/" and not shown):
        return None  # a front page is rarely the first of a list, and who has filters is no plain list
    if style.startswith("?"):
        return path + style
    return None if "." in path.rpartition("/")[2] else path.rstrip("/") + style


def shows_numbers(finds: Finds) -> bool:
    """Whether lists of this host link their further pages by number."""
    return any(way.startswith(_LINKED) and tally.worked for way, tally in finds.styles.items())


def _blank_start(pattern: str | None, finds: Finds) -> tuple[int, int]:
    """The first number and the step of a list that shows neither; where entries are counted, as another list does."""
    one = paged(f"//x{pattern.replace('{n}', '2')}") if pattern is not None else None
    if one is None or pattern is None or not one.is_offset:
        return 1, 1
    style = style_of(pattern)
    return 0, next((rule.step for known, rule in finds.lists.items() if style_of(known) == style), 0)


def style_of(pattern: str) -> str:
    """`?page={n}` or `/page/{n}/`; what is seldom seen goes by one name."""
    found = _STYLE.search(pattern)
    if found is None:
        return "other"
    return f"?{found['param']}" if found["param"] else found["path"]


def with_list(finds: Finds, pattern: str, rule: ListRule) -> Finds:
    """The rule kept as the last touched. Over the bound, those go first that wait for nothing."""
    rules = {known: kept for known, kept in finds.lists.items() if known != pattern}
    if len(rules) >= MOST_RULES:
        idle = (known for known, kept in rules.items() if kept.asked is None)
        del rules[next(idle, next(iter(rules)))]
    rules[pattern] = rule
    printed = [known for known, kept in rules.items() if kept.fingerprint or kept.trace]
    for known in printed[:-MOST_PRINTS]:
        rules[known] = msgspec.structs.replace(rules[known], fingerprint=b"", trace=b"")
    return msgspec.structs.replace(finds, lists=rules)


def _may_be_owed(rule: ListRule | None, number: int, now: float) -> bool:
    if rule is None or (rule.state != "valid" and now >= rule.at + FORGIVEN_AFTER_SECONDS):
        return True
    return rule.asked is None and number > rule.known


def _as_last_read(rule: ListRule, page: ListPage) -> ListRule:
    return msgspec.structs.replace(
        rule, content_hash=page.content_hash[:HASH_CHARS], fingerprint=page.fingerprint, trace=page.trace,
        links=page.links,
    )  # fmt: skip


def _way_of(pattern: str, rule: ListRule | Owed) -> str:
    return f"{'blank' if rule.is_blank else 'beyond'} {style_of(pattern)}"


def _with_tally(finds: Finds, way: str, now: float, what: Literal["open", "worked", "failed"]) -> Finds:
    tallies = dict(finds.styles)
    old = tallies.pop(way, Tally())
    if len(tallies) >= MOST_STYLES:
        del tallies[next(iter(tallies))]
    tallies[way] = Tally(
        worked=old.worked + (what == "worked"),
        failed=old.failed + (what == "failed"),
        open=old.open + 1 if what == "open" else max(0, old.open - 1),
        at=now,
    )
    return msgspec.structs.replace(finds, styles=tallies)
