"""An item of the queue, read: a URL that can be asked for, or the reason why it is none."""

from __future__ import annotations

import msgspec

from tenax.model import Priority, Source, Task, Value
from tenax.text.masking import mask_url
from tenax.urls.normalize import MAX_HREF_CHARS, mask_userinfo, parse_exact_url

SHOWN_CHARS = 200


class Item(Value, frozen=True):
    """A URL in hand."""

    raw: bytes
    """As it stands in the lists."""
    url: str
    """As it was asked for, but for its user and password; under this name its page is kept and told."""
    task: Task
    """What is asked for next: the URL, or what it was redirected to."""
    host: str
    position: int = 0
    """Its place among those of its host that are in hand: the smallest is asked for first; 0: it has none yet."""

    @property
    def is_redirected_away(self) -> bool:
        """A redirect led it to another host than the one it stands under in the queue."""
        return bool(self.task.chain) and not self.task.chain[0].url.startswith(f"{self.task.origin}/")


class InvalidItem(Value, frozen=True):
    """An item that is no URL we could ask for."""

    raw: bytes
    why: str


def parse_item(raw: bytes, now: float, attempts: int = 0) -> Item | InvalidItem:
    """What an item asks for that has spent so many attempts. Never raises."""
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
    # We hold no page that could be unchanged. Whoever says so all the same has failed, and that costs an attempt.
    task = Task(
        target.url, target.origin, 0, Priority.MEDIUM, Source.SEED, None, now, now, attempts, is_unconditional=True
    )
    return Item(raw, mask_userinfo(url), task, target.host)


def redirect_item(item: Item, url: str, origin: str, redirected_task: Task) -> Item:
    """The item after a redirect: the same URL, to be asked for at another place. Its attempts stay spent: else a URL
    that leads to a page which always fails would begin anew each time it comes out of the queue."""
    host = origin.partition("://")[2]
    task = msgspec.structs.replace(redirected_task, url=url, origin=origin, transport=None)
    return msgspec.structs.replace(item, task=task, host=host)


def _truncate_url(url: str) -> str:
    """A beginning of it without its password; the item itself is kept whole."""
    url = mask_url(url)
    return url if len(url) <= SHOWN_CHARS else f"{url[:SHOWN_CHARS]}…"
