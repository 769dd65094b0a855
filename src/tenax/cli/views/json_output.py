"""What the asking verbs share: values as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tenax.cli.views.tables import show_pieces
from tenax.text.escaping import escape_json, escaped_pieces


def as_json(value: object, *, indent: int = 2) -> str:
    """A value as JSON, indented for people or on one line (`indent=0`); inert on a terminal, exact for a program."""
    return escape_json(_encoded(value, indent)).decode()


def show_json(value: Mapping[str, object] | Sequence[object]) -> None:
    """The same, printed piece by piece: all of a page escaped would be held in several copies, of megabytes each."""
    show_pieces(_pieces(value))


def _pieces(value: Mapping[str, object] | Sequence[object]) -> Iterator[str]:
    """One part of the value after the other, put together as `as_json` would write the whole."""
    named = isinstance(value, Mapping)
    opened, closed = "{}" if named else "[]"
    parts = value.items() if isinstance(value, Mapping) else (("", one) for one in value)
    yield opened
    for number, (name, part) in enumerate(parts):
        yield ",\n  " if number else "\n  "
        if named:
            yield f"{as_json(name)}: "
        for piece in escaped_pieces(_encoded(part, 2).replace(b"\n", b"\n  ")):  # in texts, line ends are escaped
            yield piece.decode()
    yield f"\n{closed}\n" if value else f"{closed}\n"


def _encoded(value: object, indent: int) -> bytes:
    document = msgspec.json.encode(value)
    return msgspec.json.format(document, indent=indent) if indent else document
