"""A reader process: extracts documents from its socket, and records its progress in memory shared with its parent.

Started by `pool.ProcessReaderPool` as `python -m tenax.crawl.reader.worker SOCKET_FD PROGRESS_FD`. A frame is a header
of `messages`, then msgpack. The result may be shorter than the batch: after a slow document, other readers read the
rest.
"""

from __future__ import annotations

import mmap
import os
import signal
import socket
import sys
import tempfile
import time
import traceback
from typing import TYPE_CHECKING

from tenax.runtime.resources import configure_memory, pause_collection

if TYPE_CHECKING:
    from tenax.crawl.reader.messages import ExtractedPage
    from tenax.urls.admit import Rules


_BYTES = mmap.PAGESIZE


class ReaderProgress:
    """The number of documents begun so far, and whether the last one is still being read."""

    def __init__(self, fileno: int) -> None:
        self.fileno = fileno
        self._shared = mmap.mmap(fileno, _BYTES)
        self._numbers = memoryview(self._shared).cast("Q")

    @classmethod
    def create(cls) -> ReaderProgress:
        """Memory shared with a reader process that is about to start, and will inherit `fileno`."""
        if hasattr(os, "memfd_create"):
            fileno = os.memfd_create("tenax-reader")
        else:
            with tempfile.TemporaryFile() as file:
                fileno = os.dup(file.fileno())
        try:
            os.ftruncate(fileno, _BYTES)
            return cls(fileno)  # the function opens a descriptor of its own
        except OSError:
            os.close(fileno)
            raise

    @property
    def started_count(self) -> int:
        return self._numbers[0]

    @property
    def is_extracting(self) -> bool:
        return bool(self._numbers[1])

    def begin(self) -> None:
        self._numbers[0] += 1
        self._numbers[1] = 1

    def end(self) -> None:
        self._numbers[1] = 0

    def close(self) -> None:
        self._numbers.release()
        self._shared.close()
        os.close(self.fileno)


MAX_BATCH_CPU_SECONDS = 0.25
"""After this much CPU time, the finished part of a batch is returned, so that its other documents need not wait."""
KILL_MARGIN_SECONDS = 1.0
"""CPU time beyond the limit in which a document may end by itself, before the system kills the process."""


def serve(channel: socket.socket, progress_fileno: int) -> None:
    # Imported while garbage collection is paused, because everything stays in memory.
    with pause_collection():
        from tenax.crawl.reader.cpu_limit import extract_within_limit
        from tenax.crawl.reader.messages import (
            ANSWER_HEADER,
            HEADER,
            decode_batch,
            encode_pages_into,
            max_cpu_seconds,
        )
        from tenax.crawl.reader.read_page import Reader
        from tenax.runtime.resources import ProcessLimit, keep_signal
    configure_memory()
    keep_signal()
    stream = channel.makefile("rb", buffering=1024 * 1024)
    reader, progress, limit = Reader(), ReaderProgress(progress_fileno), ProcessLimit()
    rules: Rules | None = None
    answer = bytearray(ANSWER_HEADER.size)
    while header := stream.read(HEADER.size):
        work = decode_batch(stream.read(HEADER.unpack(header)[0]))
        reader.mark_committed(work.committed_jobs)
        rules = work.rules or rules
        assert rules is not None, "the first batch comes with rules"
        pages: list[ExtractedPage] = []
        used = time.process_time()
        before, until = used, used + MAX_BATCH_CPU_SECONDS
        for job in work.jobs:
            seconds = max_cpu_seconds(job)
            limit.allow(seconds + KILL_MARGIN_SECONDS, used)
            progress.begin()
            try:
                pages.append(extract_within_limit(reader.extract, job, rules, seconds))
            except Exception as error:  # in our code: it does not end the process
                pages.append(_internal_failure(error))
            before, used = used, time.process_time()
            if used > until:
                break
        try:
            encode_pages_into(pages, answer, ANSWER_HEADER.size)
        except ValueError:  # the text is invalid
            encode_pages_into(list(map(_ensure_encodable, pages)), answer, ANSWER_HEADER.size)
        progress.end()
        ANSWER_HEADER.pack_into(answer, 0, len(answer) - ANSWER_HEADER.size, used - before)
        channel.sendall(answer)


def _ensure_encodable(extracted: ExtractedPage) -> ExtractedPage:
    from tenax.crawl.reader.messages import encode_pages_into

    try:
        encode_pages_into([extracted], bytearray())
        return extracted
    except ValueError as error:
        return _internal_failure(error)


def _internal_failure(error: Exception) -> ExtractedPage:
    from tenax.crawl.reader.messages import ExtractedPage
    from tenax.model import Failed, FailureKind

    traceback.print_exception(error)
    return ExtractedPage(failure=Failed(f"{type(error).__name__} in Tenax itself", FailureKind.INTERNAL))


def main() -> None:
    # Ctrl-C reaches the whole process group. The parent ends this process by closing the socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    socket_fileno, progress_fileno = map(int, sys.argv[1:])
    serve(socket.socket(fileno=socket_fileno), progress_fileno)


if __name__ == "__main__":
    main()
