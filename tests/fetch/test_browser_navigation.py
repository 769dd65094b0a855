from __future__ import annotations

import pytest

from tenax.fetch.browser.navigation import error_name, is_truncation, navigation_failure
from tenax.model import FailureKind


@pytest.mark.parametrize(
    ("name", "kind", "is_site_wide"),
    [
        ("CONNECTION_RESET", FailureKind.RESET, True),
        ("CONNECTION_CLOSED", FailureKind.RESET, True),
        ("EMPTY_RESPONSE", FailureKind.RESET, True),
        ("CONNECTION_REFUSED", FailureKind.CONNECT, True),
        ("PROXY_CONNECTION_FAILED", FailureKind.INTERNAL, True),
        ("TUNNEL_CONNECTION_FAILED", FailureKind.BAD_RESPONSE, False),
        ("TIMED_OUT", FailureKind.TIMEOUT_CONNECT, True),
        ("NAME_NOT_RESOLVED", FailureKind.DNS, False),
        ("CERT_AUTHORITY_INVALID", FailureKind.TLS, True),
        ("SSL_PROTOCOL_ERROR", FailureKind.TLS, True),
        ("BAD_SSL_CLIENT_AUTH_CERT", FailureKind.TLS, True),
        ("CONTENT_LENGTH_MISMATCH", FailureKind.TRUNCATED, False),
        ("INCOMPLETE_CHUNKED_ENCODING", FailureKind.TRUNCATED, False),
        ("TOO_MANY_REDIRECTS", FailureKind.REDIRECT, False),
        ("ABORTED", FailureKind.BAD_RESPONSE, False),
        ("INVALID_HTTP_RESPONSE", FailureKind.BAD_RESPONSE, False),
        ("SOMETHING_NEW", FailureKind.BAD_RESPONSE, False),
    ],
)
def test_each_error_has_its_class(name: str, kind: FailureKind, is_site_wide: bool) -> None:
    failed = navigation_failure(f"Page.goto: net::ERR_{name} at https://a.example/x?y=1\nCall log:\n  - navigating")
    assert (failed.kind, failed.is_site_wide) == (kind, is_site_wide)
    assert "example" not in failed.why and "\n" not in failed.why


def test_a_reset_within_the_document_cuts_it_off() -> None:
    assert navigation_failure("net::ERR_CONNECTION_RESET", in_body=True).kind is FailureKind.TRUNCATED
    assert is_truncation("net::ERR_CONNECTION_RESET") and is_truncation("net::ERR_CONTENT_DECODING_FAILED")
    assert not is_truncation("net::ERR_ABORTED") and not is_truncation("")


def test_a_text_that_names_no_error() -> None:
    assert error_name("Target page, context or browser has been closed") == ""
    assert navigation_failure("what?").kind is FailureKind.BAD_RESPONSE
    assert navigation_failure("Page.goto: Download is starting").why == "a download, not a page"
