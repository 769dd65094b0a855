"""Writes the constants of the Python modules as a C header: `python make_constants.py > constants.h`.

Limits, weights, tag tables and the order of features are written once, in Python. Nothing is imported but the standard
library, because this runs before anything is installed: the assignments are read from the source and evaluated.

The name in C is that of the module and that in Python: `_MIN_TITLE_CHARS` of `layout` is `LAYOUT_MIN_TITLE_CHARS`. A
number or a single character becomes a number, the name of an attribute its number in `dom.h`, a tuple an initializer
and its length. A table by tag, or a set, becomes a macro that applies another one to each entry:
`#define EACH_TREE_KINDS(ENTRY) ENTRY(a, 3) …`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

CONSTANTS: Final[Mapping[str, tuple[str, ...]]] = {
    "tenax.extract.article.blocks": (
        *("MAX_BLOCKS", "LONG_BLOCK_CHARS", "_NON_LATIN_BYTES_PER_CHAR", "_MIN_SENTENCE_WORDS"),
        *("_LIST_TAGS", "_CELL_CHARS"),
    ),
    "tenax.extract.article.class_hints": ("_PREFIX_LETTERS",),
    "tenax.extract.article.features": (
        *("SHORT_CHARS", "SHORT_LINE_CHARS", "UNRELATED_BEGINNINGS", "_MAX_PROSE_LINK_SHARE", "_EXCLUDING_HINTS"),
        *("_DOUBTFUL_HINTS", "_MIN_LINK_SHARE", "_MIN_PARENT_LINK_SHARE", "_MIN_LIST_LINK_SHARE", "_MAX_LISTED_CHARS"),
        *("_UNREACHABLE_SHARE", "_WHOLE_PAGE_SHARE", "LIST_SAMPLE_SIZE", "_PSEUDO_HEADING_LEVEL"),
        *("_MAX_UNRELATED_HEADINGS", "_NO_TITLE_DISTANCE"),
    ),
    "tenax.extract.article.layout": (
        *("TAG_GROUP", "P", "LI", "H1", "H2", "H3", "CELL", "DIV", "PRE", "CONTROL_TAG", "OTHER_TAG", "HEADING_TAGS"),
        *("_MIN_TITLE_CHARS", "_MAX_TITLE_CHARS", "_POSITIVE_HINTS", "_NEGATIVE_HINTS", "_TAG_POINTS"),
        *("_MIN_SCORED_CHARS", "_MAX_BLOCK_POINTS", "_ANCESTOR_SHARES", "_COUNTED_HINTS", "_COUNTED_HINT_BITS"),
    ),
    "tenax.extract.article.page_type": ("_BLOCK_COUNT_INDEX",),
    "tenax.extract.article.select": (
        *("MIN_ABSTRACT_CHARS", "MAX_ABSTRACT_CHARS", "_STRICTNESS", "_MAX_PROFILE_CHARS", "_MIN_SHOWN_SHARE"),
        *("_MIN_UNCOMMENTED_SHARE", "_LIKELY_SCORE", "_TINY_PAGE_BLOCKS", "_CERTAIN_SCORE"),
    ),
    "tenax.extract.html.dom": ("METADATA_ATTRIBUTES", "MAX_HEADINGS", "MIN_VISIBLE_CHARS", "MIN_NOSCRIPT_CHARS"),
    "tenax.extract.html.head": ("_MAX_SCRIPTS", "_MAX_DATE_NAME_LETTERS"),
    "tenax.extract.html.links": ("MAX_LINKS", "MAX_HREF_CHARS", "MAX_TEXT_CHARS", "MAX_REL_CHARS", "_MAX_FRAGMENTS"),
    "tenax.extract.html.text_limit": ("MIN_TEXT_CHARS",),
    "tenax.extract.html.tree": (
        *("FED", "FAILED", "HANDED_BACK", "BREAK", "MAX_BOXES", "_KINDS"),
        *("_INLINE", "_BLOCK", "_CELL", "_LINK", "_LINE", "_SPACE", "_IMAGE", "_METADATA", "_HIDDEN"),
        *("_LINK_TAGS", "_METADATA_TAGS"),
    ),
    "tenax.extract.html.visible": ("MAX_TEXT_CHARS", "RUN_MARK", "PARAGRAPH_MARK"),
    "tenax.extract.language.detect": (
        *("_HALF_CONFIDENCE_LEAD", "_USUAL_COMMON_WORD_SHARE", "_NON_LATIN_SHARE", "_KANA_SHARE", "_MAX_WORD_COUNT"),
        "_FIRST_NON_LATIN",
    ),
    "tenax.extract.markdown.escape": ("_MAX_HEADING_HASHES", "_MAX_ITEM_DIGITS", "_MIN_FENCE"),
    "tenax.extract.markdown.inline": (
        *("EM", "STRONG", "MAX_ALT_CHARS", "MAX_HREF_BYTES", "_MAX_OPEN_ELEMENTS", "_CODE_TAGS", "_EMPHASIS_BY_TAG"),
    ),
    "tenax.extract.markdown.render": (
        *("MAX_ANCESTOR_BOXES", "MAX_IMAGE_BOXES", "MAX_IMAGE_STEPS", "_MAX_LANGUAGE_CHARS"),
    ),
    "tenax.extract.markdown.structure": (
        *("MAX_LEVELS", "MAX_HEADING_CHARS", "MAX_HEADING_BLOCKS", "_MAX_START_DIGITS", "_PREFORMATTED_TAGS"),
    ),
    "tenax.extract.markdown.tables": (
        *("MAX_COLUMNS", "MAX_ROWS", "MAX_CELL_CHARS", "MAX_CELL_BLOCKS", "_MAX_SPAN_DIGITS", "_NEVER_IN_TABLE"),
    ),
    "tenax.extract.metadata.authors": (
        *("_LINES_AFTER_TITLE", "_LINES_BEFORE_TITLE", "_MAX_LINE_CHARS", "_CUT_LINE_CHARS", "_MAX_DATE_LINE_CHARS"),
        *("_MAX_LONE_DATES", "_NEARBY_CHARS", "_MAX_TEXT_CHARS", "_MAX_TITLE_MATCHES"),
    ),
    "tenax.extract.metadata.images": ("_SOURCE_ATTRIBUTES", "MAX_HREF_CHARS", "SMALL_PIXELS", "_MAX_SIZE_DIGITS"),
    "tenax.extract.native.packed_tables": ("_VALUE_SIGN",),
    "tenax.model.results": ("NOFOLLOW_LINK", "IN_ARTICLE_LINK"),
    "tenax.text.fingerprint": (
        *("MAX_CHARS", "_BINS", "_BIN_SHIFT", "_WINDOW", "_CJK_WINDOW", "_MAX_NON_LATIN_SHARE", "_ANCHORS"),
        "_ANCHOR_LIMITS",
    ),
}
"""By module, the constants that the C code uses."""
ENUMS: Final[Mapping[tuple[str, str], str]] = {
    ("tenax.extract.article.class_hints", "HINT_NAMES"): "HINT",
    ("tenax.extract.article.features", "BLOCK_FEATURES"): "BLOCK_FEATURE",
    ("tenax.extract.article.features", "BOX_FEATURES"): "BOX_FEATURE",
    ("tenax.extract.article.layout", "PAGE_FEATURES"): "PAGE_FEATURE",
    ("tenax.extract.article.page_type", "KIND_FEATURES"): "KIND_FEATURE",
    ("tenax.extract.html.links", "LINK_KINDS"): "LINK_KIND",
    ("tenax.extract.metadata.authors", "AUTHOR_SELECTORS"): "AUTHOR_SELECTOR",
    ("tenax.extract.metadata.authors", "DATE_SELECTORS"): "DATE_SELECTOR",
}
"""Names of which the C code uses the order, and the prefix of their indexes: `HINT_nav`, `HINT_header`, …,
`HINT_COUNT`."""

_SOURCE_DIR: Final = Path(__file__).resolve().parents[3]
_LINE_CHARS: Final = 116


class Tag(str):
    """The name of an element: stands for its number, which only the parser knows."""

    __slots__ = ()


class _Module:
    """The names that a module binds, by statement."""

    def __init__(self, name: str) -> None:
        path = _SOURCE_DIR.joinpath(*name.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        self.values: dict[str, tuple[ast.expr, int]] = {}
        """The expression of each assigned name, and its index among several targets; -1 for a single one."""
        self.imports: dict[str, tuple[str, str]] = {}
        for statement in ast.parse(file.read_text(encoding="utf-8")).body:
            self._add(statement)

    def _add(self, statement: ast.stmt) -> None:
        match statement:
            case ast.ImportFrom(module=str(module), names=names):
                self.imports |= {one.asname or one.name: (module, one.name) for one in names}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.values[name] = value, -1
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.values[name] = value, -1
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                for index, target in enumerate(targets):
                    self.values[ast.unparse(target)] = value, index


_load_module = cache(_Module)


@cache
def evaluate(module: str, name: str) -> Any:
    """The value of a constant. Numbers of tags are `Tag`s."""
    if name == "tag_number":
        return Tag
    if module.partition(".")[0] != "tenax":
        return getattr(import_module(module), name)
    read = _load_module(module)
    if name in read.imports:
        return evaluate(*read.imports[name])
    if name not in read.values:
        raise SystemExit(f"{module} has no constant {name}")
    expression, index = read.values[name]
    used = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    names = {one: evaluate(module, one) for one in used if one in (*read.values, *read.imports, "tag_number")}
    value = eval(compile(ast.Expression(expression), f"{module}.{name}", "eval"), names)
    return value if index < 0 else tuple(value)[index]


def constant_name(module: str, name: str) -> str:
    return f"{module.rpartition('.')[2]}_{name.lstrip('_')}".upper()


def enumerator(prefix: str, name: str) -> str:
    """`BLOCK_FEATURE_link_share` for `link share`."""
    words = "".join(character if character.isalnum() else " " for character in name).split()
    return f"{prefix}_{'_'.join(words)}"


def header() -> str:
    lines = ["/* Generated by make_constants.py from the constants of the Python modules. */"]
    lines += ["#ifndef TENAX_CONSTANTS_H", "#define TENAX_CONSTANTS_H", ""]
    for module, names in CONSTANTS.items():
        for name in names:
            lines += _define(constant_name(module, name), evaluate(module, name))
    for (module, name), prefix in ENUMS.items():
        lines += ["", f"/* {name} of {module.rpartition('.')[2]} */"]
        indexes = [enumerator(prefix, one) for one in (*evaluate(module, name), "COUNT")]
        lines += wrap(f"enum {{ {', '.join(indexes)} }};", _LINE_CHARS, subsequent_indent=" " * 7)
    return "\n".join([*lines, "", "#endif", ""])


def _define(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _define_table(name, (f"ENTRY({key}, {_literals(item)})" for key, item in value.items()))
    elif isinstance(value, frozenset):
        yield from _define_table(name, (f"ENTRY({item})" for item in sorted(value)))
    elif isinstance(value, tuple):
        yield f"#define {name}_COUNT {len(value)}"
        yield from _continue(f"#define {name} {{{_literals(value)}}}")
    else:
        yield f"#define {name} {_literal(value)}"


def _define_table(name: str, entries: Iterable[str]) -> Iterator[str]:
    # The two parts of an entry stay on one line.
    joined = " ".join(entry.replace(", ", ",\0") for entry in entries)
    yield from _continue(f"#define EACH_{name}(ENTRY) {joined}")


def _continue(text: str) -> Iterator[str]:
    *lines, last = wrap(text, _LINE_CHARS, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    yield from (f"{line} \\".replace("\0", " ") for line in lines)
    yield last.replace("\0", " ")


def _literals(value: object) -> str:
    return ", ".join(map(_literal, value if isinstance(value, tuple) else (value,)))


def _literal(value: object) -> str:
    match value:
        case bool() | Tag():
            pass
        case int() | float():
            return repr(value) if value >= 0 else f"({value!r})"
        case str() if len(value) == 1:
            return hex(ord(value))
        case str():
            return enumerator("NAME", value)
        case bytes():
            # Octal, because a hexadecimal escape in C has no end.
            return '"' + "".join(f"\\{byte:03o}" for byte in value) + '"'
    raise TypeError(f"neither a number nor a text: {value!r}")


if __name__ == "__main__":
    sys.stdout.write(header())
