"""What a reader makes of a document: a page with its links, or a rejection with none."""

from __future__ import annotations

from typing import Any

import msgspec

from tenax.config import Config, ValidationConfig
from tenax.model import Rejected, Way
from tenax.reader import read_page
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


def test_a_job_survives_the_socket() -> None:
    work = Work(RULES, (job("x", status=203, way=Way.BROWSER, validation=ValidationConfig(min_body_bytes=9)),))
    assert decode_work(encode_work(work)).jobs == work.jobs
