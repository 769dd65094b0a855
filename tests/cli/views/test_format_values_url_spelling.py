"""What normalisation did, in words."""

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
        ("https://bücher.example/a", ("host normalised",)),
        ("https://example.org:443/a#part", ("default port dropped", "fragment dropped")),
        ("https://me:pw@example.org/a", ("user name and password dropped",)),
        ("https://example.org/a/../b", ("path normalised",)),
        ("https://example.org/%61", ("escapes normalised",)),
        ("https://example.org/a?utm_source=x&b=1", ("tracking or session parameters dropped: utm_source",)),
        ("https://example.org/a?z=1&b=2", ("parameters sorted by name",)),
        ("http://[::1]:80/", ("default port dropped",)),
    ],
)
def test_what_normalisation_did_is_named(asked: str, expected: tuple[str, ...]) -> None:
    url = parse_seed(asked, normalize_options(UrlsConfig())).url
    assert describe_normalization(asked, url) == expected


def test_even_what_the_other_parser_dislikes_has_an_answer() -> None:
    assert describe_normalization("https://[bad/", "https://example.org/") == ("normalised as in browsers",)
