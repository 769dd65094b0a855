"""Where a crawl looks for pages besides links, and how often it comes back to them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tenax.config.fetching import Section

DiscoverySource = Literal["links", "sitemaps", "feeds", "archives", "pagination", "none"]
GuessSetting = Literal["auto", "always", "never"]


def has_guess_source(sources: object) -> bool:
    """Whether a list of sources, as somebody wrote it, has a way of guessing."""
    return isinstance(sources, (tuple, list)) and not {"archives", "pagination"}.isdisjoint(map(str, sources))


class DiscoveryConfig(Section, frozen=True):
    """Where pages are looked for, on the hosts that the seeds name."""

    sources: Annotated[
        tuple[DiscoverySource, ...],
        Meta(
            description="Where pages are found: `links`, `sitemaps`, `feeds`, and by guessing `archives` and "
            "`pagination`; `none`: only the seeds are visited."
        ),
    ] = ("links", "sitemaps", "feeds", "archives", "pagination")
    guesses: Annotated[
        GuessSetting,
        Meta(
            description="Where URLs are tried that nobody named: archives, next pages, usual places of feeds. "
            "`auto`: on hosts that turn out to be a news site or a blog, but not where `politeness.rate_per_second` is "
            "0; `always`; `never`. Naming `archives` or `pagination` in `sources` means `always`."
        ),
    ] = "auto"
    max_sitemap_bytes: Annotated[
        int, Meta(ge=1024, description="Most bytes read of one sitemap or feed, decoded; the rest is left out.")
    ] = 50 * 1024 * 1024
    max_sitemap_urls: Annotated[
        int, Meta(ge=1, description="URLs taken from one sitemap or feed at most; the rest are counted, not followed.")
    ] = 50_000
    max_sitemaps: Annotated[int, Meta(ge=1, description="Sitemaps read on one host at most, nested ones included.")] = (
        1000
    )
    max_feeds: Annotated[int, Meta(ge=0, description="Feeds read on one host at most.")] = 100
    guess_ratio: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Requests of a host that may be guesses with nothing new there, as a share of all; half of it "
            "is for archives, half for next pages.",
        ),
    ] = 0.02
    min_guesses: Annotated[
        int,
        Meta(
            ge=0,
            description="Such guesses that a host gets in any case, for archives and for next pages each; one with "
            "few pages gets one for every 8 of them, and where a sitemap was read, one archive for every 80. Half as "
            "many usual places of a feed are tried, two on a host with few pages.",
        ),
    ] = 7
    archives_every_seconds: Annotated[
        float, Meta(gt=0, description="Archives are guessed at after this time, however many URLs wait at the host.")
    ] = 86_400.0
    archives_below: Annotated[
        int,
        Meta(ge=0, description="Archives are guessed at whenever fewer URLs than this wait at the host."),
    ] = 20
    max_guessed_pages: Annotated[
        int, Meta(ge=0, description="Pages of one list that are guessed at beyond those linked, at most.")
    ] = 500
    max_empty_pages: Annotated[
        int, Meta(ge=1, description="Guessed pages of a list in a row that bring nothing new before it is left alone.")
    ] = 2

    def has_source(self, source: DiscoverySource) -> bool:
        return source in self.sources


class RecrawlConfig(Section, frozen=True):
    """How pages are kept up with: each is visited again at its own pace, learned from how often it changes."""

    continuous: Annotated[
        bool, Meta(description="Visit pages again, each at its own pace; the crawl goes on until it is stopped.")
    ] = False
    visits_per_day: Annotated[
        float, Meta(gt=0, description="Visits a day that the pages of one host may ask for together.")
    ] = 2000.0
    min_interval_seconds: Annotated[
        float, Meta(ge=1, description="No page is visited again sooner, however often it changes.")
    ] = 3600.0
    max_interval_seconds: Annotated[
        float, Meta(ge=1, description="No page is visited again later, however seldom it changes.")
    ] = 90 * 86_400.0
