"""Loads the named SQL statements of a backend from its `queries.sql`."""

from __future__ import annotations

import re
from pkgutil import get_data


def load_statements(package: str) -> dict[str, str]:
    """The statements of the package's `queries.sql` by name; each begins with a line `-- name: …`."""
    text = get_data(package, "queries.sql")
    assert text is not None, "it comes with the package"
    blocks = re.split(r"^-- name: (\w+)\n", text.decode(), flags=re.MULTILINE)[1:]
    return dict(zip(blocks[::2], (block.strip() for block in blocks[1::2]), strict=True))
