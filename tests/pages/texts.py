"""Texts of good short pages, in many kinds and languages: (kind, language, title, body)."""

from __future__ import annotations

TEXTS: tuple[tuple[str, str, str, str], ...] = (
    (
        "contact",
        "en",
        "Contact us",
        "<h1>Contact</h1><p>Harbour Road 12, Whitby YO21 3PU</p><p>Phone 01947 555 0134, weekdays nine to five.</p>",
    ),
    ("notice", "en", "Closed today", "<p>The library is closed today because of a burst pipe.</p>"),
    (
        "thanks",
        "en",
        "Thank you",
        "<h1>Thank you!</h1><p>Your message has been sent. We will answer within two working days.</p>",
    ),
    (
        "poem",
        "en",
        "November",
        "<h1>November</h1><p>The heron stands where it has always stood,<br>one leg in the grey of the weir,<br>"
        "and the mill, which has ground nothing since the war,<br>goes on pretending it can hear.</p>",
    ),
    (
        "news",
        "en",
        "Bridge reopens after two years",
        "<h1>Bridge reopens after two years</h1><p>Traffic crossed the Ferry Lane bridge again on Monday morning. "
        "The repair cost 2.4 million and took eight months longer than planned, the council said.</p>",
    ),
    (
        "product",
        "en",
        "Hand plane No. 4",
        "<h1>Hand plane No. 4</h1><p>Cast iron body, beech handle, 245 mm.</p><p>£ 84.00, in stock</p>"
        "<button>Add to basket</button>",
    ),
    (
        "wiki stub",
        "en",
        "Alder moth",
        "<h1>Alder moth</h1><p>The alder moth (Acronicta alni) is a moth of the family Noctuidae. It is found across "
        "most of Europe.</p><p>This article about a moth is a stub.</p>",
    ),
    (
        "api text",
        "en",
        "GET /v2/tides",
        "<h1>GET /v2/tides</h1><pre>station  required  id of the station\nfrom     optional  ISO 8601\n"
        "to       optional  ISO 8601</pre><p>Returns 401 without a key and 429 above 60 calls a minute.</p>",
    ),
    (
        "docs",
        "en",
        "Installing on Debian",
        "<h1>Installing on Debian</h1><pre><code>apt install brasswork</code></pre><p>The service starts by itself. "
        "Its settings are in /etc/brasswork.toml.</p>",
    ),
    (
        "event",
        "en",
        "Choir evening",
        "<h1>Choir evening</h1><p>Saturday 14 March, 19:30, St Mary's hall. Admission free, soup afterwards.</p>",
    ),
    (
        "obituary",
        "en",
        "Edith Marlow, 1931–2026",
        "<h1>Edith Marlow</h1><p>Edith Marlow, who taught three generations of children to swim, died on Tuesday at "
        "the age of 94. She leaves two sons and a great many wet towels.</p>",
    ),
    (
        "press",
        "en",
        "Norrland Steel names new chair",
        "<h1>Norrland Steel names new chair</h1><p>LULEÅ, 3 May. The board of Norrland Steel AB has elected Karin "
        "Öhman as its chair. She succeeds Per Lindqvist, who steps down after eleven years.</p>",
    ),
    (
        "links",
        "en",
        "Bookmarks",
        "<ul><li><a href='/tides'>Tide tables</a></li><li><a href='/knots'>Knots</a></li><li><a href='/charts'>Charts"
        "</a></li><li><a href='/weather'>Weather</a></li><li><a href='/buoys'>Buoys and lights</a></li></ul>",
    ),
    (
        "image",
        "en",
        "Harbour at dawn",
        "<figure><img src='/img/2210.jpg' alt='Boats in fog'><figcaption>Harbour at dawn, October 2025. Photograph by "
        "R. Aske</figcaption></figure>",
    ),
    (
        "recipe",
        "en",
        "Oatcakes",
        "<h1>Oatcakes</h1><ul><li>200 g oats</li><li>60 g butter</li><li>hot water</li></ul><p>Mix, roll out, bake at "
        "180 degrees for twenty minutes.</p>",
    ),
    (
        "jobs",
        "en",
        "Vacancy: lock keeper",
        "<h1>Lock keeper (part time)</h1><p>Apply by 30 June. You like people, boats and rain. £ 13.40 an hour.</p>",
    ),
    ("order", "en", "Order received", "<p>We have your order 20931. It leaves the house tomorrow.</p>"),
    (
        "faq",
        "en",
        "May I bring my dog?",
        "<h1>May I bring my dog?</h1><p>Yes, on a lead. Water bowls are at the gate.</p>",
    ),
    (
        "person",
        "en",
        "Dr Ines Varga",
        "<h1>Dr Ines Varga</h1><p>Reader in hydrology. Room 3.14. Office hours Wednesday 10 to 12.</p>"
        "<a href='mailto:ines@example.org'>ines@example.org</a>",
    ),
    (
        "results",
        "en",
        "Results, round 7",
        "<table><tr><th>Home</th><th>Away</th><th></th></tr><tr><td>Otters</td><td>Rooks</td><td>2:1</td></tr><tr>"
        "<td>Herons</td><td>Voles</td><td>0:0</td></tr><tr><td>Newts</td><td>Swifts</td><td>3:3</td></tr></table>",
    ),
    (
        "changelog",
        "en",
        "Version 2.1.4",
        "<h1>2.1.4</h1><ul><li>Fixes a crash when a file name ends in a dot.</li><li>Faster start.</li></ul>",
    ),
    ("search", "en", "Search results", "<h1>Search</h1><p>Nothing was found for “zwieback”. Try another word.</p>"),
    (
        "default",
        "en",
        "Welcome to nginx!",
        "<h1>Welcome to nginx!</h1><p>If you see this page, the nginx web server is successfully installed and "
        "working. Further configuration is required.</p>",
    ),
    (
        "directory",
        "en",
        "Index of /pub",
        "<h1>Index of /pub</h1><pre><a href='../'>../</a>\n<a href='a.tar.gz'>a.tar.gz</a>  12-May-2024  1.2M\n"
        "<a href='b.tar.gz'>b.tar.gz</a>  13-May-2024  3.4M</pre>",
    ),
    (
        "status",
        "en",
        "All systems operational",
        "<h1>All systems operational</h1><p>Website: up. Mail: up. Last incident 41 days ago.</p>",
    ),
    (
        "Impressum",
        "de",
        "Impressum",
        "<h1>Impressum</h1><p>Angaben gemäß § 5 DDG</p><p>Tischlerei Brandt, Mühlweg 3, 37073 Göttingen</p>"
        "<p>Telefon 0551 5550 22</p>",
    ),
    (
        "Meldung",
        "de",
        "Freibad öffnet früher",
        "<h1>Freibad öffnet früher</h1><p>Wegen des warmen Wetters öffnet das Freibad schon am 1. Mai. Die Preise "
        "bleiben gleich, teilte die Stadt mit.</p>",
    ),
    ("Hinweis", "de", "Betriebsferien", "<p>Wir machen Urlaub vom 3. bis 21. August. Danach sind wir wieder da.</p>"),
    (
        "Gedicht",
        "de",
        "Am Wehr",
        "<h1>Am Wehr</h1><p>Das Wasser fällt und fällt nicht aus,<br>ein Reiher steht davor,<br>er wartet wie ein "
        "altes Haus<br>auf Schritte vor dem Tor.</p>",
    ),
    (
        "Termin",
        "de",
        "Reparaturcafé",
        "<h1>Reparaturcafé</h1><p>Jeden ersten Samstag im Monat, 14 bis 17 Uhr, im Gemeindehaus. Kuchenspenden "
        "willkommen.</p>",
    ),
    (
        "Anmeldung",
        "de",
        "Anmeldung zum Kurs",
        "<h1>Anmeldung zum Töpferkurs</h1><p>Der Kurs beginnt am 12. September. Es sind noch vier Plätze frei.</p>"
        "<form><input name='name'><button>Anmelden</button></form>",
    ),
    ("Danke", "de", "Vielen Dank", "<p>Vielen Dank für Ihre Bestellung. Eine Bestätigung ist unterwegs.</p>"),
    (
        "actualité",
        "fr",
        "Le marché change de place",
        "<h1>Le marché change de place</h1><p>À partir de samedi, le marché se tiendra place des Tilleuls pendant la "
        "durée des travaux. Les horaires ne changent pas.</p>",
    ),
    (
        "contact",
        "fr",
        "Nous trouver",
        "<p>Librairie du Canal, 8 quai des Brumes, 67000 Strasbourg.</p><p>Ouvert du mardi au samedi.</p>",
    ),
    (
        "recette",
        "fr",
        "Soupe à l'oseille",
        "<h1>Soupe à l'oseille</h1><p>Faites fondre l'oseille dans le beurre, ajoutez deux pommes de terre et un "
        "litre d'eau. Laissez cuire vingt minutes.</p>",
    ),
    ("merci", "fr", "Merci", "<p>Merci, votre inscription à la lettre est confirmée.</p>"),
    (
        "communiqué",
        "fr",
        "Nomination",
        "<h1>Nomination</h1><p>Hélène Garrec est nommée directrice du port de plaisance à compter du 1er juin.</p>",
    ),
    (
        "noticia",
        "es",
        "Abre el nuevo puente",
        "<h1>Abre el nuevo puente</h1><p>El puente sobre el Tormes abrió ayer al tráfico. Las obras han durado tres "
        "años, informó el ayuntamiento.</p>",
    ),
    (
        "aviso",
        "es",
        "Cerrado por inventario",
        "<p>El martes 4 la tienda permanecerá cerrada por inventario. Disculpen las molestias.</p>",
    ),
    (
        "ficha",
        "es",
        "Silla plegable",
        "<h1>Silla plegable</h1><p>Madera de haya, 4 kg. 59,90 €. Envío en 48 horas.</p><button>Comprar</button>",
    ),
    (
        "poema",
        "es",
        "Noria",
        "<h1>Noria</h1><p>Gira el agua que no bebe,<br>canta el hierro que no siente,<br>y la tarde, que es tan breve,"
        "<br>se le escapa de la frente.</p>",
    ),
    (
        "avviso",
        "it",
        "Sciopero dei treni",
        "<h1>Sciopero dei treni</h1><p>Venerdì dalle 9 alle 17 i treni regionali possono subire ritardi. Sono "
        "garantite le fasce per i pendolari.</p>",
    ),
    (
        "contatti",
        "it",
        "Contatti",
        "<p>Officina Ferri, via dei Conciatori 4, Arezzo. Tel. 0575 555 018. Chiuso il lunedì.</p>",
    ),
    (
        "scheda",
        "it",
        "Caffettiera da sei",
        "<h1>Caffettiera da sei</h1><p>Alluminio, manico in legno. 31 euro, disponibile.</p>",
    ),
    (
        "notícia",
        "pt",
        "Feira do livro começa amanhã",
        "<h1>Feira do livro começa amanhã</h1><p>São cento e vinte bancas no jardim da Estrela. A entrada é livre e "
        "há leituras todas as noites.</p>",
    ),
    ("obrigado", "pt", "Obrigado", "<p>Recebemos o seu pedido. Entraremos em contacto em breve.</p>"),
    (
        "nieuws",
        "nl",
        "Sluis weer open",
        "<h1>Sluis weer open</h1><p>De Wilhelminasluis is sinds vanochtend weer open voor de pleziervaart. Het "
        "onderhoud duurde drie weken.</p>",
    ),
    (
        "contact",
        "nl",
        "Openingstijden",
        "<p>Maandag tot vrijdag van 8 tot 17 uur. Zaterdag tot 13 uur. Fietsen graag buiten laten staan.</p>",
    ),
    (
        "wiadomość",
        "pl",
        "Nowa linia tramwajowa",
        "<h1>Nowa linia tramwajowa</h1><p>Od poniedziałku linia 14 kursuje do Zielonek. Bilety kosztują tyle samo co "
        "wcześniej.</p>",
    ),
    ("ogłoszenie", "pl", "Zebranie", "<p>Zebranie mieszkańców odbędzie się w czwartek o 18:00 w świetlicy.</p>"),
    (
        "новость",
        "ru",
        "Открыта новая библиотека",
        "<h1>Открыта новая библиотека</h1><p>В субботу в посёлке открылась библиотека. Фонд насчитывает двенадцать "
        "тысяч книг, сообщили в администрации.</p>",
    ),
    ("объявление", "ru", "Нет воды", "<p>В среду с 9 до 15 часов не будет горячей воды. Приносим извинения.</p>"),
    (
        "стих",
        "ru",
        "Октябрь",
        "<p>Стоит октябрь, как гость у двери,<br>не входит и не говорит,<br>и только лист, последней вере<br>"
        "послушный, в воздухе горит.</p>",
    ),
    (
        "お知らせ",
        "ja",
        "年末年始の営業について",
        "<h1>年末年始の営業について</h1><p>12月29日から1月3日までお休みをいただきます。1月4日より通常通り営業いたします。"
        "ご不便をおかけしますが、よろしくお願いいたします。</p>",
    ),
    (
        "ニュース",
        "ja",
        "新しい橋が開通",
        "<h1>新しい橋が開通</h1><p>市は月曜日、川にかかる新しい橋の通行を始めた。工事には三年かかり、"
        "費用は約二十億円だった。歩行者専用の道も整備されている。</p>",
    ),
    (
        "公告",
        "zh",
        "停水通知",
        "<h1>停水通知</h1><p>因管道检修，本周三上午九点至下午三点，北苑小区将暂停供水，请居民提前储水。不便之处，敬请谅解。"
        "</p>",
    ),
    (
        "新闻",
        "zh",
        "新图书馆开放",
        "<p>市新图书馆昨日正式开放，藏书三十万册，设有儿童阅览室和自习区。开放时间为每天九点至二十一点，周一闭馆，市民凭身份证入馆。</p>",
    ),
    (
        "소식",
        "ko",
        "새 도서관이 문을 열었습니다",
        "<h1>새 도서관 개관</h1><p>시립 도서관이 어제 문을 열었습니다. 장서는 약 십만 권이며 월요일은 휴관입니다. "
        "주차장은 지하에 있습니다.</p>",
    ),
    (
        "خبر",
        "ar",
        "افتتاح المكتبة الجديدة",
        "<h1>افتتاح المكتبة الجديدة</h1><p>افتتحت البلدية أمس المكتبة العامة الجديدة في وسط المدينة، وهي تضم أكثر من "
        "خمسين ألف كتاب وقاعة للأطفال.</p>",
    ),
    (
        "إعلان",
        "ar",
        "مواعيد العمل",
        "<p>تعمل العيادة من الأحد إلى الخميس من الساعة الثامنة صباحا حتى الثالثة ظهرا.</p>",
    ),
    (
        "ข่าว",
        "th",
        "เปิดสะพานใหม่",
        "<h1>เปิดสะพานใหม่</h1><p>เทศบาลเปิดสะพานข้ามคลองแห่งใหม่เมื่อวันจันทร์ที่ผ่านมา ใช้เวลาก่อสร้างสองปี ประชาชนสามารถใช้ได้ทุกวัน</p>",
    ),
    (
        "ειδήσεις",
        "el",
        "Νέο δρομολόγιο",
        "<p>Από τη Δευτέρα το πλοίο για την Τήνο φεύγει στις επτά το πρωί. Τα εισιτήρια πωλούνται στο λιμάνι.</p>",
    ),
    (
        "haber",
        "tr",
        "Yeni park açıldı",
        "<h1>Yeni park açıldı</h1><p>Belediye, nehir kıyısındaki yeni parkı pazar günü açtı. Giriş ücretsizdir.</p>",
    ),
    (
        "notis",
        "sv",
        "Badet öppnar",
        "<h1>Badet öppnar</h1><p>Friluftsbadet öppnar den första juni. Vattnet är just nu sjutton grader.</p>",
    ),
    (
        "חדשות",
        "he",
        "הספרייה סגורה",
        "<p>הספרייה תהיה סגורה ביום שלישי לרגל עבודות תחזוקה. נשוב ונפתח ביום רביעי בבוקר.</p>",
    ),
    (
        "समाचार",
        "hi",
        "नया पुल खुला",
        "<p>नदी पर बना नया पुल सोमवार को यातायात के लिए खोल दिया गया। इसके निर्माण में तीन वर्ष लगे और लागत बीस करोड़ रही।</p>",
    ),
    ("one line", "en", "It works!", "<h1>It works! This is the default page of the server.</h1>"),
    (
        "login page",
        "en",
        "Log in",
        "<h1>Log in</h1><form><label>Name <input name='u'></label><label>Password <input type='password'></label>"
        "<button>Log in</button></form><p>New here? Members of the rowing club get a password from Anna.</p>",
    ),
    (
        "members",
        "en",
        "Members' newsletter",
        "<h1>Members' newsletter</h1><p>The newsletter goes out on the first of the month. To receive it, sign up "
        "with your membership number.</p>",
    ),
    (
        "maintenance",
        "en",
        "Back soon",
        "<h1>We are moving house</h1><p>The shop opens again on Thursday at its new address, Mill Street 9.</p>",
    ),
    (
        "video",
        "en",
        "Swifts under the roof",
        "<h1>Swifts under the roof</h1><video src='/v/71.mp4' controls></video><p>Two minutes, no sound.</p>",
    ),
    (
        "redirect notice",
        "en",
        "Moved",
        "<h1>This page has moved</h1><p>You will find the tide tables <a href='/tides'>under their new address</a>. "
        "Please change your bookmark.</p>",
    ),
    (
        "quote",
        "en",
        "Quotation of the day",
        "<blockquote>The sea is never as blue as the postcard, and never as cold as the aunt says.</blockquote>",
    ),
    ("download", "en", "Download", "<p><a href='/b-3.2.zip'>brasswork-3.2.zip</a>, 4.1 MB, SHA-256 9f2c…e1</p>"),
    (
        "comment",
        "en",
        "Re: leaking tap",
        "<p>It is the washer. It is always the washer. Turn the water off first, though, or you will learn the other "
        "thing that it always is.</p>",
    ),
)
