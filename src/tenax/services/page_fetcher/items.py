"""Parses an item of the queue: a URL to request, or the reason why it is none."""

from __future__ import annotations

import msgspec

from tenax.model import Priority, Source, Task, Value
from tenax.text.masking import mask_url
from tenax.urls.normalize import MAX_HREF_CHARS, mask_userinfo, parse_exact_url

SHOWN_CHARS = 200


class Item(Value, frozen=True):
    """A claimed URL."""

    raw: bytes
    """As it is in the lists."""
    url: str
    """As requested, without user and password; its page is stored and published under this URL."""
    task: Task
    """What is requested next: the URL, or its redirect target."""
    host: str
    position: int = 0
    """Its order among the items of its host in memory: the smallest is first; 0: not assigned yet."""

    @property
    def is_redirected_away(self) -> bool:
        """Whether it was redirected to another host than its own in the queue."""
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
    # We have no stored copy that could be unchanged: a 304 is a failure, and spends an attempt.
    task = Task(
        target.url, target.origin, 0, Priority.MEDIUM, Source.SEED, None, now, now, attempts, is_unconditional=True
    )
    return Item(raw, mask_userinfo(url), task, target.host)


def redirect_item(item: Item, url: str, origin: str, redirected_task: Task) -> Item:
    """The item after a redirect: the same URL with another target. Its attempts stay spent: otherwise a URL that
    redirects to a page which always fails would start again each time it is claimed."""
    host = origin.partition("://")[2]
    task = msgspec.structs.replace(redirected_task, url=url, origin=origin, transport=None)
    return msgspec.structs.replace(item, task=task, host=host)


def _truncate_url(url: str) -> str:
    """The beginning of the URL without its password; the item itself is not shortened."""
    url = mask_url(url)
    return url if len(url) <= SHOWN_CHARS else f"{url[:SHOWN_CHARS]}…"
