"""What a page of documentation contains, read from the element that its generator writes the content into."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from bench.documentation_sets import DocumentationSet
from bench.read_score import words_of

INVISIBLE = "script, style, template, noscript, head, svg, [hidden]"
INLINE_CODE = "code, tt, kbd, samp"
INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "math", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt",
    "u", "var", "wbr",
})  # fmt: skip
# A code span of Markdown; its content may not contain the fence itself.
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_FENCE = re.compile(
    r"^( *(?:[>*-] +|\d+[.)] +)*)(`{3,}|~{3,})[^\n`]*\n.*?^ *(?:> *)*\2`*[ ]*$", re.DOTALL | re.MULTILINE
)
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class Gold:
    words: Counter[str]
    code_lines: tuple[str, ...]
    inline_code: Counter[str]


def gold_of(html: str, one: DocumentationSet) -> Gold | None:
    """None where the page has no such element. The first `h1` is the headline and is not counted."""
    tree = LexborHTMLParser(html)
    body = tree.css_first(one.body)
    if body is None:
        return None
    for node in [*body.css(INVISIBLE), *(node for rule in one.marks for node in body.css(rule)), *body.css("h1")[:1]]:
        node.decompose()
    code = tuple(_code_lines(body, one))
    inline = Counter(flat(text) for text in _inline_code(body, one))
    return Gold(Counter(words_of("".join(_text(body)))), code, inline)


def markdown_code(markdown: str) -> Counter[str]:
    """The code spans outside of fenced blocks."""
    return Counter(flat(found[2].replace("\\|", "|")) for found in _SPAN.finditer(_FENCE.sub("", markdown)))


def flat(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _text(node: LexborNode) -> Iterator[str]:
    """The text as a reader sees it: only block elements separate words."""
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            yield child.text_content or ""
        elif child.tag not in INLINE:
            yield "\n"
            yield from _text(child)
            yield "\n"
        else:
            yield from _text(child)


def _code_lines(body: LexborNode, one: DocumentationSet) -> Iterator[str]:
    for block in body.css(one.code_block):
        lines = block.css(one.code_line) if one.code_line else []
        whole = "\n".join("".join(_raw(line)) for line in lines) if lines else "".join(_raw(block))
        yield from (line.strip() for line in whole.split("\n") if line.strip())


def _raw(node: LexborNode) -> Iterator[str]:
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            yield child.text_content or ""
        elif child.tag == "br":
            yield "\n"
        else:
            yield from _raw(child)


def _inline_code(body: LexborNode, one: DocumentationSet) -> Iterator[str]:
    """Outermost elements of inline code that are not in a block of code."""
    blocks = {node.mem_id for block in body.css(one.code_block) for node in [block, *block.css(INLINE_CODE)]}
    seen: set[int] = set()
    for node in body.css(INLINE_CODE):
        if node.mem_id in blocks or node.mem_id in seen:
            continue
        seen.update(inner.mem_id for inner in node.css(INLINE_CODE))
        text = "".join(_raw(node))
        if text.strip():
            yield text
