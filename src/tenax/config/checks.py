"""Validation of a config built in code, and of settings that depend on each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tenax.config.schema import SettingValue, all_settings, sections, validate_value
from tenax.config.sections import Config
from tenax.config.sites import validate_sites
from tenax.errors import ConfigError

PROGRAM_SOURCE = "tenax.Config"
"""The source of a value that no file, variable or flag set."""


def validate_config(config: Config) -> Config:
    """Return the config with every value converted to its type. Raises `ConfigError` at the first invalid value.

    A frozen struct does not check its values when it is built; `load_config` checks what it reads, this checks the
    rest.
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
    """Raises `ConfigError` for values that are valid alone but not together; `sources` says where each came from."""
    key = "discovery.sources"
    values_by_source = {sources.get(key, PROGRAM_SOURCE): config.discovery.sources}
    values_by_source |= {f'[site."{site}"]': own[key] for site, own in config.sites.items() if key in own}
    for where, values in values_by_source.items():
        if not values or ("none" in values and len(values) > 1):
            raise ConfigError(f"{where}: `discovery.sources` takes a list such as links,sitemaps, or `none` alone")
