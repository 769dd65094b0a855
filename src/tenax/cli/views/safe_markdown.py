"""Markdown of strangers' pages, made such that showing it does nothing: no tag begins, no link leaves the web.

What is in fenced code stays as it is. When it is not sure where such a block ends, nothing counts as code from there
on: a backslash too many is seen, a tag would be obeyed.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"( {0,3})(`{3,}+(?=[^`]*$)|~{3,}+)(.*)")
_TAG = re.compile(r"(?<!\\)((?:\\\\)*)<(?=[a-zA-Z/!?])")
_LINK = re.compile(r"(\]\(|\]:)(\s*<?\s*)(?!https?://)([^\s)>]*)", re.IGNORECASE)
_MAY_HAVE_SCHEME = re.compile(r"[:&\\]")  # a scheme, or what may turn out to be one


def sanitize_markdown(markdown: str) -> str:
    """The same to a reader; a link to anything but the web leads nowhere."""
    parts: list[str] = []
    text: list[str] = []
    fence, is_sure = "", True
    for line in markdown.replace("\r", "\n").split("\n"):
        mark = _FENCE.fullmatch(line)
        if fence:
            parts.append(line)
            if mark is not None and mark[2].startswith(fence) and not mark[3].strip():
                fence = ""
        elif mark is not None and not mark[1] and is_sure:
            parts += [_escape_lines(text), line] if text else [line]
            text, fence = [], mark[2]
        else:
            is_sure = is_sure and mark is None  # a list's own block may end where the list does
            text.append(line)
    return "\n".join([*parts, _escape_lines(text)] if text else parts)


def _escape_lines(lines: list[str]) -> str:
    return _LINK.sub(_neutralize_link, _TAG.sub(r"\1\\<", "\n".join(lines)))


def _neutralize_link(link: re.Match[str]) -> str:
    return f"{link[1]}#" if _MAY_HAVE_SCHEME.search(link[3]) else link[0]
