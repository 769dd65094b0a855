"""Good short pages about block pages, cookies, robots and JavaScript."""

from __future__ import annotations

TRICKY: tuple[tuple[str, str, str, str], ...] = (
    (
        "glossary",
        "en",
        "CAPTCHA",
        "<h1>CAPTCHA</h1><p>A CAPTCHA is a test that is meant to tell people from programs, such as reading distorted "
        "letters. The word was coined in 2003.</p>",
    ),
    (
        "forum post",
        "en",
        "Map stays grey",
        "<h1>Map stays grey</h1><p>Please enable JavaScript. Had the same trouble with the tide map last week. After a "
        "reload it was fine.</p>",
    ),
    (
        "album",
        "en",
        "Access Denied (album)",
        "<h1>Access Denied</h1><p>Access Denied is the second album of the Finnish band Kello, released in 1998. It "
        "reached number 14 at home.</p>",
    ),
    (
        "help",
        "en",
        "What does “403 Forbidden” mean?",
        "<h1>What does “403 Forbidden” mean?</h1><p>The server understood the request and will not answer it. Often "
        "the rights of a file are wrong: a web server must be able to read it. Ask whoever runs the site.</p>",
    ),
    (
        "cookie note",
        "en",
        "Cookies",
        "<h1>Cookies</h1><p>This site sets one cookie, which remembers the size of the letters. It is deleted after a "
        "month. There is no advertising and no counting of visitors.</p>",
    ),
    (
        "cookie policy",
        "de",
        "Cookie-Richtlinie",
        "<h1>Cookie-Richtlinie</h1><p>Wir verwenden Cookies, um den Warenkorb zu speichern. Sie können Cookies in den "
        "Einstellungen Ihres Browsers löschen. Statistik-Cookies setzen wir nicht ein.</p>",
    ),
    (
        "tutorial",
        "en",
        "Hello, JavaScript",
        "<h1>Hello, JavaScript</h1><p>Save this as hello.html and open it. If nothing happens, JavaScript is disabled "
        "in your browser.</p><pre>&lt;script&gt;alert('hello')&lt;/script&gt;</pre>",
    ),
    (
        "blog",
        "en",
        "Just a moment",
        "<h1>Just a moment</h1><p>There was just a moment, this morning, when the fog lifted off the weir and the "
        "heron looked straight at me. Then the school bus came.</p>",
    ),
    (
        "security advice",
        "en",
        "Strange mails",
        "<h1>Strange mails</h1><p>We will never ask you to verify your identity by mail. If a message says that your "
        "account has been blocked, delete it.</p>",
    ),
    (
        "news",
        "en",
        "Hundreds denied access to concert",
        "<h1>Hundreds denied access to concert</h1><p>Access was denied to hundreds of ticket holders on Friday after "
        "the scanners failed. The promoter has apologised.</p>",
    ),
    (
        "release note",
        "en",
        "Rate limits",
        "<h1>Rate limits</h1><p>From June, the interface allows 60 requests a minute. If you send too many requests, "
        "it answers with 429 and says in Retry-After when to come back.</p>",
    ),
    (
        "robots",
        "en",
        "Robot building for children",
        "<h1>Robot building for children</h1><p>Are you a robot fan? Then come to the workshop on Saturday. We build "
        "small machines that follow a line. From eight years.</p>",
    ),
    (
        "question",
        "en",
        "How do I turn JavaScript on?",
        "<h1>How do I turn JavaScript on?</h1><p>In Firefox, open about:config and set javascript.enabled to true. In "
        "Chrome it is under Settings, Privacy, Site settings.</p>",
    ),
    (
        "film",
        "fr",
        "Accès refusé",
        "<h1>Accès refusé</h1><p>Accès refusé est un court métrage de Lise Morvan, tourné en 2011 dans une gare "
        "désaffectée. Durée : douze minutes.</p>",
    ),
    (
        "aide",
        "fr",
        "Activer JavaScript",
        "<h1>Activer JavaScript</h1><p>Pour activer JavaScript dans Firefox, ouvrez les réglages avancés. La plupart "
        "des cartes interactives en ont besoin, les horaires non.</p>",
    ),
    (
        "Glosse",
        "de",
        "Zugriff verweigert",
        "<h1>Zugriff verweigert</h1><p>Zugriff verweigert, sagte der Drucker, und ich glaubte ihm. Seitdem schreibe "
        "ich wieder mit der Hand, und niemand verweigert mir etwas.</p>",
    ),
    (
        "ayuda",
        "es",
        "Cómo borrar las cookies",
        "<h1>Cómo borrar las cookies</h1><p>Abra los ajustes del navegador y busque la palabra privacidad. Allí puede "
        "aceptar o borrar las cookies de cada página.</p>",
    ),
    (
        "firewall",
        "en",
        "Rule 41: block crawlers",
        "<h1>Rule 41</h1><p>Blocks requests whose user agent is empty. Visitors see an error page with a Ray ID; note "
        "it down before you search the logs.</p>",
    ),
    (
        "privacy",
        "en",
        "Privacy in brief",
        "<h1>Privacy in brief</h1><p>We keep your address until the parcel has arrived. You may withdraw your consent "
        "at any time by writing to the address above. We have no partners.</p>",
    ),
    (
        "changelog",
        "en",
        "1.8",
        "<h1>1.8</h1><ul><li>The login page no longer asks for a captcha.</li><li>“Access denied” is shown in your "
        "language.</li><li>Works without JavaScript.</li></ul>",
    ),
    (
        "説明",
        "ja",
        "JavaScriptの設定",
        "<h1>JavaScriptの設定</h1><p>地図を表示するにはJavaScriptを使います。設定の方法はお使いのブラウザの説明書をご覧ください。"
        "時刻表はJavaScriptがなくても読むことができます。</p>",
    ),
    (
        "科普",
        "zh",
        "什么是验证码",
        "<h1>什么是验证码</h1><p>验证码是一种区分人和程序的测试，常见的有扭曲的字母和点选图片。它最早出现在二十一世纪初，"
        "如今很多网站改用更隐蔽的办法。</p>",
    ),
    (
        "помощь",
        "ru",
        "Что такое капча",
        "<h1>Что такое капча</h1><p>Капча — это проверка, которая отличает человека от программы. Чаще всего нужно "
        "выбрать картинки со светофорами.</p>",
    ),
    (
        "club",
        "en",
        "Members only",
        "<h1>Members only</h1><p>The boathouse is for members only. You must be signed in at the desk before you take "
        "a key. Guests are welcome on Sundays.</p>",
    ),
    (
        "story",
        "en",
        "The door said no",
        "<h1>The door said no</h1><p>“You don't have permission to access this room,” said the door. Mira, who had "
        "lived in it for nine years, took the screwdriver out of her pocket and began with the upper hinge.</p>",
    ),
)
