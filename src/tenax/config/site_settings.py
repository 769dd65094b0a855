"""The settings that decided which requests a crawl sent, stored with it so that they can be explained later."""

from __future__ import annotations

from typing import Any

import msgspec

from tenax.config import Config, Sites

SITE_SETTINGS = "site settings"
"""The key under which the database stores them."""
_KEYS = ("fetch.user_agent", "fetch.profile", "discovery.sources", "duplicates.follow")


class _StoredSettings(msgspec.Struct, frozen=True):
    defaults: dict[str, Any] = {}
    sites: dict[str, dict[str, Any]] = {}


def encode_site_settings(config: Config) -> bytes:
    """User agent, sources of discovery and duplicate handling, for all sites and for single ones."""
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
