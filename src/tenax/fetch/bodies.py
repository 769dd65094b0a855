"""Decodes bodies as they arrive, in bounded memory, up to the size limit."""

from __future__ import annotations

import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

import brotli
from isal import isal_zlib

from tenax.model import Failed, FailureKind

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

IsalError: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stubs call the class an instance
_PIECE_BYTES = 64 * 1024
_PART_BYTES = 256
_BOMB_FACTOR = 500
"""A higher compression ratio is a bomb. Zeros have 1,000 and more, a list of numbered URLs 7 to 150."""
_MAX_LAYERS = 3
_MAX_PARTS = 10_000
_GZIP = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
# RFC 9659: a zstd body needs no window beyond 8 MB. Without this limit a frame of ten bytes may claim 128 MB.
_ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}

# Real codings that we neither accept nor can decode. Any other unknown word is ignored, as in browsers, because servers
# put charsets and file types there.
_UNSUPPORTED_CODINGS = frozenset({"compress", "x-compress", "dcb", "dcz"})


class BodyDecoder:
    """Decodes an arriving body: `feed` the data, then `finish`. Either may return a failure, once.

    A piece is decoded only if there was memory for the piece before it. While a piece waits for memory
    (`wanted_bytes`), arriving data is buffered; `resume` continues.
    """

    def __init__(
        self,
        content_encoding: str,
        max_bytes: int,
        reserve: Callable[[int], bool] = lambda more_bytes: True,
        *,
        may_truncate: bool = False,
    ) -> None:
        """`reserve` is called for each decoded piece, and says whether there is memory for it.

        With `may_truncate`, a body that is too large is cut: see `is_full`.
        """
        self._max_bytes = max_bytes
        self._reserve = reserve
        self._may_truncate = may_truncate
        self.is_full = False
        """True if the size limit is reached. The rest is ignored, and `finish` returns the beginning."""
        # Random bytes grow a little when compressed. More growth means a stream of empty parts that decodes to nothing.
        self._remaining_bytes = max_bytes + max_bytes // 8 + 1024
        self._received_bytes = 0
        self._pieces: list[bytes] = []
        self._decoded_bytes = 0
        self._failed: Failed | None = None
        self._decoders: list[_Decoder] = []
        self._intermediate_bytes = 0
        self._blocked: tuple[bytes, Iterator[bytes]] | None = None
        """A piece without memory, and the pieces after it."""
        self._pending: deque[bytes] = deque()
        codings = _parse_codings(content_encoding)
        if len(codings) > _MAX_LAYERS:
            self._failed = _body_failure("encoded too many times")
        for coding in reversed(codings):  # the coding that is named last was applied last
            if coding in _UNSUPPORTED_CODINGS:
                self._failed = _body_failure(f"encoded as {coding}, which was not requested")
            else:
                self._decoders.append(_DECODERS[coding]())

    @property
    def wanted_bytes(self) -> int:
        """Memory that the next piece waits for; 0: none waits."""
        return len(self._blocked[0]) if self._blocked is not None else 0

    def feed(self, data: bytes) -> Failed | None:
        """Decode arrived data. After a failure no more data needs to be read."""
        if self._failed is None and not self.is_full:
            self._remaining_bytes -= len(data)
            if self._blocked is not None:
                self._pending.append(data)
            else:
                self._collect(self._decode_data(data))
            if self._remaining_bytes < 0 and self._failed is None and not self.is_full:
                self._fail(too_large_failure(self._max_bytes))
        return self._failed

    def resume(self) -> Failed | None:
        """Continue after memory became available."""
        assert self._blocked is not None
        piece, rest = self._blocked
        self._blocked = None
        self._pieces.append(piece)
        self._collect(rest)
        while self._pending and self._blocked is None and self._failed is None and not self.is_full:
            self._collect(self._decode_data(self._pending.popleft()))
        return self._failed

    def finish(self) -> bytes | Failed:
        """The whole body, after all data was fed."""
        if self._failed is not None:
            return self._failed
        if self.is_full:
            return b"".join(self._pieces)[: self._max_bytes]
        if not all(layer.is_complete for layer in self._decoders):
            return Failed("the compressed body ends too early", FailureKind.TRUNCATED)
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _collect(self, pieces: Iterator[bytes]) -> None:
        """Collect pieces up to the first one without memory."""
        try:
            for piece in pieces:
                self._decoded_bytes += len(piece)
                if self._decoded_bytes > self._max_bytes:
                    self._stop_at_limit(piece)
                    return
                if not self._reserve(len(piece)):
                    self._blocked = (piece, pieces)
                    return
                self._pieces.append(piece)
        except _TooLarge:
            self._fail(too_large_failure(self._max_bytes))
        except _TooManyParts:
            self._fail(_body_failure("compressed in too many parts"))
        except (zlib.error, IsalError, zstd.ZstdError, brotli.error):
            self._fail(_body_failure("the compressed body is damaged"))

    def _stop_at_limit(self, piece: bytes) -> None:
        """The body is too large: keep its beginning if `may_truncate`, unless it is a bomb."""
        is_bomb = bool(self._decoders) and self._decoded_bytes > _BOMB_FACTOR * self._received_bytes
        if not self._may_truncate or is_bomb:
            self._fail(too_large_failure(self._max_bytes))
            return
        self.is_full = True
        self._pieces.append(piece)
        self._pending.clear()

    def _fail(self, failed: Failed) -> None:
        self._failed = failed
        self._pieces.clear()
        self._pending.clear()
        self._blocked = None

    def _decode_data(self, data: bytes) -> Iterator[bytes]:
        """The decoded pieces. With `may_truncate`, small inputs show whether a large body is a bomb."""
        size = _PART_BYTES if self._decoders and self._may_truncate else len(data)
        for start in range(0, len(data), size or 1):
            part = data[start : start + size]
            self._received_bytes += len(part)
            yield from self._decode_layers(part, 0)

    def _decode_layers(self, data: bytes, depth: int) -> Iterator[bytes]:
        """The data decoded by the layers from `depth` on, a piece at a time."""
        if depth == len(self._decoders):
            yield data
            return
        is_last = depth == len(self._decoders) - 1
        for piece in self._decoders[depth].decode(data):
            if is_last:
                yield piece
                continue
            # A nested bomb may grow only in a middle layer.
            self._intermediate_bytes += len(piece)
            if self._intermediate_bytes > _MAX_LAYERS * self._max_bytes:
                raise _TooLarge
            yield from self._decode_layers(piece, depth + 1)


