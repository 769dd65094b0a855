"""Markdown that strangers had a hand in: what it shows stays, what it would do does not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.cli.views.pages import sanitize_markdown


@pytest.mark.parametrize(
    "markdown",
    [
        "# A heading\n\nWords with *stress* and `code`.\n\n- one\n- two\n\n> quoted",
        "[there](https://a.test/x?y=1#z) and ![seen](http://a.test/i.png)",
        "[below](/path) [here](#part) [beside](page.html)",
        "| a | b |\n| --- | --- |\n| 1 < 2 | 3 |",
        "```html\n<script>alert(1)</script>\n[x](javascript:1)\n```\n\nAfter.",
        "~~~~\n<b>\n~~~\n<i>\n~~~~",
    ],
)
def test_what_harms_nobody_stays(markdown: str) -> None:
    assert sanitize_markdown(markdown) == markdown


@pytest.mark.parametrize(
    ("markdown", "wanted"),
    [
        ("<script>", r"\<script>"),
        (r"\<b>", r"\<b>"),
        (r"\\<b>", r"\\\<b>"),
        ("<!-- x", r"\<!-- x"),
        ("<https://a.test>", r"\<https://a.test>"),
        ("[x](javascript:alert)", "[x](#)"),
        ("[x](JavaScript:1)", "[x](#)"),
        ("![x](data:text/html;x)", "![x](#)"),
        ("[x](&#106;avascript:1)", "[x](#)"),
        (r"[x](javascript\:1)", "[x](#)"),
        ("[x](\n  javascript:1)", "[x](#)"),
        ("[x](< javascript:1>)", "[x](#>)"),
        ("[x]: vbscript:1", "[x]:#"),
        # What looks like the end of a block is none, or the other way round.
        ("```\ncode\n  ```\n<b>", "```\ncode\n  ```\n\\<b>"),
        ("```\ncode\n```` \n<b>", "```\ncode\n```` \n\\<b>"),
        ("``` a`b\n<b>", "``` a`b\n\\<b>"),
        (" ```\ncode\n```\n<b>\n", " ```\ncode\n```\n\\<b>\n"),
        ("- x\n  ```\n\n<b>", "- x\n  ```\n\n\\<b>"),
        ("- ```\n\n<b>", "- ```\n\n\\<b>"),
    ],
)
def test_what_would_do_something_does_not(markdown: str, wanted: str) -> None:
    assert sanitize_markdown(markdown) == wanted


@given(st.text(st.sampled_from("ab<>()[]:\\`~ \n&#/javscript")))
def test_without_blocks_of_code_no_tag_begins(markdown: str) -> None:
    shown = re.sub(r"\\\\", "  ", sanitize_markdown(markdown.replace("```", "").replace("~~~", "")))
    assert not re.search(r"(?<!\\)<[a-zA-Z/!?]", shown)
