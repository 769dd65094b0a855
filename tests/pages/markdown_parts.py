"""What a Markdown text is made of, seen by a CommonMark parser: its words, headings, list items, cells, code, links."""

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
    """The text without its marks, a block to a line; what images say in their place is not part of it."""
    lines = []
    for token in _PARSER.parse(markdown):
        if token.type == "inline":
            lines.append(_said(token))
        elif token.type in ("fence", "code_block"):
            lines.append(token.content.strip("\n"))
    return [line for line in lines if line.strip()]


def parts_of(markdown: str, url: str) -> dict[str, Counter[tuple[str, ...]]]:
    """How often each part is there, under the names of `PARTS`; addresses are resolved against `url`."""
    found: dict[str, Counter[tuple[str, ...]]] = {part: Counter() for part in PARTS}
    items: dict[int, list[str]] = {}
    for token, around in _leaves(markdown):
        if token.type != "inline":
            found["code"][token.info.strip(), token.content.strip("\n")] += 1
            continue
        said = _said(token)
        inside = {outer.type for outer in around}
        if around and around[-1].type == "heading_open":
            found["headings"][around[-1].tag, said] += 1
        elif around and around[-1].tag in ("th", "td"):
            found["cells"][around[-1].tag, said] += 1
        elif "list_item_open" in inside:
            item = next(outer for outer in reversed(around) if outer.type == "list_item_open")
            items.setdefault(id(item), [_marker(around)]).append(said)
        elif "blockquote_open" in inside:
            found["quotes"][said,] += 1
        _add_addresses(token, url, found)
    found["items"].update((marker, " ".join(said)) for marker, *said in items.values())
    return found


def _leaves(markdown: str) -> Iterator[tuple[Token, list[Token]]]:
    """Every piece of text or code, and the tokens that are open around it, outermost first."""
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


def _said(inline: Token) -> str:
    said = []
    for child in inline.children or ():
        if child.type in ("text", "code_inline"):
            said.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            said.append(" ")
    return " ".join("".join(said).split())


def _add_addresses(inline: Token, url: str, found: dict[str, Counter[tuple[str, ...]]]) -> None:
    for child in inline.children or ():
        if child.type == "link_open":
            found["links"][urljoin(url, str(child.attrGet("href"))),] += 1
        elif child.type == "image":
            found["images"][urljoin(url, str(child.attrGet("src"))), child.content] += 1
