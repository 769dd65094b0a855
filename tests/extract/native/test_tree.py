"""The copy of the parser's tree that the native code works on."""

from __future__ import annotations

import re
from pathlib import Path

from tenax.extract.html.dom import Dom
from tenax.extract.native import binding

NAMES = re.findall(r'NAME\(\w+, "([^"]+)"\)', Path(binding.__file__).with_name("dom.h").read_text())


def tree_of(html: str) -> str:
    dom, ready = Dom(html), binding.load_native()
    assert dom.root is not None and ready is not None
    tree = binding.read_tree(ready.functions, dom.root.mem_id)
    assert tree is not None
    return tree.removeprefix("<html><head></head><body>").removesuffix("</body></html>")


def test_every_known_attribute_is_read() -> None:
    assert len(NAMES) > 20
    written = "".join(f' {name}="of {name}"' for name in NAMES)
    assert tree_of(f"<p{written}>text</p>") == f"<p{written}>text</p>"


def test_other_attributes_are_not() -> None:
    others = "".join(f' {name}x="a" x{name}="b" {name[:-1]}-="c"' for name in NAMES)
    assert tree_of(f"<p{others} id>text</p>") == "<p id>text</p>"


def test_nodes_of_every_kind() -> None:
    html = '<x-y class="a">b<!--c--><i></i><br>d</x-y><svg><title>e</title></svg>\n<template>f</template>'
    assert tree_of(html) == (
        '<unknown class="a">b<other></other><i></i><br></br>d</unknown>'
        "<svg><title>e</title></svg>\n<template></template>"
    )


def test_deep_and_long_trees() -> None:
    deep = "<div>" * 3_000 + "x" + "</div>" * 3_000
    long = '<p class="a">one<b>two</b></p>' * 20_000
    assert tree_of(deep) == deep
    assert tree_of(long) == long
