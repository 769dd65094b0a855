"""The server's log is read as the server meant it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import access_log
from bench.access_log import AccessLog
from bench.report import BenchError

LINES = """\
1000.500 0.200 127.1.0.1 200 /robots.txt
1001.301 0.001 127.1.0.1 200 /
1000.400 0.000 127.1.0.2 200 /robots.txt
1002.298 0.000 127.1.0.1 200 /a b?c
"""


@pytest.fixture
def log(tmp_path: Path) -> AccessLog:
    (tmp_path / "access.log").write_text(LINES)
    return access_log.read(tmp_path / "access.log")


def test_a_request_counts_from_when_it_came_in(log: AccessLog) -> None:
    assert log.times == {"127.1.0.1": pytest.approx([1000.3, 1001.3, 1002.298]), "127.1.0.2": [1000.4]}
    assert [log.began_at, log.ended_at] == pytest.approx([1000.3, 1002.298])


def test_robots_are_requests_but_no_pages(log: AccessLog) -> None:
    assert log.pages == 2
    assert log.requests(1000.0, 1001.0) == 2
    assert log.requests(1000.0, 1003.0) == 4


@pytest.mark.parametrize(
    ("times", "violations"),
    [
        ([0.0, 1.0, 2.0], 0),
        ([0.0, 0.9985, 2.0], 0),  # the log rounds
        ([0.0, 0.997, 2.0], 1),
        ([0.0, 0.1, 0.2, 5.0], 2),
        ([0.0], 0),
    ],
)
def test_requests_that_came_too_soon(times: list[float], violations: int) -> None:
    assert AccessLog({"a": times, "b": [0.5]}).violations(1.0) == violations


def test_an_answer_that_is_no_page_spoils_the_measurement(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("1000.500 0.000 127.1.0.1 404 /missing\n")
    with pytest.raises(BenchError, match=r"404 to 127\.1\.0\.1/missing"):
        access_log.read(tmp_path / "log")


def test_nothing_asked_is_nothing_measured(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    with pytest.raises(BenchError, match="got no request"):
        access_log.read(tmp_path / "log")
