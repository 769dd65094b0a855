"""The settings of a crawl that decided what was asked for, remembered with it: whoever explains it later needs them."""

from __future__ import annotations

from typing import Any

import msgspec

from tenax.config import Config, Sites

SITE_SETTINGS = "site settings"
"""The name under which a database remembers them."""
_KEYS = ("fetch.user_agent", "fetch.profile", "discovery.sources", "duplicates.follow")


class _StoredSettings(msgspec.Struct, frozen=True):
    defaults: dict[str, Any] = {}
    sites: dict[str, dict[str, Any]] = {}


def encode_site_settings(config: Config) -> bytes:
    """How the crawl names itself and which ways of discovery it uses, for all sites and for single ones."""
    everywhere = {key: _setting_value(config, key) for key in _KEYS}
    sites = {site: {key: own[key] for key in _KEYS if key in own} for site, own in config.sites.items()}
    return msgspec.json.encode(_StoredSettings(everywhere, {site: own for site, own in sites.items() if own}))


def decode_site_settings(stored: bytes | None) -> Sites:
    """The same settings, and defaults for all others."""
    kept = msgspec.json.decode(stored, type=_StoredSettings) if stored else _StoredSettings()
    sections: dict[str, dict[str, Any]] = {}
    for key, value in kept.defaults.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = tuple(value) if isinstance(value, list) else value
    defaults = Config()
    changed = {name: msgspec.structs.replace(getattr(defaults, name), **new) for name, new in sections.items()}
    return Sites(msgspec.structs.replace(defaults, **changed, sites=kept.sites))


def _setting_value(config: Config, key: str) -> Any:
    section, _, name = key.partition(".")
    return getattr(getattr(config, section), name)
