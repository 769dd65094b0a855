"""Feeds of every format read as they are, and what is made of those that are broken, hostile, or no feeds."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tenax.discovery.feeds.read import Feed, FeedEntry, looks_like_feed, read_feed
from tenax.discovery.feeds.values import (
    MAX_BODY_BYTES,
    MAX_DEPTH,
    MAX_ELEMENTS,
    MAX_ENTRIES,
    MAX_RESOLVED_CHARS,
    MAX_TAG_BYTES,
    MAX_TEXT_CHARS,
)

URL = "https://example.org/blog/feed.xml"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NOW = 1_790_000_000.0
NEW_YEAR = 1_767_225_600.0
"""2026-01-01 00:00 UTC."""


def read(text: str, content_type: str | None = "application/xml") -> Feed:
    return read_feed(text.encode(), content_type, URL, NOW)


def rss(inner: str, attributes: str = 'version="2.0"') -> Feed:
    return read(f"<rss {attributes}><channel>{inner}</channel></rss>")


def item(inner: str) -> FeedEntry:
    (entry,) = rss(f"<item>{inner}</item>").entries
    return entry


def atom(inner: str) -> Feed:
    return read(f'<feed xmlns="http://www.w3.org/2005/Atom">{inner}</feed>')


# ---- formats ----------------------------------------------------------------------------------------------


def test_rss() -> None:
    feed = read(
        """<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"
          xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"><channel>
        <title>Harbour Post</title><link>https://example.org/</link><language>en-gb</language><ttl>30</ttl>
        <pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate><lastBuildDate>Fri, 02 Jan 2026 00:00:00 GMT</lastBuildDate>
        <atom:link rel="self" href="https://example.org/blog/feed.xml"/><atom:link rel="hub" href="https://hub.example/"/>
        <atom:link rel="next" href="?page=2"/>
        <image><title>A logo</title><link>https://example.org/logo</link><url>logo.png</url></image>
        <item><title>The key</title><link>/story/1</link><guid isPermaLink="false">no-1</guid>
          <pubDate>Thu, 1 Jan 2026 01:00:00 +0100</pubDate><description>&lt;p&gt;Words&lt;/p&gt;</description></item>
        </channel></rss>"""
    )
    assert feed == Feed(
        format="rss 2.0",
        title="Harbour Post",
        link="https://example.org/",
        language="en-gb",
        published=NEW_YEAR,
        updated=NEW_YEAR + 86400,
        entries=(FeedEntry("https://example.org/story/1", "no-1", "The key", NEW_YEAR),),
        next_link="https://example.org/blog/feed.xml?page=2",
        hub="https://hub.example/",
        refresh_seconds=1800.0,
    )


def test_rdf() -> None:
    feed = read(
        """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
          xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">
        <channel rdf:about="https://example.org/"><title>Post</title><link>https://example.org/</link>
          <sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency></channel>
        <image><title>A logo</title><link>https://example.org/logo</link></image>
        <item rdf:about="urn:1"><title>One</title><link>https://example.org/1</link><dc:date>2026-01-01</dc:date></item>
        <item rdf:about="urn:2"><title>Two</title><link>https://example.org/2</link></item></rdf:RDF>"""
    )
    assert (feed.format, feed.title, feed.link) == ("rss 1.0", "Post", "https://example.org/")
    assert feed.refresh_seconds == 21600.0
    assert feed.entries == (
        FeedEntry("https://example.org/1", "urn:1", "One", None, NEW_YEAR),
        FeedEntry("https://example.org/2", "urn:2", "Two"),
    )


def test_atom() -> None:
    feed = read(
        """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de" xml:base="https://base.example/a/">
        <title type="html">Harbour &amp;amp; &lt;b&gt;Post&lt;/b&gt;</title><link href="./"/><id>urn:feed</id>
        <link rel="prev-archive" href="2025.xml"/><updated>2026-01-01T00:00:00Z</updated>
        <entry xml:base="b/"><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">The <i>key</i></div></title>
          <link rel="enclosure" href="song.mp3"/><link rel="alternate" type="text/html" href="1"/>
          <id>urn:1</id><published>2026-01-01T01:00:00+01:00</published><updated>2026-01-02</updated>
          <source><title>Another feed</title><link href="https://other.example/"/><updated>1999-01-01</updated></source>
          <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><title>No title</title></div></content>
        </entry></feed>"""
    )
    assert (feed.format, feed.title, feed.language) == ("atom 1.0", "Harbour & Post", "de")
    assert (feed.link, feed.next_link) == ("https://base.example/a/", "https://base.example/a/2025.xml")
    assert feed.entries == (FeedEntry("https://base.example/a/b/1", "urn:1", "The key", NEW_YEAR, NEW_YEAR + 86400),)


