"""Extraction of sitemaps and feeds: candidates, refusals with reasons, and reported changes."""

from __future__ import annotations

import gzip
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.config import Config, CrawlConfig, DiscoveryConfig
from tenax.crawl.reader.messages import ExtractedPage, ExtractJob
from tenax.crawl.url_lists import MAX_EVIDENCE_CHARS, detect_url_list, extract_url_list
from tenax.model import Budget, ChangeNotice, Rejected, Source
from tenax.urls import KnownUrls
from tenax.urls.admit import build_rules

SITE = "https://a.test"
MAP = f"{SITE}/sitemap.xml"
RULES = build_rules([SITE], Config(), 2026)
NOW = 1_772_000_000.0
"""On 2026-02-25."""
RSS = "<rss version='2.0'><channel><title>n</title>{}</channel></rss>"
ATOM = "<feed xmlns='http://www.w3.org/2005/Atom'><title>n</title>{}</feed>"


def read(text: str | bytes, source: Source = Source.SITEMAP, **changes: Any) -> ExtractedPage:
    body = text if isinstance(text, bytes) else text.encode()
    job = ExtractJob(1, MAP, MAP, 0, body, "application/xml", source=source, is_url_list=True, now=NOW)
    return extract_url_list(msgspec.structs.replace(job, **changes), RULES)


def urls(reading: ExtractedPage) -> list[str]:
    return [candidate.url for candidate in reading.candidates]


def rows(*entries: str) -> str:
    return "<urlset>" + "".join(f"<url>{entry}</url>" for entry in entries) + "</urlset>"


def item(path: str, date: str = "") -> str:
    stamp = f"<pubDate>{date}</pubDate>" if date else ""
    return f"<item><link>{SITE}{path}</link><title>t</title>{stamp}</item>"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b"<urlset/>", "sitemap"),
        (b"<?xml version='1.0'?><sitemapindex>", "sitemap"),
        (RSS.encode(), "feed"),
        (ATOM.encode(), "feed"),
        (b"<html><body>words", ""),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", ""),
        (b"https://a.test/one\nhttps://a.test/two\n", ""),
        (b"", ""),
    ],
)
def test_which_of_them_it_is(body: bytes, found: str) -> None:
    assert detect_url_list(body, "application/xml") == found


@given(st.binary(max_size=200), st.sampled_from([Source.SITEMAP, Source.FEED, Source.LINK]))
def test_whatever_comes_is_read_or_rejected(body: bytes, source: Source) -> None:
    extracted = read(body, source)
    assert (extracted.rejection is None) is bool(extracted.url_list)


# ---- sitemaps ---------------------------------------------------------------------------------------------


def test_a_sitemap_candidates_its_pages_and_their_alternates() -> None:
    extracted = read(
        rows(
            f"<loc>{SITE}/en</loc><changefreq>daily</changefreq>"
            f"<xhtml:link xmlns:xhtml='http://www.w3.org/1999/xhtml' rel='alternate' hreflang='de' href='{SITE}/de'/>",
            f"<loc>{SITE}/en</loc>",
            "<loc>https://other.test/</loc>",
        )
    )
    assert urls(extracted) == [f"{SITE}/en", f"{SITE}/de"]
    assert [candidate.changefreq for candidate in extracted.candidates] == ["daily", ""]
    assert (extracted.url_list, extracted.links_count, extracted.refusals) == ("sitemap", 3, {"scope": 1})
    assert extracted.rejection is None


@pytest.mark.parametrize("form", [b"<urlset>%s</urlset>", b"<rss><channel>%s</channel></rss>"])
def test_what_is_listed_has_a_hash_whatever_is_known_of_it(form: bytes) -> None:
    entry = b"<item><link>/one</link></item>" if b"rss" in form else b"<url><loc>/one</loc></url>"
    source = Source.FEED if b"rss" in form else Source.SITEMAP
    job = ExtractJob(1, MAP, MAP, 0, form % entry, "application/xml", source=source, is_url_list=True, now=NOW)
    first, known = extract_url_list(job, RULES), extract_url_list(job, RULES, KnownUrls({f"{SITE}/one"}))
    made_later = extract_url_list(msgspec.structs.replace(job, body=form % (b"<!-- made at noon -->" + entry)), RULES)
    other = extract_url_list(msgspec.structs.replace(job, body=form % entry.replace(b"one", b"two")), RULES)
    assert first.content_hash == known.content_hash == made_later.content_hash != other.content_hash
    assert bool(first.candidates) and not known.candidates


def test_an_index_candidates_sitemaps_but_not_itself() -> None:
    locations = (MAP, f"{SITE}/a.xml", f"{SITE}/a.xml", "https://other.test/b.xml", "/c.xml")
    text = "".join(f"<sitemap><loc>{location}</loc></sitemap>" for location in locations)
    extracted = read(f"<sitemapindex>{text}</sitemapindex>", discovery=DiscoveryConfig(max_sitemaps=7))
    assert urls(extracted) == [f"{SITE}/a.xml", f"{SITE}/c.xml"]
    first = extracted.candidates[0]
    assert (first.source, first.via, first.is_url_list) == (Source.SITEMAP, MAP, True)
    assert first.budgets == (Budget("max_sitemaps", "", 7),)


