"""The feeds of the benchmark: those of a directory, and large generated ones."""

from __future__ import annotations

import base64
import json
import lzma
import random
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from bench.report import BenchError

QUICK_EVERY = 10
WHAT_IT_NEEDS = (
    "feeds needs --corpus DIR: a directory with feeds.jsonl[.xz], a feed a line with name and bytes (base64)"
)
SITE = "https://feeds.example/"
LARGE_ENTRIES = 250
_WORDS = (
    "storm",
    "harbour",
    "council",
    "said",
    "prices",
    "water",
    "energy",
    "plan",
    "school",
    "ferry",
    "winter",
    "vote",
)


def lay_out(directory: Path, file: Path, is_quick: bool) -> tuple[list[str], list[tuple[str, int]]]:
    """Write all feeds to one file, one per line; returns the names of the corpus, then name and bytes of large feeds.

    The worker's field for HTML has the feed's bytes, one character each.
    """
    names = []
    large = [(name, body) for name, body in _large().items()]
    with file.open("w", encoding="utf-8") as out:
        for number, row in enumerate(_rows(directory)):
            if not (is_quick and number % QUICK_EVERY):
                names.append(row["name"])
                out.write(_line(row["name"], base64.b64decode(row["bytes"])))
        for name, body in large:
            out.write(_line(name, body))
    return names, [(name, len(body)) for name, body in large]


def _line(name: str, body: bytes) -> str:
    return json.dumps({"id": name, "url": SITE + name, "html": body.decode("latin-1")}) + "\n"


def _rows(directory: Path) -> list[dict[str, Any]]:
    for source in (directory / "feeds.jsonl.xz", directory / "feeds.jsonl"):
        if source.exists():
            data = source.read_bytes()
            text = (lzma.decompress(data) if source.suffix == ".xz" else data).decode()
            return [json.loads(line) for line in text.splitlines()]
    raise BenchError(f"{directory} holds no feeds: {WHAT_IT_NEEDS}")


# ---- large feeds ------------------------------------------------------------------------------------------


def _large() -> dict[str, bytes]:
    """About a megabyte each, with the full text of every entry."""
    whole = _rss()
    return {
        "large RSS": whole,
        "large Atom": _atom(),
        "large RSS, bare &": whole.replace(b"of the day", b"of the day & night"),
        "large RSS, a tag not closed": whole.replace(b"</link>", b"", 1),
    }


def _story(chance: random.Random) -> str:
    def said(count: int) -> str:
        return " ".join(chance.choices(_WORDS, k=count))

    return "".join(f'<p>{said(40)} <a href="/{said(1)}">{said(3)}</a> {said(20)}</p>' for _ in range(8))


def _rss() -> bytes:
    chance = random.Random(7)
    items = "".join(
        f"<item><title>Story {number} of the day</title><link>{SITE}story/{number}?a=1&amp;b=2</link>"
        f'<guid isPermaLink="false">story-{number}</guid><dc:creator>Ada Moll</dc:creator><category>News</category>'
        f"<pubDate>Thu, {1 + number % 28:02} Jan 2026 10:{number % 60:02}:00 +0100</pubDate>"
        f"<description>{escape(_story(chance)[:400])}</description>"
        f"<content:encoded><![CDATA[{_story(chance)}]]></content:encoded></item>"
        for number in range(LARGE_ENTRIES)
    )
    names = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/"'
    head = f"<title>Harbour Post</title><link>{SITE}</link>"
    return f'<?xml version="1.0"?>\n<rss version="2.0" {names}><channel>{head}{items}</channel></rss>'.encode()


def _atom() -> bytes:
    chance = random.Random(7)
    entries = "".join(
        f'<entry><title type="html">Story {number} of the day</title><link href="{SITE}story/{number}"/>'
        f"<id>urn:story:{number}</id><updated>2026-01-{1 + number % 28:02}T10:00:00Z</updated>"
        f"<published>2026-01-{1 + number % 28:02}T09:00:00+01:00</published>"
        f'<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">{_story(chance)}</div></content></entry>'
        for number in range(LARGE_ENTRIES)
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><title>Harbour Post</title>{entries}</feed>'.encode()