def test_cdf() -> None:
    feed = read(
        '<CHANNEL HREF="https://example.org/" LASTMOD="2026-01-01T00:00"><TITLE>Post</TITLE>'
        '<ITEM HREF="one.html" LASTMOD="2026-01-02T00:00"><TITLE>One</TITLE></ITEM></CHANNEL>'
    )
    assert (feed.format, feed.title, feed.link, feed.updated) == ("cdf", "Post", "https://example.org/", NEW_YEAR)
    assert feed.entries == (FeedEntry("https://example.org/blog/one.html", "", "One", None, NEW_YEAR + 86400),)


@pytest.mark.parametrize(
    ("start", "format"),
    [
        ('<rss version="0.91">', "rss 0.91"),
        ('<rss version="0.92">', "rss 0.92"),
        ('<rss version="2.0.1">', "rss 2.0"),
        ("<rss>", "rss"),
        ('<feed version="0.3" xmlns="http://purl.org/atom/ns#">', "atom 0.3"),
        ("<feed>", "atom"),
        ('<a:feed xmlns:a="http://www.w3.org/2005/Atom">', "atom 1.0"),
        (f'<r:RDF xmlns:r="{RDF}" xmlns="http://my.netscape.com/rdf/simple/0.9/">', "rss 0.90"),
    ],
)  # fmt: skip
def test_which_format_it_is(start: str, format: str) -> None:
    name = start.strip("<>").partition(" ")[0]
    assert read(f"{start}</{name}>").format == format


# ---- links ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inner", "link"),
    [
        ("<link>https://a.example/x</link>", "https://a.example/x"),
        ("<link> ../up </link>", "https://example.org/up"),
        ("<link>http:///a.example/x</link>", "http://a.example/x"),
        ("<link>/a?b=1&amp;c=2</link>", "https://example.org/a?b=1&c=2"),
        ("<link>/a?b=1&amp;amp;c=2</link>", "https://example.org/a?b=1&c=2"),
        ("<link><![CDATA[/a?b=1&c=2]]></link>", "https://example.org/a?b=1&c=2"),
        ("<guid>https://a.example/guid</guid>", "https://a.example/guid"),
        ("<guid>https://a.example/guid</guid><link>/x</link>", "https://example.org/x"),
        ("<link/><guid>https://a.example/guid</guid>", "https://a.example/guid"),
        ("<link>/x</link><link/>", "https://example.org/x"),
        ('<guid isPermaLink="false">https://a.example/guid</guid>', ""),
        ('<link rel="alternate" type="application/json" href="/x.json"/>', ""),
        ('<enclosure url="https://a.example/song.mp3" type="audio/mpeg"/>', ""),
        ("<link>https://[broken</link>", ""),
    ],
)
def test_the_link_of_an_entry(inner: str, link: str) -> None:
    assert item(inner).link == link


def test_without_a_url_of_its_own_relative_links_stay() -> None:
    feed = read_feed(b"<rss><channel><item><link>/x</link></item></channel></rss>", None, "", NOW)
    assert feed.entries[0].link == "/x"


def test_a_link_of_atom_in_rss_need_not_be_declared() -> None:
    assert rss('<atom:link rel="hub" href="https://hub.example/"/>').hub == "https://hub.example/"


