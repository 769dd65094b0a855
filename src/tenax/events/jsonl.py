"""Events as JSON lines in a file, each exactly once.

The cursor contains the length of the file after its last durable event. After a crash the file may be longer. The bytes
beyond that length belong to events that will be written again, so they are cut off first.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tenax.errors import SinkError, StorageFull
from tenax.events import encode_page_line
from tenax.model import Cursor, Event

LOCK_TIMEOUT_SECONDS = 5.0
"""How long the previous writer of the file may take to notice that it has lost the lead."""
POLL_SECONDS = 0.05
WRITE_CHUNK_BYTES = 256 * 1024
"""About how much is written at once. The same buffer is used each time."""


class JsonlSink:
    """Appends to one file, and is its only writer."""

    def __init__(self, file: Path, with_text: bool, name: str = "jsonl") -> None:
        """`name` must identify the file if several machines share the database."""
        self.name = name
        self._path = file
        self._with_text = with_text
        self._file: IO[bytes] | None = None

    async def open(self, cursor: Cursor, is_behind: bool) -> None:
        await asyncio.to_thread(self._open, cursor.position, is_behind)

    async def write(self, events: Sequence[Event]) -> Cursor:
        return await asyncio.to_thread(self._append, events)

    async def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self, position: int, is_behind: bool) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab", buffering=0)
            self._lock(self._file)
            length = os.fstat(self._file.fileno()).st_size
            if 0 < length < position:
                raise SinkError(
                    f"{self._path} is shorter than this crawl left it; put it back, or move it away and the crawl "
                    "continues in a new file (`tenax export` writes everything again)"
                )
            if length > position and not is_behind:
                raise SinkError(
                    f"{self._path} has lines that this crawl did not write; move it away, or use another file"
                )
            # A file that is missing was removed on purpose, so a new one is started.
            self._file.truncate(min(position, length))
        except OSError as error:
            raise SinkError(f"{self._path} cannot be written: {os.strerror(error.errno or 0)}") from None

    def _lock(self, file: IO[bytes]) -> None:
        """Lock the file in a thread, because no file lock has a timeout."""
        end = time.monotonic() + LOCK_TIMEOUT_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > end:
                    raise SinkError(f"{self._path} is being written by another crawl; use another file") from None
            time.sleep(POLL_SECONDS)

    def _append(self, events: Sequence[Event]) -> Cursor:
        assert self._file is not None
        try:
            lines: list[bytes] = []
            length = 0
            for event in events:
                lines.append(encode_page_line(event.page, event.seq, self._with_text))
                length += len(lines[-1])
                if length > WRITE_CHUNK_BYTES:
                    _write_lines(self._file, lines)
                    lines, length = [], 0
            _write_lines(self._file, lines)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StorageFull(
                f"{self._path} cannot be written: {os.strerror(error.errno or 0)}; everything committed is safe: "
                "free some space and run the same command again"
            ) from None
        return Cursor(seq=events[-1].seq, position=os.fstat(self._file.fileno()).st_size)


def _write_lines(file: IO[bytes], lines: Sequence[bytes]) -> None:
    remaining = memoryview(b"\n".join([*lines, b""]))
    while remaining:
        remaining = remaining[file.write(remaining) :]
