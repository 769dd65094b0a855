"""Configuration: `sections` and `fetching` declare every knob, `load` lays files, variables and flags over them,
`checking` checks a config that a program made.

`reading` declares those of reading pages, `services` those of the jobs beside the crawl. `sites` says what holds for
one host; `knobs` is the list that documents and error messages are made of.
"""

from __future__ import annotations

from tenax.config.checks import checked_config
from tenax.config.discovery import DiscoveryConfig, FreshnessConfig
from tenax.config.extract import DuplicatesConfig, ReadingConfig
from tenax.config.fetching import (
    BrowserConfig,
    CacheConfig,
    FetchConfig,
    GuardConfig,
    HostsConfig,
    PolitenessConfig,
    ProxyConfig,
    Section,
    ValidationConfig,
)
from tenax.config.load import Loaded, load
from tenax.config.schema import Knob, Setting, knobs, sections
from tenax.config.sections import (
    Config,
    CrawlConfig,
    EventsConfig,
    LedgerConfig,
    LogConfig,
    MetricsConfig,
    PoolConfig,
    ResilienceConfig,
    ScopeName,
    UrlsConfig,
)
from tenax.config.services import PageFetcherConfig, WorkerConfig
from tenax.config.sites import SiteConfig, Sites

__all__ = [
    "BrowserConfig",
    "CacheConfig",
    "Config",
    "CrawlConfig",
    "DiscoveryConfig",
    "DuplicatesConfig",
    "EventsConfig",
    "FetchConfig",
    "FreshnessConfig",
    "GuardConfig",
    "HostsConfig",
    "Knob",
    "LedgerConfig",
    "Loaded",
    "LogConfig",
    "MetricsConfig",
    "PageFetcherConfig",
    "PolitenessConfig",
    "PoolConfig",
    "ProxyConfig",
    "ReadingConfig",
    "ResilienceConfig",
    "ScopeName",
    "Section",
    "Setting",
    "SiteConfig",
    "Sites",
    "UrlsConfig",
    "ValidationConfig",
    "WorkerConfig",
    "checked_config",
    "knobs",
    "load",
    "sections",
]