# ---- titles -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inner", "title"),
    [
        ("<title>  The\n key </title>", "The key"),
        ("<title>The &lt;b&gt;key&lt;/b&gt;</title>", "The key"),
        ("<title>AT&amp;amp;T</title>", "AT&T"),
        ("<title>1 &lt; 2 and 3 &gt; 2</title>", "1 < 2 and 3 > 2"),
        ("<title>&lt;blink&gt; and &lt;/blink&gt;</title>", "<blink> and </blink>"),
        ("<title><![CDATA[Fish &amp; chips]]></title>", "Fish & chips"),
        ("<title>The <b>key</b> &lt;i&gt;</title>", "The key <i>"),
        ("<title>One</title><title>Two</title>", "One"),
        ("<title></title><title>Two</title>", "Two"),
        ("<media:title>A film</media:title>", "A film"),
        ("<media:title>A film</media:title><title>The key</title>", "The key"),
        ("<title>The key</title><media:title>A film</media:title>", "The key"),
        ("<g><title>Inner</title></g><title>Outer</title>", "Outer"),
        ("<dc:title>The key</dc:title>", "The key"),
        ("<x:title>Of something else</x:title>", ""),
        ("<title>&#147;Quoted&#148;</title>", "“Quoted”"),
        ("<title>caf\u00c3\u00a9</title>", "café"),
    ],
)
def test_the_title_of_an_entry(inner: str, title: str) -> None:
    assert item(inner).title == title


@pytest.mark.parametrize(
    ("element", "title"),
    [
        ("<title>1 &lt;b&gt; &amp;amp;</title>", "1 <b> &amp;"),
        ('<title type="text">&lt;b&gt;x&lt;/b&gt;</title>', "<b>x</b>"),
        ('<title type="html">&lt;b&gt;x&lt;/b&gt; &amp;mdash;</title>', "x —"),
        ('<title type="html">Now &lt;script&gt;no()&lt;/script&gt;&lt;!-- &lt;p&gt; --&gt;then</title>', "Now then"),
        ('<title type="xhtml"><div>x &lt;b&gt; <script>no</script>y</div></title>', "x <b> y"),
        ('<title type="application/octet-stream">VGhlIGtleQ==</title>', "The key"),
        ('<title type="text/html" mode="base64">VGhlIDxiPmtleTwvYj4=</title>', "The key"),
        ('<title type="application/octet-stream">not base64!</title>', "not base64!"),
    ],
)
def test_the_title_of_an_atom_entry(element: str, title: str) -> None:
    assert atom(f"<entry>{element}</entry>").entries[0].title == title


def test_titles_of_other_things_are_not_the_feeds() -> None:
    feed = rss(
        "<image><title>Logo</title></image><title>Post</title><textInput><title>Search</title></textInput>"
        "<item><title>One</title><source url='https://a.example/'>Another</source></item>"
    )
    assert (feed.title, feed.entries[0].title) == ("Post", "One")


def test_a_prefix_means_its_namespace() -> None:
    feed = read(
        '<rss xmlns:d="http://purl.org/dc/elements/1.1/" xmlns:dc="urn:other"><channel>'
        "<item><d:title>One</d:title></item></channel></rss>"
    )
    assert feed.entries[0].title == "One"


# ---- dates ------------------------------------------------------------------------------------------------


def test_a_date_that_cannot_be_read_does_not_replace_one_that_can() -> None:
    entry = item("<pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate><pubDate>soon</pubDate>")
    assert entry.published == NEW_YEAR


def test_a_date_in_the_future_stays() -> None:
    assert item("<pubDate>Mon, 01 Jan 2046 00:00:00 GMT</pubDate>").published == 2_398_377_600.0


@pytest.mark.parametrize(
    ("inner", "seconds"),
    [
        ("<ttl>60</ttl>", 3600.0),
        ("<ttl>0</ttl>", None),
        ("<ttl>often</ttl>", None),
        ("<ttl>99999999999</ttl>", None),
        ("<sy:updatePeriod>hourly</sy:updatePeriod>", 3600.0),
        ("<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", None),
        ("<sy:updatePeriod>now and then</sy:updatePeriod>", None),
    ],
)
def test_how_often_it_asks_to_be_read(inner: str, seconds: float | None) -> None:
    assert rss(inner).refresh_seconds == seconds


# ---- what is broken ---------------------------------------------------------------------------------------

WHOLE = "<item><title>Fish</title><link>/1</link></item><item><title>Chips</title><link>/2</link></item>"


