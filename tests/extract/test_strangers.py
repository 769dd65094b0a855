"""Random trees, bytes and JSON: extraction keeps every promise."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.fuzz_targets import TARGETS
from bench.fuzz_words import ATTRIBUTES, ELEMENTS
from tenax.extract.html.charset import LABELS, decode

TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ("By Ann Lee", "10. Nov. 2023", "2023-11-10", "`` [x](y) *a* # | \\", "words, of a sentence. " * 8)
    ),
)
ATTRIBUTE = st.sampled_from(ATTRIBUTES) | st.builds('{}="{}"'.format, st.sampled_from(("class", "id", "href")), TEXTS)


def _element(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """An element around others; some have no end tag."""
    return st.builds(
        lambda name, attributes, parts, is_closed: (
            f"<{name} {' '.join(attributes)}>{''.join(parts)}{f'</{name}>' if is_closed else ''}"
        ),
        st.sampled_from(ELEMENTS),
        st.lists(ATTRIBUTE, max_size=3),
        st.lists(inner, max_size=4),
        st.integers(0, 9).map(bool),
    )


TREES = st.recursive(TEXTS, _element, max_leaves=40)


@settings(max_examples=100, deadline=None)
@given(st.lists(TREES, min_size=1, max_size=4))
def test_any_tree_is_extracted(trees: list[str]) -> None:
    TARGETS["document"](b"\0" + "".join(trees).encode("utf-8", "replace"))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(sorted(LABELS)), st.booleans())
def test_any_bytes_decode_in_every_charset(body: bytes, label: str, is_in_header: bool) -> None:
    meta = b"" if is_in_header else f"<meta charset={label}>".encode()
    decoded = decode(meta + body, f"text/html; charset={label}" if is_in_header else "text/html")
    decoded.text.encode("utf-8")
    assert decoded.utf_8 is None or decoded.utf_8.decode() == decoded.text


_KEY_NAMES = """
@type @id @graph @value author creator name headline title datePublished dateModified image url publisher keywords
mainEntity mainEntityOfPage itemListElement hasPart item about articleSection inLanguage description
"""
KEYS = st.sampled_from(_KEY_NAMES.split())
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXTS
    | st.sampled_from(("Article", "WebPage", "WebSite", "#a")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=30,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(VALUES, max_size=3), st.integers(0, 40))
def test_any_json_value_is_read(values: list[object], cut_chars: int) -> None:
    scripts = [json.dumps(value) for value in values]
    TARGETS["jsonld"]("\0".join(scripts).encode())
    TARGETS["jsonld"]("\0".join(script[:-cut_chars] for script in scripts).encode())
    embedded = "".join(f"<script type=application/ld+json>{script}</script>" for script in scripts)
    TARGETS["document"](b"\0" + embedded.encode())


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXTS, max_size=8))
def test_any_lines_yield_facts_or_none(lines: list[str]) -> None:
    TARGETS["facts"]("\n".join(lines).encode("utf-8", "replace"))
