"""Detects the encoding of undeclared bytes: decodes with each, and chooses the one that reads like a language.

Text decoded wrongly is full of rare characters; decoded correctly, most of its letters are common letters of some
language. Each model computes the cost in bits of the bytes beyond ASCII, and the lowest cost wins. The letter lists
below are in order of frequency, most frequent first.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import accumulate
from math import log2
from typing import NamedTuple

from tenax.extract.html.charset_labels import LABELS, WINDOWS_1252, Encoding

_SAMPLE_BYTES = 8_192
_NOISE_BITS = 9.0
"""Per byte beyond ASCII: a decoding at this cost is noise."""
_INVALID_BYTE_BITS = 30.0
"""Cost of a byte that cannot be decoded."""
_RARE_ENCODING_BITS = 8.0
"""Cost of any encoding but windows-1252, by far the most frequent: a single `©` is no sign of Cyrillic."""
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
    """`share` of all text is in these letters, the nth 1/n as frequent (Zipf); the rest is evenly distributed."""
    distinct = dict.fromkeys(letters)
    *_, total = accumulate(1 / (rank + 5) for rank in range(len(distinct)))
    bits = {letter: -log2(share / (rank + 5) / total) for rank, letter in enumerate(distinct)}
    other_bits = -log2((1 - share) / max(16, repertoire - len(distinct)))
    return _EncodingModel(LABELS[label], bits, other_bits, re.compile(odd) if odd else None)


# Letters of a whole alphabet appear among their own kind, accented letters among plain ones.
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
    """The encoding in which the first part beyond ASCII reads best; None when none reads like a language."""
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
    """Cost in bits of the sample's bytes beyond ASCII under this model."""
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
