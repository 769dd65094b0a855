"""Output files and standard output: turns I/O errors into one-line errors."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TextIO

from tenax.errors import SinkError, StorageFull

STANDARD_OUTPUT = "standard output"
DEFAULT_ADVICE = "; choose another with -o"


@contextmanager
def translate_os_errors(target: str, advice: str = "") -> Iterator[None]:
    """Translate I/O errors of this output; `BrokenPipeError` passes through."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(f"{target}: the disk is full; the crawl itself is unharmed") from None
        raise SinkError(f"{target}: cannot be written: {error.strerror or error}{advice}") from None


@contextmanager
def open_output(output: str | None, advice: str = DEFAULT_ADVICE) -> Iterator[TextIO]:
    """Open the file, or standard output for None; `advice` is added to error messages."""
    if output is None:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", errors="replace")
        yield sys.stdout
        return
    with translate_output_errors(output, advice), Path(output).open("w", encoding="utf-8", newline="") as file:
        yield file


def translate_output_errors(output: str | None, advice: str = DEFAULT_ADVICE) -> AbstractContextManager[None]:
    """Translate I/O errors of a chosen output, or of standard output for None."""
    return translate_os_errors(output or STANDARD_OUTPUT, advice)
