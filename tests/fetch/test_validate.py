"""Block pages are rejected, good short pages are not; corpus in tests/pages, figures in docs/validation.md."""

from __future__ import annotations

import time
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.config import ValidationConfig
from tenax.extract.document import extract_content, extract_with_dom
from tenax.extract.html.block_page_signals import BlockPageSignals, read_block_page_signals
from tenax.fetch.block_page_signatures import HEADLINES, MARKUP_SIGNATURES, PHRASES, WIDGET_SIGNATURES
from tenax.fetch.validate import Verdict, find_phrases, fold_text, headline_parts, refresh_target, validate
from tenax.model import TransportKind
from tests.pages import good_pages, hard_pages, wall_pages

HTML = "text/html; charset=utf-8"
KNOWN_MISSES = {"56 long consent list"}
"""Block pages that are accepted as pages; docs/validation.md lists them too."""


def judge(
    html: str,
    transport: TransportKind = TransportKind.HTTP,
    status: int = 200,
    config: ValidationConfig | None = None,
    media: str = HTML,
) -> Verdict:
    body = html.encode()
    content, dom = extract_with_dom(body, media)
    return validate(
        content, partial(read_block_page_signals, dom), config or ValidationConfig(), len(body), status, transport
    )


def test_there_are_300_good_pages_of_every_length() -> None:
    pages = good_pages()
    lengths = [len(extract_content(page.html.encode(), HTML).text) for page in pages]
    assert len({page.html for page in pages}) == 300
    assert min(lengths) >= 40 and max(lengths) <= 1500
    assert sum(length > 300 for length in lengths) >= 40


def test_no_good_page_is_turned_away() -> None:
    verdicts = {page.name: judge(page.html) for page in good_pages()}
    assert {name: verdict for name, verdict in verdicts.items() if verdict.status != "valid"} == {}


def test_a_page_similar_to_a_block_page_is_kept() -> None:
    verdicts = {page.name: judge(page.html) for page in hard_pages()}
    assert len(verdicts) >= 200
    assert {name: verdict for name, verdict in verdicts.items() if verdict.status != "valid"} == {}


@pytest.mark.parametrize(
    ("title", "body", "why"),
    [
        ("Lindenhof", "<h1>Lindenhof</h1><p>Please log in to continue.</p>", "login"),
        ("Lindenhof", "<p>Lindenhof</p><p>Your request has been blocked. You have been blocked.</p>", "blocked"),
        ("shop.example", "<h1>shop.example</h1><p>Verify you are human by completing the action below.</p>", "captcha"),
        ("Shop", "<h1>Shop</h1><p>Please enable JavaScript to continue using this site.</p>", "javascript"),
        ("Slow down", "<h1>Slow down</h1><p>You have made too many requests. Come back later.</p>", "limited"),
        ("Loading", "<h1>Loading</h1><script>start()</script>", "shell"),
    ],
)
def test_a_block_page_below_the_site_s_name_is_recognised(title: str, body: str, why: str) -> None:
    assert judge(f"<title>{title}</title>{body}").why.partition(":")[0] == why


def test_no_good_page_is_turned_away_when_a_browser_rendered_it() -> None:
    verdicts = {page.name: judge(page.html, TransportKind.BROWSER) for page in good_pages()}
    assert {name: verdict for name, verdict in verdicts.items() if verdict.status != "valid"} == {}


def test_block_pages_are_recognised() -> None:
    walls = wall_pages()
    missed = {wall.name for wall in walls if judge(wall.html).status == "valid"}
    assert len(walls) == 60
    assert missed == KNOWN_MISSES and len(missed) <= 0.05 * len(walls)


def test_block_pages_are_soft_or_hard() -> None:
    verdicts = {wall.name: (wall.expected, judge(wall.html)) for wall in wall_pages() if wall.name not in KNOWN_MISSES}
    assert {name: pair for name, pair in verdicts.items() if pair[0] != pair[1].status} == {}


def test_every_rejection_says_why_and_on_what_evidence() -> None:
    for wall in wall_pages():
        verdict = judge(wall.html)
        if wall.name not in KNOWN_MISSES:
            word, colon, meaning = verdict.why.partition(": ")
            assert word.isalpha() and colon and meaning
            assert verdict.evidence or word == "empty", wall.name


def page(title: str, body: str, head: str = "") -> str:
    # Longer than `validation.min_body_bytes`, as pages are.
    return f"<html><head><title>{title}</title>{head}<!--{'x' * 600}--></head><body>{body}</body></html>"


SHELL = page("App", "<div id=root></div><script src=a.js></script>")


