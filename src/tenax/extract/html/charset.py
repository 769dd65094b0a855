"""Decodes bytes in the WHATWG order: byte order mark, header, `<meta>`, then detection.

A declaration that the bytes contradict is ignored: UTF-8 if the text is mostly not UTF-8, and an old single-byte
encoding if the bytes are valid UTF-8. Decoding always succeeds: invalid bytes are replaced, and nothing is raised.

How detection works: text that was decoded incorrectly is full of rare characters. If it was decoded correctly, most of
its letters are common letters of some language. Each model computes the cost in bits of the bytes beyond ASCII, and the
lowest cost wins. The letter lists below are in order of frequency, the most frequent letter first.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from itertools import accumulate
from math import log2
from typing import Literal, NamedTuple

from tenax.model import Value


class Encoding(NamedTuple):
    """An encoding of the standard: its name in lower case, and the Python codec that decodes it."""

    name: str
    codec: str


# name | codec | labels. The standard extends old labels: latin-1 is decoded as windows-1252, GB2312 as gb18030,
# Shift_JIS as its Windows superset, KS X 1001 as cp949.
_TABLE = """
utf-8 | utf_8 | unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8
ibm866 | cp866 | 866 cp866 csibm866 ibm866
iso-8859-2 | iso8859_2 | csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
iso-8859-3 | iso8859_3 | csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
iso-8859-4 | iso8859_4 | csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
iso-8859-5 | iso8859_5 | csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
iso-8859-6 | iso8859_6 | arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e
iso-8859-6 | iso8859_6 | iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
iso-8859-7 | iso8859_7 | csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597
iso-8859-7 | iso8859_7 | iso_8859-7 iso_8859-7:1987 sun_eu_greek
iso-8859-8 | iso8859_8 | csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598
iso-8859-8 | iso8859_8 | iso_8859-8 iso_8859-8:1988 visual
iso-8859-8-i | iso8859_8 | csiso88598i iso-8859-8-i logical
iso-8859-10 | iso8859_10 | csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6
iso-8859-13 | iso8859_13 | iso-8859-13 iso8859-13 iso885913
iso-8859-14 | iso8859_14 | iso-8859-14 iso8859-14 iso885914
iso-8859-15 | iso8859_15 | csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9
iso-8859-16 | iso8859_16 | iso-8859-16
koi8-r | koi8_r | cskoi8r koi koi8 koi8-r koi8_r
koi8-u | koi8_u | koi8-ru koi8-u
macintosh | mac_roman | csmacintosh mac macintosh x-mac-roman
windows-874 | cp874 | dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874
windows-1250 | cp1250 | cp1250 windows-1250 x-cp1250
windows-1251 | cp1251 | cp1251 windows-1251 x-cp1251
windows-1252 | cp1252 | ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591
windows-1252 | cp1252 | iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252 x-user-defined
windows-1253 | cp1253 | cp1253 windows-1253 x-cp1253
windows-1254 | cp1254 | cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5
windows-1254 | cp1254 | windows-1254 x-cp1254
windows-1255 | cp1255 | cp1255 windows-1255 x-cp1255
windows-1256 | cp1256 | cp1256 windows-1256 x-cp1256
windows-1257 | cp1257 | cp1257 windows-1257 x-cp1257
windows-1258 | cp1258 | cp1258 windows-1258 x-cp1258
x-mac-cyrillic | mac_cyrillic | x-mac-cyrillic x-mac-ukrainian
gbk | gb18030 | chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk
gb18030 | gb18030 | gb18030
big5 | big5hkscs | big5 big5-hkscs cn-big5 csbig5 x-x-big5
euc-jp | euc_jis_2004 | cseucpkdfmtjapanese euc-jp x-euc-jp
iso-2022-jp | iso2022_jp_ext | csiso2022jp iso-2022-jp
shift_jis | cp932 | csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis
euc-kr | cp949 | cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601
euc-kr | cp949 | windows-949 ks_c_5601
utf-16be | utf_16_be | unicodefffe utf-16be
utf-16le | utf_16_le | csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le
"""


def _read_table() -> dict[str, Encoding]:
    """Encodings by label. Equal encodings are one object, so that `is` compares them."""
    encodings: dict[str, Encoding] = {}
    by_label = {}
    for line in _TABLE.strip().splitlines():
        name, codec, labels = line.split(" | ")
        encoding = encodings.setdefault(name, Encoding(name, codec))
        by_label.update(dict.fromkeys(labels.split(), encoding))
    return by_label


LABELS = _read_table()
UTF_8 = LABELS["utf-8"]
WINDOWS_1252 = LABELS["windows-1252"]


def find_encoding(label: str) -> Encoding | None:
    """The encoding of a label; None for labels that the web does not use, such as `utf-7`."""
    return LABELS.get(label.strip("\t\n\x0c\r ").lower())


_SAMPLE_BYTES = 8_192
_NOISE_BITS = 9.0
"""A decoding that costs this much per byte beyond ASCII is noise."""
_INVALID_BYTE_BITS = 30.0
"""Cost of a byte that cannot be decoded."""
_RARE_ENCODING_BITS = 8.0
"""Additional cost of any encoding but windows-1252, which is by far the most frequent: a single `©` is no sign of
Cyrillic."""
_ODD_NEIGHBOUR_BITS = 5.0
"""Cost of `a` beside `ж`, or `é` beside `ü`."""

_KANA = "".join(map(chr, [*range(0x3041, 0x3094), *range(0x30A1, 0x30F7)])) + "ー、。「」・"
_KANJI = (
    "日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員"
    "九入選立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制"
    "治度務強気小七成期公野協取都和統以機平総加山思家話世受区領多県続進正安設保改数記院女初北午指権心界支第産結百"
)
_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所"
    "然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与"
    "长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己"
    "制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系"
    "气题活更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直资命山金指许统区保至队形社便空决"
    "治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉"
    "术领共确传师观清今切院让识候带导争运，。、；：？！（）“”《》"
)
_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所"
    "然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與"
    "長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什二等產或新己"
    "制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入幾口認條平系"
    "氣題活更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直資命山金指許統區保至隊形社便空決"
    "治展馬科司五基眼書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺"
    "術領共確傳師觀清今切院讓識候帶導爭運臺灣灣裏，。、；：？！（）「」《》"
)
_HANGUL = (
    "이다는의에을가고한하지를은로도사서기어자대리시라인정일아니나해들보그수제만부전여있과것스장주상으원게마동거신성"
    "소구공조무안비우요화면국모드학관경영회문업연생용점중된되적했었습까지위음같말때내년월명선물방법행진당등후금개분"
    "발표계단결체물품형실현더와며려러르트치차오유미심세약산간식양않없"
)
_CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъёОЕАИНТСРВЛКМДПУЯГЗБЧХЖШЮЦЭФ—«»іїєґўјљњћђ№“”"
_WESTERN = "éäüöáíóñçèàßêãõôúâåøæîëïûùœÉÄÜÖÅØÀÁÓ’“”–«»‘—…°©€·¿¡ìòÈÇÑÊŠšŽž\xa0"
_CENTRAL = "łąęěčřšžżśůőćűáíéóýúźťňńďöüăşţâîđŁŚŻČŘŠŽŹĆÁÍÉÚŐŰ–„”“…—\xa0"
_GREEK = "αοιετσνηυρπκμςλωίόήάέδγύώθχφβξζψϊϋΐΑΟΕΗΤΚΠΜΣΝΔΛΓΘ"
_TURKISH = "ıiüşçğöİŞÇÖÜĞâîû’“”"
_HEBREW = "יוהלאתרבשמנחדםעקפגטסכזןץךצף"
_ARABIC = "الينمتوربعدسكفهقحجشةطصىخإضذزأثءئغظآؤ،؟"
_THAI = "านรอกเงมยลวดทส่้ตะปบคหแจพชขใไโผถธณศภษญซฐฟ็ๆัิีุูำ์ื"


class _EncodingModel(NamedTuple):
    """A language in an encoding, and the cost in bits of each letter."""

    encoding: Encoding
    bits: dict[str, float]
    other_bits: float
    odd_neighbours: re.Pattern[str] | None


def _make_model(label: str, letters: str, share: float, repertoire: int, odd: str = "") -> _EncodingModel:
    """The model of a language. These letters make up `share` of the text; the frequency of the nth is proportional to 1
    / (n + 4), as in Zipf's law.

    The rest is evenly distributed over the other characters.
    """
    distinct = dict.fromkeys(letters)
    *_, total = accumulate(1 / (rank + 5) for rank in range(len(distinct)))
    bits = {letter: -log2(share / (rank + 5) / total) for rank, letter in enumerate(distinct)}
    other_bits = -log2((1 - share) / max(16, repertoire - len(distinct)))
    return _EncodingModel(LABELS[label], bits, other_bits, re.compile(odd) if odd else None)


# Letters of another alphabet are next to each other, accented letters are next to plain ones.
_LETTER = r"[^\W\d_\x00-\x7f]"
_MIXED_SCRIPT = rf"[a-zA-Z]{_LETTER}|{_LETTER}[a-zA-Z]"
_ACCENTED_PAIR = rf"{_LETTER}{_LETTER}"
_ALPHABETS = (
    ("windows-1251", _CYRILLIC, _MIXED_SCRIPT),
    ("koi8-r", _CYRILLIC, _MIXED_SCRIPT),
    ("ibm866", _CYRILLIC, _MIXED_SCRIPT),
    ("windows-1253", _GREEK, _MIXED_SCRIPT),
    ("windows-1255", _HEBREW, _MIXED_SCRIPT),
    ("windows-1256", _ARABIC, _MIXED_SCRIPT),
    ("windows-874", _THAI, _MIXED_SCRIPT),
    ("windows-1252", _WESTERN, _ACCENTED_PAIR),
    ("windows-1250", _CENTRAL, _ACCENTED_PAIR),
    ("iso-8859-2", _CENTRAL, _ACCENTED_PAIR),
    ("windows-1254", _TURKISH, _ACCENTED_PAIR),
)
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_ISO_2022_JP = (b"\x1b$B", b"\x1b$@")


def detect_encoding(body: bytes) -> Encoding | None:
    """The encoding in which the first part beyond ASCII has the lowest cost; None if it looks like no language in
    any."""
    if any(escape in body[:_SAMPLE_BYTES] for escape in _ISO_2022_JP):
        return LABELS["iso-2022-jp"]
    first = _BEYOND_ASCII.search(body)
    if first is None:
        return None
    sample = body[first.start() : first.start() + _SAMPLE_BYTES]
    best = min(_encoding_models(), key=lambda reader: _encoding_cost(sample, reader))
    beyond_ascii = len(_BEYOND_ASCII.findall(sample))
    return best.encoding if _encoding_cost(sample, best) < _RARE_ENCODING_BITS + _NOISE_BITS * beyond_ascii else None


@cache
def _encoding_models() -> tuple[_EncodingModel, ...]:
    return (
        _make_model("shift_jis", _KANA + _KANJI, 0.85, 7_000),
        _make_model("euc-jp", _KANA + _KANJI, 0.85, 7_000),
        _make_model("gbk", _SIMPLIFIED, 0.7, 7_000),
        _make_model("big5", _TRADITIONAL, 0.7, 13_000),
        _make_model("euc-kr", _HANGUL, 0.75, 8_000),
        *(_make_model(label, letters, 0.97, 128, odd) for label, letters, odd in _ALPHABETS),
    )


def _encoding_cost(sample: bytes, model: _EncodingModel) -> float:
    """The cost in bits of the sample's bytes beyond ASCII, by this model."""
    text = sample.decode(model.encoding.codec, "replace")
    signs = Counter(text)
    # The end of the sample may split the last character.
    surprise = 0.0 if model.encoding is WINDOWS_1252 else _RARE_ENCODING_BITS
    surprise += _INVALID_BYTE_BITS * (signs.pop("\ufffd", 0) - text.endswith("\ufffd"))
    for sign, count in signs.items():
        if sign > "\x7f":
            surprise += count * model.bits.get(sign, model.other_bits)
    if model.odd_neighbours is not None:
        surprise += _ODD_NEIGHBOUR_BITS * len(model.odd_neighbours.findall(text))
    return surprise


