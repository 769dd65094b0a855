"""Settings of discovery (sources besides links) and of recrawling."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from tenax.config.fetch import Section

DiscoverySource = Literal["links", "sitemaps", "feeds", "archives", "pagination", "none"]
GuessSetting = Literal["auto", "always", "never"]


def has_guess_source(sources: object) -> bool:
    """Whether a list of sources contains one that guesses. The list is not validated yet."""
    return isinstance(sources, (tuple, list)) and not {"archives", "pagination"}.isdisjoint(map(str, sources))


class DiscoveryConfig(Section, frozen=True):
    """Which sources of pages are used on the hosts of the seeds."""

    sources: Annotated[
        tuple[DiscoverySource, ...],
        Meta(
            description="Sources of pages: `links`, `sitemaps`, `feeds`, and the guesses `archives` and "
            "`pagination`; `none`: only the seeds are visited."
        ),
    ] = ("links", "sitemaps", "feeds", "archives", "pagination")
    guesses: Annotated[
        GuessSetting,
        Meta(
            description="When URLs are tried that nothing links to: archives, next pages, well-known feed "
            "paths. `auto`: on hosts that look like a news site or a blog, except hosts with a "
            "`politeness.rate_per_second` of 0; `always`; `never`. If `sources` is set and names "
            "`archives` or `pagination`, the default is `always`."
        ),
    ] = "auto"
    max_sitemap_bytes: Annotated[
        int, Meta(ge=1024, description="Maximum decoded bytes read of one sitemap or feed; the rest is ignored.")
    ] = 50 * 1024 * 1024
    max_sitemap_urls: Annotated[
        int, Meta(ge=1, description="Maximum URLs taken from one sitemap or feed; the rest are counted, not followed.")
    ] = 50_000
    max_sitemaps: Annotated[int, Meta(ge=1, description="Maximum sitemaps read per host, nested ones included.")] = 1000
    max_feeds: Annotated[int, Meta(ge=0, description="Maximum feeds read per host.")] = 100
    guess_ratio: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Maximum share of misses (guesses that find nothing new) in a host's requests; half is "
            "for archives, half for next pages.",
        ),
    ] = 0.02
    min_guesses: Annotated[
        int,
        Meta(
            ge=0,
            description="How many misses (guesses that find nothing new) a host may have, whatever its "
            "`guess_ratio`, for archives and for next pages each. A small host may have fewer: one,"
            " and one more for every 8 requests (for archives, for every 80 requests if a sitemap "
            "was read), plus the part of this setting above 7. Half as many well-known feed paths "
            "are tried, two on a host with fewer than 100 visits.",
        ),
    ] = 7
    archives_every_seconds: Annotated[
        float, Meta(gt=0, description="After this time archives are guessed again, however many URLs of the host wait.")
    ] = 86_400.0
    archives_below: Annotated[
        int,
        Meta(ge=0, description="Archives are guessed whenever fewer URLs of the host wait than this number."),
    ] = 20
    max_guessed_pages: Annotated[
        int, Meta(ge=0, description="Maximum pages of one list that are guessed after its last linked page.")
    ] = 500
    max_empty_pages: Annotated[
        int,
        Meta(
            ge=1,
            description="After this many guessed pages in a row without anything new, no more pages of the list"
            " are guessed.",
        ),
    ] = 2


class RecrawlConfig(Section, frozen=True):
    """How pages are recrawled: each at its own interval, learned from how often it changes."""

    continuous: Annotated[
        bool, Meta(description="Recrawl pages, each at its own interval. The crawl runs until it is stopped.")
    ] = False
    visits_per_day: Annotated[
        float, Meta(gt=0, description="Maximum recrawl visits per day to all pages of one host together.")
    ] = 2000.0
    min_interval_seconds: Annotated[
        float, Meta(ge=1, description="Minimum time between two visits to a page, however often it changes.")
    ] = 3600.0
    max_interval_seconds: Annotated[
        float, Meta(ge=1, description="Maximum time between two visits to a page, however rarely it changes.")
    ] = 90 * 86_400.0
