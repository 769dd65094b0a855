"""Documents that are small to send and large to read: a base that is multiplied by every link, words without end.

Run as a program, it reads each in a process of its own and prints what that took, a line of JSON for each:

    python -m tests.hostile.documents [--no-native]
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeAlias

from tenax.config import Config, ExtractConfig
from tenax.crawl.reader.messages import ExtractJob, encode_pages_into
from tenax.crawl.reader.read_page import Reader
from tenax.crawl.single_page import read
from tenax.crawl.url_lists import detect_url_list
from tenax.model import Source
from tenax.urls.admit import build_rules
from tests.hostile.cost import memory_bytes

Made: TypeAlias = Callable[[int], bytes]
"""A document of about this many bytes."""

MEGABYTE = 1_000_000
SIZE = 10 * MEGABYTE
SMALL_SIZE = SIZE // 4
SLACK_SECONDS = 1.0
"""What the comparison of two sizes leaves out, as times that are shorter say little."""
MOST_CPU_SECONDS = 60
MOST_MEMORY = 2_000 * MEGABYTE
"""Where an extraction is stopped, so that its caller gets an error."""
URL = "http://h.example/dir/list"
LONG_URL = f"http://h.example/{'b' * 2000}/list"

LONGEST_BASE = "http://h.example/" + "a/" * 32_000
LONG_BASE = "http://h.example/" + "a/" * 1_000
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom"'
URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
JSON_FEED = '{"version":"https://jsonfeed.org/version/1.1","items":['
PADDING = f"<!--{'-' * 160}>"
"""So that a document has no more tags than its parser takes."""


def filled(head: str, unit: str, tail: str = "") -> Made:
    """With as many of the units as there is room for; `%d` in one is its number."""

    def made(size: int) -> bytes:
        room, parts = size - len(head.encode()) - len(tail.encode()), [head]
        if "%d" not in unit:
            return "".join((head, unit * (room // len(unit.encode())), tail)).encode()
        for number in count():
            part = unit.replace("%d", str(number))
            room -= len(part.encode())
            if room < 0:
                return "".join((*parts, tail)).encode()
            parts.append(part)
        raise AssertionError

    return made


def several(unit: str, head: str = "") -> Made:
    """With three hundred thousand of the units in ten megabytes, which are filled up with words."""
    unit_bytes = SIZE // 300_000
    words = "word " * 7
    return filled(head, unit + words[: unit_bytes - len(unit.encode())])


TAGS: dict[str, Made] = {
    "html: paragraphs": several("<p>x"),
    "html: paragraphs that end": several("<p>x</p>"),
    "html: short paragraphs": filled("", "<p>x"),
    "html: boxes": several("<div>x</div>"),
    "html: empty boxes": filled("", "<div></div>"),
    "html: items": several("<li>x", "<ul>"),
    "html: items with links": filled("<ul>", "<li><a href=/%d>a link to what is further below</a>"),
    "html: cells": several("<td>x", "<table><tr>"),
    "html: rows": filled("<table>", "<tr><td>x<td>y"),
    "html: links": several("<a href=/1234567>x</a> ", "<p>"),
    "html: different links": filled("<p>", "<a href=/%d>x</a> "),
    "html: bold words": several("<b>x</b> ", "<p>"),
    "html: words in italics": filled("<p>", "<i>x</i>y"),
    "html: attributes": several("<i class=x id=y title=z>x</i>", "<p>"),
    "html: classes": filled("", "<p class='c%d d'>x"),
    "html: images": filled("<article><p>", "words and words <img src=/a.png alt=picture>"),
    "html: line breaks": several("x<br>", "<p>"),
    "html: code": filled("<p>", "<code>x</code>y"),
    "html: meta": several("<meta name=a content=b>"),
    "html: comments": filled("<p>", "<!---->"),
    "html: one text": filled("<p>", "word "),
    "html: one text of pictures": filled("<p>", "\U0001f600"),
    "html: one text in another script": filled("<p>", "日本語の文章。"),
    "html: one text of marks": filled("<p>", "*_[`"),
    "html: what grows in UTF-8": lambda size: b"<meta charset=windows-1252><p>" + b"\x80" * size,
    "html: zeros": lambda size: b"<p>" + b"\0" * size,
    "html: formatting that is rebuilt": filled(
        "<p>" + "<b a b c d e f g h i j k l m n o p q r s t u v w x y z>" * 35, "<p>x"
    ),
}
"""As many tags as there is room for in several megabytes, and texts that are large in some form."""

DOCUMENTS: dict[str, Made] = {
    **TAGS,
    "html: the longest base": filled(f'<base href="{LONGEST_BASE}"><p>', f"<a href=%d>x</a>{PADDING}"),
    "html: a long base": filled(f'<base href="{LONG_BASE}"><p>', f"<a href=%d>x</a>{PADDING}"),
    "html: a long base and images": filled(
        f'<base href="{LONG_BASE}"><article><p>{"word " * 200}', f"{PADDING}<img src=%d alt=b>"
    ),
    "html: links in another script": filled("<p>", f'<a href="/{"é" * 1000}%d">x</a>'),
    "html: links of needless escapes": filled("<p>", f'<a href="/{"%41" * 600}%d">x</a>'),
    "html: long names of parameters": filled("<p>", f'<a href="?{"a" * 1900}%d=1">x</a>'),
    "rss: a long base": filled(f'<rss xml:base="{LONGEST_BASE}"><channel>', "<item><link>%d</link></item>"),
    "rss: a base of megabytes": lambda size: filled(
        f'<rss xml:base="http://h.example/{"a/" * (size // 4)}"><channel>', "<item><link>1</link></item>"
    )(size),
    "atom: bases on every level": lambda size: filled(
        f'{ATOM} xml:base="http://h.example/">' + f"<x xml:base='{'b/' * (size // 1100)}'>" * 500,
        '<entry><link href="1"/></entry>',
    )(size),
    "atom: a base on every entry": filled(
        f"{ATOM}>", f'<entry xml:base="{LONG_BASE}"><link href="1"/></entry>', "</feed>"
    ),
    "atom: one entry, many links": filled(f'{ATOM} xml:base="{LONG_BASE}"><entry>', '<link href="1"/>'),
    "rss: a word without end": filled("<rss><channel>&bad <item ", "x", "></item></channel></rss>"),
    "rss: attributes without end": filled("<rss><channel>&bad <item ", "a=1 ", "></item></channel></rss>"),
    "rss: different attributes": filled("<rss ", 'a%d="" ', "><channel></channel></rss>"),
    "rss: a link of megabytes": filled("<rss><channel><item><link>", "../", "</link></item></channel></rss>"),
    "rss: empty sections": filled("<rss><channel>&bad; \U0001f600", "<![CDATA[]]>", "</channel></rss>"),
    "rss: bare ampersands": filled("<rss><channel><item><title>", "&", "</title></item></channel></rss>"),
    "json: lists": filled(JSON_FEED, "[],", "{}]}"),
    "json: objects": filled(JSON_FEED, '{"url":"%d"},', "{}]}"),
    "json: texts": filled(JSON_FEED, '"ab",', "{}]}"),
    "sitemap: relative URLs": filled(f"{URLSET}>", "<url><loc>%d</loc></url>", "</urlset>"),
    "sitemap: relative alternates": filled(
        f"{URLSET}>", "<url><loc>%d</loc>" + '<x:link rel="alternate" href="23"/>' * 90 + "</url>", "</urlset>"
    ),
    "sitemap: needless escapes": filled(
        f"{URLSET}>", f"<url><loc>http://h.example/{'%41' * 600}%d</loc></url>", "</urlset>"
    ),
}


def read_in_a_crawl(body: bytes, url: str, *, with_native: bool = True) -> int:
    """How many bytes its reader sends back."""
    source = {"sitemap": Source.SITEMAP, "feed": Source.FEED}.get(detect_url_list(body, ""), Source.LINK)
    job = ExtractJob(
        1, url, url, 0, body, "text/html" if source is Source.LINK else "",
        source=source, is_url_list=source is not Source.LINK, is_continuous=True, now=1.7e9,
        extract=ExtractConfig(keep_links=True, native=with_native),
    )  # fmt: skip
    answer = bytearray()
    encode_pages_into((Reader().extract(job, build_rules([url], Config(), 2026)),), answer)
    return len(answer)


def _write_cost(name: str, made: Made, *, with_native: bool) -> None:
    """In a process of its own: what it took, printed."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_SECONDS, MOST_CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    url = LONG_URL if name.startswith("sitemap") else URL
    body = made(SIZE)
    Path("/proc/self/clear_refs").write_text("5")  # the highest memory so far is forgotten: that of making it
    of_all, sent = _cost(body, url, with_native)
    peak_bytes = memory_bytes("VmHWM")
    # What takes less than that is not compared with a smaller one.
    of_a_quarter = _cost(made(SMALL_SIZE), url, with_native)[0] if of_all > SLACK_SECONDS else 0.0
    measured = {"name": name, "seconds": (of_a_quarter, of_all), "bytes": peak_bytes, "sent": sent}
    sys.stdout.write(json.dumps(measured) + "\n")
    sys.stdout.flush()


def _cost(body: bytes, url: str, with_native: bool) -> tuple[float, int]:
    """The time of this process that it takes, and how many bytes come of it."""
    began = time.process_time()
    sent = read_in_a_crawl(body, url, with_native=with_native)
    if with_native and not detect_url_list(body, ""):
        read(body, url)
    return time.process_time() - began, sent


def main() -> None:
    with_native = "--no-native" not in sys.argv
    read_in_a_crawl(b"<p>what is read for the first time imports what it needs", URL, with_native=with_native)
    for name, made in DOCUMENTS.items() if with_native else TAGS.items():
        child = os.fork()
        if child == 0:
            code = 1
            try:
                _write_cost(name, made, with_native=with_native)
                code = 0
            finally:
                os._exit(code)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
