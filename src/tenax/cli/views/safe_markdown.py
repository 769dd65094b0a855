"""Makes Markdown of untrusted pages safe to render: no HTML tags, no links with other schemes than http(s).

Fenced code stays unchanged. When the end of a code block is uncertain, nothing after it counts as code: an extra
backslash is only visible, a tag would be executed.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"( {0,3})(`{3,}+(?=[^`]*$)|~{3,}+)(.*)")
_TAG = re.compile(r"(?<!\\)((?:\\\\)*)<(?=[a-zA-Z/!?])")
_LINK = re.compile(r"(\]\(|\]:)(\s*<?\s*)(?!https?://)([^\s)>]*)", re.IGNORECASE)
_MAY_HAVE_SCHEME = re.compile(r"[:&\\]")  # a scheme, or an escape that may produce one


def sanitize_markdown(markdown: str) -> str:
    """The same text; links with other schemes point to `#`."""
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
            is_sure = is_sure and mark is None  # an indented block may end with its list
            text.append(line)
    return "\n".join([*parts, _escape_lines(text)] if text else parts)


def _escape_lines(lines: list[str]) -> str:
    return _LINK.sub(_neutralize_link, _TAG.sub(r"\1\\<", "\n".join(lines)))


def _neutralize_link(link: re.Match[str]) -> str:
    return f"{link[1]}#" if _MAY_HAVE_SCHEME.search(link[3]) else link[0]
