"""Log output: constant messages with fields, safe to show, on standard error.

    log = logs.logger(__name__)
    log.info("page fetched", url=url, status=200)

The message never changes, so it can be searched for and counted; the facts are fields. Text from the web cannot move
the cursor, colour the terminal or reverse the line, and secrets are masked.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tenax.text.sanitize import MASK, UNSAFE, is_secret_name, mask_text

# Whole escape sequences are removed, so that "\x1b[31mred" leaves "red" and not "[31mred". OSC, DCS, SOS, PM and APC
# extend to their terminator. Without a terminator they extend to the end of the line, so that they do not remove the
# rest of the text.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_BREAK_CLASS = r"\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029"
# White space with a line break. It is matched only from its first character, because a long run would take quadratic
# time.
_BREAKS = re.compile(rf"(?<!\s)[^\S{_BREAK_CLASS}]*+[{_BREAK_CLASS}]\s*+")
_UNSAFE = re.compile(f"[{UNSAFE}]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_ONE_WORD = re.compile(r"""[^\s"=]+|https?://[^\s"]+""")

_STANDARD_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "fields"}


def sanitize_text(text: str, *, keep_lines: bool = False) -> str:
    """Untrusted text without escapes, controls and direction marks. It is on one line unless `keep_lines`."""
    if text.isascii() and text.isprintable():
        return text
    text = _SURROGATES.sub("\ufffd", _ESCAPES.sub("", text))
    if keep_lines:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    else:
        text = _BREAKS.sub(" ", text)
    return _UNSAFE.sub("", text)


class Logger:
    """A logger whose methods take fields as keywords. No field can conflict with logging's own names."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, message: str, **fields: object) -> None:
        self._log(logging.DEBUG, message, fields)

    def info(self, message: str, **fields: object) -> None:
        self._log(logging.INFO, message, fields)

    def warning(self, message: str, **fields: object) -> None:
        self._log(logging.WARNING, message, fields)

    def error(self, message: str, **fields: object) -> None:
        self._log(logging.ERROR, message, fields)

    def exception(self, message: str, **fields: object) -> None:
        """Log an error with the traceback of the exception that is being handled."""
        self._log(logging.ERROR, message, fields, with_traceback=True)

    def _log(self, level: int, message: str, fields: dict[str, object], *, with_traceback: bool = False) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", message, exc_info=with_traceback, extra={"fields": fields})


def logger(name: str) -> Logger:
    return Logger(name)


def configure(level: str = "info", format: str = "auto") -> None:
    """Send our messages from this level on, and warnings of other libraries, to standard error. May be called again."""
    handler = _StderrHandler()
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old, _StderrHandler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("tenax").setLevel(level.upper())


class _StderrHandler(logging.Handler):
    """Writes to the current `sys.stderr`, which a live display replaces in order to print above itself."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except OSError:
            pass  # standard error is closed, so nothing can be reported
        except Exception:
            self.handleError(record)


class TextFormatter(logging.Formatter):
    """`2026-01-31 12:00:00Z info page fetched url=https://… status=200`, for people."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        parts = [f"{moment} {record.levelname.lower():<7}", sanitize_text(mask_text(record.getMessage()))]
        line = " ".join([*parts, *[f"{name}={_format_value(value)}" for name, value in _record_fields(record).items()]])
        if record.exc_info:
            line += "\n" + sanitize_text(mask_text(self.formatException(record.exc_info)), keep_lines=True)
        return line


class JsonFormatter(logging.Formatter):
    """One JSON object per line, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        document: dict[str, object] = {
            "at": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": sanitize_text(mask_text(record.getMessage())),
        }
        document.update((name, value) for name, value in _record_fields(record).items() if name not in document)
        if record.exc_info:
            document["traceback"] = sanitize_text(mask_text(self.formatException(record.exc_info)), keep_lines=True)
        return json.dumps(document, default=lambda value: sanitize_text(mask_text(str(value))))


def _record_fields(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a record, sanitized and with secrets masked. They are ours, or were given as `extra`."""
    given: Mapping[str, Any] = getattr(record, "fields", None) or {
        name: value for name, value in record.__dict__.items() if name not in _STANDARD_FIELDS
    }
    return {name: MASK if value and is_secret_name(name) else _sanitize_value(value) for name, value in given.items()}


def _sanitize_value(value: Any) -> Any:
    if isinstance(value, str):
        return sanitize_text(mask_text(value))
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, Mapping):
        return {str(name): MASK if is_secret_name(str(name)) else _sanitize_value(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_sanitize_value(item) for item in value]
    return value if value is None or isinstance(value, (bool, int)) else sanitize_text(mask_text(str(value)))


def _format_value(value: Any) -> str:
    """The value of a field in a text line: plain if it is one word or a URL, else as JSON, so that its end is clear."""
    is_clear = isinstance(value, str) and bool(_ONE_WORD.fullmatch(value))
    return str(value) if is_clear else json.dumps(value, ensure_ascii=False, default=str)
