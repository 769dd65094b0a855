"""What holds for one site: the sections of fetching and manners, with what the config says about that host.

A site is named by its host (`example.org`) or as everything below a name (`*.example.org`, which is not example.org
itself). Where several fit, each knob is taken from the most specific one that sets it: the longer name before the
shorter, the host's own before them all.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tenax.config.discovery import DiscoveryConfig, FreshnessConfig, names_guesses
from tenax.config.extract import DuplicatesConfig, ReadingConfig
from tenax.config.fetching import (
    BrowserConfig,
    CacheConfig,
    FetchConfig,
    HostsConfig,
    PolitenessConfig,
    ProxyConfig,
    Section,
    ValidationConfig,
)
from tenax.config.schema import Knob, Setting, checked, knobs, nearest
from tenax.config.sections import Config
from tenax.errors import ConfigError

_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
# One browser and one Redis serve all sites; a site cannot have its own.
_OF_THE_WHOLE_CRAWL = frozenset({
    "hosts.url", "freshness.keep",
    "browser.executable", "browser.pages", "browser.max_pages_per_session", "browser.max_session_seconds",
    "browser.health_check_seconds", "browser.max_consecutive_errors",
})  # fmt: skip


class SiteConfig(Section, frozen=True):
    """The knobs as they hold for one host."""

    politeness: PolitenessConfig = PolitenessConfig()
    fetch: FetchConfig = FetchConfig()
    hosts: HostsConfig = HostsConfig()
    cache: CacheConfig = CacheConfig()
    proxy: ProxyConfig = ProxyConfig()
    browser: BrowserConfig = BrowserConfig()
    validation: ValidationConfig = ValidationConfig()
    discovery: DiscoveryConfig = DiscoveryConfig()
    freshness: FreshnessConfig = FreshnessConfig()
    reading: ReadingConfig = ReadingConfig()
    duplicates: DuplicatesConfig = DuplicatesConfig()


def host_of(origin: str) -> str:
    """The name in `scheme://host` with or without a port, as a site is called; an IPv6 address keeps its brackets."""
    authority = origin.partition("://")[2]
    address, bracket, _ = authority.partition("]")
    return address + bracket if bracket else authority.partition(":")[0]


class _Site(msgspec.Struct, frozen=True):
    config: SiteConfig
    patterns: dict[str, str] = {}
    """The knobs that differ from the rest of the crawl, and the pattern that says so."""


class Sites:
    """Every site of a config, worked out once: asking costs a look-up for each dot of the name, and keeps nothing."""

    def __init__(self, config: Config) -> None:
        self._everywhere = _Site(SiteConfig(**{name: getattr(config, name) for name in SiteConfig.__struct_fields__}))
        self._hosts: dict[str, _Site] = {}
        self._below: dict[str, _Site] = {}
        overrides = checked_sites(config.sites)
        # Shorter names first: a site is built on the next wider one that holds it.
        for pattern in sorted(overrides, key=lambda pattern: (not pattern.startswith("*."), pattern.count("."))):
            name = pattern.removeprefix("*.")
            site = _changed(self._around(name), pattern, overrides[pattern])
            (self._hosts if name == pattern else self._below)[name] = site

    def of(self, host: str) -> SiteConfig:
        """`host` is a name without its port, in lower case; an IPv6 address stands in brackets."""
        return self._at(host).config

    def of_origin(self, origin: str) -> SiteConfig:
        """The same for `scheme://host` with or without a port."""
        if not self._hosts and not self._below:
            return self._everywhere.config
        return self.of(host_of(origin))

    def __iter__(self) -> Iterator[SiteConfig]:
        """All that differ, the one for hosts that nothing is said about first; to check values that only a user of
        them understands."""
        yield from (site.config for site in (self._everywhere, *self._below.values(), *self._hosts.values()))

    def patterns(self, host: str) -> Mapping[str, str]:
        """The knobs that are set for this host, and the pattern that each of them comes from."""
        return self._at(host).patterns

    def _at(self, host: str) -> _Site:
        return self._hosts.get(host) or self._around(host)

    def _around(self, name: str) -> _Site:
        """The most specific `*.` pattern that this name is below of."""
        while self._below and name:
            name = name.partition(".")[2]
            if name in self._below:
                return self._below[name]
        return self._everywhere


def _changed(wider: _Site, pattern: str, changes: Mapping[str, Any]) -> _Site:
    if names_guesses(changes.get("discovery.sources")):  # whoever names them asks for them
        changes = {"discovery.guesses": "always", **changes}
    sections: dict[str, dict[str, Any]] = {}
    for key, value in changes.items():
        section, name = key.split(".")
        sections.setdefault(section, {})[name] = value
    changed = {name: msgspec.structs.replace(getattr(wider.config, name), **new) for name, new in sections.items()}
    patterns = {**wider.patterns, **dict.fromkeys(changes, pattern)}
    return _Site(msgspec.structs.replace(wider.config, **changed), patterns)


def checked_sites(tables: Mapping[str, Any], file: str = "") -> dict[str, dict[str, Any]]:
    """The overrides of each site by `section.name`, each of its knob's type. Raises `ConfigError` at the first slip."""
    if not tables:
        return {}
    known = {knob.key: knob for knob in knobs() if knob.section in SiteConfig.__struct_fields__}
    start = f"{file}: " if file else ""
    sites: dict[str, dict[str, Any]] = {}
    for written, table in tables.items():
        source = f'{start}[site."{written}"]'
        pattern = _spelled(written, source)
        if not isinstance(table, Mapping):
            raise ConfigError(f"{source}: `{written}` must be a table of settings")
        if pattern in sites:
            raise ConfigError(f"{source}: this site is named twice; put its settings together")
        sites[pattern] = {
            key: _checked(key, value, source, pattern, known) for key, value in _by_key(table).items()
        }  # fmt: skip
    return sites


