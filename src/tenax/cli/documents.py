"""What the asking verbs share: values as JSON."""

from __future__ import annotations

import msgspec

from tenax.safe_text import escape_json


def as_json(value: object, *, indent: int = 2) -> str:
    """A value as JSON, indented for people or on one line (`indent=0`); inert on a terminal, exact for a program."""
    document = msgspec.json.encode(value)
    return escape_json(msgspec.json.format(document, indent=indent) if indent else document).decode()
