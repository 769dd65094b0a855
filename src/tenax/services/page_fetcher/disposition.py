"""What becomes of an item after a visit: kept, skipped, asked for again, put back, or given up."""

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
    """The page is to be stored and told."""

    response: Response


class Skip(Value, frozen=True):
    """robots.txt does not allow it."""

    why: str


class Wait(Value, frozen=True):
    """It is asked for again from this time on."""

    item: Item
    at: float
    is_retry: bool = False
    """It spent one of its attempts."""
    why: str = ""


class PutBack(Value, frozen=True):
    """Its host is in trouble, which is not its fault: it goes to the end of the queue."""

    why: str


class GiveUp(Value, frozen=True):
    """For good."""

    why: str
    status: int | None
    attempts: int


Step: TypeAlias = Keep | Skip | Wait | PutBack | GiveUp


def next_step(item: Item, answer: FetchResult, plan: Plan) -> Step:
    """The next step after a visit that came to `answer`, by the plan that a crawl would have for it."""
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
            return PutBack(why)  # where its robots.txt failed it was not even asked for, and keeps its place
    status = outcome.status if isinstance(outcome, Failed) else answer.record.status
    match plan:
        case Reschedule(at=at, spends_attempt=spends, transport=transport):
            again = msgspec.structs.replace(task, attempt=task.attempt + spends, transport=transport)
            # One that failed goes behind the others of its host: when all of them fail, none is given up too soon.
            place = 0 if spends else item.position
            return Wait(msgspec.structs.replace(item, task=again, position=place), at, spends, _outcome_reason(outcome))
        case DeadLetter(cause=cause):
            return GiveUp(cause, status, task.attempt + 1)
        case _:
            return GiveUp(_outcome_reason(outcome), status, task.attempt + 1)


def _outcome_reason(outcome: Outcome) -> str:
    return outcome.why if isinstance(outcome, (Failed, Rejected, Deferred)) else "no page"


class Reason(msgspec.Struct, frozen=True):
    """Why an item was given up, as whoever looks at the dead letters sees it."""

    reason: str
    status_code: int | None
    attempts: int
    failed_at: str


def encode_reason(why: str, status: int | None, attempts: int, now: float) -> bytes:
    at = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
    return _encode_json(Reason(why, status, attempts, at))
