"""Dates in the forms that feeds have them in, and what is no date."""

from __future__ import annotations

from calendar import timegm
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.discovery.feeds.values import parse_date

NOW = 1_790_000_000.0
"""In 2026."""


def at(*moment: int) -> float:
    return float(timegm((*moment, 0, 0, 0, 0)[:6]))


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        # RFC 822
        ("Thu, 01 Jan 2004 19:48:21 GMT", at(2004, 1, 1, 19, 48, 21)),
        ("Thu, 1 Jan 2004 19:48:21 +0100", at(2004, 1, 1, 18, 48, 21)),
        ("Thu, 1 Jan 2004 19:48:21 -05:30", at(2004, 1, 2, 1, 18, 21)),
        ("Thu, 01 Jan 04 19:48 EST", at(2004, 1, 2, 0, 48)),
        ("01 Jan 94 00:00:00 PDT", at(1994, 1, 1, 7)),
        ("Thursday, 01 January 2004 19:48:21 UT", at(2004, 1, 1, 19, 48, 21)),
        ("Thu,01 Jan 2004 19:48:21 GMT", at(2004, 1, 1, 19, 48, 21)),
        ("Thu Jan 01 2004 19:48:21 GMT-0100", at(2004, 1, 1, 20, 48, 21)),
        ("Thu, Jan 01 2004 19:48:21 GMT", at(2004, 1, 1, 19, 48, 21)),
        ("Sun Jan  4 16:29:06 2004", at(2004, 1, 4, 16, 29, 6)),
        ("Sun Jan  4 16:29:06 PST 2004", at(2004, 1, 5, 0, 29, 6)),
        ("01 Jan 2004", at(2004, 1, 1)),
        ("01-Jan-2004 10:00 GMT", at(2004, 1, 1, 10)),
        ("Mon, 31 Dec 2012 23:59:60 GMT", at(2013, 1, 1)),
        ("Fri, 02 Jan 2026 24:00:00 GMT", at(2026, 1, 3)),
        ("01 Jan 2004 12:00 CEST", at(2004, 1, 1, 10)),
        ("01 Jan 2004 12:00 XYZ", at(2004, 1, 1, 12)),
        # ISO 8601
        ("2003-12-31T10:14:55Z", at(2003, 12, 31, 10, 14, 55)),
        ("2003-12-31T10:14:55.25-08:00", at(2003, 12, 31, 18, 14, 55)),
        ("2003-12-31t10:14:55+0130", at(2003, 12, 31, 8, 44, 55)),
        ("2003-12-31 10:14:55.0 +01", at(2003, 12, 31, 9, 14, 55)),
        ("2003-12-31T10:14", at(2003, 12, 31, 10, 14)),
        ("2003-12-31", at(2003, 12, 31)),
        ("2003-2-1", at(2003, 2, 1)),
        ("2003-12", at(2003, 12, 1)),
        ("2003", at(2003, 1, 1)),
        ("20031231", at(2003, 12, 31)),
        ("2003-335", at(2003, 12, 1)),
        ("2003335", at(2003, 12, 1)),
        ("03-12-31", at(2003, 12, 31)),
        ("031231", at(2003, 12, 31)),
        # others
        ("Fri, 2006/09/15 08:19:53 EDT", at(2006, 9, 15, 12, 19, 53)),
        ("2004년 05월 28일  01:31:15", at(2004, 5, 27, 16, 31, 15)),
        ("2004-05-25 오후 11:23:17", at(2004, 5, 25, 14, 23, 17)),
        ("2004-05-25 오전 11:23:17", at(2004, 5, 25, 2, 23, 17)),
        ("2004-július-13T9:15-05:00", at(2004, 7, 13, 14, 15)),
        ("Κυρ, 11 Ιούλ 2004 12:00:00 EST", at(2004, 7, 11, 17)),
        ("  2003-12-31\n", at(2003, 12, 31)),
    ],
)
def test_dates(written: str, moment: float) -> None:
    assert parse_date(written, NOW) == moment


@pytest.mark.parametrize(
    "written",
    [
        *("", "   ", "soon", "yesterday 10:00", "2003-02-30", "2003-13-01", "0000-01-01", "31 Foo 2004"),
        *("99 Jan 2004 10:00:00 GMT", "1 Jan 2004 25:00:00 GMT", "1 Jan 2004 10:61:00 GMT", "1 Jan 2004 x:y GMT"),
        *("2003-12-31T25:00:00Z", "2003-12-31T10:14:55+99999", "x" * 1000, "9999-12-31T23:59:59-10:00"),
    ],
)
def test_no_dates(written: str) -> None:
    assert parse_date(written, NOW) is None


@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 1, 1)))
def test_every_moment_is_read_in_both_forms(moment: datetime) -> None:
    moment = moment.replace(microsecond=0, tzinfo=UTC)
    assert parse_date(moment.isoformat(), NOW) == moment.timestamp()
    if moment.year >= 1900:  # below, strftime has no zeros in front on some systems
        assert parse_date(moment.strftime("%a, %d %b %Y %H:%M:%S GMT"), NOW) == moment.timestamp()


@given(st.text(max_size=60) | st.text("0123456789-:T+Z /년月jan,.", max_size=40))
def test_nothing_makes_it_raise(written: str) -> None:
    found = parse_date(written, NOW)
    assert found is None or datetime.fromtimestamp(found, UTC)