def source_name(file: str, pattern: str) -> str:
    """How a site's table is named to people."""
    return f'{file} [site."{pattern}"]'.strip()


def _by_key(table: Mapping[str, Any]) -> dict[str, Any]:
    """`politeness.rate_per_second = 1` and a table [….politeness] are the same to TOML; a quoted key means it too."""
    flat: dict[str, Any] = {}
    for section, inner in table.items():
        if isinstance(inner, Mapping):
            flat.update((f"{section}.{name}", value) for name, value in inner.items())
        else:
            flat[section] = inner
    return flat


def _checked(key: str, value: Any, source: str, pattern: str, known: Mapping[str, Knob]) -> Any:
    if key not in known or key in _OF_THE_WHOLE_CRAWL:
        raise ConfigError(f"{source}: {_why_unknown(key, pattern, known)}")
    setting = Setting(tuple(value) if isinstance(value, list) else value, source, is_typed=True)
    return checked(known[key], setting)


def _why_unknown(key: str, pattern: str, known: Mapping[str, Knob]) -> str:
    if any(knob.key == key for knob in knobs()):
        return f"`{key}` holds for the whole crawl and cannot be set for one site"
    if "." not in pattern and key.partition(".")[0] not in Config.__struct_fields__:
        return f'unknown key `{key}`; a name with dots stands in quotes, as in [site."example.org"]'
    return f"unknown key `{key}`{nearest(key, known)}"


def _spelled(written: str, source: str) -> str:
    """The pattern as hosts are written: lower case, punycode, an IPv6 address in brackets."""
    below, name = ("*.", written[2:]) if written.startswith("*.") else ("", written)
    name = ".".join(_ascii(label) for label in unicodedata.normalize("NFKC", name.lower()).rstrip(".").split("."))
    if not below and ":" in name:
        try:
            return f"[{ipaddress.IPv6Address(name.strip('[]'))}]"
        except ValueError:
            pass
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{source}: a site is a host name such as example.org, or *.example.org for every host below it, "
            "without scheme, port or path"
        )
    return below + name


def _ascii(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
