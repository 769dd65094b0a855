"""The first signal ends a service in time, whatever it waits for."""

from __future__ import annotations

import threading

import pytest

from tenax.cli.run_service import EXIT_INTERRUPTED, Deadline


def test_what_does_not_end_in_time_is_stopped_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    is_ended = threading.Event()

    def end(code: int) -> None:
        codes.append(code)
        is_ended.set()

    with Deadline(0.01, "nothing is lost", end) as deadline:
        deadline.start()
        assert is_ended.wait(60)
    assert codes == [EXIT_INTERRUPTED]
    assert capsys.readouterr().err == "tenax: stopped at once; it did not stop within 0.01 seconds; nothing is lost\n"


@pytest.mark.parametrize("is_asked", [True, False])
def test_what_ends_in_time_goes_on(is_asked: bool) -> None:
    codes: list[int] = []
    with Deadline(threading.TIMEOUT_MAX, "", codes.append) as deadline:
        if is_asked:
            deadline.start()
    for watching in [thread for thread in threading.enumerate() if thread.name == "deadline"]:
        watching.join(60)
        assert not watching.is_alive()
    assert codes == []
