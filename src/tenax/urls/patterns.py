"""Include and exclude patterns: globs and regular expressions over the whole URL, in linear time.

Both run on RE2, which never backtracks: no pattern of a user, however unlucky, can make a URL expensive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenax.errors import ConfigError


class Patterns:
    """Some compiled patterns. Picklable parts of the program carry the texts and compile again."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._compiled = [(text, _compiled(text)) for text in texts]

    def __bool__(self) -> bool:
        return bool(self._compiled)

    def first_match(self, url: str) -> str | None:
        """The text of the first pattern that matches, or None."""
        for text, regex in self._compiled:
            if regex.search(url) is not None:
                return text
        return None


def compile_patterns(texts: Sequence[str]) -> Patterns:
    """Raises `ConfigError` when one of them cannot be read, or could never match."""
    for text in texts:
        if not _is_regex(text) and not text.startswith(("http", "*", "?")):
            shown = _shown(text)
            raise ConfigError(
                f"bad pattern `{shown}`: a glob is held against the whole URL, so start it with `*`, as in `*{shown}`"
            )
    return Patterns(texts)


def _compiled(text: str) -> Any:
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
        raise ConfigError(f"bad pattern `{_shown(text)}`: {_reason(error)}") from None
    except UnicodeEncodeError:
        raise ConfigError(f"bad pattern `{_shown(text)}`: it is not valid Unicode") from None


def _is_regex(text: str) -> bool:
    return len(text) > 2 and text[0] == "/" and text[-1] == "/"


def _shown(text: str) -> str:
    return text if text.isprintable() else ascii(text)


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "cannot be read"
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
