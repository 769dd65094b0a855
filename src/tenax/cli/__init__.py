"""The command line: verbs → functions, and the one place where a failure becomes a line and an exit code.

Importing this imports none of the machinery: every verb brings in what it needs when it runs, so `--help` is quick.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from tenax.errors import TenaxError

EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Codes are listed in `tenax --help`."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        from tenax.cli import parser
        from tenax.cli.verbs import VERBS

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
    from tenax.cli import crash

    _print_error(crash.write_crash_report(error, shows_traceback=shows_traceback))
    return 1


def _find_tenax_error(error: BaseException) -> TenaxError | None:
    """The failure meant for a person, also when it comes out of a group of tasks."""
    if isinstance(error, TenaxError):
        return error
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := _find_tenax_error(inner))), None)
    return None


def _print_error(text: str) -> None:
    from tenax.cli.extras import adapt_install_hint
    from tenax.logs import sanitize_text
    from tenax.text.masking import mask_text

    with contextlib.suppress(OSError):  # nobody may be listening, and the exit code still speaks
        print(f"tenax: {adapt_install_hint(sanitize_text(mask_text(text)))}", file=sys.stderr, flush=True)


def _flush_stdout() -> None:
    """What could not be written would be tried again at the end, and make an exit code of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        _discard_stdout()


def _discard_stdout() -> None:
    """The reader is gone (`| head`): keep Python from complaining when it flushes at the end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
