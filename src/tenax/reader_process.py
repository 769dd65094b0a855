"""A reader process: takes documents from its socket, gives back what they hold, and ends when the socket does.

It is started by `readers.ProcessReaders` as `python -m tenax.reader_process FD`. Frames are a length in four bytes,
then msgpack.
"""

from __future__ import annotations

import signal
import socket
import sys
from typing import TYPE_CHECKING

from tenax.memory import settle_memory, uncollected

if TYPE_CHECKING:
    from tenax.urls.admit import Rules


def serve(channel: socket.socket) -> None:
    # Here, so that they are loaded uncollected: all of it stays.
    with uncollected():
        from tenax.reader import Reader
        from tenax.reading import HEADER, decode_work, encode_readings_into
    settle_memory()
    stream = channel.makefile("rb", buffering=1024 * 1024)
    reader = Reader()
    rules: Rules | None = None
    answer = bytearray(HEADER.size)
    while header := stream.read(HEADER.size):
        work = decode_work(stream.read(HEADER.unpack(header)[0]))
        reader.committed(work.committed)
        rules = work.rules or rules
        assert rules is not None, "the first work comes with rules"
        encode_readings_into([reader.read(job, rules) for job in work.jobs], answer, HEADER.size)
        HEADER.pack_into(answer, 0, len(answer) - HEADER.size)
        channel.sendall(answer)


def main() -> None:
    # Ctrl-C reaches the whole process group; the parent decides when we end, by closing the socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
