"""A website to crawl: articles of about 30 KB with 50 links each, the same bytes on every machine.

Page 0 is the front page `/`. Every page links to its eight children in a tree, so that all pages lie within a few
steps of the front page, and otherwise to its neighbours and to the sections: nearly every link leads to a page that
is already known, as on a real site.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from bench.report import WORKPLACE, say

LINKS_A_PAGE = 50
CHILDREN = 8
PARAGRAPHS = 26
WORDS_A_PARAGRAPH = (60, 95)
SECTIONS = ("world", "science", "business", "culture", "sport", "travel", "health", "opinion", "local", "weather")
HIDDEN = "never-visible"
"""Stands in every script and style; a text that holds it is not the visible text."""

WORD_FILE = Path(__file__).with_name("words.txt")
WORDS = WORD_FILE.read_text(encoding="utf-8").split()


@dataclass(frozen=True)
class Article:
    """One page of the site and what a crawler must find on it."""

    path: str
    title: str
    description: str
    paragraphs: tuple[str, ...]
    links: tuple[int, ...]
    """Numbers of the pages it links to, in the order of the page."""


def build(pages: int) -> Path:
    """The directory of a site with this many pages, ready to be served; made once and kept."""
    digest = hashlib.sha256(Path(__file__).read_bytes() + WORD_FILE.read_bytes()).hexdigest()[:12]
    directory = WORKPLACE / f"site-{pages}-{digest}"
    if directory.exists():
        return directory
    say(f"Writing a site of {pages:,} pages…")
    draft = directory.with_suffix(f".{os.getpid()}")
    for section in SECTIONS:
        (draft / section).mkdir(parents=True)
    _store(draft / "robots.txt", "User-agent: *\nAllow: /\n")
    paths = [path_of(number) for number in range(pages)]
    bytes_in_all = 0
    for number in range(pages):
        bytes_in_all += _store(draft / _file_of(paths[number]), render(article(number, pages), paths))
    (draft / "about.json").write_text(json.dumps({"page_bytes": bytes_in_all / pages}))
    shutil.rmtree(directory, ignore_errors=True)
    draft.rename(directory)
    return directory


def mean_page_bytes(directory: Path) -> float:
    """Mean size of a page before compression."""
    return float(json.loads((directory / "about.json").read_text())["page_bytes"])


def path_of(number: int) -> str:
    if number == 0:
        return "/"
    rng = random.Random(f"path {number}")
    return f"/{SECTIONS[number % len(SECTIONS)]}/{'-'.join(rng.choices(WORDS, k=4))}-{number}.html"


def article(number: int, pages: int) -> Article:
    """The page of this number; the same on every call."""
    rng = random.Random(f"article {number}")
    paragraphs = tuple(_prose(rng, rng.randint(*WORDS_A_PARAGRAPH)) for _ in range(PARAGRAPHS))
    title = f"{_prose(rng, 8).rstrip('.')} ({number})"
    return Article(path_of(number), title, _prose(rng, 22), paragraphs, _links(rng, number, pages))


def _links(rng: random.Random, number: int, pages: int) -> tuple[int, ...]:
    """Sections first, then the children in the tree, then neighbours within 60 pages, each once."""
    chosen = dict.fromkeys(n for n in range(len(SECTIONS)) if n < pages)
    chosen.update(dict.fromkeys(n for n in range(CHILDREN * number + 1, CHILDREN * number + CHILDREN + 1) if n < pages))
    while len(chosen) < min(LINKS_A_PAGE, pages):
        chosen.setdefault((number + rng.randint(-60, 60)) % pages)
    return tuple(chosen)


def _prose(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words)).capitalize() + "."


def render(page: Article, paths: list[str]) -> str:
    """The HTML of a page: head with metadata, styles and scripts; navigation, text, related pages, footer."""
    anchors = [
        f'<a class="card__link" href="{paths[n]}" title="Page {n}">{_anchor_text(paths[n])}</a>' for n in page.links
    ]
    nav = "".join(f'<li class="nav__item">{anchor}</li>' for anchor in anchors[: len(SECTIONS)])
    related = "".join(
        f'<li class="related__item card card--small"><span class="card__kicker">Read</span>{anchor}</li>\n'
        for anchor in anchors[len(SECTIONS) :]
    )
    text = "\n".join(
        f'<p class="article__paragraph" data-block="{n}">{paragraph}</p>' for n, paragraph in enumerate(page.paragraphs)
    )
    return _PAGE.format(page=page, nav=nav, related=related, text=text, style=_STYLE, script=_SCRIPT)


def _anchor_text(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".html").replace("-", " ").capitalize() or "Front page"


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{page.title}</title>
<meta name="description" content="{page.description}">
<meta property="og:type" content="article">
<meta property="og:title" content="{page.title}">
<meta property="og:description" content="{page.description}">
<meta property="og:image" content="/images/lead.jpg">
<meta name="twitter:card" content="summary_large_image">
<style>{style}</style>
<script>{script}</script>
</head>
<body class="page page--article">
<header class="masthead"><p class="masthead__name">The Daily Bench</p>
<nav class="nav" aria-label="Sections"><ul class="nav__list">{nav}</ul></nav></header>
<main class="layout">
<article class="article">
<h1 class="article__title">{page.title}</h1>
<p class="article__lead">{page.description}</p>
<figure class="article__figure"><img src="/images/lead.jpg" width="1200" height="675" alt=""></figure>
{text}
</article>
<aside class="related"><h2 class="related__title">Related</h2><ul class="related__list">
{related}</ul></aside>
</main>
<footer class="footer"><p class="footer__line">All of this was made up by a machine.</p></footer>
<script>{script}</script>
</body>
</html>
"""

_STYLE = "".join(
    f".{HIDDEN}-{n},.card--{n}>.card__link{{display:flex;margin:0 {n}px;color:#{n:06x};font:{n}px/1.5 serif}}\n"
    for n in range(10, 34)
)

_SCRIPT = "\n".join(
    f'window.queue=window.queue||[];window.queue.push(["{HIDDEN}",{n},{{"slot":"unit-{n}","sizes":[[300,{n}]]}}]);'
    for n in range(100, 116)
)


def _file_of(path: str) -> str:
    return path.lstrip("/") or "index.html"


def _store(file: Path, text: str) -> int:
    """Only the compressed form is kept; the server sends it as it is."""
    body = text.encode()
    file.with_name(file.name + ".gz").write_bytes(gzip.compress(body, compresslevel=6, mtime=0))
    return len(body)
