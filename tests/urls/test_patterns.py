from __future__ import annotations

import time

import pytest

from tenax.errors import ConfigError
from tenax.urls.patterns import compile_patterns

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
        ("/blog/*", "start it with `*`, as in `*/blog/*`"),
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
    started = time.process_time()
    assert patterns.first_match("https://example.org/" + "a" * 8000 + "!") is None
    assert time.process_time() - started < 1