CharsetSource = Literal["bom", "header", "meta", "utf8", "detected", "fallback"]

_PRESCAN_BYTES = 1024
_LATE_PRESCAN_BYTES = 16_384
"""A `<meta>` within this many bytes counts if the bytes are not UTF-8. Browsers also find it late."""
_MAX_ERROR_SHARE = 0.02
"""A declared UTF-8 is accepted up to this ratio of invalid characters to all characters that are not ASCII."""

_BOMS = ((b"\xef\xbb\xbf", UTF_8), (b"\xfe\xff", LABELS["utf-16be"]), (b"\xff\xfe", LABELS["utf-16le"]))
_CHARSET_PARAMETER = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;,"']+))""", re.I)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.S)
_XML_DECLARATION = re.compile(rb"""^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")
_META = re.compile(rb"<meta[\s/]([^>]*)", re.I)
_ATTRIBUTE = re.compile(rb"""(?<![^\s=/>"'])([^\s=/>"']++)\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")
_MULTI_BYTE = frozenset(("gbk", "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr"))


class DecodedText(Value, frozen=True):
    """The text of a body, its encoding, and the source of that encoding."""

    text: str
    charset: str
    source: CharsetSource
    utf_8: bytes | None = None
    """The body if it is the text in UTF-8, so that the text need not be encoded again; else None."""


def decode(body: bytes, content_type: str | None) -> DecodedText:
    """Decode the bytes. If UTF-8 is declared and correct, this decodes once."""
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return _decode_as(body[len(bom) :], encoding, "bom")
    declared = _charset_in_header(content_type) if content_type else None
    source: CharsetSource = "header"
    if declared is None:
        declared, source = _charset_in_markup(body[:_PRESCAN_BYTES]), "meta"
    if declared is not None and declared is not UTF_8:
        return _decode_declared(body, declared, source)
    try:
        text = body.decode("utf-8")
        if declared is None:
            return _decode_undeclared(body, text)
        return DecodedText(text, UTF_8.name, source, body)
    except UnicodeDecodeError:
        return _decode_invalid_utf_8(body, source if declared is UTF_8 else None)


def _decode_as(body: bytes, encoding: Encoding, source: CharsetSource) -> DecodedText:
    return DecodedText(body.decode(encoding.codec, "replace"), encoding.name, source)


def _decode_undeclared(body: bytes, text: str) -> DecodedText:
    """The text of bytes that are valid UTF-8 without a declaration. It is UTF-8, unless it is the Japanese mail
    encoding, which is ASCII with escapes."""
    detected = detect_encoding(body) if b"\x1b$" in body else None
    if detected is not None and detected.name == "iso-2022-jp":
        return _decode_as(body, detected, "detected")
    return DecodedText(text, UTF_8.name, "utf8", body)


def _decode_declared(body: bytes, declared: Encoding, source: CharsetSource) -> DecodedText:
    """The text in a declared encoding. Text in an old single-byte encoding is never valid UTF-8 by chance, but servers
    often declare such an encoding by mistake."""
    if declared.name not in _MULTI_BYTE and not declared.name.startswith("utf-16") and not body.isascii():
        try:
            return DecodedText(body.decode("utf-8"), UTF_8.name, "utf8", body)
        except UnicodeDecodeError:
            pass
    return _decode_as(body, declared, source)


def _decode_invalid_utf_8(body: bytes, declared_by: CharsetSource | None) -> DecodedText:
    """The text of bytes that are not valid UTF-8, whether or not UTF-8 is declared."""
    if declared_by is not None:
        text = body.decode("utf-8", "replace")
        beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
        if text.count("\ufffd") <= max(2, _MAX_ERROR_SHARE * beyond_ascii):
            return DecodedText(text, UTF_8.name, declared_by)
    late = _charset_in_markup(body[:_LATE_PRESCAN_BYTES])
    if late is not None and late is not UTF_8:
        return _decode_as(body, late, "meta")
    detected = detect_encoding(body)
    if detected is not None:
        return _decode_as(body, detected, "detected")
    if declared_by is not None:
        return _decode_as(body, UTF_8, declared_by)
    return _decode_as(body, WINDOWS_1252, "fallback")


@lru_cache(maxsize=256)
def _charset_in_header(content_type: str) -> Encoding | None:
    found = _CHARSET_PARAMETER.search(content_type)
    return find_encoding(found[1] or found[2] or found[3] or "") if found else None


def _charset_in_markup(start: bytes) -> Encoding | None:
    """The first encoding in a `<meta>` or an XML declaration. Comments are ignored."""
    if b"<!--" in start:
        start = _COMMENT.sub(b"", start)
    for meta in _META.finditer(start):
        label = _charset_in_meta(meta[1])
        encoding = find_encoding(label) if label else None
        if encoding is not None:
            # A page whose <meta> can be read as ASCII is not UTF-16, whatever it declares.
            return UTF_8 if encoding.name.startswith("utf-16") else encoding
    xml = _XML_DECLARATION.match(start)
    return find_encoding(xml[1].decode("ascii")) if xml else None


def _charset_in_meta(source: bytes) -> str:
    attributes: dict[bytes, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(source):
        attributes.setdefault(name.lower(), (double or single or bare).decode("ascii", "replace"))
    if b"charset" in attributes:
        return attributes[b"charset"]
    if attributes.get(b"http-equiv", "").strip().lower() == "content-type":
        found = _CHARSET_PARAMETER.search(attributes.get(b"content", ""))
        return (found[1] or found[2] or found[3] or "") if found else ""
    return ""
