"""The command line: verbs, settings, output and exit codes.

This package imports little: each verb imports what it needs when it runs, so `--help` is fast.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from tenax.errors import TenaxError


def write_crash_report(error: BaseException, *, shows_traceback: bool) -> str:
    """Write the traceback to a file, with secrets masked. Returns the line to print."""
    import platform
    import tempfile
    import traceback

    from tenax.logs import sanitize_text
    from tenax.text.sanitize import mask_text
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
            # The command line is left out: it may contain a password, and people share these files.
            file.write(f"tenax {__version__}, Python {platform.python_version()}, {platform.platform()}\n\n{details}")
    except OSError:
        return f"{headline}; run it again with --debug for the details"
    return f"{headline}; details are in {file.name}, or run it again with --debug"


EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. `tenax --help` lists the codes."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        from tenax.cli import parser
        from tenax.cli.commands import VERBS

        args = parser.parse_arguments(VERBS, argv or ["--help"])
        run: int = args.run(args)
        sys.stdout.flush()
        return run
    except SystemExit as ending:  # argparse, after --help and --version
        return ending.code if isinstance(ending.code, int) else 0
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return 0
    except Exception as error:
        return _report_failure(error, shows_traceback="--debug" in argv)


def _report_failure(error: Exception, *, shows_traceback: bool) -> int:
    known = _find_tenax_error(error)
    if known is not None:
        _print_error(str(known))
        _flush_stdout()
        return known.exit_code

    _print_error(write_crash_report(error, shows_traceback=shows_traceback))
    return 1


def _find_tenax_error(error: BaseException) -> TenaxError | None:
    """Return the error that is meant for a person, also if it is inside an exception group."""
    if isinstance(error, TenaxError):
        return error
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := _find_tenax_error(inner))), None)
    return None


def _print_error(text: str) -> None:
    from tenax.cli.extras import adapt_install_hint
    from tenax.logs import sanitize_text
    from tenax.text.sanitize import mask_text

    with contextlib.suppress(OSError):  # stderr may be closed; the exit code still reports the failure
        print(f"tenax: {adapt_install_hint(sanitize_text(mask_text(text)))}", file=sys.stderr, flush=True)


def _flush_stdout() -> None:
    """Flush now. Python would flush at exit, and a failure there would change the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard_stdout()


def _discard_stdout() -> None:
    """Redirect stdout to /dev/null when its reader has gone (`| head`), so that the flush at exit succeeds."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
