"""Which encoding undeclared bytes are in: try each, and see which one reads like a language.

A page in the wrong encoding is full of rare signs; in the right one, most of its letters are the common letters of
some language. So each candidate is scored by the share of common letters among what lies beyond ASCII.
"""

from __future__ import annotations

import re

from tenax.parse.labels import LABELS, Encoding

_SAMPLE_BYTES = 16_384
_LOWEST_SCORE = 0.3
"""Below this nothing reads like a language."""
_BROKEN_WEIGHT = 4.0
"""A byte the encoding cannot read counts against it as much as so many common letters count for it."""

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
_CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъёіїєґўџјљњћђ—«»№“”"
_WESTERN = "éèàáâãäåæçêëìíîïñòóôõöøœùúûüýÿß’‘“”–—…«»°©€·ÉÈÀÁÄÅÇÑÓÖØÜ¿¡\xa0"
_CENTRAL = "ąćęłńóśźżáčďéěíňřšťúůýžőűăâîșțţşđöüäĺľŕôßŁŚŻČŘŠŽ–—„”“…\xa0"
_GREEK = "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐ"
_TURKISH = "çğıöşüÇĞİÖŞÜâîû’“”"
_HEBREW = "אבגדהוזחטיכךלמםנןסעפףצץקרשת"
_ARABIC = "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةأإآءؤئ،؟"
_THAI = "".join(map(chr, [*range(0x0E01, 0x0E3B), *range(0x0E40, 0x0E4F)]))

# In order of preference: of equal scores the earlier wins.
_CANDIDATES: tuple[tuple[Encoding, frozenset[str]], ...] = tuple(
    (LABELS[label], frozenset(letters))
    for label, letters in (
        ("windows-1252", _WESTERN),
        ("shift_jis", _KANA + _KANJI),
        ("euc-jp", _KANA + _KANJI),
        ("gbk", _SIMPLIFIED),
        ("big5", _TRADITIONAL),
        ("euc-kr", _HANGUL),
        ("windows-1251", _CYRILLIC),
        ("koi8-r", _CYRILLIC),
        ("ibm866", _CYRILLIC),
        ("windows-1250", _CENTRAL),
        ("iso-8859-2", _CENTRAL),
        ("windows-1253", _GREEK),
        ("windows-1254", _TURKISH),
        ("windows-1255", _HEBREW),
        ("windows-1256", _ARABIC),
        ("windows-874", _THAI),
    )
)
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_ISO_2022_JP = (b"\x1b$B", b"\x1b$@")


def detect(body: bytes) -> Encoding | None:
    """The encoding in which the first part of the body beyond ASCII reads best; None when it reads like nothing."""
    if any(escape in body[:_SAMPLE_BYTES] for escape in _ISO_2022_JP):
        return LABELS["iso-2022-jp"]
    first = _BEYOND_ASCII.search(body)
    if first is None:
        return None
    sample = body[first.start() : first.start() + _SAMPLE_BYTES]
    score, best = 0.0, None
    for encoding, letters in _CANDIDATES:
        this = _score(sample, encoding, letters)
        if this > score:
            score, best = this, encoding
    return best if score >= _LOWEST_SCORE else None


def _score(sample: bytes, encoding: Encoding, letters: frozenset[str]) -> float:
    """The share of common letters among the characters beyond ASCII, less what cannot be read at all."""
    text = [sign for sign in sample.decode(encoding.codec, "replace") if sign > "\x7f"]
    if not text:
        return 0.0
    broken = text.count("\ufffd")
    # The last character may be cut in half by the sample's end.
    return (sum(sign in letters for sign in text) - _BROKEN_WEIGHT * max(0, broken - 1)) / len(text)