@pytest.mark.parametrize(
    "body",
    [
        b"https://a.test/one\nhttps://a.test/two\n",
        gzip.compress(b"https://a.test/one\nhttps://a.test/two\n"),
        RSS.format(item("/one") + item("/two")).encode(),
    ],
    ids=["text", "gzip", "a feed"],
)
def test_what_is_said_to_be_a_sitemap_may_be_one_in_any_form(body: bytes) -> None:
    extracted = read(body, content_type="text/plain")
    assert (extracted.url_list, urls(extracted)) == ("sitemap", [f"{SITE}/one", f"{SITE}/two"])
    assert {candidate.source for candidate in extracted.candidates} == {Source.SITEMAP}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("<!doctype html><p>Not found", "url_list: an HTML page, not a sitemap"),
        ("", "url_list: empty, not a sitemap"),
        ("just words", "url_list: neither XML nor a list of URLs, not a sitemap"),
    ],
)
def test_what_is_none_is_rejected_with_the_reason(body: str, why: str) -> None:
    assert read(body) == ExtractedPage(rejection=Rejected(why))


def test_what_is_left_out_is_counted_and_said() -> None:
    entries = [f"<loc>{SITE}/{number}</loc>" for number in range(5)]
    extracted = read(rows(*entries), discovery=DiscoveryConfig(max_sitemap_urls=2))
    assert (len(extracted.candidates), extracted.refusals) == (2, {"max_sitemap_urls": 3})
    assert "more than 2" in extracted.evidence
    assert len(extracted.evidence) <= MAX_EVIDENCE_CHARS


def test_what_is_too_large_is_read_as_far_as_it_goes() -> None:
    entries = [f"<loc>{SITE}/{number:06}</loc>" for number in range(200)]
    extracted = read(gzip.compress(rows(*entries).encode()), discovery=DiscoveryConfig(max_sitemap_bytes=2048))
    assert 10 < len(extracted.candidates) < 100
    assert extracted.evidence


# ---- feeds ------------------------------------------------------------------------------------------------


def test_a_feed_candidates_its_entries_as_feeds_do() -> None:
    extracted = read(RSS.format(item("/one") + item("/two") + "<item><title>no link</title></item>"), Source.FEED)
    assert (extracted.url_list, urls(extracted), extracted.links_count) == ("feed", [f"{SITE}/one", f"{SITE}/two"], 3)
    assert {candidate.source for candidate in extracted.candidates} == {Source.FEED}


def test_a_feed_leads_to_its_older_part() -> None:
    entry = f"<entry><id>1</id><title>t</title><link href='{SITE}/one'/></entry><link rel='next' href='?page=2'/>"
    extracted = read(ATOM.format(entry), Source.FEED, discovery=DiscoveryConfig(max_feeds=4))
    page, older = extracted.candidates
    assert (page.url, page.is_url_list) == (f"{SITE}/one", False)
    assert (older.url, older.is_url_list) == (f"{MAP}?page=2", True)
    assert older.budgets == (Budget("max_feeds", "", 4),)


def test_a_feed_that_is_none_is_rejected() -> None:
    extracted = read("<html><p>words", Source.FEED)
    assert extracted.rejection is not None and extracted.rejection.why.startswith("url_list: ")


def test_known_urls_are_no_candidates_again() -> None:
    job = ExtractJob(1, MAP, MAP, 0, rows(f"<loc>{SITE}/a</loc>", f"<loc>{SITE}/b</loc>").encode(), now=NOW)
    extracted = extract_url_list(job, RULES, KnownUrls({f"{SITE}/a"}, {f"{SITE}/b"}))
    assert (extracted.candidates, extracted.links_count) == ((), 2)


# ---- change notices ---------------------------------------------------------------------------------------


DATED = rows(
    f"<loc>{SITE}/old</loc><lastmod>2020-01-01</lastmod>",
    f"<loc>{SITE}/before</loc><lastmod>2026-02-20</lastmod>",
    f"<loc>{SITE}/new?utm_source=map</loc><lastmod>2026-02-24</lastmod>",
    f"<loc>{SITE}/ahead</loc><lastmod>2027-01-01</lastmod>",
    f"<loc>{SITE}/never</loc>",
)


def test_the_latest_changes_are_reported_newest_first_in_a_continuous_crawl() -> None:
    assert read(DATED).change_notices == ()
    assert read(DATED, is_continuous=True).change_notices == (
        ChangeNotice(f"{SITE}/new", SITE, 1_771_891_200.0),
        ChangeNotice(f"{SITE}/before", SITE, 1_771_545_600.0),
    )


def test_a_feed_reports_changes_too() -> None:
    extracted = read(RSS.format(item("/one", "Tue, 24 Feb 2026 00:00:00 GMT")), Source.FEED, is_continuous=True)
    assert extracted.change_notices == (ChangeNotice(f"{SITE}/one", SITE, 1_771_891_200.0),)


def test_depth_is_counted_from_the_page_that_named_it() -> None:
    rules = build_rules([SITE], Config(crawl=CrawlConfig(max_depth=3)), 2026)
    job = ExtractJob(1, MAP, MAP, 3, rows(f"<loc>{SITE}/a</loc>").encode(), now=NOW)
    assert extract_url_list(job, rules).refusals == {"depth": 1}
    [candidate] = extract_url_list(msgspec.structs.replace(job, depth=2), rules).candidates
    assert candidate.depth == 3
