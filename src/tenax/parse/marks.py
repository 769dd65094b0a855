"""What the names of classes, roles and the first words of a text say about a part of a page: patterns, no logic.

Names are read word by word: `article-Body__text` is `article`, `body`, `text`. A mark is a bit, so that a part of a
page carries all it is called in one number.
"""

from __future__ import annotations

import re
from typing import Final

# For each mark, what a word of a name must match. Each word is looked at once per process, however often it comes.
_WORDS: Final = {
    "nav": r"^(?:sub|top|main|site|mega)?nav|navi|menu|crumb|paginat|pager|^toc$|topbar|toolbar|^skip|sitemap",
    "header": r"^header|masthead|^head$|banner|hero",
    "footer": r"foot(?!ball)|copyright|colophon|disclaimer|legal",
    "side": r"sidebar|^aside|^rail$|widget|secondary|tertiary",
    "comment": r"comment|disqus|^repl(?:y|ies)|respond|discuss|livefyre|coral",
    "related": (
        r"related|recommend|popular|trending|recirc|outbrain|taboola|latest|similar|suggest|crosslink|teaser|upnext|"
        r"^more$|readmore|^next$|^also$|most(?:read|viewed)"
    ),
    "share": r"^shar(?:e|ing)|social|facebook|twitter|addtoany|addthis|whatsapp|^sns$|follow",
    "ad": (
        r"^ads?$|advert|sponsor|promo|newsletter|subscri|signup|paywall|^cta$|donat|offer|marketing|mailchimp|optin|"
        r"^adslot|^gpt$|dfp"
    ),
    "consent": (
        r"cookie|consent|gdpr|modal|popup|overlay|dialog|lightbox|onetrust|privacy|drawer|offcanvas|toast|tooltip"
    ),
    "byline": r"byline|author|^bio$|contributor|writer|profile|avatar",
    "meta": (
        r"^meta|timestamp|^date|^time|publish|posted|^tags?$|categor|^topics?$|keyword|label|kicker|eyebrow|^info$"
    ),
    "caption": r"caption|credit|gallery|slide|carousel|photo|image|figure|^media|video|player|wp-caption",
    "article": r"article|^posts?$|entry|story|blog|^news",
    "content": r"content|^body$|^text|^main$|^copy$|prose|rich|wysiwyg|markdown|single|parser",
    "title": r"title|headline|heading|^hed$|^dek$|standfirst|summary|intro|^lead|lede|excerpt|abstract|descri",
    "product": r"product|price|^sku|cart|^buy|shop|stock|spec|variant|review|rating",
    "list": r"^list|item|card|grid|tile|^rows?$|results?$|archive|^feed$|collection|catalog",
    "forum": r"forum|thread|^topic|message|question|answer|^qa$|bbs|quote|signature",
    "hidden": r"hidden|invisible|^sr$|visually|screen|^none$|collapsed|assistive|a11y",
    "login": r"login|signin|register|account|password|search|^forms?$",
    "table": r"infobox|navbox|^table|hatnote|reflist|references?$|footnote|editsection|citation",
    "unshown": r"$^",  # given to elements that are hidden by an attribute, whatever they are called
}
MARKS: Final = tuple(_WORDS)
BIT: Final = {name: 1 << place for place, name in enumerate(MARKS)}

TAGS: Final = {
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
"""What an element is marked with by its name alone."""
ROLES: Final = {
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

_PATTERNS: Final = tuple((BIT[name], re.compile(pattern)) for name, pattern in _WORDS.items())
_ANY_PATTERN: Final = re.compile("|".join(f"(?:{pattern})" for pattern in _WORDS.values()))
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MOST_NAMES: Final = 20_000
_MAX_NAME_CHARS: Final = 300
_by_word: dict[str, int] = {}
_by_name: dict[str, int] = {}


def marks_of(name: str) -> int:
    """The marks of a class, an id or an itemprop."""
    found = _by_name.get(name)
    if found is None:
        found = 0
        for word in _NAME_WORD.findall(name[:_MAX_NAME_CHARS]):
            found |= _marks_of_word(word)
        # Forgotten all at once: names come in sites, and the next site has others.
        if len(_by_name) >= _MOST_NAMES:
            _by_name.clear()
        _by_name[name] = found
    return found


def _marks_of_word(word: str) -> int:
    found = _by_word.get(word)
    if found is None:
        lowered = word.lower()
        found = 0
        # Most words mean nothing to us, and one search tells that.
        if _ANY_PATTERN.search(lowered):
            found = sum(bit for bit, pattern in _PATTERNS if pattern.search(lowered))
        if len(_by_word) >= _MOST_NAMES:
            _by_word.clear()
        _by_word[word] = found
    return found


UNSAID: Final = 0
# What a line or a heading begins with when it is about something else than what the page tells; the number is a
# feature, and 1 stands for the first.
_BEGINNINGS: Final = (
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
BEGINNINGS: Final = re.compile("|".join(f"({pattern})" for pattern in _BEGINNINGS))
_LED_BY: Final = " \t\n-–—•·*|»›>[](){}\"'“”„«:#→▶►+"


def beginning_of(lowered: str) -> int:
    """Which of the beginnings a text in lower case has; 0 for none."""
    found = BEGINNINGS.match(lowered.lstrip(_LED_BY))
    return found.lastindex or UNSAID if found is not None else UNSAID
