"""How a response's body is delimited and encoded, by its headers: RFC 9112, 6; RFC 9110, 8.4 and 8.6."""

from __future__ import annotations

from tenax.fetch.headers import Headers
from tenax.model import Failed, FailureKind, Value


class Framing(Value, frozen=True):
    """The length of the body, and its encoding."""

    content_coding: str
    """All codings in the order they were applied, for `tenax.fetch.bodies`."""
    length: int | None = None
    """Announced bytes on the wire; None if a zero-length chunk or the end of the connection ends the body."""
    is_ended_by_close: bool = False


def parse_framing(headers: Headers) -> Framing | Failed:
    """Of a response with a body. Several headers with one name are one list, as the RFC says."""
    content_coding = headers.get_joined("content-encoding")
    transfer = headers.get_joined("transfer-encoding")
    if transfer:
        return _parse_transfer_encoding(content_coding, [coding.strip().lower() for coding in transfer.split(",")])
    length = headers.get_joined("content-length")
    if not length:
        return Framing(content_coding, is_ended_by_close=True)
    if "," in length:
        different = {one.strip() for one in length.split(",")}
        if len(different) > 1:
            return _framing_failure("it has different Content-Length headers")
        length = different.pop()
    if not (length.isascii() and length.isdecimal()):
        return _framing_failure("its Content-Length is not a number")
    return Framing(content_coding, int(length[:20]))  # more digits are too many bytes in any case


def _parse_transfer_encoding(content_coding: str, codings: list[str]) -> Framing | Failed:
    """Only `chunked` is accepted, which delimits the body: so it must be the last coding, and occur once."""
    is_chunked = codings[-1] == "chunked"
    others = codings[: len(codings) - is_chunked]
    if "chunked" in others:
        return _framing_failure("its Transfer-Encoding has `chunked` before its end")
    unsupported = next((coding for coding in others if coding != "identity"), None)
    if unsupported is not None:
        return _framing_failure(f"its Transfer-Encoding is {unsupported[:40]!r}, which was not asked for")
    return Framing(content_coding, is_ended_by_close=not is_chunked)


def merge_content_lengths(answer: bytes) -> bytes | None:
    """The beginning of a response with repeated equal Content-Length headers merged into one.

    Unchanged if there is nothing to merge: the lengths differ, or there are none. None if the head is incomplete.
    """
    answer = answer.lstrip(b"\r\n")
    start, end = 0, _head_end(answer, 0)
    while end > 0 and answer[start : start + 10].partition(b" ")[2][:1] == b"1":  # an interim response comes before it
        start, end = end, _head_end(answer, end)
    if end < 0:
        return None
    length, lines, is_length = b"", [], False
    for line in answer[start:end].split(b"\n"):
        if is_length and line[:1] in (b" ", b"\t"):
            return answer  # folded headers are left alone
        name, _, value = line.partition(b":")
        is_length = name.strip().lower() == b"content-length"
        if is_length:
            values = {each.strip() for each in value.split(b",")} | ({length} if length else set())
            if len(values) > 1 or not value.strip():
                return answer
            if length:
                continue
            length = values.pop()
            line = b"Content-Length: " + length + b"\r"
        lines.append(line)
    return answer[:start] + b"\n".join(lines) + answer[end:]


def _head_end(answer: bytes, start: int) -> int:
    """Where the head that begins here ends; -1 if it is incomplete."""
    ends = [(answer.find(mark, start), len(mark)) for mark in (b"\n\r\n", b"\n\n")]
    return min((at + length for at, length in ends if at >= 0), default=-1)


def _framing_failure(why: str) -> Failed:
    return Failed(why, FailureKind.BAD_RESPONSE)
