"""Log output: constant messages, fields, nothing dangerous and nothing secret."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax import logs


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("tenax")
    before = list(root.handlers), root.level, ours.level
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words", "plain words"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;new title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]never closed\nnext line", " next line"),
        ("\x1bcreset", "reset"),
        ("two\r\nlines\tand a tab", "two lines and a tab"),
        ("a\u202egnp.exe", "agnp.exe"),
        ("\u2066isolated\u2069 \u200emark", "isolated mark"),
        ("bell\x07 back\x08 null\x00", "bell back null"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("नमस्ते شکریہ 👩\u200d🔬 é", "नमस्ते شکریہ 👩\u200d🔬 é"),
        ("tag\U000e0041", "tag"),
        ("", ""),
    ],
)
def test_strangers_text_is_inert(text: str, expected: str) -> None:
    assert logs.sanitize_text(text) == expected


def test_lines_may_be_kept() -> None:
    assert logs.sanitize_text("one\r\ntwo\x1b[2J\n\tthree", keep_lines=True) == "one\ntwo\n\tthree"


@given(st.text())
def test_plain_leaves_nothing_to_fear_and_has_nothing_more_to_do(text: str) -> None:
    once = logs.sanitize_text(text)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", once)
    assert logs.sanitize_text(once) == once
    once.encode()


def test_text_lines_have_a_sentence_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "text")
    logs.logger("tenax.x").info("page fetched", url="http://u:p@h/a?b=1", status=200, why="two words", name="ok")
    line = capsys.readouterr().err
    assert re.fullmatch(
        r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ info    page fetched url=http://\*\*\*@h/a\?b=1 status=200 why="two words" '
        r"name=ok\n",
        line,
    )


def test_json_lines_are_objects(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("debug", "json")
    logs.logger("tenax.x").debug("host backs off", origin="https://h", level="ours loses", api_key="k", seconds=1.23456)
    document = json.loads(capsys.readouterr().err)
    assert document["message"] == "host backs off"
    assert (document["level"], document["origin"]) == ("debug", "https://h")
    assert (document["api_key"], document["seconds"]) == ("***", 1.235)


@pytest.mark.parametrize("format", ["text", "json"])
def test_stdlib_records_with_extra_work_too(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", format)
    logging.getLogger("tenax.y").warning("robots.txt %s", "unreachable", extra={"origin": "https://h\x1b[2J"})
    line = capsys.readouterr().err
    assert "robots.txt unreachable" in line
    assert "https://h" in line
    assert "\x1b" not in line


def test_tracebacks_come_along_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "text")
    try:
        raise ValueError("http://u:secret@h/")
    except ValueError:
        logs.logger("tenax.x").exception("visit failed inside")
    text = capsys.readouterr().err
    assert "Traceback" in text
    assert "secret@" not in text


def test_levels_and_others_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("warning")
    logs.configure("warning")
    logs.logger("tenax.x").info("not shown")
    logging.getLogger("asyncio").info("not shown either")
    logging.getLogger("asyncio").warning("slow callback")
    assert capsys.readouterr().err.count("\n") == 1


def test_nested_fields_are_masked_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "text")
    logs.logger("tenax.x").info("crawling", failures={"dns": 2}, headers={"cookie": "a=1"}, hosts=["\x1b[1ma"])
    assert 'failures={"dns": 2} headers={"cookie": "***"} hosts=["a"]' in capsys.readouterr().err
