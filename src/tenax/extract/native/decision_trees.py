"""The learned tables as flat data for the kernel: what `decision_trees.c` reads, once for each process.

Numbers are as the machine has them. First three of 32 bits: the places of articles and of threads among the kinds of
pages, and how many kinds there are. Then the tables: one for each kind, that for the blocks of articles, that for the
blocks of other pages. A table is four numbers of 32 bits (trees, signs, values, exits), its signs in 16 bits each, its
values as doubles, and three doubles for each exit. A tree lies in preorder: a node, what to do up to its threshold,
what to do above it. Each node has a value, its threshold or its answer, and for that the sign `_VALUE`; one that has a
threshold has the place of its feature as a sign before.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Final

import msgspec

from tenax.extract.article import page_type, select
from tenax.extract.article.decision_trees import written
from tenax.extract.article.features import OF_BLOCK, OF_BOX, OF_PAGE
from tenax.model import PageKind, Value

_VALUE: Final = 0xFFFF
_BRACKETS: Final = b"[]"


class _Written(Value, frozen=True):
    """A `trees.Table` with its trees as they are written: without brackets, that is their preorder."""

    trees: msgspec.Raw
    exits: tuple[tuple[float, float, float], ...] = ()


def tables_data() -> bytes:
    """All tables. Made from text, for building trees and taking them apart would take half as long again."""
    of_kinds, kept = _written(page_type.TABLES), _written(select.TABLES)
    names = list(of_kinds)
    of_page = {name: place for place, name in enumerate(page_type.OF_KIND)}
    of_block = {name: place for place, name in enumerate((*OF_BLOCK, *OF_BOX, *OF_PAGE))}
    return b"".join((
        array("I", (names.index(PageKind.ARTICLE), names.index(PageKind.FORUM), len(names))).tobytes(),
        *(_flat(table, of_page) for table in of_kinds.values()),
        _flat(kept["article"], of_block),
        _flat(kept["other"], of_block),
    ))  # fmt: skip


def _written(name: str) -> dict[str, _Written]:
    return msgspec.json.decode(written(name), type=dict[str, _Written])


def _flat(table: _Written, places: Mapping[str, int]) -> bytes:
    text = bytes(table.trees)
    items = msgspec.json.decode(b"[%b]" % text.translate(None, _BRACKETS), type=list[float | str])
    signs = array("H", [places[item] if isinstance(item, str) else _VALUE for item in items])
    values = array("d", [item for item in items if isinstance(item, float)])
    exits = array("d", [number for one in table.exits for number in one])
    thresholds = len(signs) - len(values)
    answers = len(values) - thresholds
    # Each tree has one answer more than it has thresholds.
    counts = array("I", (answers - thresholds, len(signs), len(values), len(table.exits)))
    return b"".join((counts.tobytes(), signs.tobytes(), values.tobytes(), exits.tobytes()))
