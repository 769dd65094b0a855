"""A reader process: takes documents from its socket, gives back what they hold, ends when the socket does.

Started by `readers.ProcessReaders` as `python -m tenax.reader FD`. Frames are a length in four bytes, then msgpack.
"""

from __future__ import annotations

import signal
import socket
import struct
import sys

from tenax.reading import decode_work, encode_readings, read_page

HEADER = struct.Struct(">I")


def serve(channel: socket.socket) -> None:
    stream = channel.makefile("rb", buffering=1024 * 1024)
    while header := stream.read(HEADER.size):
        work = decode_work(stream.read(HEADER.unpack(header)[0]))
        answer = encode_readings(tuple(read_page(job, work.rules) for job in work.jobs))
        channel.sendall(HEADER.pack(len(answer)) + answer)


def main() -> None:
    # Ctrl-C reaches the whole process group; the parent decides when we end, by closing the socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