@pytest.mark.parametrize(
    ("html", "status", "word"),
    [
        # A headline alone is not enough, unless there is nothing else.
        (page("Access Denied", "<h1>Access Denied</h1>"), "hard", "blocked"),
        (page("Access Denied", "<h1>Access Denied</h1><p>The debut album of Kello came out in 1998.</p>"),
         "valid", ""),
        ("Rate limit exceeded", "hard", "limited"),
        # Nor is a phrase.
        (page("Map", "<p>Please enable JavaScript.</p>"), "soft", "javascript"),
        (page("Map", "<p>Please enable JavaScript. The map shows the tides of the whole coast.</p>"), "valid", ""),
        (page("Map", "<h1>Tides</h1><p>Please enable JavaScript.</p>"), "valid", ""),
        # Instructions for it are not a request to do it.
        (page("How to enable JavaScript", "<p>Please enable JavaScript in the settings.</p>"), "valid", ""),
        # A widget alone proves nothing, with a phrase it does.
        (page("Write to us", "<form><div class=g-recaptcha></div></form><p>Your message</p>"), "valid", ""),
        (page("shop.example", "<p>Please verify you are human</p><div class=g-recaptcha></div>"), "hard", "captcha"),
        # Being blocked comes before what a browser might solve.
        (page("Access denied", "<p>You have been blocked. Please enable JavaScript.</p>"), "hard", "blocked"),
        # A banner before a page is not a block page, which has nothing behind it.
        (page("Bridge", "<h2>We value your privacy</h2><p>We and our partners store and/or access information on a "
              "device.</p><h1>Bridge reopens</h1><p>Traffic crossed the bridge again on Monday. The repair cost two "
              "million and took eight months longer than planned. The council apologised to those who had to walk "
              "round by the mill every morning of two long winters.</p>"), "valid", ""),
        (page("We value your privacy", "<p>We and our partners store and/or access information on a device.</p>"),
         "soft", "consent"),
        # A login page is a page, a login in front of another page is not.
        (page("Log in", "<h1>Log in</h1><form><input type=password></form><p>Welcome back.</p>"), "valid", ""),
        (page("Log in", "<h1>Log in to continue</h1><form><input type=password></form>"), "soft", "login"),
        # Shells, and pages similar to them.
        (SHELL, "soft", "shell"),
        (page("App", "<div id=root></div>"), "soft", "empty"),
        (page("App", "<p>Loading…</p><script src=a.js></script>"), "soft", "shell"),
        (page("App", "<div id=root><p>Hello, here I am.</p></div><script src=a.js></script>"), "valid", ""),
        (page("Thanks", "<p>Thank you for your order. It leaves the house tomorrow morning at nine.</p><div id=app>"
              "</div><script src=widget.js></script>"), "valid", ""),
        (page("Photo", "<img src=a.jpg><script src=a.js></script>"), "valid", ""),
        (page("Photo", "<noscript><img src=pixel.gif></noscript><script src=a.js></script>"), "soft", "shell"),
        (page("", ""), "soft", "empty"),
        (page("", "<a href=/next><img src=next.gif></a>"), "valid", ""),
        # An immediate meta refresh, and a page that reloads now and then.
        (page("", "<p>Redirecting</p>", '<meta http-equiv=refresh content="0;url=/next">'), "soft", "refresh"),
        (page("Live", "<p>Otters 2, Rooks 1</p>", '<meta http-equiv=refresh content="60">'), "valid", ""),
        (page("Live", "<p>Otters 2, Rooks 1</p>", '<meta http-equiv=refresh content="300;url=/live">'), "valid", ""),
    ],
)  # fmt: skip
def test_signs_are_weighed_together(html: str, status: str, word: str) -> None:
    verdict = judge(html)
    assert (verdict.status, verdict.why.partition(":")[0]) == (status, word)


def test_a_long_page_is_a_page() -> None:
    prose = "<p>The heron stands where it has always stood, one leg in the grey of the weir.</p>" * 30
    assert judge(page("Access denied to the weir", f"<p>You have been blocked.</p>{prose}")).status == "valid"
    assert judge(page("Access Denied", f"<p>You have been blocked.</p>{prose}")).status == "valid"


def test_a_long_page_is_not_looked_into() -> None:
    def never() -> BlockPageSignals:
        raise AssertionError

    content = extract_content(page("Herons", "<p>The heron stands in the weir.</p>" * 100).encode(), HTML)
    assert validate(content, never, ValidationConfig(), 5000).status == "valid"


@pytest.mark.parametrize("status", [304, 403, 404, 429, 503])
def test_what_failed_already_is_not_judged(status: int) -> None:
    assert judge(SHELL, status=status) == Verdict()


def test_it_can_be_switched_off() -> None:
    assert judge(SHELL, config=ValidationConfig(enabled=False)) == Verdict()


