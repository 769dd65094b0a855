"""Ordinary sentences in the languages whose old encodings are still undeclared on the web."""

from __future__ import annotations

JAPANESE = (
    "昨日は朝から雨が降っていたので、図書館で静かに本を読んで過ごしました。",
    "この町には古い神社があり、春になると桜を見に多くの人が訪れます。",
    "新しいサービスは来月から始まります。詳しくはホームページをご覧ください。",
    "会議は午後三時に終わり、参加者は資料を受け取って帰りました。",
)
SIMPLIFIED_CHINESE = (
    "今天的天气很好，我们决定去公园散步，然后在湖边吃午饭。",
    "这家公司去年开始生产电动汽车，现在已经有三千多名员工。",
    "老师说，学习语言最重要的是每天都要听、说、读、写。",
    "由于大雪，火车晚点了两个小时，很多旅客在车站等待。",
)
TRADITIONAL_CHINESE = (
    "今天的天氣很好，我們決定去公園散步，然後在湖邊吃午飯。",
    "這家公司去年開始生產電動汽車，現在已經有三千多名員工。",
    "老師說，學習語言最重要的是每天都要聽、說、讀、寫。",
    "由於大雪，火車晚點了兩個小時，很多旅客在車站等待。",
)
KOREAN = (
    "오늘은 날씨가 좋아서 친구들과 함께 공원에서 산책을 했습니다.",
    "이 회사는 작년부터 전기 자동차를 만들기 시작했고 직원이 삼천 명이 넘는다.",
    "선생님은 언어를 배우려면 매일 듣고 말하고 읽고 써야 한다고 말씀하셨다.",
    "폭설 때문에 기차가 두 시간 늦게 도착하여 많은 승객들이 역에서 기다렸다.",
)
RUSSIAN = (
    "Сегодня была хорошая погода, и мы решили погулять в парке у озера.",
    "Компания начала выпускать электромобили в прошлом году.",
    "Учитель сказал, что язык надо учить каждый день: слушать, говорить и писать.",
    "Из-за сильного снегопада поезд опоздал на два часа.",
)
FRENCH = (
    "L'été dernier, nous avons visité un vieux château près de la forêt.",
    "Le maire a déclaré que la bibliothèque restera ouverte jusqu'à vingt heures.",
    "Ça coûte très cher, mais les élèves sont ravis de leur journée à la mer.",
)
GERMAN = (
    "Die Bäckerei an der großen Straße öffnet früh und schließt spät.",
    "Für die Schüler war der Ausflug über den Fluss ein schönes Erlebnis.",
    "Er erklärte, dass die Brücke nächstes Jahr erneuert würde.",
)
SPANISH = (
    "El año pasado la compañía construyó una fábrica cerca del río.",
    "¿Dónde está la estación? Mañana saldrá el tren a las ocho.",
    "La niña soñó con montañas, árboles y un pequeño jardín.",
)
GREEK = (
    "Ο καιρός ήταν καλός και αποφασίσαμε να περπατήσουμε στο πάρκο.",
    "Η βιβλιοθήκη θα μείνει ανοιχτή μέχρι τις οκτώ το βράδυ.",
)
POLISH = (
    "W zeszłym roku spółka zbudowała fabrykę w pobliżu rzeki.",
    "Nauczyciel powiedział, że języka trzeba uczyć się każdego dnia, słuchać i mówić.",
)

UNDECLARED = (
    ("shift_jis", "cp932", JAPANESE),
    ("euc-jp", "euc_jp", JAPANESE),
    ("iso-2022-jp", "iso2022_jp", JAPANESE),
    ("gbk", "gbk", SIMPLIFIED_CHINESE),
    ("big5", "big5", TRADITIONAL_CHINESE),
    ("euc-kr", "euc_kr", KOREAN),
    ("windows-1251", "cp1251", RUSSIAN),
    ("koi8-r", "koi8_r", RUSSIAN),
    ("windows-1252", "cp1252", FRENCH),
    ("windows-1252", "cp1252", GERMAN),
    ("windows-1252", "cp1252", SPANISH),
    ("windows-1253", "cp1253", GREEK),
    ("windows-1250", "cp1250", POLISH),
)
"""Name of the encoding, its codec, sentences."""
