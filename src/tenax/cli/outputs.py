"""Writing where a person wants it: a full disk or a directory that is not there becomes a sentence."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from tenax.errors import SinkError, StorageFull

STANDARD_OUTPUT = "standard output"


@contextmanager
def told_plainly(target: str, advice: str = "") -> Iterator[None]:
    """Trouble with this output as one line; a reader that went away is no trouble."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(f"{target}: the disk is full; the crawl itself is unharmed") from None
        raise SinkError(f"{target}: cannot be written: {error.strerror or error}{advice}") from None
