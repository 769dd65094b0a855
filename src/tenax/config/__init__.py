"""Configuration: every setting with its default, and how files, variables and flags are combined.

`crawl`, `fetch`, `discovery`, `extract` and `services` declare the settings. `load` combines their sources, and
validates a config that a program has built. `sites` gives the settings of one host. `validate` lists every setting for
the documentation and the error messages.
"""

from __future__ import annotations

from tenax.config.crawl import (
    Config,
    CrawlConfig,
    DatabaseConfig,
    EventsConfig,
    LogConfig,
    MetricsConfig,
    PoolConfig,
    ResilienceConfig,
    ScopeName,
    UrlsConfig,
)
from tenax.config.discovery import DiscoveryConfig, RecrawlConfig
from tenax.config.extract import DuplicatesConfig, ExtractConfig
from tenax.config.fetch import (
    BrowserConfig,
    CacheConfig,
    FetchConfig,
    GuardConfig,
    HostsConfig,
    PolitenessConfig,
    ProxyConfig,
    RedisConfig,
    Section,
    ValidationConfig,
    sent_user_agent,
)
from tenax.config.load import LoadedConfig, load_config, validate_config
from tenax.config.services import PageFetcherConfig, WorkerConfig
from tenax.config.sites import SiteConfig, Sites
from tenax.config.validate import Setting, SettingValue, all_settings, sections

__all__ = [
    "BrowserConfig",
    "CacheConfig",
    "Config",
    "CrawlConfig",
    "DatabaseConfig",
    "DiscoveryConfig",
    "DuplicatesConfig",
    "EventsConfig",
    "ExtractConfig",
    "FetchConfig",
    "GuardConfig",
    "HostsConfig",
    "LoadedConfig",
    "LogConfig",
    "MetricsConfig",
    "PageFetcherConfig",
    "PolitenessConfig",
    "PoolConfig",
    "ProxyConfig",
    "RecrawlConfig",
    "RedisConfig",
    "ResilienceConfig",
    "ScopeName",
    "Section",
    "Setting",
    "SettingValue",
    "SiteConfig",
    "Sites",
    "UrlsConfig",
    "ValidationConfig",
    "WorkerConfig",
    "all_settings",
    "load_config",
    "sections",
    "sent_user_agent",
    "validate_config",
]
