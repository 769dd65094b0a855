"""What the documentation benchmark expects of a page, and how it scores what was extracted."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.documentation import Scores
from bench.documentation_gold import Gold, gold_of, markdown_code
from bench.documentation_sets import DocumentationSet
from bench.read_score import words_of

SET = DocumentationSet("some", "some-doc", "doc/some", "main", ("a.headerlink",))
LINED = DocumentationSet("lined", "lined-doc", "doc", "main", code_block="div.fragment", code_line="div.line")
PAGE = """<nav>Contents</nav><main><h1>Title<a class="headerlink">¶</a></h1>
<p>Call <code>open<b>_file</b>()</code> first.</p>
<script>no()</script><pre><span>def</span> f():
    return <code>1</code>

</pre><h2>Notes<a class=headerlink>¶</a></h2><dl><dt>one<dd>two</dl></main>"""


def gold(html: str, one: DocumentationSet = SET) -> Gold:
    found = gold_of(html, one)
    assert found is not None
    return found


def test_the_body_is_what_the_generator_wrote() -> None:
    assert gold(PAGE).words == Counter(words_of("Call open_file first def f return 1 Notes one two"))


def test_code_is_lines_and_inline_code_is_outside_of_them() -> None:
    assert gold(PAGE).code_lines == ("def f():", "return 1")
    assert gold(PAGE).inline_code == Counter(["open_file()"])


def test_a_line_of_code_may_be_an_element() -> None:
    page = "<main><div class=fragment><div class=line>if (x)</div><div class=line>  y();</div></div></main>"
    assert gold(page, LINED).code_lines == ("if (x)", "y();")


def test_a_page_without_the_body_has_no_gold() -> None:
    assert gold_of("<p>Moved.</p>", SET) is None


@pytest.mark.parametrize(
    ("markdown", "spans"),
    [
        ("Call `f()` or ``a`b``.", ["f()", "a`b"]),
        ("- item\n\n  ```python\n  x = `1`\n  ```\n\nThen `y`.", ["y"]),
        ("| `a\\|b` |", ["a|b"]),
        ("`two\nlines`", ["two lines"]),
        ("no code", []),
    ],
    ids=["fences of spans", "not in blocks", "in tables", "over lines", "none"],
)
def test_code_spans_of_markdown(markdown: str, spans: list[str]) -> None:
    assert markdown_code(markdown) == Counter(spans)


def test_scores_are_means_of_pages_and_shares_of_code() -> None:
    scores = Scores()
    scores.add(gold(PAGE), {"text": "Call open_file first\ndef f():\n    return 1", "markdown": "Call `open_file()`"})
    scores.add(gold(PAGE), {})
    assert scores.figures() == {"recall": 0.35, "precision": 0.5, "code_lines": 0.5, "inline_code": 0.5}
