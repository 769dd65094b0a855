"""Good pages that are hard to tell from block pages: short, and with the same words. Each in every layout.

Unlike `tricky`, these were written after the rules, by searching for pages that the rules would reject.
"""

from __future__ import annotations

HARD: tuple[tuple[str, str, str], ...] = (
    (
        "en",
        "The baker of Hill Road",
        "<h1>The baker of Hill Road</h1><p>Anna Krol has baked rye bread at number nine for forty years. She "
        "closes in June.</p><p>You must be logged in to post a comment.</p>",
    ),
    (
        "en",
        "Lemon tart",
        "<h1>Lemon tart</h1><p>Four eggs, two lemons, 150 g of sugar. Bake for 25 minutes.</p><div "
        "id='disqus_thread'></div><p>Please enable JavaScript to view the comments powered by Disqus.</p>",
    ),
    (
        "en",
        "Walnut table",
        "<h1>Walnut table</h1><p>Solid walnut, 180 by 90 cm, oiled.</p><p>This item is not available in your "
        "country.</p><p>Sign in to see prices.</p>",
    ),
    (
        "en",
        "Contact",
        "<h1>Contact</h1><p>Write to us: 5 Mill Lane, Oxton. Phone 0151 496 0000.</p><form><input "
        "name=mail><textarea></textarea><div class='g-recaptcha' data-sitekey='x'></div><label>I'm not a "
        "robot</label><button>Send</button></form>",
    ),
    (
        "en",
        "How to find us",
        "<h1>Find us</h1><p>Take bus 4 to Mill Lane. The map below requires JavaScript to be shown.</p>",
    ),
    ("en", "Blocked", "<h1>Blocked</h1><p>A drain that is blocked needs a plunger, patience and hot water.</p>"),
    (
        "en",
        "One moment, please",
        "<h1>One moment, please</h1><p>A play in three acts by L. Moor. Saturday at eight, town hall.</p>",
    ),
    ("en", "Slow down", "<h1>Slow down</h1><p>Single by The Kites, 2011. Written in a car park in Hull.</p>"),
    (
        "en",
        "Security check",
        "<h1>Security check</h1><p>At the airport: laptops out, belts off, liquids in a clear bag.</p>",
    ),
    (
        "en",
        "Release notes 2.4",
        "<h1>Release notes 2.4</h1><ul><li>Fixed: “you have been blocked” was shown to members.</li><li>Login"
        " is faster.</li></ul>",
    ),
    (
        "en",
        "Our trees",
        "<h1>Our trees</h1><p>We and our partners planted 1,200 oaks along the canal this winter.</p>",
    ),
    (
        "en",
        "Cookie policy",
        "<h1>Cookie policy</h1><p>We use cookies and data to remember your basket. You may reject all of "
        "them. Ask shop@mill.example to delete yours.</p>",
    ),
    (
        "en",
        "Robots",
        "<h1>Are you a robot?</h1><p>A picture book for children from four, by M. Ott. 32 pages, 12 €.</p>",
    ),
    (
        "en",
        "Library login",
        "<h1>Renew a book</h1><p>Please log in to continue. Your number is on the back of your card; the "
        "password is your birthday.</p><p>Open Monday to Friday, ten to six, at Mill Lane 5.</p>",
    ),
    (
        "en",
        "Status",
        "<h1>Status</h1><p>All systems work. On Monday some visitors saw “checking your browser” for ten "
        "minutes, because of an attack.</p>",
    ),
    ("en", "Loading dock 4", "<h1>Loading dock 4</h1><p>Closed until May.</p>"),
    ("de", "Zustimmung", "<h1>Zustimmung</h1><p>Substantiv, feminin. Das Zustimmen, das Einverständnis.</p>"),
    (
        "de",
        "Zugriff verweigert",
        "<h1>Zugriff verweigert</h1><p>Kriminalroman von Ida Senn, 312 Seiten, 14 Euro, lieferbar.</p>",
    ),
    ("ru", "Ой", "<h1>Ой</h1><p>Междометие. Выражает боль, испуг, удивление.</p>"),
    ("fr", "Un instant", "<h1>Un instant</h1><p>Poème de Luce Aubry, paru en 1931 dans la revue Le Quai.</p>"),
    (
        "en",
        "Ticket shop",
        "<h1>Night of the lamps</h1><p>12 June, 9 pm, castle yard. 14 €.</p><noscript>Please enable "
        "JavaScript to buy tickets.</noscript><p>Please enable JavaScript to buy tickets.</p>",
    ),
    (
        "en",
        "Ferry times",
        "<h1>Ferry times</h1><table><tr><td>Oxton</td><td>7:10</td></tr><tr><td>Hale</td><td>7:45</td></tr></"
        "table><p>Sign in to view your tickets.</p>",
    ),
    (
        "en",
        "Press & hold",
        "<h1>Press & hold</h1><p>To switch the lamp off, press & hold the button for three seconds.</p>",
    ),
    (
        "en",
        "Manual: door",
        "<h1>Door bell</h1><p>Press &amp; hold the button to reset. The light blinks twice.</p>",
    ),
    (
        "en",
        "Quiz night",
        "<h1>Quiz night</h1><p>Prove you are human: ten rounds against a computer. Friday, 8 pm, The Anchor.</p>",
    ),
    ("en", "Dog park", "<p>The dog park on Mill Lane is open from six to ten. Access denied to cats.</p>"),
    (
        "ja",
        "ご注意",
        "<h1>ご注意</h1><p>このページの地図を見るにはjavascriptを有効にしてください。住所は港町1-2-3です。電話は03-1234-5678。</p>",
    ),
    ("zh", "通知", "<h1>通知</h1><p>图书馆周一闭馆。查询借书记录请先登录。电话：010-12345678。</p>"),
    (
        "en",
        "Video: the tide",
        "<h1>The tide at Hale</h1><video src=t.mp4></video><p>Your browser does not support JavaScript? The "
        "film is 40 MB to download.</p>",
    ),
    (
        "en",
        "Newsletter 14",
        "<h1>Newsletter 14</h1><p>If you click 'accept all', half the web follows you. We don't. See you at "
        "the fair on 3 May!</p>",
    ),
)
"""Language, title and body."""
