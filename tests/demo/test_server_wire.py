"""Requests and answers as bytes."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.demo import Answer
from tenax.demo.server import ParsedRequest, encode_answer, parse_request


@pytest.mark.parametrize(
    ("head", "asked"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", ParsedRequest("GET", "/", False, False)),
        (b"GET /a?b=1 HTTP/1.1\r\nAccept-Encoding: br, gzip\r\n\r\n", ParsedRequest("GET", "/a?b=1", True, False)),
        (b"HEAD / HTTP/1.0\r\nconnection: Close\r\n\r\n", ParsedRequest("HEAD", "/", False, True)),
        (b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n", ParsedRequest("POST", "/", False, True)),
        (b"GET http://127.0.0.1:80/a?b HTTP/1.1\r\n\r\n", ParsedRequest("GET", "/a?b", False, False)),
        (b"GET http://127.0.0.1 HTTP/1.1\r\n\r\n", ParsedRequest("GET", "/", False, False)),
        (b"GET http://[ HTTP/1.1\r\n\r\n", None),
        (b"CONNECT a:443 HTTP/1.1\r\n\r\n", None),
        (b"OPTIONS * HTTP/1.1\r\n\r\n", None),
        (b"GET /caf\xc3\xa9 HTTP/1.1\r\n\r\n", None),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", None),
        (b"\r\n\r\n", None),
    ],
)
def test_requests(head: bytes, asked: ParsedRequest | None) -> None:
    assert parse_request(head) == asked


@given(st.binary())
def test_no_bytes_break_the_reader(garbage: bytes) -> None:
    parse_request(garbage)
    parse_request(b"GET " + garbage + b" HTTP/1.1\r\n\r\n")


def test_a_body_is_squeezed_for_those_who_take_it() -> None:
    answer = Answer(200, b"long " * 200)
    head, _, body = encode_answer(answer, ParsedRequest("GET", "/", True, False)).partition(b"\r\n\r\n")
    assert gzip.decompress(body) == answer.body
    assert f"Content-Length: {len(body)}".encode() in head
    assert encode_answer(answer, ParsedRequest("GET", "/", False, False)).endswith(answer.body)


def test_a_head_has_no_body_and_a_cut_one_announces_all() -> None:
    answer = Answer(200, b"x" * 1000, cut_after_bytes=10)
    data = encode_answer(answer, ParsedRequest("GET", "/", True, False))
    assert b"Content-Length: 1000\r\n" in data
    assert data.endswith(b"\r\n\r\n" + b"x" * 10)
    assert encode_answer(answer, ParsedRequest("HEAD", "/", True, False)).endswith(b"\r\n\r\n")
