from __future__ import annotations

import pytest

from tenax.config import FetchConfig
from tenax.errors import ConfigError
from tenax.fetch.headers import honest_headers
from tenax.version import __version__


@pytest.mark.parametrize(
    ("fetch", "user_agent"),
    [
        (FetchConfig(), f"Tenax/{__version__}"),
        (FetchConfig(contact="https://example.org/bot"), f"Tenax/{__version__} (+https://example.org/bot)"),
        (FetchConfig(contact="me@example.org", user_agent="Mine/1"), "Mine/1"),
    ],
)
def test_who_we_say_we_are(fetch: FetchConfig, user_agent: str) -> None:
    assert dict(honest_headers(fetch))["User-Agent"] == user_agent


@pytest.mark.parametrize("text", ["a\r\nX-Injected: 1", "bücher", "tab\there", "\0"])
def test_what_cannot_be_sent_is_an_error_that_names_the_knob(text: str) -> None:
    with pytest.raises(ConfigError, match=r"fetch\.contact"):
        honest_headers(FetchConfig(contact=text))
    with pytest.raises(ConfigError, match=r"fetch\.user_agent"):
        honest_headers(FetchConfig(user_agent=text))
