"""What a reader makes of a document: a page with its links, or a rejection with none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenax.config import Config, CrawlConfig, DiscoveryConfig, ExtractConfig, ValidationConfig
from tenax.crawl.reader.messages import ExtractedPage, ExtractJob, ReaderBatch, decode_batch, encode_batch
from tenax.crawl.reader.read_page import Reader, build_page_links, extract_page, has_numbered_links, web_url
from tenax.database.page_codec import followed_targets, unpack_links
from tenax.extract.document import Content
from tenax.extract.html.links import MAX_LINKS, Link, Links
from tenax.model import Budget, PageLink, Rejected, Source, TransportKind
from tenax.urls import KnownUrls
from tenax.urls.admit import build_rules

RULES = build_rules(["https://shop.example/"], Config(), 2026)


def job(html: str, **changes: Any) -> ExtractJob:
    url = "https://shop.example/a"
    plain = ExtractJob(
        number=1, url=url, fetched_url=url, depth=0, body=html.encode(), content_type="text/html; charset=utf-8"
    )
    return msgspec.structs.replace(plain, **changes)


def read(html: str, **changes: Any) -> ExtractedPage:
    return extract_page(job(html, **changes), RULES)


def test_a_page_is_valid_and_its_links_are_candidates() -> None:
    extracted = read("<title>Tides</title><p>High water at nine.</p><a href=/b>b</a>")
    assert (extracted.validation, extracted.evidence, extracted.rejection) == ("valid", "", None)
    assert [candidate.url for candidate in extracted.candidates] == ["https://shop.example/b"]


def test_pages_that_link_to_what_is_known_are_counted() -> None:
    """Reported at the counts that raise its priority, since the last report."""
    reader = Reader()
    reported: dict[int, dict[str, int]] = {}
    known = "https://shop.example/b"
    for number in range(1, 101):
        extracted = reader.extract(job("<p>Words.</p><a href=/b>b</a> <a href=/b#c>c</a>", number=number), RULES)
        assert [candidate.url for candidate in extracted.candidates] == ([known] if number == 1 else [])
        reader.mark_committed([number])
        if extracted.new_in_links:
            reported[number] = extracted.new_in_links
    assert reported == {4: {known: 3}, 16: {known: 12}, 64: {known: 48}}


@pytest.mark.parametrize(
    ("html", "changes"),
    [
        ("<p>Words.</p><a href=/b>b</a>", {"is_first": False}),
        ("<p>Words.</p><a href=/b rel=nofollow>b</a>", {}),
        ("<title>Access Denied</title><h1>Access Denied</h1><p>You have been blocked.</p><a href=/b>b</a>", {}),
    ],
    ids=["again", "nofollow", "a wall"],
)
def test_links_of_some_pages_do_not_count(html: str, changes: dict[str, Any]) -> None:
    reader = Reader()
    reader.extract(job("<p>Words.</p><a href=/b>b</a>"), RULES)
    reader.mark_committed([1])
    assert not any(reader.extract(job(html, number=number, **changes), RULES).new_in_links for number in range(2, 20))


def test_a_wall_is_rejected_with_evidence_and_without_links() -> None:
    extracted = read("<title>Access Denied</title><h1>Access Denied</h1><p>You have been blocked.</p><a href=/b>b</a>")
    assert extracted.rejection == Rejected("blocked: the site blocks us", is_hard=True)
    assert (extracted.validation, extracted.evidence) == ("hard", "you have been blocked")
    assert (extracted.candidates, extracted.text, extracted.title) == ((), "", "")


def test_a_shell_is_rejected_softly() -> None:
    extracted = read("<div id=root></div><script src=a.js></script><a href=/b></a>")
    assert extracted.rejection is not None and not extracted.rejection.is_hard
    assert (extracted.validation, extracted.candidates) == ("soft", ())


def test_how_it_was_fetched_and_what_the_site_allows_count() -> None:
    check = "<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
    assert read(check).validation == "soft"
    assert read(check, transport=TransportKind.BROWSER).validation == "hard"
    assert read(check, status=503).validation == ""
    assert read(check, validation=ValidationConfig(enabled=False)).rejection is None


def test_meta_refresh_target_is_a_candidate() -> None:
    html = "<meta http-equiv=refresh content='0; url=/home'><p>Redirecting</p><a href=/b>b</a>"
    extracted = read(html)
    assert extracted.rejection is not None and extracted.rejection.why.startswith("refresh:")
    assert [candidate.url for candidate in extracted.candidates] == ["https://shop.example/home"]
    assert read(html, robots_header="nofollow").candidates == ()


def test_evidence_is_safe_to_show() -> None:
    extracted = read("<title>Access\x1b[31m Denied</title>")
    assert extracted.evidence.isprintable()


def test_links_are_stored_only_if_configured() -> None:
    html = "<p>High water at nine.</p><a href=/b rel=nofollow>b</a><a href=c>c</a>"
    assert read(html).links == ()
    assert [link.url for link in read(html, extract=ExtractConfig(keep_links=True)).links] == [
        "https://shop.example/b",
        "https://shop.example/c",
    ]
    assert len(read(html, extract=ExtractConfig(keep_links=True, max_links=1)).links) == 1


def test_a_stored_link_is_absolute_and_http() -> None:
    links = Links.from_links(
        (Link("../x", "a", True, "Words", "nofollow", True), Link("mailto:a@b.test"), Link("//b.test/"))
    )
    base = "https://shop.example/a/b"
    assert build_page_links(Content(media="html", links=links), base, 9) == (
        PageLink("https://shop.example/x", "Words", "nofollow", True, True),
        PageLink("https://b.test/"),
    )
    assert all(
        link.is_nofollow for link in build_page_links(Content(media="html", links=links, is_nofollow=True), base, 9)
    )
    assert len(build_page_links(Content(media="html", links=links), base, 1)) == 1


def test_a_base_longer_than_any_url_is_ignored_and_a_long_one_has_fewer_links() -> None:
    links = "".join(f"<a href={number}>x</a>" for number in range(4_000))
    ignored = read(f'<base href="/{"b" * 2048}/"><p>Words.</p>{links}')
    assert ignored.candidates[0].url == "https://shop.example/0"
    assert "links_read" not in ignored.refusals
    long = read(f'<base href="/{"b" * 2000}/"><p>Words.</p>{links}', extract=ExtractConfig(keep_links=True))
    assert long.refusals["links_read"] == 1
    assert 1_900 < long.links_count < 2_000
    assert len(long.link_targets or b"") < 5_000_000


def test_the_link_graph_has_urls_as_the_crawl_spells_them() -> None:
    html = (
        "<p>High water at nine.</p><a href='b?utm_source=x&b=2&a=1'>b</a><a href='b?a=1&b=2' rel=next>again</a>"
        "<a href=/c rel=nofollow>c</a><a href=#top>top</a><a href='https://elsewhere.example/'>e</a><a href=''>x</a>"
    )
    asked = job(html)
    extracted = extract_page(asked, RULES)
    assert extracted.link_targets is not None
    assert unpack_links("https://shop.example", extracted.link_targets) == (
        PageLink("https://shop.example/b?a=1&b=2", "b", "", False, True),
        PageLink("https://shop.example/c", "c", "nofollow", True, True),
        PageLink("https://elsewhere.example/", "e", "", False, True),
    )
    known = {"https://shop.example/c", "https://elsewhere.example/"}
    assert extract_page(asked, RULES, KnownUrls(known)).link_targets == extracted.link_targets, (
        "also those that are not offered again"
    )
    assert followed_targets("https://shop.example", read(html, robots_header="nofollow").link_targets or b"") == []
    no_links = msgspec.structs.replace(RULES, max_links_per_page=0)
    for unread in (read(html, discovery=DiscoveryConfig(sources=("feeds",))), extract_page(asked, no_links)):
        assert unread.link_targets == extracted.link_targets, "also where they are not followed, and where too many are"
    short = read(html, extract=ExtractConfig(max_links=1)).link_targets
    assert short == extracted.link_targets, "a run with other limits takes them from here"


def test_the_link_graph_has_the_feeds_that_a_page_names() -> None:
    html = "<link rel=alternate type=application/rss+xml href=/feed><p>High water at nine.</p><a href=/b>b</a>"
    kept = (
        PageLink("https://shop.example/b", "b", "", False, True),
        PageLink("https://shop.example/feed", "", "feed", is_url_list=True),
    )
    for sources in (("links",), ("links", "feeds")):
        assert (
            unpack_links(
                "https://shop.example", read(html, discovery=DiscoveryConfig(sources=sources)).link_targets or b""
            )
            == kept
        )


def test_no_link_texts_of_a_noindex_page_are_stored() -> None:
    html = "<meta name=robots content=noindex><p>High water at nine.</p><a href=/b>b</a><a href=/c rel=nofollow>c</a>"
    assert unpack_links("https://shop.example", read(html).link_targets or b"") == (
        PageLink("https://shop.example/b"),
        PageLink("https://shop.example/c", is_nofollow=True),
    )


def test_unstored_links_are_counted_if_rules_refuse_them() -> None:
    html = "<p>High water at nine.</p><a href=/b>b</a><a href='https://elsewhere.example/'>e</a>"
    without = ExtractConfig(link_graph=False)
    assert read(html, extract=without).refusals == {"scope": 1, "links_not_kept": 1}
    unfollowed = read(html, extract=without, discovery=DiscoveryConfig(sources=("none",)))
    assert unfollowed.refusals == {"links_not_kept": 2}
    assert "links_not_kept" not in read(html).refusals


def test_a_page_with_more_links_than_are_read_says_so() -> None:
    html = "<p>High water at nine.</p>" + "".join(f"<a href=/{number}></a>" for number in range(MAX_LINKS + 1))
    extracted = read(html, extract=ExtractConfig(articles=False))
    assert (len(extracted.candidates), extracted.refusals["links_read"]) == (1000, 1)
    assert "links_read" not in read("<p>High water at nine.</p><a href=/b>b</a>").refusals


def test_the_link_graph_is_stored_only_if_configured() -> None:
    html = "<p>High water at nine.</p><a href=/b>b</a><a href=/c>c</a>"
    assert read(html, extract=ExtractConfig(link_graph=False)).link_targets is None
    kept = read(html).link_targets
    assert followed_targets("https://shop.example", kept or b"") == ["https://shop.example/b", "https://shop.example/c"]
    assert read("<p>High water at nine.</p>").link_targets == b""


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("/i.png", "https://shop.example/i.png"),
        ("//cdn.test/i.png", "https://cdn.test/i.png"),
        ("data:image/png;base64,xx", None),
        ("javascript:1", None),
        ("http://[", None),
    ],
)
def test_an_image_is_a_url_of_the_web_or_none(href: str, url: str | None) -> None:
    assert web_url(href, "https://shop.example/a") == url


def test_a_job_survives_the_socket() -> None:
    changes = {"validation": ValidationConfig(min_body_bytes=9), "extract": ExtractConfig(keep_links=True), "now": 5.5}
    work = ReaderBatch(RULES, (job("x", status=203, transport=TransportKind.BROWSER, **changes),))
    assert decode_batch(encode_batch(work)).jobs == work.jobs


# ---- besides links ------------------------------------------------------------------------------------------

HOME = "https://shop.example"
RSS = (
    "<rss version='2.0'><channel><title>n</title><item><title>t</title><link>/one</link></item>"
    "<item><title>t</title><link>https://elsewhere.example/</link></item></channel></rss>"
)
SITEMAP = f"<urlset><url><loc>{HOME}/one</loc></url></urlset>"
WITH_FEED = "<link rel=alternate type=application/rss+xml href=/news.rss><p>High water at nine.</p>"


def sources(*names: Any) -> DiscoveryConfig:
    return DiscoveryConfig(sources=names)


def test_a_feed_named_by_a_page_is_a_candidate_after_its_links() -> None:
    extracted = read(WITH_FEED + "<a href=/b>b</a>", depth=2, discovery=DiscoveryConfig(max_feeds=9))
    link, feed = extracted.candidates
    assert (link.url, link.is_url_list) == (f"{HOME}/b", False)
    assert (feed.url, feed.depth, feed.source, feed.via) == (f"{HOME}/news.rss", 2, Source.FEED, f"{HOME}/a")
    assert (feed.is_url_list, feed.budgets) == (True, (Budget("max_feeds", "", 9),))
    assert extracted.has_feeds


def test_an_unwanted_known_or_useless_feed_is_no_candidate() -> None:
    assert read(WITH_FEED, discovery=sources("links")).candidates == ()
    assert read(WITH_FEED, robots_header="nofollow").candidates == ()
    assert extract_page(job(WITH_FEED), RULES, KnownUrls({f"{HOME}/news.rss"})).candidates == ()
    assert extract_page(job(WITH_FEED), RULES, KnownUrls(older={f"{HOME}/news.rss"})).candidates == ()
    assert read(WITH_FEED.replace("/news.rss", "https://elsewhere.example/news.rss")).candidates == ()
    shallow = build_rules([HOME], Config(crawl=CrawlConfig(max_depth=2)), 2026)
    assert extract_page(job(WITH_FEED, depth=1), shallow).candidates != ()
    assert extract_page(job(WITH_FEED, depth=2), shallow).candidates == (), "what it names would be too deep"


def test_links_are_stored_even_if_they_are_not_followed() -> None:
    extracted = read("<p>High water at nine.</p><a href=/b>b</a>", discovery=sources("sitemaps"))
    assert (extracted.candidates, extracted.refusals, extracted.links_count) == ((), {}, 1)
    assert followed_targets(HOME, extracted.link_targets or b"") == [f"{HOME}/b"]


@pytest.mark.parametrize(
    ("body", "found", "source"), [(RSS, "feed", "feeds"), (SITEMAP, "sitemap", "sitemaps")], ids=["feed", "sitemap"]
)
def test_a_feed_or_a_sitemap_met_by_a_link_is_read_as_one(body: str, found: str, source: str) -> None:
    extracted = read(body, content_type="application/xml", robots_header="noindex, nofollow")
    assert (extracted.url_list, extracted.is_noindex, extracted.rejection) == (found, False, None)
    assert [candidate.url for candidate in extracted.candidates] == [f"{HOME}/one"]
    unwanted = read(body, content_type="application/xml", discovery=sources("links"))
    assert unwanted.rejection is not None and unwanted.rejection.why.startswith("content:")
    assert read(body, content_type="application/xml", discovery=sources(source)).url_list == found


def test_what_is_said_to_be_a_sitemap_is_never_read_as_a_page() -> None:
    extracted = read("<html><p>High water at nine.</p><a href=/b>b</a>", is_url_list=True, source=Source.SITEMAP)
    assert extracted == ExtractedPage(rejection=Rejected("url_list: an HTML page, not a sitemap"))


LIST = (
    "<title>News</title><ul>" + "".join(f"<li><a href=/s{n}>The story of number {n}</a>" for n in range(30)) + "</ul>"
)


def test_a_list_names_its_further_pages() -> None:
    numbered = read(LIST + "<a href='/a?page=2'>2</a><a href='/a?page=7'>7</a>").listing
    assert numbered is not None and numbered.numbering is not None
    assert (numbered.numbering.pattern, numbered.numbering.last_known) == ("/a?page={n}", 7)
    for said in ("<link rel=next href='?page=2'>", "<a rel='next nofollow' href='?page=2'>on</a>"):
        listing = read(LIST + said).listing
        assert listing is not None and listing.numbering is not None
        assert listing.numbering.last_known == 2


def test_only_lists_and_guesses_are_looked_at_for_that() -> None:
    words = "<p>" + "High water at nine, low water at three. " * 60
    assert read(words + "<a href=/b>b</a>").listing is None
    assert read(words, source=Source.PAGINATION).listing is not None
    assert read(LIST, discovery=sources("links", "sitemaps", "feeds")).listing is None
    assert read(LIST, discovery=sources("archives")).listing is not None


def test_what_a_job_says_of_discovery_survives_the_socket() -> None:
    work = ReaderBatch(RULES, (job("x", discovery=sources("feeds"), source=Source.FEED, is_url_list=True),))
    assert decode_batch(encode_batch(work)).jobs == work.jobs


@pytest.mark.parametrize(
    ("hrefs", "are_numbered"),
    [
        ([], False),
        (["/a", "/b-2.html", "/story/1987", "/seiten"], True),
        (["/a", "/b-2.html", "/1987-story", "/pages", "/q?x=1"], False),
        (["/a?PAGE=2"], True),
        (["/Page-3/"], True),
        (["/p/12", "/x"], True),
        (["/p/123456", "/x"], False),
        (["/seite_4."], True),
        (["/archive/2024/05/"], True),
        (["x", "2024/05"], False),
    ],
)
def test_whether_a_page_leads_to_numbered_ones(hrefs: list[str], are_numbered: bool) -> None:
    assert has_numbered_links(Content(media="html", links=Links(tuple(hrefs)))) is are_numbered
