"""What the head of a page and its address say that helps to read its body."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from tenax.model import Value
from tenax.parse.head import Head

_MAX_SCRIPT_CHARS: Final = 200_000
_TYPES = re.compile(r'"@type"\s*:\s*"(\w{1,60})"')


class Hints(Value, frozen=True):
    title: str = ""
    og_type: str = ""
    ld_types: str = ""
    """The types of JSON-LD nodes, joined by spaces."""
    host: str = ""
    path: str = "/"
    query: str = ""


def hints_of(head: Head, url: str | None) -> Hints:
    scripts = " ".join(head.scripts)[:_MAX_SCRIPT_CHARS]
    address = urlsplit(url or "")
    return Hints(
        title=" ".join((head.meta("og:title") or head.title).split()),
        og_type=head.meta("og:type").lower(),
        ld_types=" ".join(_TYPES.findall(scripts)),
        host=address.netloc,
        path=address.path or "/",
        query=address.query,
    )
