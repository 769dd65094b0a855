"""Checks of a config that a program made, and of settings that only make sense together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tenax.config.schema import SettingValue, all_settings, sections, validate_value
from tenax.config.sections import Config
from tenax.config.sites import validate_sites
from tenax.errors import ConfigError

PROGRAM_SOURCE = "tenax.Config"
"""Where a value came from that no file, variable or flag has set."""


def validate_config(config: Config) -> Config:
    """The config with every value of its setting's type and within its bounds. Raises `ConfigError` at the first slip.

    A frozen struct takes any value when it is made; `load` checks what it reads, this checks what a program made.
    """
    if not isinstance(config, Config):
        raise ConfigError(f"config must be a tenax.Config, not {type(config).__name__}")
    for name, kind in sections().items():
        if not isinstance(getattr(config, name), kind):
            raise ConfigError(f"{PROGRAM_SOURCE}: `{name}` must be a {kind.__name__}")
    values: dict[str, dict[str, Any]] = {}
    for setting in all_settings():
        value = getattr(getattr(config, setting.section), setting.name)
        values.setdefault(setting.section, {})[setting.name] = validate_value(
            setting, SettingValue(value, PROGRAM_SOURCE, is_typed=True)
        )
    replaced = {name: msgspec.structs.replace(getattr(config, name), **own) for name, own in values.items()}
    result = msgspec.structs.replace(config, **replaced, sites=validate_sites(config.sites))
    check_combinations(result, {})
    return result


def check_combinations(config: Config, sources: Mapping[str, str]) -> None:
    """Raises `ConfigError` for values that are right alone and wrong together; `sources` says where each came from."""
    key = "discovery.sources"
    said = {sources.get(key, PROGRAM_SOURCE): config.discovery.sources}
    said |= {f'[site."{site}"]': own[key] for site, own in config.sites.items() if key in own}
    for where, ways in said.items():
        if not ways or ("none" in ways and len(ways) > 1):
            raise ConfigError(f"{where}: give ways to find pages, such as links,sitemaps, or `none` alone")
