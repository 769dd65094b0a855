"""An item of the queue, read: a URL that can be asked for, or the reason why it is none."""

from __future__ import annotations

import msgspec

from tenax.model import Priority, Source, Task, Value
from tenax.text.masking import mask_url
from tenax.urls.normalize import MAX_HREF_CHARS, as_written, mask_userinfo

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
    place: int = 0
    """Its place among those of its host that are in hand: the smallest is asked for first; 0: it has none yet."""

    @property
    def is_led_away(self) -> bool:
        """A redirect led it to another host than the one it stands under in the queue."""
        return bool(self.task.chain) and not self.task.chain[0].url.startswith(f"{self.task.origin}/")


class Bad(Value, frozen=True):
    """An item that is no URL we could ask for."""

    raw: bytes
    why: str


def read(raw: bytes, now: float, attempts: int = 0) -> Item | Bad:
    """What an item asks for that has spent so many attempts. Never raises."""
    if len(raw) > MAX_HREF_CHARS * 4:
        return Bad(raw, f"not a URL: {len(raw)} bytes long")
    try:
        url = raw.decode().strip()
    except UnicodeDecodeError:
        return Bad(raw, "not a URL: not UTF-8")
    if not url:
        return Bad(raw, "not a URL: empty")
    target = as_written(url)
    if target is None:
        return Bad(raw, f"not an http or https URL: {_shown(url)}")
    # We hold no page that could be unchanged. Whoever says so all the same has failed, and that costs an attempt.
    task = Task(
        target.url, target.origin, 0, Priority.MEDIUM, Source.SEED, None, now, now, attempts, is_unconditional=True
    )
    return Item(raw, mask_userinfo(url), task, target.host)


def elsewhere(item: Item, url: str, origin: str, task_of: Task) -> Item:
    """The item after a redirect: the same URL, to be asked for at another place. Its attempts stay spent: else a URL
    that leads to a page which always fails would begin anew each time it comes out of the queue."""
    host = origin.partition("://")[2]
    task = msgspec.structs.replace(task_of, url=url, origin=origin, way=None)
    return msgspec.structs.replace(item, task=task, host=host)


def _shown(url: str) -> str:
    """A beginning of it without its password; the item itself is kept whole."""
    url = mask_url(url)
    return url if len(url) <= SHOWN_CHARS else f"{url[:SHOWN_CHARS]}…"
