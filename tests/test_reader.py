"""What a reader makes of a document: a page with its links, or a rejection with none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenax.config import Config, ReadingConfig, ValidationConfig
from tenax.model import PageLink, Rejected, Way
from tenax.parse.document import Document
from tenax.parse.links import Link
from tenax.reader import kept_links, read_page, web_url
from tenax.reading import Job, Reading, Work, decode_work, encode_work
from tenax.urls.admit import rules_of

RULES = rules_of(["https://shop.example/"], Config(), 2026)


def job(html: str, **changes: Any) -> Job:
    url = "https://shop.example/a"
    plain = Job(
        number=1, url=url, fetched_url=url, depth=0, body=html.encode(), content_type="text/html; charset=utf-8"
    )
    return msgspec.structs.replace(plain, **changes)


def read(html: str, **changes: Any) -> Reading:
    return read_page(job(html, **changes), RULES)


def test_a_page_is_valid_and_its_links_are_offered() -> None:
    reading = read("<title>Tides</title><p>High water at nine.</p><a href=/b>b</a>")
    assert (reading.validation, reading.evidence, reading.rejected) == ("valid", "", None)
    assert [offer.url for offer in reading.offers] == ["https://shop.example/b"]


def test_a_wall_is_rejected_with_evidence_and_without_links() -> None:
    reading = read("<title>Access Denied</title><h1>Access Denied</h1><p>You have been blocked.</p><a href=/b>b</a>")
    assert reading.rejected == Rejected("blocked: the site shuts us out", is_hard=True)
    assert (reading.validation, reading.evidence) == ("hard", "you have been blocked")
    assert (reading.offers, reading.text, reading.title) == ((), "", "")


def test_a_shell_is_rejected_softly() -> None:
    reading = read("<div id=root></div><script src=a.js></script><a href=/b></a>")
    assert reading.rejected is not None and not reading.rejected.is_hard
    assert (reading.validation, reading.offers) == ("soft", ())


def test_how_it_was_fetched_and_what_the_site_allows_count() -> None:
    check = "<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
    assert read(check).validation == "soft"
    assert read(check, way=Way.BROWSER).validation == "hard"
    assert read(check, status=503).validation == ""
    assert read(check, validation=ValidationConfig(enabled=False)).rejected is None


def test_a_page_that_only_leads_on_offers_where_to() -> None:
    html = "<meta http-equiv=refresh content='0; url=/home'><p>Redirecting</p><a href=/b>b</a>"
    reading = read(html)
    assert reading.rejected is not None and reading.rejected.why.startswith("refresh:")
    assert [offer.url for offer in reading.offers] == ["https://shop.example/home"]
    assert read(html, robots_header="nofollow").offers == ()


def test_evidence_is_safe_to_show() -> None:
    reading = read("<title>Access\x1b[31m Denied</title>")
    assert reading.evidence.isprintable()


def test_links_are_kept_only_where_they_are_wanted() -> None:
    html = "<p>High water at nine.</p><a href=/b rel=nofollow>b</a><a href=c>c</a>"
    assert read(html).links == ()
    assert [link.url for link in read(html, reading=ReadingConfig(keep_links=True)).links] == [
        "https://shop.example/b",
        "https://shop.example/c",
    ]
    assert len(read(html, reading=ReadingConfig(keep_links=True, max_links=1)).links) == 1


def test_a_kept_link_is_absolute_and_on_the_web() -> None:
    links = (Link("../x", "a", True, "Words", "nofollow", True), Link("mailto:a@b.test"), Link("//b.test/"))
    base = "https://shop.example/a/b"
    assert kept_links(Document("html", links=links), base, 9) == (
        PageLink("https://shop.example/x", "Words", "nofollow", True, True),
        PageLink("https://b.test/"),
    )
    assert all(link.is_nofollow for link in kept_links(Document("html", links=links, is_nofollow=True), base, 9))
    assert len(kept_links(Document("html", links=links), base, 1)) == 1


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
    changes = {"validation": ValidationConfig(min_body_bytes=9), "reading": ReadingConfig(keep_links=True), "now": 5.5}
    work = Work(RULES, (job("x", status=203, way=Way.BROWSER, **changes),))
    assert decode_work(encode_work(work)).jobs == work.jobs
