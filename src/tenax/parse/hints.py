"""What the head of a page and its address say that helps to read its body."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

import msgspec

from tenax.model import Value
from tenax.parse.head import Head

MIN_BODY_CHARS: Final = 300
"""An `articleBody` shorter than this is a teaser."""
_MAX_SCRIPT_CHARS: Final = 200_000
_TYPES = re.compile(r'"@type"\s*:\s*"(\w{1,60})"')
_BODY = re.compile(r'"articleBody"\s*:\s*("(?:[^"\\]|\\.)*+")')
_CONTROLS = re.compile(r"[\x00-\x1f]+")


class Hints(Value, frozen=True):
    title: str = ""
    description: str = ""
    og_type: str = ""
    ld_types: str = ""
    """The types of JSON-LD nodes, joined by spaces."""
    body: str = ""
    """`articleBody` of JSON-LD, in lower case and with single spaces."""
    host: str = ""
    path: str = "/"
    query: str = ""


def hints_of(head: Head, url: str | None) -> Hints:
    scripts = " ".join(head.scripts)[:_MAX_SCRIPT_CHARS]
    address = urlsplit(url or "")
    return Hints(
        title=" ".join((head.meta("og:title") or head.title).split()),
        description=head.meta("description") or head.meta("og:description"),
        og_type=head.meta("og:type").lower(),
        ld_types=" ".join(_TYPES.findall(scripts)),
        body=_body(scripts),
        host=address.netloc,
        path=address.path or "/",
        query=address.query,
    )


def _body(scripts: str) -> str:
    found = _BODY.search(scripts) if "articleBody" in scripts else None
    if found is None:
        return ""
    try:
        text = msgspec.json.decode(_CONTROLS.sub(" ", found[1]), type=str)
    except (msgspec.DecodeError, UnicodeError):
        return ""
    body = " ".join(text.lower().split())
    return body if len(body) >= MIN_BODY_CHARS else ""