@pytest.mark.parametrize(
    "text",
    [
        f"<rss><channel><title>Fish & chips</title>{WHOLE}</channel></rss>",
        f"<rss><channel><title>Fish &and; chips&nbsp;</title>{WHOLE}</channel></rss>",
        f"<rss><channel>\x0b\x00{WHOLE}</channel></rss>",
        f"<rss><channel>&#0;&#x1f;{WHOLE}</channel></rss>",
        f"Warning: mysql is away\n<?xml version='1.0'?><rss><channel>{WHOLE}</channel></rss>",
        f"\n\n<?xml version='1.0'?><rss><channel>{WHOLE}</channel></rss>",
        f"<rss><channel>{WHOLE}</channel></rss><script>tracking()</script>",
        f"<rss><channel>{WHOLE}",
        f"<rss><channel><description><p>Not closed<br></description>{WHOLE}</channel></rss>",
        f"<rss><channel><image><title>Logo</title>{WHOLE}</channel></rss>",
        f"<rss><channel>{WHOLE.replace('</item>', '')}</channel></rss>",
        f"<rss><channel></p></div>{WHOLE}</channel></rss>",
        f"<rss><channel><category label='a < b'>x</category>{WHOLE}</channel></rss>",
        f"<rss><channel><a b='c>d' &>x</a>{WHOLE}</channel></rss>",
        f"<rss><channel><media:thing/>{WHOLE}</channel></rss>",
        f"<rss><channel><!-- a -- b -->{WHOLE}</channel></rss>",
        f"<rss><channel attribute=bare>{WHOLE}</channel></rss>",
        f"<RSS><Channel>{WHOLE}</channel></rss>",
    ],
)
def test_broken_feeds_are_read_all_the_same(text: str) -> None:
    entries = read(text).entries
    assert [(entry.title, entry.link) for entry in entries] == [
        ("Fish", "https://example.org/1"),
        ("Chips", "https://example.org/2"),
    ]


def test_repairs_are_reported() -> None:
    assert rss(f"<title>Fish & chips</title>{WHOLE}").problems == ("not well-formed: invalid token in line 1",)
    assert rss(WHOLE).problems == ()


@pytest.mark.parametrize(
    ("body", "content_type", "title"),
    [
        ("caf\u00e9".encode("windows-1252"), "text/xml", "café"),
        ("caf\u00e9".encode(), 'application/rss+xml; charset="utf-8"', "café"),
        ("Привет".encode("koi8-r"), "text/xml; charset=koi8-r", "Привет"),
        ("Привет".encode("koi8-r"), "text/xml; charset=no-such", "ðÒÉ×ÅÔ"),
        ("caf\u00e9".encode(), "text/xml; charset=punycode", "café"),
        ("漢字".encode("gb18030"), "text/xml; charset=gb2312", "漢字"),
    ],
)
def test_encodings(body: bytes, content_type: str, title: str) -> None:
    document = b"<rss><channel><title>" + body + b"</title></channel></rss>"
    assert read_feed(document, content_type, URL, NOW).title == title


@pytest.mark.parametrize("charset", ["utf-8-sig", "utf-16", "utf-32", "iso-8859-1", "shift_jis", "cp037"])
def test_declared_encodings(charset: str) -> None:
    word = {"shift_jis": "漢字"}.get(charset, "café")
    declaration = f'<?xml version="1.0" encoding="{charset.removesuffix("-sig")}"?>'
    text = f"{declaration}<rss><channel><title>{word}</title></channel></rss>"
    feed = read_feed(text.encode(charset), None, URL, NOW)
    assert (feed.title, feed.problems) == (word, ())


def test_a_wrong_declaration_is_reported() -> None:
    body = '<?xml version="1.0" encoding="utf-8"?><rss><channel><title>café</title></channel></rss>'.encode("latin-1")
    feed = read_feed(body, None, URL, NOW)
    assert (feed.title, feed.problems) == ("café", ("not in the encoding it declares: read as windows-1252",))


# ---- what is hostile --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "declarations",
    [
        '<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY title "&b;&b;&b;&b;">',
        '<!ENTITY title SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p SYSTEM "http://127.0.0.1/x.dtd"> %p; <!ENTITY title "lol">',
    ],
)
def test_entities_are_never_expanded(declarations: str) -> None:
    feed = read(f"<!DOCTYPE rss [{declarations}]><rss><channel><title>1&title;2</title>{WHOLE}</channel></rss>")
    assert feed.title == "1&title;2"
    assert len(feed.entries) == 2
    assert feed.problems[0] == "declares entities: they were left out"


