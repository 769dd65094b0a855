"""Items of the queue: parsed to URLs, and selected host by host. Hosts that wait are skipped.

A host has *room* if it may be visited now and has not enough items in memory. Items of a host without room stay in the
queue, and so do all later items of that host, so that none overtakes an earlier one. The queue is scanned in windows:
its head each time, the part after the head step by step, and its end, where new items arrive.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from tenax.model import Priority, Task, Value, new_task
from tenax.text.sanitize import mask_url
from tenax.urls.normalize import MAX_HREF_CHARS, mask_userinfo, parse_exact_url

SHOWN_CHARS = 200


class Item(Value, frozen=True):
    """A claimed URL."""

    raw: bytes
    """The item as it is in the lists."""
    url: str
    """The URL that is requested, without user and password. Its page is stored and published under this URL."""
    task: Task
    """What is requested next: the URL, or its redirect target."""
    host: str
    position: int = 0
    """Its order among the items of its host in memory, the smallest first; 0: not assigned yet."""

    @property
    def is_redirected_away(self) -> bool:
        """Whether the item was redirected to a host that is not its own in the queue."""
        return bool(self.task.chain) and not self.task.chain[0].url.startswith(f"{self.task.origin}/")


class InvalidItem(Value, frozen=True):
    """An item that is not a URL we can request."""

    raw: bytes
    why: str


def parse_item(raw: bytes, now: float, attempts: int = 0) -> Item | InvalidItem:
    """Parse an item that has spent this many attempts. Never raises."""
    if len(raw) > MAX_HREF_CHARS * 4:
        return InvalidItem(raw, f"not a URL: {len(raw)} bytes long")
    try:
        url = raw.decode().strip()
    except UnicodeDecodeError:
        return InvalidItem(raw, "not a URL: not UTF-8")
    if not url:
        return InvalidItem(raw, "not a URL: empty")
    target = parse_exact_url(url)
    if target is None:
        return InvalidItem(raw, f"not an http or https URL: {_truncate_url(url)}")
    # There is no stored copy that could be unchanged, so a 304 is a failure and spends an attempt.
    task = msgspec.structs.replace(
        new_task(target.url, target.origin, now), priority=Priority.MEDIUM, attempt=attempts, is_unconditional=True
    )
    return Item(raw, mask_userinfo(url), task, target.host)


def redirect_item(item: Item, url: str, origin: str, redirected_task: Task) -> Item:
    """The item after a redirect: the same URL with another target.

    Its attempts stay spent. Otherwise a URL that redirects to a page which always fails would start again each time it
    is claimed.
    """
    host = origin.partition("://")[2]
    task = msgspec.structs.replace(redirected_task, url=url, origin=origin, transport=None)
    return msgspec.structs.replace(item, task=task, host=host)


def _truncate_url(url: str) -> str:
    """The beginning of the URL, without its password. The item itself is not shortened."""
    url = mask_url(url)
    return url if len(url) <= SHOWN_CHARS else f"{url[:SHOWN_CHARS]}…"


WINDOW_SIZE = 256
"""Number of items that are checked in one step."""
HEAD_WINDOWS = 80
"""Number of windows of the head that are scanned each time, and of windows after the head that are scanned at a
time."""
MAX_SKIPPED_HOSTS = 50_000
"""Maximum number of skipped hosts that are remembered. Above it, an item may overtake an earlier item of its host."""
MAX_CACHED_ORIGINS = 10_000

_PLAIN_ORIGIN = re.compile(rb"https?://[A-Za-z0-9.:-]+(?=[/?#]|$)")


class Span(NamedTuple):
    """A part of the queue to scan."""

    first: int
    windows: int
    is_head: bool = False


class Selection(NamedTuple):
    items: list[bytes]
    examined: int
    """Items of the window that need not be checked again in this scan."""


class OriginCache:
    """The origins of items, many of which share a prefix. None: the item is not a URL."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, str] = OrderedDict()

    def find_origin(self, raw: bytes) -> str | None:
        plain = _PLAIN_ORIGIN.match(raw)
        if plain is not None and (known := self._known.get(plain[0])) is not None:
            return known
        item = parse_item(raw, 0.0)
        if isinstance(item, InvalidItem):
            return None
        if plain is not None:
            self._known[plain[0]] = item.task.origin
            if len(self._known) > MAX_CACHED_ORIGINS:
                self._known.popitem(last=False)
        return item.task.origin


