"""What normalization did, in words."""

from __future__ import annotations

import pytest

from tenax.cli.views.format_values import describe_normalization
from tenax.config import UrlsConfig
from tenax.urls.normalize import normalize_options
from tenax.urls.scope import parse_seed


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("https://example.org/a", ()),
        ("https://example.org", ("empty path set to /",)),
        ("example.org/a", ("https assumed",)),
        ("HTTPS://Example.ORG/a", ("host in lower case",)),
        ("https://bücher.example/a", ("host normalized",)),
        ("https://example.org:443/a#part", ("default port dropped", "fragment dropped")),
        ("https://me:pw@example.org/a", ("user name and password dropped",)),
        ("https://example.org/a/../b", ("path normalized",)),
        ("https://example.org/%61", ("escapes normalized",)),
        ("https://example.org/a?utm_source=x&b=1", ("tracking or session parameters dropped: utm_source",)),
        ("https://example.org/a?z=1&b=2", ("parameters sorted by name",)),
        ("http://[::1]:80/", ("default port dropped",)),
    ],
)
def test_what_normalization_did_is_named(asked: str, expected: tuple[str, ...]) -> None:
    url = parse_seed(asked, normalize_options(UrlsConfig())).url
    assert describe_normalization(asked, url) == expected


def test_even_what_the_other_parser_dislikes_has_an_answer() -> None:
    assert describe_normalization("https://[bad/", "https://example.org/") == ("normalized as in browsers",)
