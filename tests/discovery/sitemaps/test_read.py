"""Sitemaps of every form, good, odd and hostile."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tenax.discovery.sitemaps.entries import parse_changefreq, parse_feed_time, parse_priority, parse_time
from tenax.discovery.sitemaps.read import (
    Sitemap,
    SitemapEntry,
    SitemapLimits,
    SitemapStream,
    looks_like_sitemap,
    read_sitemap,
    sitemaps_in_robots,
)

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
A, B, C = (f"https://example.org/{name}" for name in "abc")


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> float:
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()


def urlset(*urls: str, head: str = HEAD) -> bytes:
    rows = "".join(f"  <url>\n    <loc>{url}</loc>\n  </url>\n" for url in urls)
    return f"{head}<urlset {NAMESPACE}>\n{rows}</urlset>\n".encode()


def urls(sitemap: Sitemap) -> list[str]:
    return [entry.url for entry in sitemap.entries]


# ---- forms ------------------------------------------------------------------------------------------------


def test_a_urlset_with_all_that_the_protocol_knows() -> None:
    body = f"""{HEAD}<urlset {NAMESPACE}><url><loc>{A}</loc><lastmod>2026-01-31</lastmod>
        <changefreq>weekly</changefreq><priority>0.8</priority></url><url><loc>{B}</loc></url></urlset>"""
    assert read_sitemap(body.encode()) == Sitemap(
        "urlset", (SitemapEntry(A, at(2026, 1, 31), "weekly", 0.8), SitemapEntry(B))
    )


def test_an_index() -> None:
    body = f"""<sitemapindex {NAMESPACE}><sitemap><loc>{A}.xml</loc><lastmod>2026-01-31T12:00:00Z</lastmod></sitemap>
        <sitemap><loc>{B}.xml.gz</loc></sitemap></sitemapindex>"""
    found = (SitemapEntry(f"{A}.xml", at(2026, 1, 31, 12)), SitemapEntry(f"{B}.xml.gz"))
    assert read_sitemap(body.encode(), "application/xml") == Sitemap("index", found)


def test_the_first_entry_shows_which_form_it_is() -> None:
    body = f"<urlset><sitemap><loc>{A}</loc></sitemap><url><loc>{B}</loc></url></urlset>"
    found = read_sitemap(body.encode())
    assert (found.form, urls(found), found.left_out) == ("index", [A], 1)


@pytest.mark.parametrize(
    "body",
    [
        f"{A}\n{B}\n",
        f"\ufeff{A}\r\n{B}\r\n",
        f"{A}\r{B}",
        f"\n\n  {A}  \n\n\t{B}",
        f"{A}\n{B}\n".encode("utf-16"),
    ],
    ids=["plain", "mark and CRLF", "CR", "padded", "UTF-16"],
)
def test_plain_text(body: str | bytes) -> None:
    found = read_sitemap(body.encode() if isinstance(body, str) else body, "text/plain")
    assert found == Sitemap("text", (SitemapEntry(A), SitemapEntry(B)))


def test_lines_that_are_no_urls_are_counted() -> None:
    found = read_sitemap(f"# my pages\n{A}\nftp://example.org/\n{A}{'x' * 3000}\n{B}".encode())
    assert (found.form, urls(found), found.left_out) == ("text", [A, B], 3)
    assert found.problems == (
        "3 entries were left out: no URL of the web, or one longer than 2,048 characters",
    )  # fmt: skip


def test_relative_urls_are_read_up_to_a_bound() -> None:
    body = "<urlset>" + "<url><loc>/x</loc></url>" * 3 + f"<url><loc>{A}</loc></url></urlset>"
    found = read_sitemap(body.encode(), "text/xml", SitemapLimits(max_relative_urls=2))
    assert (urls(found), found.left_out) == (["/x", "/x", A], 1)
    assert found.problems[0] == "more than 2 relative URLs: the rest were left out"


def test_letters_of_any_length_may_stand_where_two_pieces_meet() -> None:
    lines = [f"https://example.org/{'é' * 500}{number}" for number in range(200)]
    for shift in range(3):
        assert urls(read_sitemap(f"{'h' * shift}\n{chr(10).join(lines)}".encode())) == lines


def test_rss_as_a_sitemap() -> None:
    body = f"""<rss version="2.0"><channel><title>All</title><link>https://example.org/</link>
        <image><url>https://example.org/logo</url><link>https://example.org/</link></image>
        <item><title> One
        two </title><link> {A} </link><guid isPermaLink="false">{C}</guid>
        <pubDate>Sat, 31 Jan 2026 12:00:00 +0100</pubDate></item>
        <item><guid>{B}</guid></item>
        <item><guid isPermaLink="false">{C}</guid></item>
        <item><guid>tag:1</guid></item></channel></rss>"""
    found = read_sitemap(body.encode(), "application/rss+xml")
    assert found.form == "feed"
    assert found.entries == (SitemapEntry(A, at(2026, 1, 31, 11), title="One two"), SitemapEntry(B))
    assert found.left_out == 2


def test_atom_and_rdf_as_a_sitemap() -> None:
    atom = f"""<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://example.org/"/><entry>
        <link rel="enclosure" href="{C}"/><link rel="alternate" href="{A}"/><link href="{C}"/>
        <published>2026-01-30</published><updated>2026-01-31T00:00:00Z</updated></entry></feed>"""
    assert read_sitemap(atom.encode()) == Sitemap("feed", (SitemapEntry(A, at(2026, 1, 31)),))
    rdf = f"""<rdf:RDF xmlns:rdf="x"><channel/><item><link>{B}</link><dc:date>2026-01-31</dc:date></item></rdf:RDF>"""
    assert read_sitemap(rdf.encode()) == Sitemap("feed", (SitemapEntry(B, at(2026, 1, 31)),))


def test_news_and_other_languages() -> None:
    body = f"""<urlset {NAMESPACE} xmlns:news="n" xmlns:xhtml="x" xmlns:image="i" xmlns:video="v"><url><loc>{A}</loc>
        <xhtml:link rel="alternate" hreflang="de" href="{B}"/><xhtml:link rel="canonical" href="{A}"/>
        <xhtml:link rel="alternate" hreflang="fr" href="mailto:a@example.org"/>
        <image:image><image:loc>https://example.org/i.png</image:loc><image:title>A picture</image:title></image:image>
        <video:video><video:publication_date>2001-01-01</video:publication_date></video:video>
        <news:news><news:publication><news:name>Post</news:name><news:title>No</news:title></news:publication>
        <news:publication_date>2026-01-31T12:00:00+02:00</news:publication_date>
        <news:title>The key &amp; the ferry</news:title></news:news></url></urlset>"""
    entry = SitemapEntry(A, alternates=(B,), title="The key & the ferry", published=at(2026, 1, 31, 10))
    assert read_sitemap(body.encode()) == Sitemap("urlset", (entry,))


@pytest.mark.parametrize(
    "body",
    [
        f"<s:urlset xmlns:s='u'><s:url><s:loc>{A}</s:loc></s:url></s:urlset>",
        f"<urlset xmlns='https://wrong.example/'><url><loc>{A}</loc></url></urlset>",
        f"<ns:urlset><url><x:loc>{A}</x:loc></url></ns:urlset>",
        f"  \r\n\ufeff<urlset><url><loc>{A}</loc></url></urlset>",
        f"\n\n{HEAD}<urlset><url><loc>{A}</loc></url></urlset>",
        f"{HEAD}<!-- made by hand --><?xml-stylesheet href='a.xsl'?><!DOCTYPE urlset>"
        f"<urlset><url><loc>{A}</loc></url></urlset>",
        "<urlset><url><loc>\n  https://example.org\n  /a </loc></url></urlset>",
        f"<urlset><url><loc><![CDATA[ {A} ]]></loc></url></urlset>",
        f"<urlset><url><loc>https://ex<!-- ? -->ample.org/a</loc><loc>{B}</loc></url></urlset>",
        f"<urlset><url><image><loc>{B}</loc></image><loc>{A}</loc></url></urlset>",
    ],
    ids=[
        *("prefixed", "wrong namespace", "prefix of nothing", "mark after space", "blank lines first"),
        *("comment, stylesheet, doctype", "broken lines", "CDATA", "comment within, two", "picture first"),
    ],
)
def test_common_spellings(body: str) -> None:
    assert read_sitemap(body.encode()) == Sitemap("urlset", (SitemapEntry(A),))


@pytest.mark.parametrize(
    ("loc", "found"),
    [
        ("/a", ["/a"]),
        ("a?b=c:d", ["a?b=c:d"]),
        ("HTTPS://EXAMPLE.org/a", ["HTTPS://EXAMPLE.org/a"]),
        ("//example.org/a", ["//example.org/a"]),
        ("javascript:alert(1)", []),
        ("ftp://example.org/a", []),
        ("  ", []),
        ("https://example.org/" + "a" * 2028, ["https://example.org/" + "a" * 2028]),
        ("https://example.org/" + "a" * 2029, []),
    ],
)
def test_only_what_may_be_on_the_web_and_as_it_is_written(loc: str, found: list[str]) -> None:
    sitemap = read_sitemap(urlset(loc))
    assert (urls(sitemap), sitemap.left_out) == (found, 1 - len(found))
    assert bool(sitemap.problems) is not bool(found)


# ---- encodings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        *(("utf-8", "utf-8"), ("utf-8-sig", "UTF-8"), ("utf-8", ""), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16")),
        *(("utf-16-be", "utf-16"), ("utf-32", "utf-32"), ("iso-8859-1", "ISO-8859-1"), ("cp1251", "windows-1251")),
        *(("gbk", "GBK"), ("shift_jis", "Shift_JIS"), ("euc-kr", "EUC-KR"), ("big5", "Big5"), ("koi8-r", "koi8-r")),
    ],
)
def test_encodings(encoding: str, declared: str) -> None:
    letters = {"iso-8859-1": "é", "cp1251": "ж", "koi8-r": "ж", "gbk": "国", "big5": "國", "shift_jis": "の"}
    url = f"https://example.org/{letters.get(encoding, '한')}"
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    assert read_sitemap(urlset(url, head=head).decode().encode(encoding)) == Sitemap("urlset", (SitemapEntry(url),))


def test_the_header_names_the_encoding_where_nothing_else_does() -> None:
    body = urlset("https://example.org/ж", head="").decode().encode("cp1251")
    assert urls(read_sitemap(body, "text/xml; charset=windows-1251")) == ["https://example.org/ж"]


@pytest.mark.parametrize("label", ["klingon", "hex", "unicode_escape", "idna", "utf-7"])
def test_an_unknown_encoding_is_reported(label: str) -> None:
    found = read_sitemap(urlset(A, head=f'<?xml version="1.0" encoding="{label}"?>'))
    assert found == Sitemap("urlset", (SitemapEntry(A),), (f"its encoding `{label}` is not known: read as UTF-8",))


# ---- gzip -------------------------------------------------------------------------------------------------


def test_gzip_is_known_by_its_first_bytes() -> None:
    body = urlset(A, B)
    plain = read_sitemap(body)
    assert plain.entries
    assert read_sitemap(gzip.compress(body), "text/html") == plain
    assert read_sitemap(gzip.compress(body[:90]) + gzip.compress(body[90:]) + b"\0\0") == plain
    assert read_sitemap(gzip.compress(f"{A}\n{B}".encode())).form == "text"


def test_gzip_that_ends_too_early_or_is_damaged_keeps_what_came() -> None:
    many = urlset(*(f"https://example.org/{number * 7919 % 10007}" for number in range(5_000)))
    packed = gzip.compress(many)
    short = read_sitemap(packed[: len(packed) // 2])
    assert short.form == "urlset"
    assert 1_000 < len(short.entries) < 5_000
    assert short.problems == ("the gzip file is cut short",)
    stream = zlib.compressobj(wbits=31)
    no_block = b"\x07"
    damaged = read_sitemap(stream.compress(many) + stream.flush(zlib.Z_FULL_FLUSH) + no_block)
    assert damaged.problems == ("the gzip file is damaged",)
    assert len(damaged.entries) > 4_000, "all but the piece that the damage is in"
    assert read_sitemap(b"\x1f\x8b and nothing of the kind") == Sitemap("none", (), ("the gzip file is damaged",))


def test_a_bomb_is_stopped_at_the_limit() -> None:
    stream = zlib.compressobj(9, wbits=31)
    bomb = stream.compress(urlset(A)[:-10]) + b"".join(stream.compress(b" " * 2**20) for _ in range(200))
    tracemalloc.start()
    found = read_sitemap(bomb + stream.flush(), None, SitemapLimits(max_decoded_bytes=2**20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == Sitemap(
        "urlset", (SitemapEntry(A),), ("larger than 1,048,576 bytes: the rest was not read",), 0, 0, True
    )
    assert peak < 4 * 2**20


def test_a_file_of_countless_empty_parts_is_given_up() -> None:
    found = read_sitemap(gzip.compress(b"") * 2_000)
    assert found == Sitemap("none", (), ("a gzip file of more than 1,000 parts",))


# ---- limits -----------------------------------------------------------------------------------------------


def test_entries_beyond_the_limit_are_counted() -> None:
    limits = SitemapLimits(max_urls=3)
    many = [f"https://example.org/{number}" for number in range(1_003)]
    for body, form in ((urlset(*many), "urlset"), ("\n".join(many).encode(), "text")):
        found = read_sitemap(body, None, limits)
        assert (found.form, urls(found), found.left_out) == (form, many[:3], 1_000)
        assert found.problems == ("1,000 entries were left out: more than 3",)


def test_a_large_one_is_cut_at_the_limit() -> None:
    body = urlset(*(f"https://example.org/{number}" for number in range(5_000)))
    found = read_sitemap(body, None, SitemapLimits(max_decoded_bytes=100_000))
    assert found.problems == ("larger than 100,000 bytes: the rest was not read",)
    assert len(found.entries) == body[:100_000].count(b"</url>")
    assert read_sitemap(body, None, SitemapLimits(max_decoded_bytes=len(body))).problems == ()


def test_alternates_of_one_entry_are_bounded() -> None:
    links = "".join(f'<link rel="alternate" href="https://example.org/{number}"/>' for number in range(9))
    found = read_sitemap(
        f"<urlset><url><loc>{A}</loc>{links}</url></urlset>".encode(), None, SitemapLimits(max_alternates=2)
    )
    assert found.entries[0].alternates == ("https://example.org/0", "https://example.org/1")


def test_streamed_in_memory_that_does_not_grow() -> None:
    body = gzip.compress(urlset(*(f"https://example.org/{number}" for number in range(50_000))))
    tracemalloc.start()
    stream = SitemapStream(body, None, SitemapLimits())
    count = sum(1 for _ in stream)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (count, stream.form, stream.problems) == (50_000, "urlset", [])
    assert peak < 2 * 2**20


# ---- what is broken ---------------------------------------------------------------------------------------


def test_what_was_read_before_the_break_is_kept() -> None:
    found = read_sitemap(urlset(A, B).replace(b"/b</loc>", b"/b"))
    assert (found.form, urls(found)) == ("urlset", [A])
    assert found.problems == ("broken at line 8: mismatched tag",)
    cut = read_sitemap(urlset(A, B)[:-5])
    assert (urls(cut), cut.problems) == ([A, B], ("broken at line 9: unclosed token",))


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (b"https://example.org/?a=1&b=2&amp;c=3", "https://example.org/?a=1&b=2&c=3"),
        (b"https://example.org/?a&nbsp;b", "https://example.org/?a&nbsp;b"),
        (b"https://example.org/a\x00\x08b&#38;c", "https://example.org/ab&c"),
        (b"https://example.org/\xe9", "https://example.org/\ufffd"),
    ],
    ids=["bare &", "entity of HTML", "control characters", "not UTF-8"],
)
def test_what_is_no_xml_is_mended(text: bytes, url: str) -> None:
    body = urlset(A, "HERE", B).replace(b"HERE", text) + b" "
    found = read_sitemap(body.replace(b"/b<", b"/b<![CDATA[?&]]><"))
    assert urls(found) == [A, url, f"{B}?&"]
    assert len(found.problems) == 1
    assert found.problems[0].startswith("broken at line 7: ")
    assert found.problems[0].endswith("; read after repairing invalid XML")


def test_mending_holds_across_pieces() -> None:
    many = [f"https://example.org/?{'a' * 50}&b={number}" for number in range(5_000)]
    assert urls(read_sitemap(urlset(*many))) == many


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "empty, not a sitemap"),
        (b" \r\n ", "empty, not a sitemap"),
        (b"\xef\xbb\xbf", "neither XML nor a list of URLs, not a sitemap"),
        (b"<!doctype html><title>Not found</title><p>Sorry", "an HTML page, not a sitemap"),
        (b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0" "http://x"><html/>', "an HTML page, not a sitemap"),
        (b"<html><head><title>Not found", "an HTML page, not a sitemap"),
        (b"<HTML>", "an HTML page, not a sitemap"),
        (b"<catalog/>", "XML of another kind (`catalog`), not a sitemap"),
        (b"Not found", "neither XML nor a list of URLs, not a sitemap"),
        (b"\x89PNG\r\n\x1a\n\0\0", "neither XML nor a list of URLs, not a sitemap"),
        (b"<", "broken at line 1: unclosed token"),
    ],
)
def test_what_is_no_sitemap(body: bytes, problem: str) -> None:
    assert read_sitemap(body) == Sitemap("none", (), (problem,))


# ---- hostile ----------------------------------------------------------------------------------------------

LAUGHS = """<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>"""
SUBSET = "refused: its DOCTYPE has an internal subset, which may declare entities"


@pytest.mark.parametrize(
    ("doctype", "problem"),
    [
        (LAUGHS, SUBSET),
        ('<!DOCTYPE urlset [<!ENTITY a SYSTEM "file:///etc/passwd">]>', SUBSET),
        ('<!DOCTYPE urlset [<!ENTITY % a SYSTEM "http://127.0.0.1/">%a;]>', SUBSET),
        ("<!DOCTYPE urlset []>", SUBSET),
        ('<!DOCTYPE urlset SYSTEM "http://127.0.0.1/a.dtd">', "refused: its DOCTYPE refers to another file"),
        ('<!DOCTYPE rss PUBLIC "-//N//DTD" "http://127.0.0.1/">', "refused: its DOCTYPE refers to another file"),
        (f"<!-- {'padding ' * 20_000} -->{' ' * 100_000}{LAUGHS}", SUBSET),
    ],
    ids=["billion laughs", "file", "parameter", "empty subset", "system", "public", "after padding"],
)
def test_no_entity_is_declared_and_nothing_is_fetched(doctype: str, problem: str) -> None:
    body = f"{HEAD}{doctype}<urlset><url><loc>{A}?&a;</loc></url></urlset>".encode()
    for sent in (body, gzip.compress(body), body.decode().replace("UTF-8", "UTF-16").encode("utf-16")):
        assert read_sitemap(sent) == Sitemap("none", (), (problem,))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<urlset>" + b"<a>" * 500_000, "nested more than 32 deep: the rest was not read"),
        (b"<urlset><url>" + b"<url>" * 500_000, "nested more than 32 deep: the rest was not read"),
        (b"<rss>" + b"<url>" * 500_000, "nested more than 32 deep: the rest was not read"),
        (
            b"<urlset>" + b"".join(b"<a%d/>" % number for number in range(100_000)),
            "more than 10,000 kinds of tags: the rest was not read",
        ),
        (b"<urlset><url a='" + b"a" * 20_000_000, "a tag of more than 1,048,576 bytes: the rest was not read"),
        (b"<urlset>" + b"<url/>" * 600_000, "more than 500,000 unusable entries: the rest was not read"),
        (b"<urlset><url><loc>" + b"&" * 3_000_000, "broken at line 1: not well-formed (invalid token)"),
        (b"<urlset><!--" + b"a" * 20_000_000, "a tag of more than 1,048,576 bytes: the rest was not read"),
    ],
    ids=["deep", "deep in an item", "deep in a feed", "names", "attribute", "no use", "ampersands", "comment"],
)
def test_what_a_stranger_may_make_grow_is_bounded(body: bytes, problem: str) -> None:
    tracemalloc.start()
    found = read_sitemap(body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.problems[0] == problem
    assert peak < 16 * 2**20


def test_an_endless_text_is_not_kept() -> None:
    bodies = (b"<urlset><url><loc>" + b"a" * 20_000_000 + b"</loc></url></urlset>", b"https://a/" + b"a" * 20_000_000)
    tracemalloc.start()
    found, line = map(read_sitemap, bodies)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.entries, found.left_out) == ((), 1)
    assert (line.form, line.entries) == ("none", ())
    assert peak < 4 * 2**20


@given(st.binary(max_size=400))
@example(b"<urlset><url><loc>&#xD800;</loc>")
@example(b"\xff\xfe<\0")
@example(b"\0<")
def test_no_bytes_make_it_raise(noise: bytes) -> None:
    body = urlset(A, B)
    for sent in (noise, body[:120] + noise + body[120:], gzip.compress(body)[:60] + noise):
        found = read_sitemap(sent)
        assert found.form != "none" or found.problems
        looks_like_sitemap(sent)


@given(st.lists(st.from_regex(r"https://[a-z]{1,9}\.example/[ -~éж国]{0,40}", fullmatch=True), max_size=20))
def test_what_is_written_properly_is_read_as_it_was_meant(wanted: list[str]) -> None:
    wanted = ["".join(url.split()) for url in wanted]
    escaped = [url.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for url in wanted]
    assert read_sitemap(urlset(*escaped)) == Sitemap("urlset", tuple(map(SitemapEntry, wanted)))


# ---- words ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026", at(2026, 1, 1)),
        ("2026-03", at(2026, 3, 1)),
        (" 2026-03-04\n", at(2026, 3, 4)),
        ("2026-03-04T05:06Z", at(2026, 3, 4, 5, 6)),
        ("2026-03-04T05:06:07+02:00", at(2026, 3, 4, 3, 6, 7)),
        ("2026-03-04T05:06:07.25-01:30", at(2026, 3, 4, 6, 36, 7) + 0.25),
        ("2026-03-04 05:06:07", at(2026, 3, 4, 5, 6, 7)),
        ("2026-03-04T05:06:07+0000", at(2026, 3, 4, 5, 6, 7)),
        ("1969-12-31T23:59:59Z", -1.0),
        ("0001-01-01T00:00:00+01:00", None),
        ("9999-12-31T23:59:59-01:00", None),
        *((text, None) for text in ("", "-", "0", "soon", "2026-13", "2026-02-30", "04/03/2026", "20260304")),
        *((text, None) for text in ("2026-03-04T25:00Z", "0000", "٢٠٢٦", "9" * 4 + "-12-31T23:59:59-23:59x", "2" * 99)),
    ],
)
def test_lastmod(text: str, found: float | None) -> None:
    assert parse_time(text) == found


@given(st.text(max_size=45))
@example("0001-01-01T00:00:00+23:59")
@example("9999-12-31T23:59:59-23:59")
def test_no_text_makes_the_words_raise(text: str) -> None:
    for read in (parse_time, parse_feed_time, parse_priority, parse_changefreq):
        read(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0.5", 0.5),
        (" 1.0 ", 1.0),
        ("0", 0.0),
        *((text, None) for text in ("1.1", "-0.1", "nan", "inf", "0,5", "high")),
    ],
)
def test_priority(text: str, found: float | None) -> None:
    assert parse_priority(text) == found


@pytest.mark.parametrize(("text", "found"), [("daily", "daily"), (" Weekly\n", "weekly"), ("often", ""), ("", "")])
def test_changefreq(text: str, found: str) -> None:
    assert parse_changefreq(text) == found


def test_nonsense_in_the_fields_costs_no_entry() -> None:
    body = f"""<urlset><url><loc>{A}</loc><lastmod>yesterday</lastmod><changefreq>often</changefreq>
        <priority>high</priority></url></urlset>"""
    assert read_sitemap(body.encode()) == Sitemap("urlset", (SitemapEntry(A),))


# ---- by chance, and in robots.txt -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "is_one"),
    [
        (urlset(A), True),
        (gzip.compress(urlset(*[A] * 9_000)), True),
        (urlset(A).decode().encode("utf-16"), True),
        (b"\xef\xbb\xbf\n<!-- a --><?b c?><!DOCTYPE urlset><x:sitemapindex/>", True),
        (b"<sitemapindex>", True),
        (b"<urlsets>", False),
        (b"<!doctype html><urlset>", False),
        (b"<html><body>&lt;urlset&gt;<urlset>", False),
        (b"<rss version='2.0'>", False),
        (b"", False),
        (b"\x1f\x8b", False),
        (b"\x1f\x8b\x08 nonsense", False),
        (b"https://example.org/\n", False),
        (b"<??>" * 1_000 + b"<?", False),
    ],
)
def test_looks_like_a_sitemap(body: bytes, is_one: bool) -> None:
    assert looks_like_sitemap(body) is is_one


def test_robots_lines() -> None:
    text = (
        f"\ufeffSitemap: {A}\r\nUser-agent: *\r\nDisallow: /x\r\n  SITEMAP :{B} # all of them\rsitemap:{A}\n"
        f"#Sitemap: https://example.org/no\nSitemap:\nSitemap: # none\nNot a sitemap: {C}\n"
        f"Sitemap: ftp://example.org/\nSitemap: {A}{'x' * 2048}\nsitemap: /c.xml\n"
    )
    assert sitemaps_in_robots(text) == (A, B, "/c.xml")


def test_all_robots_lines_are_read() -> None:
    text = "\n".join(f"Sitemap: https://example.org/{number}" for number in range(500))
    assert len(sitemaps_in_robots(text)) == 500, "how many of them are fetched is for a budget to say, which is counted"
