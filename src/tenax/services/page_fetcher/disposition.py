"""What happens to an item after a visit: its page is published with an event, or it is skipped, retried, put back or
given up."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import TypeAlias

import msgspec

from tenax.events import url_hash
from tenax.fetch import Response
from tenax.fetch.answer import FetchResult
from tenax.model import (
    DeadLetter,
    Deferred,
    Failed,
    Fetched,
    Outcome,
    Plan,
    Redirected,
    Refused,
    Rejected,
    Reschedule,
    Value,
)
from tenax.services.page_fetcher.intake import Item, redirect_item

_encode_event = msgspec.json.Encoder().encode


class WebpageEvent(msgspec.Struct, frozen=True):
    """A fetched page, as readers of the topic see it. Every field is always present."""

    type: str
    url: str
    cache_key: str
    """The key of the body. The body is decoded, but otherwise unchanged."""
    status_code: int
    content_type: str | None
    content_length: int
    """Length of the body in bytes."""
    content_hash: str
    """SHA-256 of the body in hex."""
    fetched_at: str
    """ISO 8601, UTC."""


class OutgoingPage(msgspec.Struct, frozen=True):
    """A page to publish."""

    item: bytes
    cache_key: str
    body: bytes
    key: bytes
    event: bytes


def build_outgoing_page(
    item: bytes, url: str, status: int, content_type: str, body: bytes, fetched_at: float
) -> OutgoingPage:
    """The page to publish. `url` must not contain a user or password, because it is published, and the keys derive from
    it."""
    name = url_hash(url)
    cache_key = f"webpage:{name}"
    event = WebpageEvent(
        type="webpage_fetched",
        url=url,
        cache_key=cache_key,
        status_code=status,
        content_type=content_type or None,
        content_length=len(body),
        content_hash=sha256(body).hexdigest(),
        fetched_at=datetime.fromtimestamp(fetched_at, UTC).isoformat(timespec="milliseconds"),
    )
    return OutgoingPage(item, cache_key, body, name.encode(), _encode_event(event))


_encode_json = msgspec.json.Encoder().encode


class Keep(Value, frozen=True):
    """Store and publish the page."""

    response: Response


class Skip(Value, frozen=True):
    """robots.txt disallows it."""

    why: str


class Wait(Value, frozen=True):
    """Request the item again, not before this time."""

    item: Item
    at: float
    is_retry: bool = False
    """The item has spent one of its attempts."""
    why: str = ""


class PutBack(Value, frozen=True):
    """The host of the item fails. The item goes to the end of the queue and spends no attempt."""

    why: str


class GiveUp(Value, frozen=True):
    """The item becomes a dead letter."""

    why: str
    status: int | None
    attempts: int


Step: TypeAlias = Keep | Skip | Wait | PutBack | GiveUp


def next_step(item: Item, answer: FetchResult, plan: Plan) -> Step:
    """The next step after a visit with this `answer`, by the plan that a crawl would have for the URL."""
    outcome, task = answer.outcome, item.task
    match outcome:
        case Fetched() if answer.response is not None:
            return Keep(answer.response)
        case Redirected() if answer.redirect_target is not None:
            there = answer.redirect_target
            onward = msgspec.structs.replace(task, chain=there.chain)
            return Wait(redirect_item(item, there.url, there.origin, onward), answer.answered_at)
        case Refused(why=why) if why.startswith("robots"):
            return Skip(why)
        case Refused(why=why):
            return GiveUp(why, None, task.attempt)
        case Failed(why=why, is_site_wide=True) if answer.robots is None:
            return PutBack(why)  # if robots.txt failed, the item was not requested and keeps its position
    status = outcome.status if isinstance(outcome, Failed) else answer.record.status
    match plan:
        case Reschedule(at=at, spends_attempt=spends, transport=transport):
            again = msgspec.structs.replace(task, attempt=task.attempt + spends, transport=transport)
            # A failed item goes behind the other items of its host. So if all of them fail, none is given up too soon.
            position = 0 if spends else item.position
            return Wait(
                msgspec.structs.replace(item, task=again, position=position), at, spends, _outcome_reason(outcome)
            )
        case DeadLetter(cause=cause):
            return GiveUp(cause, status, task.attempt + 1)
        case _:
            return GiveUp(_outcome_reason(outcome), status, task.attempt + 1)


def _outcome_reason(outcome: Outcome) -> str:
    return outcome.why if isinstance(outcome, (Failed, Rejected, Deferred)) else "no page"


class Reason(msgspec.Struct, frozen=True):
    """Why an item was given up, as the dead letters show it."""

    reason: str
    status_code: int | None
    attempts: int
    failed_at: str


def encode_reason(why: str, status: int | None, attempts: int, now: float) -> bytes:
    at = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    return _encode_json(Reason(why, status, attempts, at))
