"""An item of the queue, read: a URL that can be asked for, or the reason why it is none."""

from __future__ import annotations

import msgspec

from tenax.model import Priority, Source, Task, Value
from tenax.urls.normalize import MAX_HREF_CHARS, as_written

SHOWN_CHARS = 200


class Item(Value, frozen=True):
    """A URL in hand."""

    raw: bytes
    """As it stands in the lists."""
    url: str
    """As it was asked for; under this name its page is kept and told."""
    task: Task
    """What is asked for next: the URL, or what it was redirected to."""
    host: str


class Bad(Value, frozen=True):
    """An item that is no URL we could ask for."""

    raw: bytes
    why: str


def read(raw: bytes, now: float) -> Item | Bad:
    """What an item asks for. Never raises."""
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
    task = Task(target.url, target.origin, 0, Priority.MEDIUM, Source.SEED, None, now, now)
    return Item(raw, url, task, target.host)


def elsewhere(item: Item, url: str, origin: str, task_of: Task) -> Item:
    """The item after a redirect: the same URL, to be asked for at another place with fresh attempts."""
    host = origin.partition("://")[2]
    task = msgspec.structs.replace(task_of, url=url, origin=origin, attempt=0, way=None)
    return msgspec.structs.replace(item, task=task, host=host)


def _shown(url: str) -> str:
    """A beginning of it; the item itself is kept whole."""
    return url if len(url) <= SHOWN_CHARS else f"{url[:SHOWN_CHARS]}…"
