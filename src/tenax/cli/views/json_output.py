"""Values as JSON, safe for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tenax.cli.views.tables import print_pieces
from tenax.text.escaping import escape_json, escape_pieces


def to_json(value: object, *, indent: int = 2) -> str:
    """A value as JSON, indented or on one line (`indent=0`); control characters are escaped."""
    return escape_json(_encode_json(value, indent)).decode()


def print_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """Print a value piece by piece, to avoid several copies of a large page in memory."""
    print_pieces(_json_pieces(value))


def _json_pieces(value: Mapping[str, object] | Sequence[object]) -> Iterator[str]:
    """The output of `to_json` in pieces, one part of the value after another."""
    named = isinstance(value, Mapping)
    opened, closed = "{}" if named else "[]"
    parts = value.items() if isinstance(value, Mapping) else (("", one) for one in value)
    yield opened
    for number, (name, part) in enumerate(parts):
        yield ",\n  " if number else "\n  "
        if named:
            yield f"{to_json(name)}: "
        for piece in escape_pieces(_encode_json(part, 2).replace(b"\n", b"\n  ")):  # in texts, line ends are escaped
            yield piece.decode()
    yield f"\n{closed}\n" if value else f"{closed}\n"


def _encode_json(value: object, indent: int) -> bytes:
    document = msgspec.json.encode(value)
    return msgspec.json.format(document, indent=indent) if indent else document
