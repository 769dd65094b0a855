from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.fetch.bodies import BodyDecoder, decode_body
from tenax.model import Failed, FailureKind

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CAP_BYTES = 10_000
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": lambda data: zlib.compress(data, wbits=-zlib.MAX_WBITS),
    "br": brotli.compress,
    "zstd": zstd.compress,
    "br, br": lambda data: brotli.compress(brotli.compress(data)),
    "zstd, gzip": lambda data: gzip.compress(zstd.compress(data)),
    "gzip ,x-gzip": lambda data: gzip.compress(gzip.compress(data)),
}


def fed(data: bytes, coding: str, step: int) -> bytes | Failed:
    body = BodyDecoder(coding, CAP_BYTES)
    for start in range(0, len(data), step):
        body.feed(data[start : start + step])
    return body.finish()


@given(data=st.binary(max_size=CAP_BYTES), coding=st.sampled_from(list(ENCODERS)), step=st.integers(1, 5000))
def test_however_it_arrives_it_is_the_same_body(data: bytes, coding: str, step: int) -> None:
    sent = ENCODERS[coding](data)
    assert fed(sent, coding, step) == data
    assert decode_body(sent, coding, CAP_BYTES) == data


@given(data=st.binary(max_size=50), rest=st.binary(max_size=6), step=st.integers(1, 30))
def test_what_follows_a_gzip_stream_is_padding_however_it_arrives(data: bytes, rest: bytes, step: int) -> None:
    sent = gzip.compress(data) + rest
    assert fed(sent, "gzip", step) == decode_body(sent, "gzip", CAP_BYTES)
    assert fed(gzip.compress(data) + b"\0" + rest, "gzip", step) == data


@given(
    data=st.binary(min_size=1, max_size=2000),
    coding=st.sampled_from(["gzip", "deflate", "br", "zstd"]),
    cut=st.floats(0, 1),
)
def test_a_stream_cut_short_is_never_a_body(data: bytes, coding: str, cut: float) -> None:
    sent = ENCODERS[coding](data)
    kept = sent[: max(1, int(cut * (len(sent) - 1)))]
    for result in (fed(kept, coding, 100), decode_body(kept, coding, CAP_BYTES)):
        assert isinstance(result, Failed)
        assert result.kind is FailureKind.TRUNCATED


@given(
    data=st.binary(max_size=500),
    coding=st.sampled_from(["gzip", "deflate", "zstd", "gzip, zstd", "br", "br, gzip", "x"]),
)
def test_bytes_of_strangers_never_raise(data: bytes, coding: str) -> None:
    assert isinstance(decode_body(data, coding, CAP_BYTES), (bytes, Failed))
    assert isinstance(fed(data, coding, 7), (bytes, Failed))


@pytest.mark.parametrize("coding", list(ENCODERS))
@pytest.mark.parametrize(("size", "is_whole"), [(CAP_BYTES, True), (CAP_BYTES + 1, False)])
def test_the_cap_is_exact(coding: str, size: int, is_whole: bool) -> None:
    sent = ENCODERS[coding](b"a" * size)
    for result in (fed(sent, coding, 64), decode_body(sent, coding, CAP_BYTES)):
        if is_whole:
            assert result == b"a" * size
        else:
            assert isinstance(result, Failed)
            assert result.kind is FailureKind.TOO_LARGE


@pytest.mark.parametrize(
    ("data", "coding", "kind"),
    [
        (b"not gzip", "gzip", FailureKind.BAD_RESPONSE),
        (b"\x1f", "gzip", FailureKind.TRUNCATED),
        (b"\x78", "deflate", FailureKind.TRUNCATED),
        (b"anything", "br", FailureKind.BAD_RESPONSE),
        (brotli.compress(b"page") + b"\0", "br", FailureKind.BAD_RESPONSE),
        (brotli.compress(b"page"), "dcb", FailureKind.BAD_RESPONSE),
        (zstd.compress(b"page"), "dcz", FailureKind.BAD_RESPONSE),
        (b"anything", "compress", FailureKind.BAD_RESPONSE),
        (b"anything", "gzip, gzip, gzip, gzip", FailureKind.BAD_RESPONSE),
        # A frame that claims a window of 128 MB is refused before it gets one.
        (zstd.compress(b"a" * 9000, options={zstd.CompressionParameter.window_log: 27}), "zstd", None),
    ],
)
def test_damage(data: bytes, coding: str, kind: FailureKind | None) -> None:
    result = decode_body(data, coding, CAP_BYTES)
    assert (result.kind if isinstance(result, Failed) else None) is kind


def test_a_window_of_128_megabytes_is_not_given() -> None:
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    claim = compressor.compress(b"a" * 100) + compressor.flush()
    result = decode_body(claim, "zstd", CAP_BYTES)
    assert isinstance(result, Failed)
    assert result.kind is FailureKind.BAD_RESPONSE


