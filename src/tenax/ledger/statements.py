"""SQL is SQL: the named statements of a backend, read from the file beside it."""

from __future__ import annotations

import re
from importlib import resources


def statements_of(package: str) -> dict[str, str]:
    """The statements of the package's `queries.sql` by name; each begins with a line `-- name: …`."""
    text = resources.files(package).joinpath("queries.sql").read_text(encoding="utf-8")
    blocks = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(blocks[::2], (block.strip() for block in blocks[1::2]), strict=True))
