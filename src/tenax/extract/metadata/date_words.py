"""Words of written dates: month names in many languages, and fillers between the parts."""

from __future__ import annotations

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
"""By long or short name, in the case that dates use."""

FILLERS: Final = frozenset("""
de del of the st nd rd th er ème e den le il ה ב г года р року sn dne kl um at à a às alle о в ng tháng
""".strip().split(" "))  # fmt: skip
"""Words between day, month and year without a meaning."""
