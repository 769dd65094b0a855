"""Escaped untrusted text: nothing is lost, and nothing has an effect."""

from __future__ import annotations

import json
import re
import subprocess

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax import logs
from tenax.text.sanitize import PIECE_BYTES, escape_json, escape_pieces, quote_shell_word

UNSAFE = "\x7f\x80\x85\x9b\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202e\u2066\ufeff\ufffb\U000e0041"
SAFE = "é ñ – “quoted” \u00a0 שלום 👩\u200d🔬 漢字 \u0301"


@given(st.dictionaries(st.text(), st.text() | st.text(alphabet=UNSAFE + SAFE)))
def test_escaped_json_means_the_same_on_one_line(document: dict[str, str]) -> None:
    written = escape_json(msgspec.json.encode(document))
    assert json.loads(written) == document
    assert len(written.decode().splitlines()) == 1
    assert logs.sanitize_text(written.decode()) == written.decode(), "nothing is left that a terminal would obey"


@pytest.mark.parametrize("char", [*UNSAFE])
def test_each_unsafe_character_is_escaped(char: str) -> None:
    written = escape_json(msgspec.json.encode(f"a{char}b"))
    assert written.isascii() and b"\x7f" not in written
    assert json.loads(written) == f"a{char}b"


def test_every_character_is_escaped_or_left_as_plain_text_is() -> None:
    """`sanitize_text` removes exactly what is escaped here, for all of Unicode."""
    for code in range(0x20, 0x110000):
        char = chr(code)
        if not 0xD800 <= code < 0xE000:
            text = f"é{char}ñ"
            assert (escape_json(text.encode()) != text.encode()) == (logs.sanitize_text(text) != text), hex(code)


@pytest.mark.parametrize("before", range(5))
@pytest.mark.parametrize("char", ["\u200b", "é", "漢", "👩", "\U000e0041"])
def test_pieces_are_of_whole_characters(char: str, before: int) -> None:
    text = "a" * before + char * PIECE_BYTES
    pieces = list(escape_pieces(msgspec.json.encode(text)))
    assert len(pieces) > 1
    assert "".join(map(bytes.decode, pieces)) == escape_json(msgspec.json.encode(text)).decode()
    assert json.loads(b"".join(pieces)) == text


def test_millions_of_escapes_are_one_text() -> None:
    """Searched one by one, they took a minute and gigabytes."""
    text = "a\u200b" * 3_000_000
    written = escape_json(msgspec.json.encode(text))
    assert written == b'"' + b"a\\u200b" * 3_000_000 + b'"'


def test_what_is_safe_stays_as_it_is() -> None:
    document = msgspec.json.encode(SAFE)
    assert escape_json(document) is document
    indented = msgspec.json.format(document, indent=2)
    assert escape_json(indented) is indented


@pytest.mark.parametrize(
    ("word", "typed"),
    [
        ("plain", "plain"),
        ("two words", "'two words'"),
        ("it's", "'it'\"'\"'s'"),
        ("línea", "'línea'"),
        ("a\nb", r"$'a\012b'"),
        ("a\x1b[31mb", r"$'a\033[31mb'"),
        ("1\x002", r"$'1\0002'"),
        ("it's\n\\", r"$'it\'s\012\\'"),
        ("a\u202eb", r"$'a\U0000202eb'"),
        ("a\udcffb", r"$'a\xffb'"),
    ],
)
def test_a_word_as_a_shell_reads_it(word: str, typed: str) -> None:
    assert quote_shell_word(word) == typed


@settings(max_examples=30, deadline=None)
@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40))
def test_a_shell_reads_it_back(word: str) -> None:
    typed = quote_shell_word(word)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e]", typed)
    command = ["bash", "-c", f"printf %s {typed}"]
    read = subprocess.run(command, capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert read.stdout.decode() == word
