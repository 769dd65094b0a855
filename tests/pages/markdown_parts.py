"""The parts of a Markdown text as seen by a CommonMark parser: words, headings, list items, cells, code, links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from urllib.parse import urljoin

from markdown_it import MarkdownIt
from markdown_it.token import Token

PARTS = ("headings", "items", "cells", "code", "quotes", "links", "images")

_PARSER = MarkdownIt("commonmark").enable("table")
_LISTS = {"bullet_list_open": "-", "ordered_list_open": "1."}


def lines_of(markdown: str) -> list[str]:
    """The text without its markup, one line per block; the alternative text of images is not part of it."""
    lines = []
    for token in _PARSER.parse(markdown):
        if token.type == "inline":
            lines.append(_text_of(token))
        elif token.type in ("fence", "code_block"):
            lines.append(token.content.strip("\n"))
    return [line for line in lines if line.strip()]


def parts_of(markdown: str, url: str) -> dict[str, Counter[tuple[str, ...]]]:
    """How often each part occurs, under the names of `PARTS`; URLs are resolved against `url`."""
    found: dict[str, Counter[tuple[str, ...]]] = {part: Counter() for part in PARTS}
    items: dict[int, list[str]] = {}
    for token, around in _leaves(markdown):
        if token.type != "inline":
            found["code"][token.info.strip(), token.content.strip("\n")] += 1
            continue
        text = _text_of(token)
        inside = {outer.type for outer in around}
        if around and around[-1].type == "heading_open":
            found["headings"][around[-1].tag, text] += 1
        elif around and around[-1].tag in ("th", "td"):
            found["cells"][around[-1].tag, text] += 1
        elif "list_item_open" in inside:
            item = next(outer for outer in reversed(around) if outer.type == "list_item_open")
            items.setdefault(id(item), [_marker(around)]).append(text)
        elif "blockquote_open" in inside:
            found["quotes"][text,] += 1
        _add_addresses(token, url, found)
    found["items"].update((marker, " ".join(text)) for marker, *text in items.values())
    return found


def _leaves(markdown: str) -> Iterator[tuple[Token, list[Token]]]:
    """Every piece of text or code, and the tokens open around it, outermost first."""
    around: list[Token] = []
    for token in _PARSER.parse(markdown):
        if token.nesting > 0:
            around.append(token)
        elif token.nesting < 0:
            around.pop()
        elif token.type in ("inline", "fence", "code_block"):
            yield token, around


def _marker(around: list[Token]) -> str:
    return next(_LISTS[outer.type] for outer in reversed(around) if outer.type in _LISTS)


def _text_of(inline: Token) -> str:
    text = []
    for child in inline.children or ():
        if child.type in ("text", "code_inline"):
            text.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            text.append(" ")
    return " ".join("".join(text).split())


def _add_addresses(inline: Token, url: str, found: dict[str, Counter[tuple[str, ...]]]) -> None:
    for child in inline.children or ():
        if child.type == "link_open":
            found["links"][urljoin(url, str(child.attrGet("href"))),] += 1
        elif child.type == "image":
            found["images"][urljoin(url, str(child.attrGet("src"))), child.content] += 1
