"""The settings of one site: the sections that may differ, with the overrides for a host, and their stored form.

A site is a host (`example.org`), or all hosts below a name (`*.example.org`, which does not match example.org itself).
If several sites match a host, each setting comes from the most specific one that sets it: first the host itself, then
longer names before shorter ones.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from tenax.config.crawl import Config
from tenax.config.discovery import DiscoveryConfig, RecrawlConfig, has_guess_source
from tenax.config.extract import DuplicatesConfig, ExtractConfig
from tenax.config.fetch import (
    BrowserConfig,
    CacheConfig,
    FetchConfig,
    HostsConfig,
    PolitenessConfig,
    ProxyConfig,
    Section,
    ValidationConfig,
)
from tenax.config.validate import Setting, SettingValue, all_settings, suggest_name, validate_value
from tenax.errors import ConfigError

MAX_CACHED_ORIGINS = 4096
_HOST_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
# These settings apply to the whole crawl: how it runs, and the one browser that serves all sites.
_GLOBAL_KEYS = frozenset({
    "recrawl.continuous",
    "browser.executable", "browser.pages", "browser.max_pages_per_session", "browser.max_session_seconds",
    "browser.health_check_seconds", "browser.max_consecutive_errors",
})  # fmt: skip


class SiteConfig(Section, frozen=True):
    """The settings that apply to one host."""

    politeness: PolitenessConfig = PolitenessConfig()
    fetch: FetchConfig = FetchConfig()
    hosts: HostsConfig = HostsConfig()
    cache: CacheConfig = CacheConfig()
    proxy: ProxyConfig = ProxyConfig()
    browser: BrowserConfig = BrowserConfig()
    validation: ValidationConfig = ValidationConfig()
    discovery: DiscoveryConfig = DiscoveryConfig()
    recrawl: RecrawlConfig = RecrawlConfig()
    extract: ExtractConfig = ExtractConfig()
    duplicates: DuplicatesConfig = DuplicatesConfig()


def origin_host(origin: str) -> str:
    """The host of `scheme://host`, with or without a port. An IPv6 address keeps its brackets."""
    authority = origin.partition("://")[2]
    address, bracket, _ = authority.partition("]")
    return address + bracket if bracket else authority.partition(":")[0]


class _Site(msgspec.Struct, frozen=True):
    config: SiteConfig
    patterns: dict[str, str] = {}
    """The settings that differ from the rest of the crawl, with the pattern that sets each."""


class Sites:
    """Every site of a config, computed once.

    A look-up takes one step per dot in the name. Look-ups by origin are cached.
    """

    def __init__(self, config: Config) -> None:
        self.for_origin = lru_cache(MAX_CACHED_ORIGINS)(self._for_origin)
        """The settings of a host, given as `scheme://host`, with or without a port."""
        self._default_site = _Site(SiteConfig(**{name: getattr(config, name) for name in SiteConfig.__struct_fields__}))
        self._host_sites: dict[str, _Site] = {}
        self._subdomain_sites: dict[str, _Site] = {}
        overrides = validate_sites(config.sites)
        # Shorter names first, because a site inherits from the next wider one.
        for pattern in sorted(overrides, key=lambda pattern: (not pattern.startswith("*."), pattern.count("."))):
            name = pattern.removeprefix("*.")
            site = _override_site(self._enclosing_site(name), pattern, overrides[pattern])
            (self._host_sites if name == pattern else self._subdomain_sites)[name] = site

    def for_host(self, host: str) -> SiteConfig:
        """The settings of a host. `host` is a name without its port, in lower case; an IPv6 address is in brackets."""
        return self._site_for_host(host).config

    def _for_origin(self, origin: str) -> SiteConfig:
        if not self._host_sites and not self._subdomain_sites:
            return self._default_site.config
        return self.for_host(origin_host(origin))

    def __iter__(self) -> Iterator[SiteConfig]:
        """All distinct site configs, the default one first. For checks outside of this package."""
        yield from (
            site.config for site in (self._default_site, *self._subdomain_sites.values(), *self._host_sites.values())
        )

    def setting_patterns(self, host: str) -> Mapping[str, str]:
        """The settings that are set for this host, and the pattern of each."""
        return self._site_for_host(host).patterns

    def _site_for_host(self, host: str) -> _Site:
        return self._host_sites.get(host) or self._enclosing_site(host)

    def _enclosing_site(self, name: str) -> _Site:
        """The most specific `*.` pattern that matches this name."""
        while self._subdomain_sites and name:
            name = name.partition(".")[2]
            if name in self._subdomain_sites:
                return self._subdomain_sites[name]
        return self._default_site


def _override_site(parent: _Site, pattern: str, changes: Mapping[str, Any]) -> _Site:
    if has_guess_source(changes.get("discovery.sources")):  # the source was named, so it is enabled
        changes = {"discovery.guesses": "always", **changes}
    sections: dict[str, dict[str, Any]] = {}
    for key, value in changes.items():
        section, name = key.split(".")
        sections.setdefault(section, {})[name] = value
    changed = {name: msgspec.structs.replace(getattr(parent.config, name), **new) for name, new in sections.items()}
    patterns = {**parent.patterns, **dict.fromkeys(changes, pattern)}
    return _Site(msgspec.structs.replace(parent.config, **changed), patterns)


def validate_sites(tables: Mapping[str, Any], file: str = "") -> dict[str, dict[str, Any]]:
    """The overrides of each site by `section.name`, converted. Raises `ConfigError` at the first invalid value."""
    if not tables:
        return {}
    known = {setting.key: setting for setting in all_settings() if setting.section in SiteConfig.__struct_fields__}
    start = f"{file}: " if file else ""
    sites: dict[str, dict[str, Any]] = {}
    for written, table in tables.items():
        source = f'{start}[site."{written}"]'
        pattern = _normalize_pattern(written, source)
        if not isinstance(table, Mapping):
            raise ConfigError(f"{source}: `{written}` must be a table of settings")
        if pattern in sites:
            raise ConfigError(f"{source}: this site is named twice; put its settings together")
        sites[pattern] = {
            key: _validate_override(key, value, source, pattern, known) for key, value in _flatten_table(table).items()
        }  # fmt: skip
    return sites


def source_name(file: str, pattern: str) -> str:
    """The name of a site's table, as shown in messages."""
    return f'{file} [site."{pattern}"]'.strip()


