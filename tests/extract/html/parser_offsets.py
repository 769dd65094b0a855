"""Looks for the parser's counters at other offsets than theirs, and prints how each attempt ended, a line of JSON each.

    python -m tests.extract.html.parser_offsets

A process of its own, because reading what is no memory ends it.
"""

from __future__ import annotations

import json
import sys
from typing import Final

from tenax.extract.html import parser

NAMES: Final = (
    *("_TOKEN", "_TOKEN_ATTRIBUTES", "_FIRST_ATTRIBUTE", "_OPEN_ELEMENTS", "_FORMATTING", "_LIST", "_LIST_LENGTH"),
    *("_OBJECTS_ALLOCATED", "_CHUNKS"),
)
OFFSETS: Final = range(32)


def outcome() -> str:
    try:
        parser._check_layout()
    except ImportError as error:
        return str(error)
    return "accepted"


def main() -> None:
    for name in NAMES:
        usual = getattr(parser, name)
        for offset in OFFSETS:
            setattr(parser, name, offset)
            sys.stdout.write(json.dumps([name, offset, offset == usual, outcome()]) + "\n")
            sys.stdout.flush()
        setattr(parser, name, usual)


if __name__ == "__main__":
    main()
