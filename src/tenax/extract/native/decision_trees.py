"""The learned tables as flat data for the native code: read by `decision_trees.c`, once per process.

Numbers are in the machine's byte order. First three 32-bit numbers: the indexes of articles and of threads among the
page kinds, and the number of kinds. Then the tables: one per kind, the one for blocks of articles, the one for blocks
of other pages. A table is four 32-bit numbers (trees, signs, values, exits), its signs with 16 bits each, its values as
doubles, and three doubles for each exit. A tree is in preorder: a node, the tree up to its threshold, the tree above
it. Each node has a value, its threshold or its result, and the sign `_VALUE_SIGN` for it; a node with a threshold has
the index of its feature as a sign before that.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Final

import msgspec

from tenax.extract.article import page_type, select
from tenax.extract.article.decision_trees import read_table_file
from tenax.extract.article.features import BLOCK_FEATURES, BOX_FEATURES, PAGE_FEATURES
from tenax.model import PageKind, Value

_VALUE_SIGN: Final = 0xFFFF
_BRACKETS: Final = b"[]"


class _RawTable(Value, frozen=True):
    """A `decision_trees.Table` with its trees as JSON text: without brackets, that is their preorder."""

    trees: msgspec.Raw
    exits: tuple[tuple[float, float, float], ...] = ()


def pack_decision_trees() -> bytes:
    """All tables. Converts the text directly; building trees first would take half as long again."""
    of_kinds, kept = _read_tables(page_type.TABLES_FILE), _read_tables(select.TABLES_FILE)
    names = list(of_kinds)
    of_page = {name: index for index, name in enumerate(page_type.KIND_FEATURES)}
    of_block = {name: index for index, name in enumerate((*BLOCK_FEATURES, *BOX_FEATURES, *PAGE_FEATURES))}
    return b"".join((
        array("I", (names.index(PageKind.ARTICLE), names.index(PageKind.FORUM), len(names))).tobytes(),
        *(_pack_table(table, of_page) for table in of_kinds.values()),
        _pack_table(kept["article"], of_block),
        _pack_table(kept["other"], of_block),
    ))  # fmt: skip


def _read_tables(name: str) -> dict[str, _RawTable]:
    return msgspec.json.decode(read_table_file(name), type=dict[str, _RawTable])


def _pack_table(table: _RawTable, feature_indexes: Mapping[str, int]) -> bytes:
    text = bytes(table.trees)
    items = msgspec.json.decode(b"[%b]" % text.translate(None, _BRACKETS), type=list[float | str])
    signs = array("H", [feature_indexes[item] if isinstance(item, str) else _VALUE_SIGN for item in items])
    values = array("d", [item for item in items if isinstance(item, float)])
    exits = array("d", [number for one in table.exits for number in one])
    thresholds = len(signs) - len(values)
    answers = len(values) - thresholds
    # Each tree has one result more than it has thresholds.
    counts = array("I", (answers - thresholds, len(signs), len(values), len(table.exits)))
    return b"".join((counts.tobytes(), signs.tobytes(), values.tobytes(), exits.tobytes()))
