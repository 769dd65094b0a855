"""Memory in a process that reads pages."""

from __future__ import annotations

import gc

import pytest

from tenax.memory import uncollected
from tenax.parse import read_document


@pytest.mark.parametrize("is_on", [True, False])
def test_nothing_is_collected_meanwhile_and_all_is_as_before_afterwards(is_on: bool) -> None:
    (gc.enable if is_on else gc.disable)()
    try:
        with uncollected():
            assert not gc.isenabled()
        assert gc.isenabled() is is_on
        with pytest.raises(ZeroDivisionError), uncollected():
            raise ZeroDivisionError
        assert gc.isenabled() is is_on
    finally:
        gc.enable()


def test_reading_a_page_leaves_nothing_to_collect() -> None:
    """So nothing grows while the collector does not look."""
    page = b"<!doctype html><title>T</title>" + b"<ul><li><a href=/x>one</a><td><p>Some words. <b>More" * 500
    read_document(page, "text/html", url="https://h.example/", now=1.0)
    gc.collect()
    gc.disable()
    try:
        read_document(page, "text/html", url="https://h.example/", now=1.0)
        assert gc.collect() < 1000
    finally:
        gc.enable()
