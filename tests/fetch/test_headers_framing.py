"""Where a body ends and how it is encoded, by RFC 9112 and RFC 9110."""

from __future__ import annotations

import pytest

from tenax.fetch.headers import Framing, Headers, merge_content_lengths, parse_framing
from tenax.model import Failed


def headers(*lines: str) -> Headers:
    pairs = (line.partition(":") for line in lines)
    return Headers((name.encode(), value.encode()) for name, _, value in pairs)


@pytest.mark.parametrize(
    ("lines", "framing"),
    [
        ([], Framing("", is_ended_by_close=True)),
        (["Content-Length: 4"], Framing("", 4)),
        (["Content-Length: 4", "Content-Length: 4"], Framing("", 4)),
        (["Content-Length: 4 , 4"], Framing("", 4)),
        (["Content-Length: " + "9" * 5000], Framing("", int("9" * 20))),
        (["Content-Encoding: gzip", "Content-Length: 4"], Framing("gzip", 4)),
        (["Content-Encoding: br", "Content-Encoding: gzip"], Framing("br, gzip", is_ended_by_close=True)),
        (["Transfer-Encoding: chunked"], Framing("")),
        (["Transfer-Encoding: CHUNKED", "Content-Length: 4", "Content-Length: 5"], Framing("")),
        (["Transfer-Encoding: identity"], Framing("", is_ended_by_close=True)),
        (["Transfer-Encoding: identity, chunked"], Framing("")),
        (["Transfer-Encoding: identity", "Transfer-Encoding: chunked"], Framing("")),
    ],
)
def test_framing(lines: list[str], framing: Framing) -> None:
    assert parse_framing(headers(*lines)) == framing


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["Content-Length: 4", "Content-Length: 5"], "it has different Content-Length headers"),
        (["Content-Length: 4, 5"], "it has different Content-Length headers"),
        (["Content-Length: -4"], "its Content-Length is not a number"),
        (["Content-Length: \u0664"], "its Content-Length is not a number"),
        (["Transfer-Encoding: xchunked"], "its Transfer-Encoding is 'xchunked', which was not requested"),
        (["Transfer-Encoding: gzip, chunked"], "its Transfer-Encoding is 'gzip', which was not requested"),
        (["Transfer-Encoding: chunked;a=b"], "its Transfer-Encoding is 'chunked;a=b', which was not requested"),
        (["Transfer-Encoding: chunked, identity"], "its Transfer-Encoding has `chunked` before its end"),
        (["Transfer-Encoding: chunked, chunked"], "its Transfer-Encoding has `chunked` before its end"),
        (["Transfer-Encoding: chunked,"], "its Transfer-Encoding has `chunked` before its end"),
        (["Transfer-Encoding: chunked", "Transfer-Encoding: x"], "its Transfer-Encoding has `chunked` before its end"),
    ],
)
def test_framing_that_no_two_clients_read_alike_is_refused(lines: list[str], why: str) -> None:
    failed = parse_framing(headers(*lines))
    assert isinstance(failed, Failed)
    assert failed.why == why


OK = b"HTTP/1.1 200 OK\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n"


ONE = b"Content-Length: 4\r\n"


@pytest.mark.parametrize(
    ("answer", "merged"),
    [
        (OK + ONE + b"A: b\r\ncontent-length:4\r\n\r\npage", OK + ONE + b"A: b\r\n\r\npage"),
        (OK + b"Content-Length: 4, 4\r\n\r\npage", OK + ONE + b"\r\npage"),
        (b"\r\n" + OK + b"Content-Length: 4\n" * 2 + b"\n", OK + ONE + b"\n"),
        (b"HTTP/1.1 100\r\n\r\n" + OK + ONE + ONE + b"\r\n", b"HTTP/1.1 100\r\n\r\n" + OK + ONE + b"\r\n"),
        # The body is not changed.
        (OK + b"\r\n" + ONE + ONE + b"\r\n", OK + b"\r\n" + ONE + ONE + b"\r\n"),
    ],
)
def test_a_length_that_is_only_repeated_is_written_once(answer: bytes, merged: bytes) -> None:
    assert merge_content_lengths(answer) == merged


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\npages",
        OK + b"Content-Length: 4\r\nContent-Length: 4\r\n 5\r\n\r\npages",
        OK + b"Content-Length: 4\r\nContent-Length:\r\n\r\npages",
        HINTS + OK + b"\r\n",
    ],
)
def test_what_is_not_only_repeated_stays(answer: bytes) -> None:
    assert merge_content_lengths(answer) == answer


def test_a_head_that_is_not_all_here_is_awaited() -> None:
    whole = OK + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\n"
    assert all(merge_content_lengths(whole[:end]) is None for end in range(len(whole)))
    assert merge_content_lengths(HINTS) is None
