from __future__ import annotations

import resource

import pytest

from tenax.fetch.http import HttpTransport
from tenax.fetch.http.connections import MAX_FILES, raise_file_limit
from tenax.fetch.proxies import ProxyScheme
from tenax.model import Failed, FailureKind
from tests.contracts.proxied_transport import NAMED, SECRET, ProxiedContract, failure, got, page_of, saw_no_secrets
from tests.contracts.transport import TransportContract
from tests.site.manners import PAGE
from tests.site.proxies import LocalProxy
from tests.site.server import Site


class TestHttp(TransportContract):
    made = HttpTransport


class TestHttpThroughProxies(ProxiedContract):
    made = HttpTransport

    @pytest.mark.parametrize("user", ["", "me"])
    @pytest.mark.parametrize("scheme", ["http", "https"])
    async def test_a_plain_site_by_asking_the_proxy_for_the_page(
        self, site: Site, scheme: ProxyScheme, user: str
    ) -> None:
        async with (
            LocalProxy(scheme, user=user, password=SECRET, names=NAMED) as proxy,
            self.by(proxy.url(user, SECRET), ports=(site.port,)) as transport,
        ):
            request = page_of(site, "/page?b=%7e")
            assert (await got(transport, request)).body == (await got(transport, request)).body == PAGE
            first = proxy.asked[0]
            assert (first.method, first.target) == ("GET", request.url)
            assert first.headers["host"] == f"secure.example:{site.port}"
            assert ("proxy-authorization" in first.headers) == bool(user)
            assert (len(proxy.asked), proxy.connections) == (2, 1)
            assert site.hits[0].path == "/page?b=%7e"
        saw_no_secrets(site)

    @pytest.mark.parametrize("scheme", ["http", "socks5"])
    async def test_a_proxy_that_speaks_before_the_site_has_failed(self, secure_site: Site, scheme: ProxyScheme) -> None:
        async with (
            LocalProxy(scheme, "speaks-first") as proxy,
            self.by(proxy.url(), ports=(secure_site.port,)) as transport,
        ):
            failed = await failure(transport, page_of(secure_site))
            assert failed == Failed(f"proxy {proxy.name}: it spoke out of turn", FailureKind.PROXY)


def test_as_many_files_as_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        allowed = raise_file_limit()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert (allowed, hard) == (soft, before[1])
        assert soft in (MAX_FILES, hard)
        assert raise_file_limit() == allowed
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
