"""Describes what normalisation changed in a typed URL."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, urlsplit

_PORT_SUFFIX = re.compile(r":\d*$")


def describe_normalization(typed_url: str, url: str) -> tuple[str, ...]:
    """The changes, part by part; empty when both URLs are equal."""
    typed_url = typed_url.strip()
    if typed_url == url:
        return ()
    try:
        before, after = (
            urlsplit(typed_url if "://" in typed_url else f"{url.partition('://')[0]}://{typed_url}"),
            urlsplit(url),
        )
    except ValueError:  # looser than the WHATWG parser in places, stricter in others
        return ("normalised as in browsers",)
    found = [
        *_host_changes(typed_url, before, after),
        *_path_changes(before, after),
        *_query_changes(before.query, after.query),
    ]
    if before.fragment or typed_url.endswith("#"):
        found.append("fragment dropped")
    return tuple(found) or ("normalised as in browsers",)


def _host_changes(typed_url: str, before: SplitResult, after: SplitResult) -> list[str]:
    found = []
    if "://" not in typed_url:
        found.append(f"{after.scheme} assumed")
    if "@" in before.netloc:
        found.append("user name and password dropped")
    name = before.netloc.rpartition("@")[2]
    has_port = bool(_PORT_SUFFIX.search(name))
    name = _PORT_SUFFIX.sub("", name)
    spelled = _PORT_SUFFIX.sub("", after.netloc)
    if name != spelled:
        found.append("host in lower case" if name.lower() == spelled else "host normalised")
    if has_port and not _PORT_SUFFIX.search(after.netloc):
        found.append("default port dropped")
    return found


def _path_changes(before: SplitResult, after: SplitResult) -> list[str]:
    if (before.path or "/") == after.path:
        return [] if before.path else ["empty path set to /"]
    if unquote(before.path) == unquote(after.path):
        return ["escapes normalised"]
    if before.path.rstrip("/") == after.path:
        return ["trailing slash dropped"]
    return ["path normalised"]


def _query_changes(before: str, after: str) -> list[str]:
    names_before = [pair.partition("=")[0] for pair in before.split("&") if pair]
    names_after = [pair.partition("=")[0] for pair in after.split("&") if pair]
    spelled = {unquote(name) for name in names_after}
    dropped = list(dict.fromkeys(name for name in names_before if unquote(name) not in spelled))
    found = [f"tracking or session parameters dropped: {', '.join(dropped)}"] if dropped else []
    kept = [name for name in names_before if name not in dropped]
    if kept != names_after and sorted(kept) == sorted(names_after):
        found.append("parameters sorted by name")
    return found
