"""Block page signals, collected in one bounded pass."""

from __future__ import annotations

from tenax.extract.document import extract_content, extract_with_dom
from tenax.extract.html.block_page_signals import (
    MAX_ELEMENTS,
    MAX_SCRIPT_CHARS,
    BlockPageSignals,
    read_block_page_signals,
)
from tenax.extract.html.dom import Dom


def facts_of(html: str) -> BlockPageSignals:
    return read_block_page_signals(Dom(html))


def test_no_signals_without_html() -> None:
    assert read_block_page_signals(None) == BlockPageSignals() == facts_of("")


def test_headings_are_read_as_displayed() -> None:
    facts = facts_of("<h1>One <b>moment</b></h1><h2></h2><h2>Why?</h2><h3>no</h3>")
    assert facts.headings == ("One moment", "Why?")


def test_attributes_text_has_ids_classes_urls_and_scripts() -> None:
    facts = facts_of(
        "<body class=Home><form action=/Save></form><iframe src=//a.example/f></iframe><div id=CF-X></div>"
        "<script src=/s.js></script><script>window.A = 1</script><script type=application/json>{}</script><p id=no></p>"
    )
    assert facts.attributes_text.split("\n") == ["home", "/save", "//a.example/f", "cf-x", "/s.js", "window.a = 1"]
    assert facts.script_count == 3


def test_scripts_are_truncated() -> None:
    assert len(facts_of(f"<script>{'x' * 100_000}</script>").attributes_text) == MAX_SCRIPT_CHARS


def test_noscript_is_separate() -> None:
    facts = facts_of("<body><noscript>Enable <b>it</b><img src=pixel></noscript><img src=a><svg></svg>")
    assert (facts.noscript_text, facts.media_count) == ("Enable it", 1)


def test_meta_refresh_is_recorded() -> None:
    facts = facts_of("<meta http-equiv=Refresh content='0;url=/x'><meta http-equiv=refresh content=5>")
    assert facts.refresh == facts.attributes_text == "0;url=/x"


def test_empty_and_filled_mount_points() -> None:
    assert facts_of("<div id=root></div>").has_empty_mount
    assert facts_of("<div id=App><div class=spinner></div></div>").has_empty_mount
    assert facts_of("<div id=app-root><style>a{}</style></div>").has_empty_mount
    assert not facts_of("<div id=root><img><p>Here</p></div>").has_empty_mount
    assert not facts_of("<div id=root><img>Here</div>").has_empty_mount
    assert not facts_of(f"<div id=root>{'<img>' * 30}</div>").has_empty_mount
    assert not facts_of("<div id=other></div>").has_empty_mount


def test_large_page_is_read_in_part() -> None:
    facts = facts_of("<p></p>" * MAX_ELEMENTS + "<h1>late</h1>")
    assert facts.is_large and facts.headings == ()
    assert not facts_of("<p></p>" * 10).is_large


def test_page_is_parsed_once() -> None:
    content, dom = extract_with_dom(b"<title>t</title><h1>h</h1>", "text/html")
    assert (content.title, read_block_page_signals(dom).headings) == ("t", ("h",))
    assert extract_with_dom(b"plain", "text/plain")[1] is None


def test_noscript_text_is_read_when_there_is_no_other() -> None:
    prose = "<p>The heron stands where it has always stood.</p>" * 20
    html = f"<title>t</title><div id=splash></div><noscript>{prose}</noscript><script src=a.js></script>"
    assert extract_content(html.encode(), "text/html").text.startswith("The heron stands")
    seen = f"<p>{'Seen by everyone. ' * 20}</p>"
    assert extract_content((seen + html).encode(), "text/html").text.startswith("Seen by everyone")
    notice = "<p>Hello</p><noscript>You need to enable JavaScript to run this app.</noscript>"
    assert extract_content(notice.encode(), "text/html").text == "Hello"
