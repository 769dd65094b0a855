"""What happens to an item after a visit: publish its page, skip, retry, put back, or give up."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeAlias

import msgspec

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
from tenax.services.page_fetcher.items import Item, redirect_item

_encode_json = msgspec.json.Encoder().encode


class Keep(Value, frozen=True):
    """Store and publish the page."""

    response: Response


class Skip(Value, frozen=True):
    """robots.txt disallows it."""

    why: str


class Wait(Value, frozen=True):
    """Request it again, not before this time."""

    item: Item
    at: float
    is_retry: bool = False
    """It spent one of its attempts."""
    why: str = ""


class PutBack(Value, frozen=True):
    """Its host is in trouble: it goes to the end of the queue and spends no attempt."""

    why: str


class GiveUp(Value, frozen=True):
    """For good."""

    why: str
    status: int | None
    attempts: int


Step: TypeAlias = Keep | Skip | Wait | PutBack | GiveUp


def next_step(item: Item, answer: FetchResult, plan: Plan) -> Step:
    """The step after a visit with this `answer`, by the plan that a crawl would have for it."""
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
            return PutBack(why)  # where robots.txt failed it was not requested, and keeps its position
    status = outcome.status if isinstance(outcome, Failed) else answer.record.status
    match plan:
        case Reschedule(at=at, spends_attempt=spends, transport=transport):
            again = msgspec.structs.replace(task, attempt=task.attempt + spends, transport=transport)
            # A failed item goes behind the others of its host: if all of them fail, none is given up too soon.
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
    """Why an item was given up, as shown with the dead letters."""

    reason: str
    status_code: int | None
    attempts: int
    failed_at: str


def encode_reason(why: str, status: int | None, attempts: int, now: float) -> bytes:
    at = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    return _encode_json(Reason(why, status, attempts, at))