def decode_body(data: bytes, content_encoding: str, max_bytes: int) -> bytes | Failed:
    """Decode a complete body. One call is usually enough."""
    if content_encoding == "gzip":
        stream = isal_zlib.decompressobj(_GZIP)
        try:
            out = stream.decompress(data, max_bytes + 1)
        except IsalError:
            return _body_failure("the compressed body is damaged") if data else b""
        if stream.eof and not stream.unused_data and len(out) <= max_bytes:
            return out
    body = BodyDecoder(content_encoding, max_bytes)
    for start in range(0, len(data), _PIECE_BYTES):
        if body.feed(data[start : start + _PIECE_BYTES]) is not None:
            break
    return body.finish()


def too_large_failure(max_bytes: int) -> Failed:
    return Failed(f"larger than {max_bytes} bytes", FailureKind.TOO_LARGE)


def _body_failure(why: str) -> Failed:
    return Failed(why, FailureKind.BAD_RESPONSE)


def _parse_codings(content_encoding: str) -> list[str]:
    words = (word.strip().lower() for word in content_encoding.split(","))
    return [word for word in words if word in _DECODERS or word in _UNSUPPORTED_CODINGS]


class _TooLarge(Exception):
    """The data between two layers exceeds the body limit."""


class _TooManyParts(Exception):
    """Each part needs a decoder: a million empty ones would take seconds."""


# ---- one class per coding ---------------------------------------------------------------------------------


