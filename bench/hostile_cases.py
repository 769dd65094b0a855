"""Answers of hostile hosts: each case is a complete response with headers, as bytes or in chunks.

`HTML` are documents that are costly to parse, `LISTS` such feeds and sitemaps, `ANSWERS` broken or endless HTTP. An
answer depends only on the case's name and a number.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from random import Random

SECRETS = ("hunter2-in-location", "hunter2-in-link", "hunter2-in-feed", "hunter2-in-backslash")
"""Passwords in URLs; none may appear in a file or in output."""
SLOW = 0.5
"""Seconds between the chunks of an answer."""

Answer = bytes | Iterator[bytes]


def head(status: str = "200 OK", content_type: str = "text/html", *lines: str) -> bytes:
    return "\r\n".join(
        [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", *lines, "Connection: close", "", ""]
    ).encode("latin-1", "replace")


def packed(body: bytes, content_type: str = "text/html") -> bytes:
    data = gzip.compress(body, 9)
    return head("200 OK", content_type, "Content-Encoding: gzip", f"Content-Length: {len(data)}") + data


def page(body: str, title: str = "hostile") -> bytes:
    return f"<!doctype html><title>{title}</title><body>{body}".encode("utf-8", "surrogatepass")


# ---- documents ------------------------------------------------------------------------------------------------

HTML: dict[str, Callable[[int], bytes]] = {
    "svg-options": lambda size: b"<svg>" + b"<option>" * size + b"</x>" * size,
    "svg-breakout": lambda size: b"<svg><p>" + b"<div/>" * (7 * size),
    "cells": lambda size: b"<table><tr><td>" + (b"<div>" * 400 + b"</tbody>") * (size // 60),
    "forms": lambda size: (b"<form>" + b"<div>" * 201 + b"</form>") * (size // 55),
    "html-again": lambda size: b"".join(b"<html a%d=1 b%d=2 c%d=3>" % (n, n, n) for n in range(size)),
    "ruby": lambda size: b"<rt><rp>" * size + b"</x>" * size,
    "optgroups": lambda size: b"<optgroup><rb>" * size,
    "nested-links": lambda size: b"<a><div>" * size,
    "formatting": lambda size: b"".join(b"<b id=%d><p>" % n for n in range(size)),
    "names": lambda size: b"".join(b"<p a%d><x%d>" % (n, n) for n in range(size)),
    "attributes": lambda size: b"<p " + b" ".join(b"a%d=1" % n for n in range(size)) + b">",
    "deep": lambda size: b"<div>" * (8 * size),
    "tags": lambda size: b"<i></i>" * (20 * size),
    "long-attribute": lambda size: b'<p title="' + b"x" * (200 * size) + b'">',
    "base": lambda size: b'<base href="http://127.0.0.1/' + b"b" * 60_000 + b'/">' + b"<a href=x>x</a>" * size,
    "zero-width": lambda size: b"<p>" + "\u200b".encode() * (20 * size),
    "nulls": lambda size: b"<p>\0" * size,
    "entities": lambda size: b"&amp" * (20 * size),
    "bogus-comment": lambda size: b"<!--" + b"-" * (100 * size),
    "unclosed-script": lambda size: b"<script>" + b"<!--<script>" * (10 * size),
    "marks": lambda size: page(
        "<p>" + "\u009b31m\u202e\u2028\u2029\x1b]0;x\x07" * size, "\u202egnol\u009b31m\u2028\x1b[31m"
    ),
    "links": lambda size: b"".join(b'<a href="/h/none/%d">x</a>' % n for n in range(5 * size)),
}
"""By name; the number sets the size."""

LISTS: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "feed-word": ("application/rss+xml", lambda size: b"<rss><channel><item " + b"a" * (40 * size) + b"<link>x</link>"),
    "feed-base": (
        "application/atom+xml",
        lambda size: (
            b'<feed xmlns="http://www.w3.org/2005/Atom">'
            + b"".join(b'<entry xml:base="%b/"><link href="%d"/></entry>' % (b"b" * 2000, n) for n in range(size))
        ),
    ),
    "laughs": (
        "application/xml",
        lambda size: (
            b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
            + b"".join(b'<!ENTITY a%d "&a%d;&a%d;">' % (n + 1, n, n) for n in range(40))
            + b"]><urlset><url><loc>&a40;</loc></url></urlset>"
        ),
    ),
    "own-index": (
        "application/xml",
        lambda size: b"<sitemapindex>" + b"<sitemap><loc>/sitemap.xml</loc></sitemap>" * size + b"</sitemapindex>",
    ),
    "feed-secret": (
        "application/rss+xml",
        lambda size: (
            f"<rss><channel><item><link>http://u:{SECRETS[2]}@127.9.9.9/</link></item></channel></rss>".encode()
        ),
    ),
}


# ---- answers --------------------------------------------------------------------------------------------------


def _slow(*pieces: bytes) -> Iterator[bytes]:
    yield from pieces


def _endless_headers() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in range(400):
        yield b"X-%d: %b\r\n" % (number, b"x" * 64_000)


ANSWERS: dict[str, Callable[[int, str], Answer]] = {
    "bomb": lambda size, url: packed(b"<p>" + b"a " * 4_950_000),
    "huge-bomb": lambda size, url: packed(b"<p>" + b"a" * 60_000_000),
    "content-type": lambda size, url: head(content_type="text/html; é" + " " * 60_000) + page("x"),
    "location": lambda size, url: head("302 Found", "text/html", "Location: é" + " " * 60_000),
    "location-secret": lambda size, url: head("302 Found", "text/html", f"Location: http://u:{SECRETS[0]}@127.9.9.9/"),
    "link-secret": lambda size, url: packed(
        page(
            f'<a href="http://u:{SECRETS[1]}@127.9.9.9/a">x</a>'
            f' <a href="http:\\\\u:{SECRETS[3]}@127.9.9.9/b">y</a> some words'
        )
    ),
    "loop": lambda size, url: head("302 Found", "text/html", f"Location: {url}"),
    "to-file": lambda size, url: head("302 Found", "text/html", "Location: file:///etc/passwd"),
    "truncated": lambda size, url: head("200 OK", "text/html", "Content-Length: 100000") + page("cut short"),
    "chunk-garbage": lambda size, url: head("200 OK", "text/html", "Transfer-Encoding: chunked") + b"zz\r\nxx",
    "xchunked": lambda size, url: (
        head("200 OK", "text/html", "Transfer-Encoding: xchunked") + b"5\r\nhello\r\n0\r\n\r\n"
    ),
    "two-encodings": lambda size, url: (
        head("200 OK", "text/html", "Content-Encoding: gzip", "Content-Encoding: gzip")
        + gzip.compress(gzip.compress(page("twice")))
    ),
    "not-gzip": lambda size, url: head("200 OK", "text/html", "Content-Encoding: gzip") + page("plain"),
    "status-999": lambda size, url: b"HTTP/1.1 999 \r\nContent-Length: 0\r\n\r\n",
    "no-status": lambda size, url: b"hello\r\n\r\n",
    "nothing": lambda size, url: b"",
    "png": lambda size, url: head() + b"\x89PNG\r\n\x1a\n" + bytes(5000),
    "server-error": lambda size, url: head("500 Internal Server Error") + page("broken"),
    "retry-later": lambda size, url: head("503 Service Unavailable", "text/html", "Retry-After: 99999999999999999999"),
    "headers": lambda size, url: _endless_headers(),
    "drip": lambda size, url: _slow(head(), *(b"<p>x" for _ in range(200))),
    "charset": lambda size, url: head(content_type="text/html; charset=utf-7") + page("+ADw-script+AD4-"),
}
NAMES = (*HTML, *LISTS, *ANSWERS)


def answer(name: str, number: int, url: str) -> Answer:
    """The answer of a case; the number sets its size."""
    size = Random(f"{name} {number}").choice((500, 5_000, 40_000))
    if name in HTML:
        return packed(HTML[name](size))
    if name in LISTS:
        content_type, make = LISTS[name]
        return packed(make(size), content_type)
    return ANSWERS[name](size, url) if name in ANSWERS else head("404 Not Found") + page("There is nothing here.")


def robots(number: int) -> bytes:
    """robots.txt of a hostile host: most have none, some a huge one."""
    match number % 10:
        case 1:
            rules = b"User-agent: *\n" + b"".join(b"Disallow: /*a*%d*b*$\n" % n for n in range(24_000))
            return packed(rules, "text/plain")
        case 2:
            return packed(b"User-agent: *\nDisallow: /closed\n" + b"# padding\n" * 1_200_000, "text/plain")
        case 3:
            return packed(page("robots as a page"), "text/html")
        case _:
            return head("404 Not Found", "text/plain", "Content-Length: 0")