def test_nothing_in_any_coding_is_nothing() -> None:
    for coding in ("", "gzip", "deflate", "br", "zstd", "br, gzip"):
        assert decode_body(b"", coding, CAP_BYTES) == b""


# ---- bombs ------------------------------------------------------------------------------------------------

MEGABYTE = 1024 * 1024
BOMB_MEGABYTES = 10 * 1024
BOMB_CAP_BYTES = 10 * MEGABYTE


def deflate_bomb(head: bytes) -> Iterator[bytes]:
    compressor = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    block = compressor.compress(bytes(MEGABYTE)) + compressor.flush(zlib.Z_FULL_FLUSH)
    return chain([head], repeat(block, BOMB_MEGABYTES))


def brotli_bomb() -> Iterator[bytes]:
    compressor = brotli.Compressor()
    head = compressor.process(bytes(MEGABYTE)) + compressor.flush()
    block = compressor.process(bytes(MEGABYTE)) + compressor.flush()
    return chain([head], repeat(block, BOMB_MEGABYTES))


def zstd_bomb() -> Iterator[bytes]:
    return repeat(zstd.compress(bytes(4 * MEGABYTE)), BOMB_MEGABYTES // 4)


GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"
BOMBS: dict[str, tuple[str, Callable[[], Iterator[bytes]]]] = {
    "gzip": ("gzip", lambda: deflate_bomb(GZIP_HEAD)),
    "gzip members": ("gzip", lambda: repeat(gzip.compress(bytes(MEGABYTE)), BOMB_MEGABYTES)),
    "deflate": ("deflate", lambda: deflate_bomb(b"\x78\x9c")),
    "br": ("br", brotli_bomb),
    "br at once": ("br", lambda: iter([b"".join(brotli_bomb())])),
    "zstd": ("zstd", zstd_bomb),
    "zstd at once": ("zstd", lambda: iter([b"".join(zstd_bomb())])),
    "gzip in gzip": ("gzip, gzip", lambda: iter([gzip.compress(b"".join(deflate_bomb(GZIP_HEAD)))])),
    "br in br": ("br, br", lambda: iter([brotli.compress(b"".join(brotli_bomb()))])),
    "gzip in br in zstd": (
        "gzip, br, zstd",
        lambda: iter([zstd.compress(brotli.compress(b"".join(deflate_bomb(GZIP_HEAD)), quality=1))]),
    ),
}


def memory_bytes(line: str) -> int:
    """Of this process: `VmRSS` now, `VmHWM` the maximum since it was last reset."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(text.split()[1]) * 1024 for text in status.splitlines() if text.startswith(line))


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_of_ten_gigabytes_stops_at_the_cap(name: str) -> None:
    coding, made = BOMBS[name]
    arriving = list(made()) if "at once" in name or " in " in name else made()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # reset the high-water mark
    before_bytes = memory_bytes("VmRSS")
    body = BodyDecoder(coding, BOMB_CAP_BYTES)
    failures = [body.feed(data) for data in arriving]
    assert memory_bytes("VmHWM") - before_bytes < 50 * MEGABYTE
    failed = body.finish()
    assert isinstance(failed, Failed)
    assert failed.kind is FailureKind.TOO_LARGE
    assert failures[-1] is failed, "the caller gets the failure"
    assert failures.index(failed) <= 2 * BOMB_CAP_BYTES // MEGABYTE, "as soon as it is too much"


@pytest.mark.parametrize(
    ("coding", "part"),
    [
        ("gzip", gzip.compress(b"", mtime=0)),
        ("gzip", gzip.compress(b"a", mtime=0)),
        ("zstd", zstd.compress(b"")),
        ("zstd", b"\x50\x2a\x4d\x18\0\0\0\0"),  # a skippable frame
        ("deflate", b"\0\0\0\xff\xff"),  # an empty block of a bare stream
        ("br", b"\x06"),  # an empty block of metadata
    ],
)
def test_a_stream_of_nothing_ends_too(coding: str, part: bytes) -> None:
    body = BodyDecoder(coding, BOMB_CAP_BYTES)
    piece = part * (65_536 // len(part))
    failed = next((failed for failed in (body.feed(piece) for _ in range(500)) if failed is not None), None)
    assert failed is not None
    assert failed.kind in (FailureKind.TOO_LARGE, FailureKind.BAD_RESPONSE), failed.why


def test_what_does_not_compress_may_be_a_little_longer() -> None:
    noise = bytes(zlib.crc32(number.to_bytes(4, "big")) & 0xFF for number in range(CAP_BYTES))
    for coding, encode in ENCODERS.items():
        sent = encode(noise)
        assert fed(sent, coding, 500) == noise
