from __future__ import annotations

import time

import pytest

from tenax.errors import ConfigError
from tenax.urls.scope import compile_patterns

URL = "https://example.org/blog/2026/a.b?c=d&e=(f)"


@pytest.mark.parametrize(
    ("pattern", "is_match"),
    [
        ("*", True),
        ("https://example.org/*", True),
        ("https://example.org/", False),
        ("*/blog/*", True),
        ("*/blog", False),
        ("*/Blog/*", False),
        ("http?://example.org/*", True),
        ("https?://example.org/*", False),
        ("*a.b?c=d*", True),
        ("*axb?c=d*", False),
        ("*&e=(f)", True),
        ("*[abc]*", False),
        ("/blog/", True),
        (r"/\/blog\/\d+\//", True),
        (r"/^https://[^/]+/blog//", True),
        ("/^blog/", False),
        ("/(?i)BLOG/", True),
        ("/(f)$/", False),
        (r"/\(f\)$/", True),
    ],
)
def test_match(pattern: str, is_match: bool) -> None:
    assert compile_patterns([pattern]).first_match(URL) == (pattern if is_match else None)


def test_the_first_match_is_named() -> None:
    patterns = compile_patterns(["*.png", "*/blog/*", "*"])
    assert patterns.first_match(URL) == "*/blog/*"
    assert bool(patterns)
    assert not compile_patterns([])
    assert compile_patterns([]).first_match(URL) is None


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("/(a/", "missing )"),
        ("/a{2,1}/", "invalid repetition"),
        (r"/(a)\1/", "invalid escape"),
        ("/(?=a)/", "invalid perl operator"),
        ("/((a{100}){100}){100}/", "invalid repetition"),
        ("/blog/*", "so write it as `*/blog/*`"),
        ("example.org/*", "whole URL"),
        ("", "whole URL"),
        ("a\nb", "whole URL"),
        ("*\ud800", "not valid Unicode"),
    ],
)
def test_a_bad_pattern_is_one_clear_line(pattern: str, says: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        compile_patterns(["*", pattern])
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("pattern", ["/(a+)+$/", "/(a|aa)+$/", "/(.*a){20}$/", "*a" * 30 + "*b", "?*" * 30 + "b"])
def test_no_pattern_can_hang_us(pattern: str) -> None:
    patterns = compile_patterns([pattern])
    began = time.process_time()
    assert patterns.first_match("https://example.org/" + "a" * 8000 + "!") is None
    assert time.process_time() - began < 60, "milliseconds, or for ever"


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("tag", "https://example.org/tag/red"),
        ("/tag", "https://example.org/tag/red"),
        ("tag/*", "https://example.org/tag/red"),
        ("blog/tag", "https://example.org/blog/tag/red"),
        ("tag/", "https://example.org/tag/red"),
        (".pdf", "https://example.org/paper.pdf"),
        ("print.html", "https://example.org/a/print.html"),
        ("example.org/tag/*", "https://example.org/tag/red"),
        ("www.example.org", "https://www.example.org/a"),
    ],
)
def test_the_pattern_that_is_suggested_works(typed: str, url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        compile_patterns([typed])
    suggested = str(raised.value).rpartition("so write it as `")[2].rstrip("`")
    assert compile_patterns([suggested]).first_match(url) == suggested


@pytest.mark.parametrize(
    "pattern",
    [
        "https://me:hunter2@example.org/*",
        r"http:\\me:hunter2@example.org/*",
        "http://m e:hunter2@example.org/*",
        "http://me:x?hunter2@example.org/*",
        "//me:hunter2@example.org/",
    ],
)
def test_a_pattern_with_a_password_would_match_nothing_and_be_stored(pattern: str) -> None:
    with pytest.raises(ConfigError, match="URLs are matched without user and password") as raised:
        compile_patterns([pattern])
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "pattern", ["https://example.org/@*", "*@*", "*user:*@*", "https://*@*", r"/https?:\/\/.*:x@y/"]
)
def test_an_at_sign_in_a_path_is_no_password(pattern: str) -> None:
    compile_patterns([pattern])