class _Decoder(Protocol):
    def decode(self, data: bytes) -> Iterator[bytes]: ...

    @property
    def is_complete(self) -> bool:
        """True when the stream has ended correctly, or never began."""


class _Gzip:
    """Any number of gzip members. Anything after the last one is padding."""

    def __init__(self) -> None:
        self._stream: isal_zlib.Decompress | None = None
        self._leftover = b""
        self._members = 0
        self._is_finished = False

    def decode(self, data: bytes) -> Iterator[bytes]:
        data = self._leftover + data
        while data and not self._is_finished:
            if self._stream is None:
                if len(data) < len(_GZIP_MAGIC):
                    break
                if not data.startswith(_GZIP_MAGIC):
                    if not self._members:
                        raise zlib.error("not gzip")
                    self._is_finished = True
                    break
                self._stream = isal_zlib.decompressobj(_GZIP)
            stream = self._stream
            yield from _inflate(stream, data)
            data = stream.unused_data
            if stream.eof:
                self._stream = None
                self._members = _count_part(self._members)
        self._leftover = b"" if self._is_finished or self._stream is not None else data

    @property
    def is_complete(self) -> bool:
        return self._stream is None and (self._members > 0 or not self._leftover)


class _Deflate:
    """The zlib format of the RFC, or the raw deflate stream that some servers send."""

    def __init__(self) -> None:
        self._stream: isal_zlib.Decompress | None = None
        self._head = b""

    def decode(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            data = self._head = self._head + data
            if len(data) < 2:
                return
            is_wrapped = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0  # RFC 1950, 2.2
            self._stream = isal_zlib.decompressobj(zlib.MAX_WBITS if is_wrapped else -zlib.MAX_WBITS)
        if not self._stream.eof:
            yield from _inflate(self._stream, data)

    @property
    def is_complete(self) -> bool:
        return self._stream.eof if self._stream is not None else not self._head


def _count_part(parts: int) -> int:
    if parts == _MAX_PARTS:
        raise _TooManyParts
    return parts + 1


def _inflate(stream: isal_zlib.Decompress, data: bytes) -> Iterator[bytes]:
    while True:
        piece = stream.decompress(data, _PIECE_BYTES)
        data = stream.unconsumed_tail
        if piece:
            yield piece
        if stream.eof or (not data and len(piece) < _PIECE_BYTES):
            return


class _Zstd:
    """Any number of zstd frames."""

    def __init__(self) -> None:
        self._stream: zstd.ZstdDecompressor | None = None
        self._frames = 0

    def decode(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream is None:
                self._stream = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
            stream = self._stream
            while True:
                piece = stream.decompress(data, _PIECE_BYTES)
                data = b""  # the decompressor keeps unused input
                if piece:
                    yield piece
                if stream.eof or stream.needs_input:
                    break
            if stream.eof:
                data = stream.unused_data
                self._stream = None
                self._frames = _count_part(self._frames)

    @property
    def is_complete(self) -> bool:
        return self._stream is None


class _Brotli:
    """One brotli stream with nothing after it, because the decoder does not say where the stream ended."""

    def __init__(self) -> None:
        self._stream: _BrotliStream = brotli.Decompressor()
        self._has_started = False

    def decode(self, data: bytes) -> Iterator[bytes]:
        if not data:
            return
        self._has_started = True
        while True:
            piece = self._stream.process(data, output_buffer_limit=_PIECE_BYTES)
            data = b""  # the decompressor keeps unused input
            if piece:
                yield piece
            if self._stream.is_finished() or self._stream.can_accept_more_data():
                return

    @property
    def is_complete(self) -> bool:
        return self._stream.is_finished() or not self._has_started


class _BrotliStream(Protocol):
    """`brotli.Decompressor`, which has no types."""

    def process(self, data: bytes, *, output_buffer_limit: int) -> bytes: ...

    def can_accept_more_data(self) -> bool: ...

    def is_finished(self) -> bool: ...


_DECODERS: dict[str, type[_Decoder]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
