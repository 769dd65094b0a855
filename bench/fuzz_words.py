"""Seeds and dictionary of the extraction fuzzer: words of web formats, and malicious pages."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

SEED_BYTES: Final = 4_096
_ELEMENT_NAMES = """
html head body title base link meta script style template noscript div span p a b i em strong code pre blockquote ul ol
li dl dt dd table caption tbody tr td th h1 h2 h3 h6 article main section aside nav header footer figure figcaption img
br hr form input select option textarea button iframe object marquee svg math foreignObject desc mi annotation-xml font
time address details summary plaintext xmp frameset ruby rt sup video
"""
_WRITTEN_ATTRIBUTES = """
class=author class=byline class=comment class="article-body" class=date class=sidebar id=content hidden aria-hidden=true
style=display:none itemprop=author itemprop=datePublished itemprop=name rel=author rel=nofollow rel=canonical
rel=alternate href=/a href=#b href=javascript:x href="  http://[" href=//x src=/i.png srcset="a 1x, b 2x" alt="a ] ("
datetime=2021-02-29 datetime=2023-11-10T10:00:00+14:00 datetime=9999-12-31 lang=zh-Hant lang=x colspan=99999999
rowspan=-1 start=-9 start=99999999999999999999 type=application/ld+json charset=utf-16 charset=x-user-defined
name=author name=robots name=date property=og:title property=article:published_time property=og:image content=none
content="By Ann Lee and Bob Ray" content="10.11.2023 10:00" http-equiv=content-type role=main class="language-py"
"""
_JSON = """
{"@type":"NewsArticle","headline":" "@graph":[ "@id":"#a" "author":{"name": "author":[ "datePublished":" "image":{"url":
"publisher":{ "mainEntity":{ "itemListElement":[ "@type":["Article","WebPage"] "keywords":[1,null,true,1e999] \\ud800
\\u0000 \\" \\x /* */ // <!-- --> <![CDATA[ ]]> ,] ,} }{ ]} "name":{"@value":" "inLanguage":"en" "url":"https:// ; }
"""
_TEXTS = """
By Ann Lee, von und | · – : « » 10. Nov. 2023 Published Updated 31/02/2021 2023-11-10T24:61:99Z 1699999999 vor 3 Tagen
2023年11月10日 ١٠ نوفمبر 0000-00-00 99999999999999999999 &amp; &#0; &#x110000; &#xD800; &#27; &nbsp; &lt; &unknown; #
`` ``` * _ [ ]( > - 1. \\ ~~~ ![ <!-- --> <!doctype <?xml <![CDATA[ ]]> </p> </br> </table> utf-8 gb18030 shift_jis
iso-2022-jp koi8-r windows-874 noindex nofollow unavailable_after: tenax: Share 日本語 русский العربية ภาษาไทย é
"""
_BYTES: Final = (
    *(
        b"\0",
        b"\x1b[1m",
        b"\x1b$B",
        b"\x1b(B",
        b"\xff\xfe",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
    ),
    *(
        b"\x81\x30\x81\x30",
        b"\x8e",
        b"\x9b",
        b"\xe2\x80\xae",
        b"\xe2\x80\xa8",
        b"\xc2\x85",
        b"\xc2\xa0",
        b"\n",
        b"\r\n",
    ),
    *(
        b"\t",
        b"  ",
        b'"',
        b"'",
        b"<",
        b">",
        b"/",
        b"=",
        b"&",
        b"%PDF-1.4",
        b"\x89PNG\r\n",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
    ),
)
_PROSE = (
    b"<p>The keeper of the lighthouse told us, on a calm evening, that the lamp had burned for a hundred years, "
    b"and that nobody had ever asked her why. She laughed, and poured another cup of tea.</p>"
)


def _split(text: str) -> list[str]:
    """At spaces that stand outside quotes."""
    parts, quoted = [""], False
    for char in text:
        quoted ^= char == '"'
        if char.isspace() and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return [part for part in parts if part]


ELEMENTS: Final = tuple(_ELEMENT_NAMES.split())
ATTRIBUTES: Final = tuple(_split(_WRITTEN_ATTRIBUTES))


def tokens() -> tuple[bytes, ...]:
    """What a mutation may put into an input."""
    tags = [part for name in ELEMENTS for part in (f"<{name}>", f"</{name}>", f"<{name} ")]
    attributes = [f" {one} " for one in ATTRIBUTES]
    words = [*tags, *attributes, *_JSON.split(), *_split(_TEXTS)]
    return (*(word.encode() for word in words), *_BYTES, _PROSE)


TOKENS: Final = tokens()


def mutated(data: bytes, max_bytes: int, random: Random) -> bytes:
    """The input with a few changes of the sort that keep it a page: words put in, parts doubled, turned or gone."""
    for _ in range(random.choice((1, 1, 2, 4))):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice((0, 1, 4, 16, 64, 256)))
        part, token = data[start:end], random.choice(TOKENS)
        new = random.choice((
            token, token, part + token, token + part, b"", part * 2, token * random.choice((2, 10, 100)),
            part * random.choice((3, 30)), part[::-1], token + part + random.choice(TOKENS),
        ))  # fmt: skip
        data = (data[:start] + new + data[end:])[:max_bytes]
    return data


def seeds(target: str, pages: Path) -> list[bytes]:
    """What a target is first given: pages of ours, cut, and the hand-written ones."""
    if target == "jsonld":
        return [one.encode() for one in _SCRIPTS]
    if target == "facts":
        return [_TEXTS.replace(" ", "\n").encode(), _TEXTS.encode(), b"\n".join(TOKENS[:200])]
    cut = [file.read_bytes()[:SEED_BYTES] for file in sorted(pages.glob("*.html"))]
    encoded = [
        "<p>日本語のテキスト、です。</p>".encode(name) for name in ("shift_jis", "euc_jp", "iso2022_jp", "utf-16")
    ]
    # The first byte chooses what the server says, see `fuzz_targets.HEADERS`.
    return [b"\0" + body for body in (*cut, *_PAGES)] + [bytes([2 + n]) + body for n, body in enumerate(encoded)]


_SCRIPTS: Final = (
    '{"@type":"NewsArticle","headline":"A","author":[{"name":"Ann Lee"},{"@id":"#b"}],"datePublished":"2023-11-10",}',
    '{"@graph":[{"@type":"WebSite","name":"S"},{"@type":"Article","@id":"#a","image":{"url":["x"]}},{"@id":"#b"}]}',
    '<!--[{"@type":["Article",1,null],"keywords":"a,b","publisher":{"@id":"#p"}}] //--> ;',
    '{"@type":"Article"}{"@type":"WebPage"}\0' + '{"mainEntity":' * 50 + "1" + "}" * 50,
    '{"@type":"Article","headline":"a\nb \\x \\ud800 &quot;","n":1e999,"m":' + "9" * 400 + "}",
    "[" * 2_000,
)
_ARTICLE: Final = b"<title>A story | Site</title><article><h1>A story</h1>" + _PROSE * 4
_PAGES: Final = (
    _ARTICLE + b"<table><tr><td colspan=99999 rowspan=99999>a<table><td>b</table><th>c</table>" + _PROSE,
    _ARTICLE + b"<ol start=99999999999999999999><li value=-1>x<ul><li><pre>\n``` `\n</pre></ol>" + _PROSE,
    _ARTICLE + b"<blockquote><h2># x</h2><ul><li><blockquote><table><td>|</table></ul></blockquote>" + _PROSE,
    _ARTICLE + b"<p><em><strong>a</em>b</strong><code>`</code><a href='a b)(' title='\"'>[x]</a><img alt=']' src=x>",
    _ARTICLE + b"<a href=/1><object><a href=/2><object>" + _PROSE + b"<br><br><a href=/3>x</a><br><br>" * 20,
    b"<div>" * 200 + _PROSE + b"<a href=java\tscript:x><svg><title>t<script></svg></title>" + _PROSE,
    b"<frameset><frame src=x></frameset><noscript>" + _PROSE * 4,
    b"<meta charset=utf-16><meta http-equiv=content-type content='text/html;charset=x'><plaintext>" + _PROSE,
    b"<p class='" + b"a " * 500 + b"' style='display:none'>" + b"&#0;&#xD800;&#x110000;\x1b[1m\xe2\x80\xae" * 20,
    b"<meta name=author content='Share'><meta name=date content='9999-12-31'><time datetime=2921-01-01>" + _PROSE,
    b'<script type=application/ld+json>{"@type":"Article","author":{"name":[[["x"]]]}}</script>' + _PROSE,
    b"<select><option>a<optgroup><table><select><svg><foreignObject><math><mi><p>" + _PROSE,
)
