"""Language detection: by script or by small words, and the page's declaration where the text is too short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.extract.language.detect import (
    DECLARED_CONFIDENCE,
    SAMPLE_CHARS,
    SHORT_SAMPLE_CHARS,
    SURE_CONFIDENCE,
    Language,
    detect_language,
)
from tenax.extract.language.words import ARABIC, CYRILLIC, DEVANAGARI, DISTINCTIVE_LETTERS, LATIN

SENTENCES = {
    "en": "The bridge was closed for two days because the river had risen, and nobody could say when it would open.",
    "de": "Die Brücke war zwei Tage lang gesperrt, weil der Fluss gestiegen ist und niemand wusste, wann sie öffnet.",
    "fr": "Le pont est resté fermé pendant deux jours, parce que la rivière avait monté et que les gens sont partis.",
    "es": "El puente estuvo cerrado durante dos días porque el río había crecido y no se sabe cuándo lo abrirán.",
    "pt": "A ponte ficou fechada por dois dias, porque o rio subiu muito e não se sabe quando será aberta também.",
    "it": "Il ponte è rimasto chiuso per due giorni perché il fiume era salito e non si sa quando sarà aperto.",
    "nl": "De brug was twee dagen gesloten omdat het water van de rivier niet meer te houden was, zei een bewoner.",
    "sv": "Bron var stängd i två dagar eftersom vattnet hade stigit, och det är inte klart när den ska öppna igen.",
    "da": "Broen var lukket i to dage, fordi vandet var steget, og det er ikke klart, hvad der skal ske efter det.",
    "no": "Broen var stengt i to dager fordi vannet hadde steget, og det er ikke klart hva som skal skje etter det.",
    "fi": "Silta oli suljettu kaksi päivää, koska vesi oli noussut, eikä kukaan tiedä, milloin se on jälleen auki.",
    "pl": "Most był zamknięty przez dwa dni, ponieważ woda się podniosła i nie wiadomo, czy jest już bezpieczny.",
    "cs": "Most byl dva dny uzavřen, protože se zvedla voda, a není jasné, kdy bude podle úřadů znovu otevřen.",
    "sk": "Most bol dva dni zatvorený, pretože sa zdvihla voda, a nie je jasné, kedy bude podľa úradov otvorený.",
    "hu": "A híd két napig zárva volt, mert a folyó megáradt, és még nem tudni, hogy mikor lehet újra átmenni.",
    "ro": "Podul a fost închis două zile pentru că râul a crescut și nu se știe când va fi deschis din nou.",
    "tr": "Köprü iki gün boyunca kapalı kaldı çünkü nehir çok yükseldi ve ne zaman açılacağı daha belli değil.",
    "id": "Jembatan itu ditutup selama dua hari karena air sungai naik dan belum ada yang bisa menyeberang.",
    "vi": "Cây cầu đã bị đóng trong hai ngày vì nước sông lên cao và không ai biết khi nào nó sẽ được mở lại.",
    "hr": "Most je bio zatvoren dva dana jer je rijeka narasla i ne zna se tko će reći što će biti prije ljeta.",
    "sl": "Most je bil dva dni zaprt, ker je reka narasla, in še ni jasno, kdaj ga bodo lahko spet odprli.",
    "lt": "Tiltas buvo uždarytas dvi dienas, nes upė pakilo, ir dar nėra aišku, kada jis bus vėl atidarytas.",
    "lv": "Tilts bija slēgts divas dienas, jo upe bija cēlusies, un vēl nav zināms, kad tas tiks atvērts.",
    "et": "Sild oli kaks päeva suletud, sest jõgi oli tõusnud, ja ei ole veel teada, millal see avatakse.",
    "ca": "El pont va estar tancat dos dies perquè el riu havia crescut i això no és el que els veïns volien.",
    "is": "Brúin var lokuð í tvo daga af því að áin hafði hækkað og það er ekki vitað hvenær hún opnar.",
    "ru": "Мост был закрыт два дня, потому что вода поднялась, и никто не знает, когда его снова откроют.",
    "uk": "Міст був закритий два дні, тому що вода піднялася, і ніхто не знає, коли його знову відкриють.",
    "bg": "Мостът беше затворен два дни, защото водата се покачи и не се знае кога ще бъде отворен отново.",
    "sr": "Мост је био затворен два дана јер је река нарасла и не зна се када ће поново бити отворен.",
    "ar": "أغلق الجسر يومين لأن مياه النهر ارتفعت، ولا أحد يعرف متى سيفتح من جديد أمام الناس في المدينة.",
    "fa": "این پل برای دو روز بسته بود، زیرا آب رودخانه بالا آمده بود و کسی نمی‌داند که کی باز می‌شود.",
    "ur": "یہ پل دو دن بند رہا کیونکہ دریا کا پانی بڑھ گیا تھا اور کسی کو نہیں معلوم کہ یہ کب کھلے گا۔",
    "hi": "पुल दो दिन तक बंद रहा क्योंकि नदी का पानी बढ़ गया था और किसी को नहीं पता कि यह कब खुलेगा।",
    "el": "Η γέφυρα ήταν κλειστή για δύο ημέρες, επειδή το ποτάμι είχε ανέβει.",
    "he": "הגשר היה סגור במשך יומיים כי מי הנהר עלו ואיש אינו יודע מתי ייפתח.",
    "th": "สะพานปิดสองวันเพราะน้ำในแม่น้ำขึ้นสูง และไม่มีใครรู้ว่าจะเปิดเมื่อไร",
    "ka": "ხიდი ორი დღე დაკეტილი იყო, რადგან მდინარე ადიდდა.",
    "zh": "由于河水上涨，这座桥关闭了两天，没有人知道什么时候会重新开放。",
    "ja": "川の水が増えたため、橋は二日間閉鎖され、いつ開くのか誰も知らない。",
    "ko": "강물이 불어나서 다리가 이틀 동안 폐쇄되었고 언제 다시 열릴지 아무도 모른다.",
    "ta": "ஆற்றில் நீர் உயர்ந்ததால் பாலம் இரண்டு நாட்கள் மூடப்பட்டது.",
}


@pytest.mark.parametrize("tag", SENTENCES)
def test_one_sentence_is_enough(tag: str) -> None:
    found = detect_language(SENTENCES[tag])
    assert (found.tag, found.source) == (tag, "detected")
    assert found.confidence > 0


@pytest.mark.parametrize("tag", ["de", "fr", "pt", "pl", "hu", "vi", "ru", "uk", "ar", "fa", "hi"])
def test_wrong_declaration_is_overridden(tag: str) -> None:
    """Many sites declare `en` on every page because their template does."""
    found = detect_language(SENTENCES[tag], "en-US")
    assert (found.tag, found.source) == (tag, "detected")


@pytest.mark.parametrize("tag", ["de", "fr", "pl", "vi", "ru", "hi"])
def test_sentence_of_common_words_is_certain(tag: str) -> None:
    assert detect_language(SENTENCES[tag]).confidence >= SURE_CONFIDENCE


@pytest.mark.parametrize("text", ["nicht jetzt", "Más", "що там", "α"])
def test_few_words_lower_the_confidence_of_a_declaration(text: str) -> None:
    found = detect_language(text, "en")
    assert (found.tag, found.source) == ("en", "declared")
    assert found.confidence < DECLARED_CONFIDENCE


@pytest.mark.parametrize("tag", ["zh", "ja", "ko", "th", "el", "he", "ka", "ta"])
def test_script_of_one_language_is_certain(tag: str) -> None:
    assert detect_language(SENTENCES[tag], "en").tag == tag
    assert detect_language(SENTENCES[tag]).confidence > 0.9


@pytest.mark.parametrize(
    ("text", "declared", "expected"),
    [
        ("", None, Language()),
        ("12 – 34", None, Language()),
        ("", "de", Language("de", DECLARED_CONFIDENCE, "declared")),
        ("OK", "de-at", Language("de-AT", DECLARED_CONFIDENCE, "declared")),
        ("Kontakt Impressum", " PT_br ", Language("pt-BR", DECLARED_CONFIDENCE, "declared")),
        ("", "zh-hant-tw", Language("zh-Hant-TW", DECLARED_CONFIDENCE, "declared")),
        ("", "lang=", Language()),
        ("", "x", Language()),
        ("", "english language", Language()),
    ],
)
def test_short_text_uses_the_declaration(text: str, declared: str | None, expected: Language) -> None:
    assert detect_language(text, declared) == expected


@pytest.mark.parametrize(
    ("tag", "declared"),
    [("en", "en-GB"), ("pt", "pt-BR"), ("no", "nb"), ("hr", "bs"), ("id", "ms"), ("zh", "zh-Hant"), ("he", "yi")],
)
def test_declaration_refines_region_and_similar_language(tag: str, declared: str) -> None:
    found = detect_language(SENTENCES[tag], declared)
    assert (found.tag, found.source) == (declared, "both")
    assert found.confidence > max(DECLARED_CONFIDENCE, detect_language(SENTENCES[tag]).confidence)


def test_foreign_name_does_not_decide_the_language() -> None:
    assert detect_language(SENTENCES["en"] + " 東京 Москва").tag == "en"
    assert detect_language(SENTENCES["ru"] + " Microsoft Windows").tag == "ru"


def test_repeated_word_is_limited_evidence() -> None:
    assert detect_language("Las Vegas\n" * 60, "en").source == "declared"


def test_menus_at_the_ends_are_ignored() -> None:
    menu = "Home About Contact and the other of with " * 30
    middle = " ".join([SENTENCES["pl"]] * (SAMPLE_CHARS // len(SENTENCES["pl"]) + 1))
    assert detect_language(menu + middle + menu).tag == "pl"


def test_short_sample_is_enough_when_it_agrees_with_the_page() -> None:
    middle = " ".join([SENTENCES["pl"]] * (SHORT_SAMPLE_CHARS // len(SENTENCES["pl"]) + 2))
    around = SENTENCES["cs"] * (SAMPLE_CHARS // len(SENTENCES["cs"]))
    assert detect_language(around + middle + around, "pl").source == "both"
    assert detect_language(around + middle + around, "cs").tag == detect_language(around + middle + around).tag


@pytest.mark.parametrize("words", [LATIN, CYRILLIC, ARABIC, DEVANAGARI], ids=["latin", "cyrillic", "arabic", "hindi"])
def test_word_lists_are_lower_case(words: dict[str, str]) -> None:
    assert all(text == text.lower() and len(set(text.split())) >= 20 for text in words.values())


def test_letters_belong_to_languages_that_have_words() -> None:
    assert DISTINCTIVE_LETTERS.keys() <= {*LATIN, *CYRILLIC, *ARABIC, *DEVANAGARI}


@given(st.text(max_size=300), st.none() | st.text(max_size=20))
def test_any_text_and_any_declaration(text: str, declared: str | None) -> None:
    found = detect_language(text, declared)
    assert 0 <= found.confidence <= 1
    assert (found.source == "none") == (found.tag == "")
