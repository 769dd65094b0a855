"""Include and exclude patterns: globs and regular expressions over the whole URL, in linear time.

Both run on RE2, which never backtracks: no user pattern can make a URL expensive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tenax.errors import ConfigError
from tenax.text.masking import mask_text

_WILDCARD = re.compile(r"[*+\[(|^]|\\[a-zA-Z]|\.(?=[*+?{])")
"""What makes a regular expression more than a literal text."""


class Patterns:
    """Compiled patterns. Objects that are pickled carry the texts and compile again."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._compiled = [(text, _compile_pattern(text)) for text in texts]

    def __bool__(self) -> bool:
        return bool(self._compiled)

    def first_match(self, url: str) -> str | None:
        """The text of the first pattern that matches, or None."""
        for text, regex in self._compiled:
            if regex.search(url) is not None:
                return text
        return None


def compile_patterns(texts: Sequence[str]) -> Patterns:
    """Raises `ConfigError` if one of them is invalid, or could never match."""
    for text in texts:
        if not _is_regex(text) and not text.startswith(("http", "*", "?")):
            shown = _format_pattern(text)
            raise ConfigError(
                f"bad pattern `{shown}`: a glob must match the whole URL, so write it as `{_suggest_glob(shown)}`"
            )
        if _has_password(text):
            raise ConfigError(f"bad pattern `{mask_text(text)}`: URLs are matched without user and password")
    return Patterns(texts)


def _suggest_glob(text: str) -> str:
    """A glob that matches whole URLs, by what was probably meant: `tag` is a directory, `.pdf` an ending."""
    first, last = text.partition("/")[0], text.rpartition("/")[2]
    start = "*" if not first or "." in first else "*/"
    if text.endswith("*") or text.startswith("."):
        return start + text
    return start + text + ("/*" if last and "." not in last else "*")


def _compile_pattern(text: str) -> Any:
    import re2  # 6 ms, and most crawls have no patterns

    options = re2.Options()
    options.log_errors = False  # it would print to stderr
    options.never_capture = True
    wild = {"*": ".*", "?": "."}
    try:
        if _is_regex(text):
            return re2.compile(text[1:-1], options)
        glob = "".join(wild.get(char) or re2.escape(char) for char in text)
        return re2.compile(rf"(?s)\A{glob}\z", options)
    except re2.error as error:
        raise ConfigError(f"bad pattern `{_format_pattern(text)}`: {_error_reason(error)}") from None
    except UnicodeEncodeError:
        raise ConfigError(f"bad pattern `{_format_pattern(text)}`: it is not valid Unicode") from None


def _is_regex(text: str) -> bool:
    return len(text) > 2 and text[0] == "/" and text[-1] == "/"


def _has_password(text: str) -> bool:
    """Whether it contains a password. Such a pattern would match nothing, and be stored with the rules. Wildcards
    before an `@` are no password."""
    before = text.partition("@")[0]
    is_wild = _WILDCARD.search(before) is not None if _is_regex(text) else "*" in before
    return mask_text(text) != text and not is_wild


def _format_pattern(text: str) -> str:
    return text if text.isprintable() else ascii(text)


def _error_reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "cannot be read"
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
