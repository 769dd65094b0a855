"""Configuration: every setting with its default, and how files, variables and flags are combined.

`sections`, `fetching`, `discovery`, `extract` and `services` declare the settings. `load` combines their sources,
`checks` checks a config that a program made, and `sites` gives what holds for one host. `schema` lists every setting,
for the documents and the error messages.
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