def _flatten_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a site's table by full key, such as `politeness.rate_per_second`.

    TOML nests a dotted key like a table [….politeness]. A quoted dotted key is not nested, and is taken as it is.
    """
    flat: dict[str, Any] = {}
    for section, inner in table.items():
        if isinstance(inner, Mapping):
            flat.update((f"{section}.{name}", value) for name, value in inner.items())
        else:
            flat[section] = inner
    return flat


def _validate_override(key: str, value: Any, source: str, pattern: str, known: Mapping[str, Setting]) -> Any:
    if key not in known or key in _GLOBAL_KEYS:
        raise ConfigError(f"{source}: {_unknown_key_reason(key, pattern, known)}")
    setting = SettingValue(tuple(value) if isinstance(value, list) else value, source, is_typed=True)
    return validate_value(known[key], setting)


def _unknown_key_reason(key: str, pattern: str, known: Mapping[str, Setting]) -> str:
    if any(setting.key == key for setting in all_settings()):
        return f"`{key}` applies to the whole crawl and cannot be set for one site"
    if "." not in pattern and key.partition(".")[0] not in Config.__struct_fields__:
        return f'unknown key `{key}`; put a name with dots in quotes, as in [site."example.org"]'
    return f"unknown key `{key}`{suggest_name(key, known)}"


def _normalize_pattern(written: str, source: str) -> str:
    """The normalized pattern: lower case, punycode, an IPv6 address in brackets."""
    below, name = ("*.", written[2:]) if written.startswith("*.") else ("", written)
    name = ".".join(_to_punycode(label) for label in unicodedata.normalize("NFKC", name.lower()).rstrip(".").split("."))
    if not below and ":" in name:
        try:
            return f"[{ipaddress.IPv6Address(name.strip('[]'))}]"
        except ValueError:
            pass
    if not _HOST_NAME.fullmatch(name):
        raise ConfigError(
            f"{source}: a site is a host name such as example.org, or *.example.org for every host below it, "
            "without scheme, port or path"
        )
    return below + name


def _to_punycode(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"


SITE_SETTINGS = "site settings"
"""The key under which the database stores these settings."""
_KEYS = ("fetch.user_agent", "fetch.profile", "discovery.sources", "duplicates.follow")


class _StoredSettings(msgspec.Struct, frozen=True):
    defaults: dict[str, Any] = {}
    sites: dict[str, dict[str, Any]] = {}


def encode_site_settings(config: Config) -> bytes:
    """The settings that are stored: User-Agent, sources of discovery and duplicate handling, for all sites and for
    single ones."""
    defaults = {key: _setting_value(config, key) for key in _KEYS}
    sites = {site: {key: own[key] for key in _KEYS if key in own} for site, own in config.sites.items()}
    return msgspec.json.encode(_StoredSettings(defaults, {site: own for site, own in sites.items() if own}))


def decode_site_settings(stored: bytes | None) -> Sites:
    """The stored settings, with defaults for all others."""
    settings = msgspec.json.decode(stored, type=_StoredSettings) if stored else _StoredSettings()
    sections: dict[str, dict[str, Any]] = {}
    for key, value in settings.defaults.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = tuple(value) if isinstance(value, list) else value
    defaults = Config()
    changed = {name: msgspec.structs.replace(getattr(defaults, name), **new) for name, new in sections.items()}
    return Sites(msgspec.structs.replace(defaults, **changed, sites=settings.sites))


def _setting_value(config: Config, key: str) -> Any:
    section, _, name = key.partition(".")
    return getattr(getattr(config, section), name)