def test_a_document_type_is_no_problem() -> None:
    dtd = '<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://127.0.0.1/rss-0.91.dtd">'
    feed = read(f"{dtd}<rss><channel><title>Caf&eacute;</title></channel></rss>")
    assert feed.title == "Café"


def test_limits_are_reported() -> None:
    many = rss("<item><link>/x</link></item>" * (MAX_ENTRIES + 1))
    assert len(many.entries) == MAX_ENTRIES
    assert many.problems == (f"more than {MAX_ENTRIES} entries: the rest was not read",)
    deep = rss(WHOLE + "<a>" * MAX_DEPTH)
    assert len(deep.entries) == 2
    assert deep.problems == (f"nested more than {MAX_DEPTH} deep: the rest was not read",)
    wide = rss(WHOLE + "<a/>" * MAX_ELEMENTS)
    assert len(wide.entries) == 2
    assert wide.problems == (f"more than {MAX_ELEMENTS} elements: the rest was not read",)
    links = rss(WHOLE + '<link href="x"/>' * 3_000, f'xml:base="https://example.org/{"b" * 2000}/"')
    assert len(links.entries) == 2
    assert links.problems == (f"links of more than {MAX_RESOLVED_CHARS:,} characters: the rest was not read",)
    tag = rss(f'{WHOLE}<item a="{"b" * 2 * MAX_TAG_BYTES}"><link>/3</link></item>')
    assert len(tag.entries) == 3  # by the reader that forgives everything
    assert tag.problems == (f"not well-formed: a tag of more than {MAX_TAG_BYTES:,} bytes in line 1",)
    large = read_feed(f"<rss><channel>{WHOLE}".encode() + b" " * MAX_BODY_BYTES, None, URL, NOW)
    assert len(large.entries) == 2
    assert large.problems[0] == f"larger than {MAX_BODY_BYTES} bytes: the rest was not read"


@pytest.mark.parametrize(
    ("base", "link"),
    [
        ("/c/", "https://example.org/c/x"),
        ("/" + "c" * 2000 + "/", "https://example.org/" + "c" * 2000 + "/x"),
        ("/" + "c" * 2048 + "/", "https://example.org/blog/x"),  # ignored
        ("http://[", "https://example.org/blog/x"),
    ],
)
def test_the_base_of_a_feed_is_no_longer_than_a_url(base: str, link: str) -> None:
    feed = rss(f'<item xml:base="{base}"><link>x</link></item>')
    assert feed.entries[0].link == link


def test_a_link_longer_than_any_url_is_none() -> None:
    assert item(f"<link>/{'a' * MAX_TEXT_CHARS}</link>").link == ""
    assert len(item(f"<title>{'a' * 100_000}</title>").title) == MAX_TEXT_CHARS + 1


TRAPS = {
    "a bare word": "<rss><channel>&<item " + "a" * 100,
    "ampersands": "<rss><channel><title>" + "&" * 100,
    "quotes": '<rss><channel>&<a "' + '<a "' * 25,
    "cdata": "<rss><channel>" + "<![CDATA[" * 20,
    "comments": "<rss><channel>&" + "<!--" * 25,
    "subset": "<!DOCTYPE rss [" + "[<!x" * 25,
    "ends": "<rss><channel>&" + "</a>" * 25,
    "references": "<rss><channel><title>" + "&#99999" * 20,
    "tags in a title": "<rss><channel><title>" + "&lt;a " * 20 + "&lt;/a&gt;",
    "spaces": "<rss><channel><pubDate>" + " " * 100,
    "namespaces": "<rss>" + "".join(f'<a xmlns:b{n}="c"/>' for n in range(6)),
    "words without an end": "<rss><channel><link>" + "a" * 100,
}  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS)
def test_time_grows_with_the_length_and_not_with_its_square(trap: str) -> None:
    head, rest = trap[:25], trap[25:]

    def seconds(times: int) -> float:
        body = (head + rest * times).encode()
        gc.collect()
        taken = []
        for _ in range(3):
            started = time.process_time()
            read_feed(body, None, URL, NOW)
            taken.append(time.process_time() - started)
        return min(taken)

    # 16 times as much takes 16 times as long, or 256 times where it goes by the square.
    assert seconds(1600) < 80 * seconds(100) + 0.05


