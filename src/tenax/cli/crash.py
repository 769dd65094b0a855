"""Internal errors: one line for the person, the traceback in a file to attach to a report."""

from __future__ import annotations

import sys


def write_crash_report(error: BaseException, *, shows_traceback: bool) -> str:
    """Write the traceback to a file, secrets masked, and return the line to print."""
    import platform
    import tempfile
    import traceback

    from tenax.logs import sanitize_text
    from tenax.text.masking import mask_text
    from tenax.version import __version__

    details = sanitize_text(mask_text("".join(traceback.format_exception(error))), keep_lines=True)
    headline = f"internal error: {type(error).__name__}: {error}; what was committed is safe"
    if shows_traceback:
        sys.stderr.write(details)
        return headline
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="tenax-crash-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            # Without the command line: it may contain a password, and people share these files.
            file.write(f"tenax {__version__}, Python {platform.python_version()}, {platform.platform()}\n\n{details}")
    except OSError:
        return f"{headline}; run it again with --debug for the details"
    return f"{headline}; details are in {file.name}, or run it again with --debug"
