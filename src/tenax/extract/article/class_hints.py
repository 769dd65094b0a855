"""Patterns for class names, roles and the first words of a text, which are hints about a part of a page.

Names are split into words: `article-Body__text` is `article`, `body`, `text`. A hint is a bit, so one number holds all
hints of an element.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

# For each hint, the patterns of words; ^ and $ are the begin and end of the word.
_HINT_WORDS: Final = {
    "nav": """
        ^nav ^subnav ^topnav ^mainnav ^sitenav ^meganav navi menu crumb paginat pager ^toc$ topbar toolbar ^skip sitemap
    """,
    "header": "^header masthead ^head$ banner hero",
    "footer": "footer ^foot$ footbar footnav footlink sitefoot pagefoot copyright colophon disclaimer legal",
    "side": "sidebar ^aside ^rail$ widget secondary tertiary",
    "comment": "comment disqus ^reply ^replies respond discuss livefyre coral",
    "related": """
        related recommend popular trending recirc outbrain taboola latest similar suggest crosslink teaser upnext
        ^more$ readmore ^next$ ^also$ mostread mostviewed
    """,
    "share": "^share ^sharing social facebook twitter addtoany addthis whatsapp ^sns$ follow",
    "ad": """
        ^ad$ ^ads$ advert sponsor promo newsletter subscri signup paywall ^cta$ donat offer marketing mailchimp optin
        ^adslot ^gpt$ dfp
    """,
    "consent": """
        cookie consent gdpr modal popup overlay dialog lightbox onetrust privacy drawer offcanvas toast tooltip
    """,
    "byline": "byline author ^bio$ contributor writer profile avatar",
    "meta": """
        ^meta timestamp ^date ^time publish posted ^tag$ ^tags$ categor ^topic$ ^topics$ keyword label kicker eyebrow
        ^info$
    """,
    "caption": "caption credit gallery slide carousel photo image figure ^media video player",
    "article": "article ^post$ ^posts$ entry story blog ^news",
    "content": "content ^body$ ^text ^main$ ^copy$ prose rich wysiwyg markdown single parser",
    "title": """
        title headline heading ^hed$ ^dek$ standfirst summary intro ^lead lede excerpt abstract descri
    """,
    "product": "product price ^sku cart ^buy shop stock spec variant review rating",
    "list": "^list item card grid tile ^row$ ^rows$ result$ results$ archive ^feed$ collection catalog",
    "forum": "forum thread ^topic message question answer ^qa$ bbs quote signature",
    "hidden": "hidden invisible ^sr$ visually screen ^none$ collapsed assistive",
    "login": "login signin register account password search ^form$ ^forms$",
    "table": "infobox navbox ^table hatnote reflist reference$ references$ footnote editsection citation",
    "unshown": "",  # for elements that an attribute hides, whatever their name
}
HINT_NAMES: Final = tuple(_HINT_WORDS)
HINT_BIT: Final = {name: 1 << index for index, name in enumerate(HINT_NAMES)}

TAG_HINTS: Final = {
    "nav": "nav",
    "header": "header",
    "footer": "footer",
    "aside": "side",
    "article": "article",
    "main": "content",
    "form": "login",
    "figcaption": "caption",
    "figure": "caption",
    "dialog": "consent",
    "table": "table",
    "address": "byline",
}
"""Hints by tag name alone."""
ROLE_HINTS: Final = {
    "navigation": "nav",
    "banner": "header",
    "contentinfo": "footer",
    "complementary": "side",
    "main": "content",
    "article": "article",
    "dialog": "consent",
    "alertdialog": "consent",
    "search": "login",
    "menu": "nav",
    "menubar": "nav",
}


class HintPattern(NamedTuple):
    """One of the patterns above in searchable form."""

    letters: str
    bit: int
    is_at_start: bool
    is_at_end: bool

    def matches_at(self, word: str, at: int) -> bool:
        return (
            word.startswith(self.letters, at)
            and not (self.is_at_start and at)
            and not (self.is_at_end and at + len(self.letters) < len(word))
        )


_PREFIX_LETTERS: Final = 2


def _build_hint_patterns() -> dict[str, list[HintPattern]]:
    """The patterns by their first letters, so that a word is compared with few of them."""
    found: dict[str, list[HintPattern]] = {}
    for name, words in _HINT_WORDS.items():
        for word in words.split():
            letters = word.strip("^$")
            sign = HintPattern(letters, HINT_BIT[name], word.startswith("^"), word.endswith("$"))
            found.setdefault(letters[:_PREFIX_LETTERS], []).append(sign)
    return found


HINT_PATTERNS: Final = _build_hint_patterns()
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAX_CACHED_NAMES: Final = 20_000
MAX_NAME_CHARS: Final = 300
_hints_by_word: dict[str, int] = {}
_hints_by_name: dict[str, int] = {}


def find_name_hints(name: str) -> int:
    """The hints of a class, an id or an itemprop."""
    found = _hints_by_name.get(name)
    if found is None:
        found = 0
        for word in _NAME_WORD.findall(name[:MAX_NAME_CHARS]):
            known = _hints_by_word.get(word)
            found |= _find_word_hints(word) if known is None else known
        # All are cleared at once, because names belong to a site, and the next site has others.
        if len(_hints_by_name) >= _MAX_CACHED_NAMES:
            _hints_by_name.clear()
        _hints_by_name[name] = found
    return found


def _find_word_hints(word: str) -> int:
    """The hints of a word. Each word is classified once per process."""
    found, lowered = 0, word.lower()
    for at in range(len(lowered) - _PREFIX_LETTERS + 1):
        for sign in HINT_PATTERNS.get(lowered[at : at + _PREFIX_LETTERS], ()):
            if sign.matches_at(lowered, at):
                found |= sign.bit
    if len(_hints_by_word) >= _MAX_CACHED_NAMES:
        _hints_by_word.clear()
    _hints_by_word[word] = found
    return found


NO_BEGINNING: Final = 0
# Beginnings of lines and headings that are not about the topic of the page. The number is a feature; the first one is
# 1.
BEGINNING_PATTERNS: Final = (
    r"shar(?:e|ing)\b|teilen|partager?\b|compart|condivid|delen\b|tweet|facebook|whatsapp|e?-?mail\b|print\b|drucken"
    r"|follow (?:us|me)|folge|suivez|s[ií]guenos|seguici|поделит|分享|シェア",
    r"subscri|newsletter|abonn|suscr[ií]|inscri|iscriviti|sign ?up|get (?:the|our)"
    r"|join (?:the|our|us)|подпис|订阅|登録|구독",
    r"related|more (?:from|on|in|stories|news|articles|posts)|see also|also read"
    r"|read (?:more|next|also)|you (?:may|might)"
    r"|recommended|don.t miss|trending|most (?:read|popular|viewed)|popular|latest"
    r"|up next|what to read|mehr zum|mehr aus"
    r"|lesen sie|auch interessant|weitere|[àa] lire|lire aussi|voir aussi"
    r"|articles? (?:li[ée]s|similaires)|sur le m[êe]me"
    r"|m[áa]s (?:noticias|sobre|en)|te puede|relacionad|leia (?:tamb|mais)|veja tamb|leggi anche|potrebbe|lees ook"
    r"|l[æe]s også|läs (?:också|mer)|czytaj|zobacz (?:też|także)|читайте|по теме|похожие|相关|相關|推荐|推薦|関連|관련"
    r"|مواضيع|اقرأ",
    r"comments?\b|\d+ (?:comments?|repl|responses?)|leave a|post a comment|repl(?:y"
    r"|ies)\b|add (?:a|your) comment|kommentar"
    r"|commentaires?|comentari|commenti|reacties|komentarz|комментар|评论|評論|コメント|댓글|laisser un|deja (?:un|tu)"
    r"|schreibe einen|write a comment|join the (?:discussion|conversation)|what do you think",
    r"about (?:the )?author|written by|author bio|[üu]ber den autor"
    r"|[àa] propos de l.auteur|sobre (?:el|o) autor|об авторе"
    r"|关于作者|作者简介",
    r"by |von |par |por |di |door |av |posted|published|updated|last (?:updated|modified)"
    r"|publi[ée]|publicad|veröffentlicht"
    r"|aktualisiert|stand:|опубликован|\d+ min(?:ute)?s? read|reading time",
    r"photo|image|picture|credit|foto|bild|source|quelle|fuente|fonte|getty|reuters"
    r"|(?:afp|ap)\b|illustration|фото|图片",
    r"©|copyright|\(c\)|all rights|alle rechte|tous droits|todos los derechos|terms (?:of|and|&)|privacy|cookie|we use"
    r"|disclaimer|impressum|legal|все права|版权|著作権|this site|by (?:using|clicking|signing|submitting)",
    r"advertis|anzeige|werbung|publicit|publicidad|sponsored|promoted|ad\b|реклама|广告",
    r"tags?\b|categor|filed under|topics?\b|keywords|schlag|mots|etiquet|метки|标签",
    r"menu|home\b|search|log ?in|sign ?in|register|next\b|prev|back to|skip to|load more|show more|view (?:all|more)"
    r"|see (?:all|more)|loading|click (?:here|to)|continue reading|download|buy |add to|shop |contact|go to|learn more",
    r"references?\b|external links|footnotes?|notes?\b|bibliograph|sources\b|further reading|einzelnachweise|weblinks"
    r"|liens externes|notes et|примечания|参考",
)
MAX_BEGINNING_CHARS: Final = 32
"""No beginning is longer. Menus and headings repeat on every page of a site, so most look-ups hit the cache."""
SKIPPED_LEADING_CHARS: Final = " \t\n-–—•·*|»›>[](){}\"'“”„«:#→▶►+"


_category_by_beginning: dict[str, int] = {}


def classify_beginning(lowered: str) -> int:
    """The category of the beginning of a lower-case text; 0: none."""
    begins = lowered.lstrip(SKIPPED_LEADING_CHARS)[:MAX_BEGINNING_CHARS]
    found = _category_by_beginning.get(begins)
    if found is None:
        match = _beginning_pattern().match(begins)
        found = match.lastindex or NO_BEGINNING if match is not None else NO_BEGINNING
        if len(_category_by_beginning) >= _MAX_CACHED_NAMES:
            _category_by_beginning.clear()
        _category_by_beginning[begins] = found
    return found


@cache
def _beginning_pattern() -> re.Pattern[str]:
    """Compiled on first use in Python, because that takes 3 ms."""
    return re.compile("|".join(f"({pattern})" for pattern in BEGINNING_PATTERNS))
