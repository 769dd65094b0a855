from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.fetch import Response
from tenax.fetch.answer import response_outcome, retry_after_seconds
from tenax.fetch.headers import Headers
from tenax.model import Failed, FailureKind, Fetched, Rejected, Unchanged

NOW = 1_750_000_000.0  # Sun, 15 Jun 2025 15:06:40 GMT
CAP_SECONDS = 3600.0


def response(status: int, body: bytes = b"page", **headers: str) -> Response:
    named = Headers([(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()])
    return Response("http://example.org/", status, named, body, len(body), NOW, NOW, NOW)


def failed(status: int, kind: FailureKind, is_site_wide: bool = False) -> Failed:
    return Failed(f"HTTP {status}", kind, is_site_wide, status)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, Fetched(200)),
        (203, Fetched(203)),
        (206, Rejected("partial: only a part of the page came")),
        (301, None),
        (302, None),
        (303, None),
        (307, None),
        (308, None),
        (304, Unchanged()),
        (300, failed(300, FailureKind.BAD_RESPONSE)),
        (400, failed(400, FailureKind.CLIENT_ERROR)),
        (401, failed(401, FailureKind.BLOCKED)),
        (403, failed(403, FailureKind.BLOCKED)),
        (404, failed(404, FailureKind.NOT_FOUND)),
        (408, failed(408, FailureKind.TIMEOUT_TOTAL)),
        (410, failed(410, FailureKind.GONE)),
        (418, failed(418, FailureKind.CLIENT_ERROR)),
        (429, failed(429, FailureKind.RATE_LIMITED)),
        (451, failed(451, FailureKind.BLOCKED)),
        (500, failed(500, FailureKind.SERVER_ERROR)),
        (502, failed(502, FailureKind.SERVER_ERROR, is_site_wide=True)),
        (503, failed(503, FailureKind.SERVER_ERROR, is_site_wide=True)),
        (504, failed(504, FailureKind.SERVER_ERROR, is_site_wide=True)),
        (520, failed(520, FailureKind.SERVER_ERROR)),
        (999, failed(999, FailureKind.BLOCKED)),
        (600, failed(600, FailureKind.BAD_RESPONSE)),
        (42, failed(42, FailureKind.BAD_RESPONSE)),
    ],
)
def test_what_each_status_means(status: int, expected: object) -> None:
    assert response_outcome(response(status), CAP_SECONDS) == expected


@pytest.mark.parametrize("status", [200, 204, 205])
def test_nothing_is_no_page(status: int) -> None:
    assert response_outcome(response(status, b""), CAP_SECONDS) == Rejected("empty")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        (" 120 ", 120.0),
        ("0", None),
        ("-5", None),
        ("999999", CAP_SECONDS),
        ("9" * 5000, CAP_SECONDS),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
        ("Sun, 15 Jun 2025 15:07:40 GMT", 60.0),
        ("Sunday, 15-Jun-25 15:07:40 GMT", 60.0),
        ("Sun Jun 15 15:07:40 2025", 60.0),
        ("Sun, 15 Jun 2025 14:00:00 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", CAP_SECONDS),
        ("Sun, 99 Jun 2025 15:07:40 GMT", None),
    ],
)
def test_how_long_the_host_asks_us_to_wait(text: str, seconds: float | None) -> None:
    assert retry_after_seconds(response(429, Retry_After=text), CAP_SECONDS) == seconds
    outcome = response_outcome(response(429, Retry_After=text), CAP_SECONDS)
    assert isinstance(outcome, Failed)
    assert outcome.retry_after_seconds == seconds


def test_a_date_is_read_by_the_hosts_own_clock() -> None:
    late = response(503, Date="Sun, 15 Jun 2025 18:00:00 GMT", Retry_After="Sun, 15 Jun 2025 18:00:30 GMT")
    assert retry_after_seconds(late, CAP_SECONDS) == 30.0


@given(st.text(max_size=80))
def test_nonsense_never_raises(text: str) -> None:
    seconds = retry_after_seconds(response(429, Retry_After=text, Date=text), CAP_SECONDS)
    assert seconds is None or 0 < seconds <= CAP_SECONDS
