"""HTTP/1.1 of the demo site: parses requests, encodes answers and sends them, correctly or not."""

from __future__ import annotations

import asyncio
import gzip
import re
from http import HTTPStatus
from urllib.parse import urlsplit

from tenax.demo import Answer
from tenax.model import Value

MAX_HEAD_BYTES = 32 * 1024
MIN_GZIP_BYTES = 500

_ACCEPTS_GZIP = re.compile(rb"\r\naccept-encoding:[^\r]*\bgzip\b", re.IGNORECASE)
_WANTS_CLOSE = re.compile(rb"\r\nconnection:[^\r]*\bclose\b", re.IGNORECASE)
_HAS_BODY = re.compile(rb"\r\n(?:content-length: *[1-9]|transfer-encoding:)", re.IGNORECASE)
_REQUEST_LINE = re.compile(rb"([A-Z]{1,20}) ([!-~]+) HTTP/1\.[01]\r\n")


class ParsedRequest(Value, frozen=True):
    """The parts of a request that the site uses."""

    method: str
    target: str
    """Path and query."""
    accepts_gzip: bool
    should_close: bool
    """Close the connection after the answer. Also set for a request with a body, which is not read."""


def parse_request(head: bytes) -> ParsedRequest | None:
    """Parse the head of a request; None when it is not HTTP/1."""
    match = _REQUEST_LINE.match(head)
    target = _parse_target(match[2].decode("ascii")) if match is not None else None
    if match is None or target is None:
        return None
    is_last = _WANTS_CLOSE.search(head) is not None or _HAS_BODY.search(head) is not None
    return ParsedRequest(match[1].decode("ascii"), target, _ACCEPTS_GZIP.search(head) is not None, is_last)


def encode_answer(answer: Answer, parsed: ParsedRequest | None) -> bytes:
    """Head and body; the head of a truncated body announces all of it."""
    body, headers = answer.body, [*answer.headers, ("Content-Type", answer.content_type)]
    if _may_compress(answer) and parsed is not None and parsed.accepts_gzip:
        body = gzip.compress(body, mtime=0)
        headers.append(("Content-Encoding", "gzip"))
    headers.append(("Connection", "close") if answer.drip_seconds else ("Content-Length", str(len(body))))
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}", "Server: tenax-demo"]
    lines += [f"{name}: {value}" for name, value in headers]
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    if parsed is not None and parsed.method == "HEAD":
        return head
    return head + body[: answer.cut_after_bytes]


async def send_answer(writer: asyncio.StreamWriter, answer: Answer, data: bytes) -> bool:
    """Send the answer with its delays; False when the connection cannot be reused."""
    if answer.delay_seconds:
        await asyncio.sleep(answer.delay_seconds)
    writer.write(data)
    await writer.drain()
    while answer.drip_seconds:
        await asyncio.sleep(answer.drip_seconds)
        writer.write(b" ")
        await writer.drain()
    return answer.cut_after_bytes is None


def _parse_target(text: str) -> str | None:
    """Path and query of a request target, also of an absolute URL."""
    if text.startswith("/"):
        return text
    if not text.lower().startswith("http://"):
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _may_compress(answer: Answer) -> bool:
    is_sent_plainly = answer.cut_after_bytes is None and not answer.drip_seconds
    has_coding = any(name == "Content-Encoding" for name, _ in answer.headers)
    return is_sent_plainly and not has_coding and len(answer.body) >= MIN_GZIP_BYTES