class Intake:
    """Scans the queue again and again. No I/O, no clock."""

    def __init__(self) -> None:
        self._origins = OriginCache()
        self._skipped_at_head: set[str] = set()
        self._skipped_beyond_head: set[str] = set()
        self._next_offset = 0
        """Where the next part after the head begins; 0: right after the head."""
        self._length = 0
        self._skipped_last_pass: set[str] = set()
        """Hosts that were skipped in the last complete pass after the head."""
        self._has_found = False
        """Something was taken since the first part after the head was scanned."""
        self._was_scan_empty = False
        """The whole queue was scanned without a result, and nothing has happened since."""
        self.is_exhausted = False
        """As far as is known, nothing in the queue may be taken now. The next scan is not urgent."""

    @property
    def skipped_hosts(self) -> set[str]:
        """Hosts that have items left in the queue."""
        return self._skipped_at_head | self._skipped_beyond_head | self._skipped_last_pass

    def resume_scan(self) -> None:
        """Scan the whole queue without a pause: a skipped host may be visited again, and its items may be anywhere."""
        self._was_scan_empty = False

    def scan_spans(self) -> Iterator[Span]:
        """The parts of one scan, in order. Take the next part only after the last one was scanned, because it depends
        on the result."""
        self._skipped_at_head.clear()
        if not self._next_offset:
            self._skipped_last_pass, self._skipped_beyond_head = self._skipped_beyond_head, set()
            self._has_found = False
        self.is_exhausted = False
        yield Span(0, HEAD_WINDOWS, is_head=True)
        head = HEAD_WINDOWS * WINDOW_SIZE
        if self._length <= head:
            self._next_offset = 0
            self._skipped_last_pass.clear()
            self.is_exhausted = self._was_scan_empty = not self._has_found
            return
        first = max(self._next_offset, head)
        self._next_offset = first
        yield Span(first, HEAD_WINDOWS)
        if self._next_offset + WINDOW_SIZE >= self._length:
            self.is_exhausted = self._was_scan_empty = not self._has_found
            self._next_offset = 0
        else:
            yield Span(max(self._length - WINDOW_SIZE, head), 1)
            self.is_exhausted = self._was_scan_empty

    def select_items(
        self, items: Sequence[bytes], span: Span, free_slots: Callable[[str], int], limit: int
    ) -> Selection:
        """The items of this window to take, at most `limit`."""
        found: list[bytes] = []
        of_host: Counter[str] = Counter()
        for number, raw in enumerate(items):
            if len(found) >= limit:
                return Selection(found, number)
            origin = self._origins.find_origin(raw)
            if origin is None:
                found.append(raw)  # the item is given up at once
            elif origin in self._skipped_at_head or (not span.is_head and origin in self._skipped_beyond_head):
                continue
            elif free_slots(origin) > of_host[origin]:
                of_host[origin] += 1
                found.append(raw)
            else:
                self._skip_host(origin, span)
        return Selection(found, len(items))

    def record_window(self, span: Span, first: int, length: int, taken: int) -> None:
        """Record that a window was processed. The next window of this span begins at `first`, in a queue of this
        length."""
        self._length = length - taken
        if taken:
            self._has_found, self._was_scan_empty = True, False
        if not span.is_head and span.windows > 1:
            self._next_offset = first

    def _skip_host(self, origin: str, span: Span) -> None:
        passed = self._skipped_at_head if span.is_head else self._skipped_beyond_head
        if len(passed) < MAX_SKIPPED_HOSTS:
            passed.add(origin)
