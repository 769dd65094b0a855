"""What happens to an item, for every way that a visit can end."""

from __future__ import annotations

import json

import pytest

from tenax.config import Config, Sites
from tenax.fetch.answer import FetchResult, RedirectTarget
from tenax.fetch.retry import plan_task
from tenax.model import (
    Deferred,
    Failed,
    FailureKind,
    Hop,
    Outcome,
    Redirected,
    Refused,
    Rejected,
)
from tenax.services.page_fetcher.disposition import GiveUp, PutBack, Skip, Step, Wait, encode_reason, next_step
from tenax.services.page_fetcher.intake import Item, parse_item
from tests.visit_ends import visit_end

NOW = 1_750_000_000.0
SITE = Sites(Config()).for_host("")


def item(url: str = "http://a.example/page") -> Item:
    found = parse_item(url.encode(), NOW)
    assert isinstance(found, Item)
    return found


def after(outcome: Outcome) -> Step:
    one = item()
    plan = plan_task(one.task, visit_end(outcome, NOW, SITE), NOW + 5)
    return next_step(one, FetchResult(outcome, NOW, 1), plan)


@pytest.mark.parametrize(
    ("outcome", "step"),
    [
        (Refused("robots: http://a.example/robots.txt does not allow it"), Skip),
        (Refused("guard: 10.0.0.1 is not a public address"), GiveUp),
        (Failed("HTTP 404", FailureKind.NOT_FOUND, status=404), GiveUp),
        (Failed("HTTP 410", FailureKind.GONE, status=410), GiveUp),
        (Failed("HTTP 403", FailureKind.BLOCKED, status=403), GiveUp),
        (Failed("too large", FailureKind.TOO_LARGE), GiveUp),
        (Rejected("empty"), GiveUp),
        (Failed("refused", FailureKind.CONNECT, is_site_wide=True), PutBack),
        (Failed("HTTP 503", FailureKind.SERVER_ERROR, is_site_wide=True, status=503), PutBack),
        (Failed("look-up failed", FailureKind.DNS, is_site_wide=True), PutBack),
        (Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500), Wait),
        (Failed("no such host", FailureKind.DNS), Wait),
        (Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429), Wait),
        (Deferred(NOW + 9, "robots.txt was asked first"), Wait),
    ],
)
def test_every_ending_has_its_step(outcome: Outcome, step: type[Step]) -> None:
    assert isinstance(after(outcome), step)


def test_only_the_urls_own_failures_spend_its_attempts() -> None:
    retried = after(Failed("HTTP 500", FailureKind.SERVER_ERROR, status=500))
    assert isinstance(retried, Wait) and retried.is_retry and retried.item.task.attempt == 1
    limited = after(Failed("HTTP 429", FailureKind.RATE_LIMITED, status=429))
    assert isinstance(limited, Wait) and not limited.is_retry and limited.item.task.attempt == 0
    assert limited.at == NOW + 5, "when its host may be requested again"


def test_a_redirect_goes_on_at_another_host_under_the_same_name() -> None:
    hops = (Hop("http://a.example/page", 301),)
    answer = FetchResult(
        Redirected(301, "https://b.example/"),
        NOW,
        1,
        redirect_target=RedirectTarget("https://b.example/", "https://b.example", hops),
    )
    plan = plan_task(item().task, visit_end(answer.outcome, NOW, SITE, answer=answer), NOW)
    step = next_step(item(), answer, plan)
    assert isinstance(step, Wait) and not step.is_retry
    assert (step.item.url, step.item.raw) == ("http://a.example/page", b"http://a.example/page")
    assert (step.item.task.url, step.item.task.origin) == ("https://b.example/", "https://b.example")
    assert step.item.task.chain == hops


def test_a_reason_says_when_and_how_often() -> None:
    assert json.loads(encode_reason("HTTP 500 (tried 3 times)", 500, 3, NOW)) == {
        "reason": "HTTP 500 (tried 3 times)",
        "status_code": 500,
        "attempts": 3,
        "failed_at": "2025-06-15T15:06:40+00:00",
    }