def test_plain_text_is_only_turned_away_when_there_is_none() -> None:
    assert judge("Access Denied", media="text/plain").status == "valid"
    assert judge(" \n ", media="text/plain").why.startswith("empty:")


def test_a_small_body_is_looked_at_with_suspicion() -> None:
    html = "<h2>Acme</h2><p>Please enable JavaScript</p>"
    assert judge(html).status == "soft"
    assert judge(html, config=ValidationConfig(min_body_bytes=0)).status == "valid"


def test_a_short_page_is_kept_unless_a_size_is_configured() -> None:
    html = "<title>Opening hours</title><p>The shop is open from nine to five, and closed on Sundays.</p>"
    size = len(html.encode())
    assert size < 500
    for least, status in [(-1, "valid"), (0, "valid"), (size, "valid"), (size + 1, "soft"), (500, "soft")]:
        assert judge(html, config=ValidationConfig(min_body_bytes=least)).status == status, least
    why = judge(html, config=ValidationConfig(min_body_bytes=500)).why
    assert why == f"small: the body has {size} bytes, and a page must have 500, by `validation.min_body_bytes`"


def test_a_configured_size_applies_to_any_page_and_hides_no_better_reason() -> None:
    config = ValidationConfig(min_body_bytes=100_000)
    assert judge("Words. " * 1000, media="text/plain", config=config).why.startswith("small:")
    assert judge(page("A page", "<p>Words of a page. </p>" * 500), config=config).why.startswith("small:")
    assert judge(SHELL, config=config).why == judge(SHELL).why
    assert judge(page("A", "<p>b</p>"), config=ValidationConfig(enabled=False, min_body_bytes=500)) == Verdict()


def test_a_check_that_a_browser_did_not_pass_is_a_block() -> None:
    check = page("Just a moment...", "<script>window._cf_chl_opt={}</script>")
    assert (judge(check).status, judge(check, TransportKind.BROWSER).status) == ("soft", "hard")
    assert judge(SHELL, TransportKind.BROWSER).status == "soft"


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=/a", "/a"),
        (" 3 ; URL = '/a b' ", "/a b"),
        ("0, /a", "/a"),
        ("1.5;url=/a", "/a"),
        ("5", ""),
        ("11;url=/a", ""),
        ("9999999;url=/a", ""),
        ("x;url=/a", ""),
        ("", ""),
    ],
)
def test_where_a_page_leads_on_to(content: str, target: str) -> None:
    assert refresh_target(BlockPageSignals(refresh=content)) == target


def test_signatures_are_written_as_texts_are_folded() -> None:
    for words in (*HEADLINES, *(entry[0] for entry in (*PHRASES, *MARKUP_SIGNATURES, *WIDGET_SIGNATURES))):
        assert words == fold_text(words).strip() and words, words
    for headline in HEADLINES:
        assert headline in headline_parts(headline), f"{headline}: its ends are cut off before it is looked up"


def test_every_phrase_is_found_in_a_sentence() -> None:
    lost = [phrase for phrase, kind in PHRASES if (phrase, kind) not in find_phrases(f"well, {phrase} (so it says)")]
    assert lost == []


def test_no_phrase_belongs_to_two_kinds() -> None:
    phrases = [phrase for phrase, _ in PHRASES]
    assert {phrase for phrase in phrases if phrases.count(phrase) > 1} == set()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([phrase for phrase, _ in PHRASES] + list(HEADLINES) + ["", "<p>", "\n", "a", "0;"])))
def test_it_never_raises(parts: list[str]) -> None:
    assert judge(f"<title>{''.join(parts[:2])}</title>{' '.join(parts)}").status in ("valid", "soft", "hard")


@pytest.mark.parametrize(
    "html",
    [
        "<div id=root>" * 9_000,
        "<script>" + "x" * 10_000_000 + "</script>",
        "<script></script>" * 50_000,
        f"<p class='{'x' * 5_000_000}'>a</p>",
        "<title>Access Denied</title>" + "you have been blocked. " * 250,
        "<h1>" + "<b>" * 9_000,
        f"<meta http-equiv=refresh content='{'1' * 1_000_000};url=x'>",
        "<noscript>" + "<img>" * 50_000 + "</noscript>",
    ],
    ids=["nested", "one script", "scripts", "attribute", "phrases", "heading", "refresh", "noscript"],
)
def test_a_hostile_page_costs_little_more_than_parsing_it(html: str) -> None:
    body = html.encode()
    content, dom = extract_with_dom(body, HTML)
    began = time.process_time()
    validate(content, partial(read_block_page_signals, dom), ValidationConfig(), len(body))
    assert time.process_time() - began < 60, "hundredths of a second, or hours"
