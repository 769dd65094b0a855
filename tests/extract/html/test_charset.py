"""Bytes are decoded correctly, and the source of the encoding is reported."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.extract.html.charset import LABELS, decode, detect_encoding
from tests.extract.prose import UNDECLARED

RUSSIAN = "Привет, мир"
META_1251 = f'<meta charset="windows-1251"><p>{RUSSIAN}</p>'
HTTP_EQUIV = '<META content="text/html; charset=windows-1251" http-equiv=Content-Type>'


@pytest.mark.parametrize("content_type", [None, "text/html; charset=utf-8", "text/html; charset=latin1"])
def test_valid_utf_8_is_not_encoded_again(content_type: str | None) -> None:
    assert decode("é".encode(), content_type).utf_8 == "é".encode()
    assert decode(b"\xe9", content_type).utf_8 is None
    assert decode(codecs.BOM_UTF8 + b"x", content_type).utf_8 is None


@pytest.mark.parametrize(
    ("body", "content_type", "charset", "source", "expected"),
    [
        (b"plain", None, "utf-8", "utf8", "plain"),
        (b"", None, "utf-8", "utf8", ""),
        ("é".encode(), "text/html; charset=utf-8", "utf-8", "header", "é"),
        ("é".encode(), "text/html; charset=UTF8", "utf-8", "header", "é"),
        ("é".encode(), "text/html", "utf-8", "utf8", "é"),
        (b"\xef\xbb\xbf\xc3\xa9", "text/html; charset=windows-1251", "utf-8", "bom", "é"),
        ("é".encode("utf-16-le"), "text/html; charset=utf-16le", "utf-16le", "header", "é"),
        (codecs.BOM_UTF16_LE + "é".encode("utf-16-le"), None, "utf-16le", "bom", "é"),
        (codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), "text/html; charset=utf-8", "utf-16be", "bom", "é"),
        (RUSSIAN.encode("cp1251"), 'text/html; charset="Windows-1251"', "windows-1251", "header", RUSSIAN),
        (RUSSIAN.encode("cp1251"), "text/html;charset='cp1251'", "windows-1251", "header", RUSSIAN),
        (b"caf\xe9 \x93x\x94", "text/html; charset=ISO-8859-1", "windows-1252", "header", "café “x”"),
        ("汉字".encode("gbk"), "text/html; charset=gb2312", "gbk", "header", "汉字"),
        ("漢字①".encode("cp932"), "text/html; charset=Shift_JIS", "shift_jis", "header", "漢字①"),
        ("똠방".encode("cp949"), "text/html; charset=ks_c_5601-1987", "euc-kr", "header", "똠방"),
        (META_1251.encode("cp1251"), None, "windows-1251", "meta", META_1251),
        (META_1251.encode("cp1251"), "text/html; charset=nonsense", "windows-1251", "meta", META_1251),
        ((HTTP_EQUIV + RUSSIAN).encode("cp1251"), None, "windows-1251", "meta", HTTP_EQUIV + RUSSIAN),
    ],
)
def test_declared_charset_is_used(
    body: bytes, content_type: str | None, charset: str, source: str, expected: str
) -> None:
    decoded = decode(body, content_type)
    assert (decoded.charset, decoded.source, decoded.text) == (charset, source, expected)


@pytest.mark.parametrize(
    ("markup", "charset"),
    [
        ('<meta charset="utf-16">', "utf-8"),
        ("<meta charset=koi8-r>", "koi8-r"),
        ("<meta name=x content='charset=koi8-r'>", "utf-8"),
        ("<!-- <meta charset=koi8-r> -->", "utf-8"),
        ("<!-- <meta charset=big5> --><meta charset=koi8-r>", "koi8-r"),
        ("<meta charset=nonsense><meta charset=koi8-r>", "koi8-r"),
        ("<meta charset=utf-7>", "utf-8"),
        (" " * 1100 + "<meta charset=koi8-r>", "utf-8"),
        ("<?xml version='1.0' encoding='koi8-r'?><html>", "koi8-r"),
        ("<metal charset=koi8-r>", "utf-8"),
    ],
)
def test_prescan_of_the_first_kilobyte(markup: str, charset: str) -> None:
    assert decode(markup.encode(), None).charset == charset


def test_header_wins_over_meta() -> None:
    body = f"<meta charset=koi8-r>{RUSSIAN}".encode("cp1251")
    decoded = decode(body, "text/html; charset=windows-1251")
    assert (decoded.source, RUSSIAN in decoded.text) == ("header", True)


def test_late_meta_is_used_when_not_utf_8() -> None:
    body = (" " * 3000 + "<meta charset=windows-1251>ж").encode("cp1251")
    decoded = decode(body, None)
    assert (decoded.charset, decoded.source, decoded.text[-1]) == ("windows-1251", "meta", "ж")


def test_contradicted_declarations_are_ignored() -> None:
    french = "Le café est fermé jusqu'à l'été".encode()
    assert decode(french, "text/html; charset=iso-8859-1").text == french.decode()
    assert decode(french, "text/html; charset=iso-8859-1").source == "utf8"
    russian = "Сегодня была хорошая погода, и мы решили погулять в парке".encode("cp1251")
    decoded = decode(russian, "text/html; charset=utf-8")
    assert (decoded.charset, decoded.source, decoded.text) == ("windows-1251", "detected", russian.decode("cp1251"))


def test_few_invalid_bytes_do_not_contradict_utf_8() -> None:
    decoded = decode("äöü".encode() * 50 + b"\xff\xc3", "text/html; charset=utf-8")
    assert (decoded.charset, decoded.source) == ("utf-8", "header")
    assert decoded.text == "äöü" * 50 + "\ufffd\ufffd"


@pytest.mark.parametrize(("name", "codec", "sentences"), UNDECLARED, ids=lambda value: str(value)[:14])
def test_undeclared_prose_is_decoded(name: str, codec: str, sentences: tuple[str, ...]) -> None:
    for sentence in (*sentences, " ".join(sentences)):
        markup = f"<html><title>x</title><p class=a>{sentence}</p></html>"
        decoded = decode(markup.encode(codec), "text/html")
        assert (decoded.charset, decoded.source, decoded.text) == (name, "detected", markup)


def test_no_detection_for_noise_and_ascii() -> None:
    assert detect_encoding(b"ascii only") is None
    assert decode(b"\x81\x8d\x8f\x90\x9d\xff\x00" * 5, None).source in ("fallback", "detected")


def test_every_codec_exists_and_decodes_ascii() -> None:
    for encoding in set(LABELS.values()):
        codecs.lookup(encoding.codec)
        if not encoding.name.startswith("utf-16"):
            assert b"<meta charset=x>\n~".decode(encoding.codec)[:16] == "<meta charset=x>"


@settings(deadline=None)
@given(st.binary(max_size=400), st.sampled_from([None, "text/html", *(f"text/html; charset={x}" for x in LABELS)]))
def test_any_bytes_decode_to_valid_text(body: bytes, content_type: str | None) -> None:
    decode(body, content_type).text.encode("utf-8")


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_header_is_accepted(content_type: str) -> None:
    decode(b"\xe9", content_type)