@given(st.binary(max_size=300))
@example(b"<")
@example(b"<!DOCTYPE")
@example(b"{")
@example(b"\xff\xfe<")
def test_nothing_makes_it_raise(body: bytes) -> None:
    for text in (body, b"<rss><channel><item>" + body, b"<feed>" + body + b"</feed>"):
        assert isinstance(read_feed(text, None, URL, NOW), Feed)


_PIECES = (
    *("<item>", "</item>", "<title>", "</title>", "<link>", "</link>", "<description>", "<![CDATA[", "]]>", "&", "<b"),
    *("'", '"', ">", "&lt;", "<!--", "-->", "x", "<rss>", "</rss>", "<?pi", "&#1;", "<p/>", "<channel>"),
)


@given(st.lists(st.sampled_from(_PIECES), max_size=40))
def test_no_confusion_of_markup_makes_it_raise(pieces: list[str]) -> None:
    feed = read("<rss><channel>" + "".join(pieces))
    assert len(feed.entries) <= pieces.count("<item>")


# ---- what is no feed --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "hello", "<!doctype html><html><body><p>A page</p></body></html>", "<urlset><url/></urlset>"]
)
def test_no_feed(text: str) -> None:
    assert read(text) == Feed(problems=("not a feed",))


@pytest.mark.parametrize(
    ("body", "content_type", "is_feed"),
    [
        (b"<rss version='2.0'>", None, True),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a <b> --><feed xmlns='x'>", "text/plain", True),
        (b"<rdf:RDF xmlns:rdf='x'>", "text/html", True),
        (b"<CHANNEL HREF='x'>", None, True),
        ("<?xml version='1.0' encoding='utf-16'?><rss>".encode("utf-16"), None, True),
        (b'{"version": "https://jsonfeed.org/version/1.1", "items": []}', "application/json", True),
        (b'{"version": "1"}', "application/json", False),
        (b"<!doctype html><html>", "text/html", False),
        (b"<!doctype html><html>", "application/rss+xml", False),
        (b"<urlset xmlns='x'>", "application/xml", False),
        (b"hello", "text/plain", False),
        (b"PHP warning", "application/rss+xml", True),
        (b"<b>Warning</b>: <rss>", "application/rss+xml", True),
        (b"<b>Warning</b>: <rss>", "text/html", False),
        (b"<rss/>", None, True),
        (b"", None, False),
    ],
)
def test_looks_like_a_feed(body: bytes, content_type: str | None, is_feed: bool) -> None:
    assert looks_like_feed(body, content_type) is is_feed


# ---- links that lead off the web --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "feed",
    [
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="file:///etc/"><entry><link href="passwd"/></entry></feed>',
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry xml:base="FILE:///etc/"><link href="passwd"/></entry></feed>',
        '<rss xml:base="file:///etc/"><channel><item><guid>passwd</guid></item></channel></rss>',
    ],
)
def test_a_base_off_the_web_is_none(feed: str) -> None:
    [entry] = read_feed(feed.encode(), "text/xml", "https://example.org/feed", 0.0).entries
    assert entry.link == "https://example.org/passwd"
    assert "file" not in entry.id


@pytest.mark.parametrize("link", ["file:///etc/passwd", "JavaScript:alert(1)", "data:text/html,x", "ftp://a.example/"])
def test_a_link_off_the_web_is_left_out(link: str) -> None:
    item = f"<item><title>One</title><link>{link}</link></item>"
    rss = f'<rss><channel><link>{link}</link><atom:link rel="next" href="{link}"/>{item}</channel></rss>'
    one = f'{{"id": "1", "url": "{link}"}}'
    as_json = f'{{"version": "https://jsonfeed.org/version/1", "next_url": "{link}", "items": [{one}]}}'
    for text in (rss, as_json):
        feed = read_feed(text.encode(), None, "https://example.org/feed", 0.0)
        assert [entry.link for entry in feed.entries] == [""]
        assert (feed.link, feed.next_link) == ("", "")
