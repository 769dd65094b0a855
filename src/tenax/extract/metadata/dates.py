"""Parses dates as people and machines write them. Never returns a date in the future, or one before the web.

Days are as written: a time zone may change the hour for the reader, but not the date under the headline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

_MONTH_NAMES: Final = """
1 january jan janeiro enero ene januar jänner jän janvier janv gennaio gen januari styczeń stycznia sty leden ledna
1 január januára января январь янв січня січень ocak oca ianuarie ian ιανουαρίου ιαν tammikuu tammikuuta siječnja
1 januarja sausio јануар janúar يناير ינואר जनवरी มกราคม ม.ค януари jaanuar janvāris gener urtarrila
2 february feb februar feber février févr fév fevereiro fev febrero febbraio febr februari luty lutego lut únor února
2 február februára февраля февраль фев февр лютого
2 лютий şubat şub februarie φεβρουαρίου φεβ helmikuu helmikuuta veljače
2 februarja vasario фебруар febrúar فبراير פברואר फ़रवरी फरवरी กุมภาพันธ์ ก.พ февруари veebruar februāris febrer
3 march mar märz mrz maerz mars março marzo maart
3 mrt marzec marca március března březen март марта мар березня березень
3 mart martie μαρτίου μαρ maaliskuu maaliskuuta ožujka marec kovo مارس מרץ मार्च มีนาคม มี.ค märts març
4 april apr avril avr abril abr aprile kwiecień kwietnia
4 kwi duben dubna április apríla апреля апрель апр квітня квітень
4 nisan nis aprilie απριλίου απρ huhtikuu huhtikuuta travnja aprila balandžio أبريل ابريل אפריל अप्रैल เมษายน เม.ย
4 априла април aprīlis
5 may mai mayo maio maggio mag mei maj maja květen května május mája мая май травня травень mayıs μαΐου μάιος μαι
5 toukokuu toukokuuta svibnja gegužės мај maí مايو מאי मई พฤษภาคม พ.ค maijs maig
6 june jun juni juin junho junio giugno giu czerwiec
6 czerwca cze červen června június júna июня июнь июн червня червень
6 haziran haz iunie iun ιουνίου ιουν kesäkuu kesäkuuta lipnja
6 junija birželio јун júní يونيو יוני जून มิถุนายน มิ.ย юни juny
7 july jul juli juillet juil julho julio luglio lug lipiec lipca lip červenec července július júla июля июль июл липня
7 липень temmuz tem iulie iul ιουλίου ιουλ heinäkuu heinäkuuta
7 srpnja julija liepos јул júlí يوليو יולי जुलाई กรกฎาคม ก.ค
7 юли juliol
8 august aug août aout agosto ago agosto augustus
8 sierpień sierpnia sie srpen srpna augusztus августа август авг серпня
8 серпень ağustos ağu αυγούστου αυγ elokuu elokuuta kolovoza
8 avgusta rugpjūčio ágúst أغسطس اغسطس אוגוסט अगस्त สิงหาคม ส.ค
8 agost avgust augusta
9 september sep sept septembre setembro set septiembre setiembre settembre wrzesień września wrz září szeptember
9 septembra сентября сентябрь сен сент вересня вересень eylül eyl septembrie σεπτεμβρίου σεπ syyskuu syyskuuta rujna
9 rugsėjo септембар سبتمبر ספטמבר सितंबर सितम्बर กันยายน ก.ย септември setembre
10 october oct oktober okt octobre outubro out octubre ottobre ott październik października paź říjen října október
10 októbra октября октябрь окт жовтня жовтень ekim eki octombrie οκτωβρίου οκτ lokakuu lokakuuta oktobra
10 spalio октобар أكتوبر اكتوبر אוקטובר अक्टूबर ตุลาคม ต.ค октомври oktoober
11 november nov novembre novembro noviembre listopad listopada lis novembra ноября ноябрь ноя листопада листопад
11 kasım kas noiembrie noi νοεμβρίου νοε marraskuu
11 marraskuuta studenoga studenog lapkričio новембар nóvember نوفمبر נובמבר नवंबर
11 พฤศจิกายน พ.ย ноември
12 december dec dezember dez décembre déc dezembro diciembre dic dicembre grudzień grudnia gru prosinec prosince
12 decembra декабря декабрь дек грудня грудень aralık
12 ara decembrie δεκεμβρίου δεκ joulukuu joulukuuta prosinca gruodžio
12 децембар desember ديسمبر דצמבר दिसंबर ธันวาคม ธ.ค декември desembre
"""

MONTHS: Final[dict[str, int]] = {
    word.casefold(): int(line.split()[0]) for line in _MONTH_NAMES.strip().splitlines() for word in line.split()[1:]
}
"""Months by long or short name, in the form that dates use."""

FILLERS: Final = frozenset("""
de del of the st nd rd th er ème e den le il ה ב г года р року sn dne kl um at à a às alle о в ng tháng
""".strip().split(" "))  # fmt: skip
"""Words between day, month and year that have no meaning."""


FIRST_DAY: Final = date(1990, 1, 1)
MAX_DATE_CHARS: Final = 200
"""A date appears within this many characters; otherwise the text is not a date."""

_TIME = r"(?:[T\s]\s?(\d{1,2}:\d{2}(?::\d{2})?)(?:[.,]\d{1,9})?\s?(Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(
    r"(?<!\d)(\d{4})\s?[-/.\u5e74\ub144]\s?(\d{1,2})\s?[-/.\u6708\uc6d4]\s?(\d{1,2})(?!\d)" + _TIME
)
_YEAR_LAST = re.compile(r"(?<!\d)(\d{1,2})\s?([./-])\s?(\d{1,2})\s?\2\s?(\d{4}|\d{2})(?![\d.])")
_COMPACT = re.compile(r"((?:19|20)\d{2})(\d{2})(\d{2})(?:T?\d{4,6}Z?)?")
_EPOCH = re.compile(r"(\d{9,10})(?:\d{3})?(?:\.\d{1,6})?")
_URL_DATE = re.compile(r"(?<!\d)((?:19|20)\d{2})([/_.-]?)([01]\d|[1-9](?=\2\d))\2([0-3]\d|[1-9](?!\d))(?!\d)")
_URL_DATE_DAY_FIRST = re.compile(r"(?<!\d)([0-3]\d)([_.-])([01]\d)\2((?:19|20)\d{2})(?!\d)")
_WORDS = re.compile(r"\d+|[^\s\d,;:/()\-–|·•\"'’]+")
_DIGIT = re.compile(r"\d")
_NON_DIGIT_BYTES: Final = bytes(byte for byte in range(256) if not chr(byte).isdecimal())
_NON_DIGIT_LINE_BYTES: Final = bytes(byte for byte in range(128) if byte not in b"0123456789\n")
_MIN_DIGITS: Final = 3
"""A day and a two-digit year: 5 May 25."""
_EARLY_HOUR: Final = 8
_LATE_HOUR: Final = 20
_DAY_NUMBERS: Final = range(1, 32)


def parse_date(text: str, now: float, *, is_month_first: bool = False) -> str | None:
    """The first plausible date in a text as ISO 8601, with its time if both are written in that form.

    `is_month_first` decides about 3/4/2025, which is in March in some countries and in April in others.
    """
    text = text[:MAX_DATE_CHARS].strip()
    if _count_digits(text) < _MIN_DIGITS:
        return None
    for day, time in _candidate_dates(text, is_month_first):
        if is_plausible_date(day, now):
            return day.isoformat() + time
    return None


def filter_datable(lines: Sequence[str]) -> Sequence[str]:
    """The lines that may contain a date. All lines are checked in one pass, which is faster than parsing each."""
    # On bytes: any byte beyond ASCII may be part of a digit.
    kept = "\n".join(lines).encode("utf-8", "replace").translate(None, _NON_DIGIT_LINE_BYTES).split(b"\n")
    return [line for line, digits in zip(lines, kept, strict=False) if len(digits) >= _MIN_DIGITS]


def _count_digits(text: str) -> int:
    """The number of digits. For ASCII text they are counted on bytes, which is several times faster."""
    return len(text.encode().translate(None, _NON_DIGIT_BYTES)) if text.isascii() else len(_DIGIT.findall(text))


def parse_url_date(url: str, now: float) -> str | None:
    """The day in a URL such as /2025/08/25/ or /20250825-title."""
    url = url[:2_000]
    if "20" not in url and "19" not in url:
        return None
    parts = [(found[1], found[3], found[4]) for found in _URL_DATE.finditer(url)]
    parts += [(found[4], found[3], found[1]) for found in _URL_DATE_DAY_FIRST.finditer(url)]
    for year, month, number in parts:
        day = _make_date(int(year), int(month), int(number))
        if day is not None and is_plausible_date(day, now):
            return day.isoformat()
    return None


def is_plausible_date(day: date, now: float) -> bool:
    """Whether a page may have been published that day: the day has begun somewhere on Earth, and the web existed."""
    return FIRST_DAY <= day <= (datetime.fromtimestamp(now, UTC) + timedelta(hours=14)).date()


def are_adjacent_days(one: str, other: str) -> bool:
    """Whether two ISO dates are at most one day apart."""
    return abs(date.fromisoformat(one[:10]) - date.fromisoformat(other[:10])) <= timedelta(days=1)


def is_near_midnight(moment: str) -> bool:
    """Whether an ISO date has a UTC time so early or so late that it is another day where most people live."""
    return moment.endswith("+00:00") and not _EARLY_HOUR <= int(moment[11:13]) <= _LATE_HOUR


def _candidate_dates(text: str, is_month_first: bool) -> Iterator[tuple[date, str]]:
    """The possible readings of the text, the most certain first: a day, and the rest of the ISO form."""
    if text.isdigit() or text.replace(".", "", 1).isdigit():
        yield from _parse_numeric_date(text)
    for found in _YEAR_FIRST.finditer(text):
        if day := _make_date(int(found[1]), int(found[2]), int(found[3])):
            yield day, _format_time(found[4], found[5])
    if day := _parse_worded_date(text):
        yield day, ""
    for found in _YEAR_LAST.finditer(text):
        first, second, year = int(found[1]), int(found[3]), int(found[4])
        month_first = second > 12 or (is_month_first and found[2] != "." and first <= 12)
        month, number = (first, second) if month_first else (second, first)
        if day := _make_date(year if year > 99 else 2000 + year, month, number):
            yield day, ""
    if (found_compact := _COMPACT.match(text)) and (day := _make_date(*map(int, found_compact.groups()))):
        yield day, ""


def _parse_numeric_date(text: str) -> Iterator[tuple[date, str]]:
    """A date that is a single number: 20250825, or seconds or milliseconds since 1970."""
    if (found := _COMPACT.fullmatch(text)) and (day := _make_date(*map(int, found.groups()))):
        yield day, ""
    if found := _EPOCH.fullmatch(text):
        moment = datetime.fromtimestamp(int(found[1]), UTC)
        yield moment.date(), moment.strftime("T%H:%M:%S+00:00")


def _parse_worded_date(text: str) -> date | None:
    """A date with the name of a month, in any order in which the day is beside the month."""
    words = [word for word in map(_strip_dots, _WORDS.findall(text.casefold())) if word and word not in FILLERS]
    for index, word in enumerate(words):
        month = MONTHS.get(word)
        if month is None:
            continue
        before, after = words[max(0, index - 2) : index], words[index + 1 : index + 3]
        for number, year in _day_and_year_pairs(before, after):
            if day := _make_date(year, month, number):
                return day
    return None


def _day_and_year_pairs(before: list[str], after: list[str]) -> Iterator[tuple[int, int]]:
    """Day and year beside the name of a month: 25 August 2025, August 25 2025, 2025 August 25."""
    left = [int(word) if word.isdecimal() and len(word) < 5 else 0 for word in before]
    right = [int(word) if word.isdecimal() and len(word) < 5 else 0 for word in after]
    # A number with one digit is not a year: `4.3 out of 5` is not a day in October.
    if left and right and left[-1] in _DAY_NUMBERS and right[0] and len(after[0]) > 1:
        yield left[-1], right[0] if right[0] > 99 else 2000 + right[0]
    if len(right) == 2 and right[0] in _DAY_NUMBERS and right[1] > 99:
        yield right[0], right[1]
    if left and right and left[-1] > 99 and right[0] in _DAY_NUMBERS:
        yield right[0], left[-1]


def _strip_dots(word: str) -> str:
    return word.strip(".")


def _make_date(year: int, month: int, number: int) -> date | None:
    # Thai pages use the Buddhist calendar.
    year = year - 543 if 2500 <= year <= 2600 else year
    try:
        return date(year, month, number)
    except ValueError:
        return None


def _format_time(clock: str | None, zone: str | None) -> str:
    if clock is None:
        return ""
    parts = clock.split(":")
    if int(parts[0]) > 23 or any(int(part) > 59 for part in parts[1:]):
        return ""
    whole = ":".join([parts[0].zfill(2), *parts[1:]]) + (":00" if len(parts) == 2 else "")
    zone = "+00:00" if zone == "Z" else zone or ""
    return f"T{whole}{zone if not zone or ':' in zone else zone[:3] + ':' + zone[3:]}"
