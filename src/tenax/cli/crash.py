"""When we are broken: the traceback goes to a file that can be sent along, the person gets one line."""

from __future__ import annotations

import platform
import sys
import tempfile
import traceback

from tenax.logs import sanitize_text
from tenax.text.masking import mask_text
from tenax.version import __version__


def write_crash_report(error: BaseException, *, shows_traceback: bool) -> str:
    """Keep the traceback, secrets masked; what to tell the person."""
    story = sanitize_text(mask_text("".join(traceback.format_exception(error))), keep_lines=True)
    headline = f"internal error: {type(error).__name__}: {error}; what was committed is safe"
    if shows_traceback:
        sys.stderr.write(story)
        return headline
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="tenax-crash-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            # No command line in here: it may hold a password, and people paste these files.
            file.write(f"tenax {__version__}, Python {platform.python_version()}, {platform.platform()}\n\n{story}")
    except OSError:
        return f"{headline}; run it again with --debug for the details"
    return f"{headline}; details are in {file.name}, or run it again with --debug"
