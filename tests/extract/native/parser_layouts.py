"""Gives the native code parsers whose nodes have other layouts, and prints how each ended, a line of JSON for each:

    python -m tests.extract.native.parser_layouts LIBRARY

`LIBRARY` is `fake_parser.c`, compiled. A process of its own, because a layout that is not refused may crash it.
"""

from __future__ import annotations

import ctypes
import json
import random
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final

from tenax.extract.html.tree import tag_number
from tenax.extract.native import binding
from tenax.extract.native.binding import Refusal

FIELDS: Final = ("tag", "type", "parent", "first_child", "last_child", "next", "text", "first_attribute")
ATTRIBUTE_FIELDS: Final = ("name", "value", "next_attribute")
TEXT_WORDS: Final = 16
DIFFERENCES: Final = (
    *("text behind a pointer", "text twice", "short strings inline", "length first", "value inline"),
    *("other types", "other text tag", "bad names", "bad values", "bad texts", "cycle", "attribute cycle"),
    *("names too long", "no removal", "no truncation"),
)
"""In the order of their bits in the C file."""
HARMLESS: Final = ("short strings inline", "length first", "value inline")
"""Only these can be read: the parser's functions know them."""
FILLINGS: Final = (0, 8, 2**64 - 1, 7)
MAX_TEXT_OFFSET: Final = 504
MIXED_LAYOUTS: Final = 60
PAGE: Final = (
    '<html lang="de"><head><title>A title</title></head><body class="x"><p id="one">a<b>c</b>d</p>'
    f'<a href="/{"long" * 90}" rel="next">{"words " * 90}</a><ul><li>e</li><li hidden>f</li></ul></body></html>'
)


class Layout(ctypes.Structure):
    """As in the C file; offsets in bytes."""

    _fields_ = (
        *((name, ctypes.c_size_t) for name in (*FIELDS, *ATTRIBUTE_FIELDS)),
        ("filling", ctypes.c_uint64),
        ("differs", ctypes.c_uint64),
    )


class Builder(HTMLParser):
    """Builds a tree of this layout in the fake parser."""

    def __init__(self, parser: ctypes.CDLL, layout: Layout) -> None:
        super().__init__(convert_charrefs=False)
        self.parser = parser
        parser.fake_begin(ctypes.byref(layout))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parser.fake_open(ctypes.c_uint64(tag_number(tag)))
        for name, value in attrs:
            self.parser.fake_attribute(name.encode(), value.encode() if value is not None else None)

    def handle_endtag(self, tag: str) -> None:
        self.parser.fake_close()

    def handle_data(self, data: str) -> None:
        self.parser.fake_text(data.encode())

    def handle_comment(self, data: str) -> None:
        self.parser.fake_comment(data.encode())


def build(parser: ctypes.CDLL, layout: Layout, html: str) -> int:
    """The address of the root."""
    builder = Builder(parser, layout)
    builder.feed(html)
    builder.close()
    root: int = parser.fake_root()
    return root


def layouts() -> Iterator[tuple[str, Layout]]:
    """By name. First those of lexbor's fields in another order, then those that differ in more."""
    rng = random.Random(1)
    usual = dict(zip((*FIELDS, *ATTRIBUTE_FIELDS), (8, 88, 56, 64, 72, 40, 96, 280, 104, 112, 128), strict=True))
    yield "usual", Layout(**usual)
    for offset in (0, 104, 248, MAX_TEXT_OFFSET):
        yield f"text at {offset}", Layout(**{name: at + 512 for name, at in usual.items()} | {"text": offset})
    for offset in (100, MAX_TEXT_OFFSET + 8, 700):
        yield (
            f"text out of reach, at {offset}",
            Layout(**{name: 8 * n for n, name in enumerate(usual)} | {"text": offset}),
        )
    for number in range(MIXED_LAYOUTS):
        yield f"mixed {number}", mixed(rng)
    for name in DIFFERENCES:
        for filling in FILLINGS:
            differs = 1 << DIFFERENCES.index(name)
            yield f"{name}, filled with {filling:x}", Layout(**usual, filling=filling, differs=differs)


def mixed(rng: random.Random) -> Layout:
    """Fields in any order and distance, and strings of any harmless form."""
    names, places, word = rng.sample(FIELDS, len(FIELDS)), {}, 0
    for name in names:
        word += rng.choice((0, 0, 1, 2, 5))
        places[name] = 8 * word
        word += TEXT_WORDS if name == "text" else 1
    own = rng.sample(range(0, 4 * TEXT_WORDS, TEXT_WORDS), len(ATTRIBUTE_FIELDS))
    places |= {name: 8 * place for name, place in zip(ATTRIBUTE_FIELDS, own, strict=True)}
    bits = [1 << DIFFERENCES.index(name) for name in rng.sample(HARMLESS, rng.randint(0, 2))]
    if sum(bits) == sum(1 << DIFFERENCES.index(name) for name in HARMLESS[:2]):
        bits = bits[:1]  # they exclude each other
    return Layout(**places, filling=rng.choice(FILLINGS), differs=sum(bits))


def outcome(library: ctypes.CDLL, parser: ctypes.CDLL, layout: Layout) -> str:
    """`read`, or why it was refused; `wrong` if it was read otherwise than it is."""
    try:
        binding.attach_parser(library, parser, build(parser, layout, binding.SAMPLE))
    except Refusal as refusal:
        return str(refusal)
    return "read" if binding.read_tree(library, build(parser, layout, PAGE)) == PAGE else "wrong"


def main() -> None:
    library, parser = binding.open_library(), ctypes.CDLL(sys.argv[1])
    parser.fake_root.restype = ctypes.c_void_p
    for name, layout in layouts():
        sys.stdout.write(json.dumps([name, outcome(library, parser, layout)]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
