from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.fetch.bodies import Body, decoded
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
    "zstd": zstd.compress,
    "zstd, gzip": lambda data: gzip.compress(zstd.compress(data)),
    "gzip ,x-gzip": lambda data: gzip.compress(gzip.compress(data)),
}


def fed(data: bytes, coding: str, step: int) -> bytes | Failed:
    body = Body(coding, CAP_BYTES)
    for start in range(0, len(data), step):
        body.feed(data[start : start + step])
    return body.finish()


@given(data=st.binary(max_size=CAP_BYTES), coding=st.sampled_from(list(ENCODERS)), step=st.integers(1, 5000))
def test_however_it_arrives_it_is_the_same_body(data: bytes, coding: str, step: int) -> None:
    sent = ENCODERS[coding](data)
    assert fed(sent, coding, step) == data
    assert decoded(sent, coding, CAP_BYTES) == data


@given(
    data=st.binary(min_size=1, max_size=2000), coding=st.sampled_from(["gzip", "deflate", "zstd"]), cut=st.floats(0, 1)
)
def test_a_stream_cut_short_is_never_a_body(data: bytes, coding: str, cut: float) -> None:
    sent = ENCODERS[coding](data)
    kept = sent[: max(1, int(cut * (len(sent) - 1)))]
    for result in (fed(kept, coding, 100), decoded(kept, coding, CAP_BYTES)):
        assert isinstance(result, Failed)
        assert result.kind is FailureKind.TRUNCATED


@given(data=st.binary(max_size=500), coding=st.sampled_from(["gzip", "deflate", "zstd", "gzip, zstd", "br", "x"]))
def test_bytes_of_strangers_never_raise(data: bytes, coding: str) -> None:
    assert isinstance(decoded(data, coding, CAP_BYTES), (bytes, Failed))
    assert isinstance(fed(data, coding, 7), (bytes, Failed))


@pytest.mark.parametrize("coding", list(ENCODERS))
@pytest.mark.parametrize(("size", "is_whole"), [(CAP_BYTES, True), (CAP_BYTES + 1, False)])
def test_the_cap_is_exact(coding: str, size: int, is_whole: bool) -> None:
    sent = ENCODERS[coding](b"a" * size)
    for result in (fed(sent, coding, 64), decoded(sent, coding, CAP_BYTES)):
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
        (b"anything", "gzip, gzip, gzip, gzip", FailureKind.BAD_RESPONSE),
        # A frame that claims a window of 128 MB is refused before it gets one.
        (zstd.compress(b"a" * 9000, options={zstd.CompressionParameter.window_log: 27}), "zstd", None),
    ],
)
def test_damage(data: bytes, coding: str, kind: FailureKind | None) -> None:
    result = decoded(data, coding, CAP_BYTES)
    assert (result.kind if isinstance(result, Failed) else None) is kind


def test_a_window_of_128_megabytes_is_not_given() -> None:
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    claim = compressor.compress(b"a" * 100) + compressor.flush()
    result = decoded(claim, "zstd", CAP_BYTES)
    assert isinstance(result, Failed)
    assert result.kind is FailureKind.BAD_RESPONSE


def test_nothing_in_any_coding_is_nothing() -> None:
    for coding in ("", "gzip", "deflate", "zstd"):
        assert decoded(b"", coding, CAP_BYTES) == b""
