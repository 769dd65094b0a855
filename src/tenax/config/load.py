"""Combines the sources of settings, records where each value came from, and validates the result.

There are five sources: defaults, a TOML file, `TENAX_SECTION_KEY` variables, the tables of single sites in the file,
and command-line flags. A later source overrides an earlier one. An unknown key or value is refused with an error that
names the key and its source. A setting of the page-fetcher has a second variable, `PAGE_FETCHER_KEY`, which is the name
in its specification.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tenax.config.crawl import Config
from tenax.config.discovery import has_guess_source
from tenax.config.sites import SiteConfig, Sites, source_name, validate_sites
from tenax.config.validate import Setting, SettingValue, all_settings, sections, suggest_name, validate_value
from tenax.errors import ConfigError

PROGRAM_SOURCE = "tenax.Config"
"""The source of a value that no file, variable or flag has set."""


def validate_config(config: Config) -> Config:
    """Return the config with every value converted to its type. Raises `ConfigError` at the first invalid value.

    A frozen struct does not check its values when it is built. `load_config` checks the values that it reads; this
    function checks those of a config that a program has built.
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
    """Raises `ConfigError` for values that are valid alone, but not together. `sources` says where each value came
    from."""
    key = "discovery.sources"
    values_by_source = {sources.get(key, PROGRAM_SOURCE): config.discovery.sources}
    values_by_source |= {f'[site."{site}"]': own[key] for site, own in config.sites.items() if key in own}
    for where, values in values_by_source.items():
        if not values or ("none" in values and len(values) > 1):
            raise ConfigError(f"{where}: `discovery.sources` takes a list such as links,sitemaps, or `none` alone")


OWN_SITE_CONNECTIONS = 8
_CONNECTIONS = "politeness.connections_per_host"


class LoadedConfig(msgspec.Struct, frozen=True):
    """A config with the source of each of its values."""

    config: Config
    sources: dict[str, str]
    file: str = ""
    """The file with the tables of single sites."""

    def for_host(self, host: str) -> LoadedConfig:
        """The config that applies to one host, with the site table that each value comes from."""
        sites = Sites(self.config)
        site = sites.for_host(host)
        effective = msgspec.structs.replace(
            self.config, **{name: getattr(site, name) for name in SiteConfig.__struct_fields__}
        )
        sources = {key: source_name(self.file, pattern) for key, pattern in sites.setting_patterns(host).items()}
        return LoadedConfig(effective, {**self.sources, **sources}, self.file)

    def with_own_sites(self, hosts: Iterable[str]) -> LoadedConfig:
        """Allow several connections to those of these hosts that have no rate limit: a person typed them as sites of
        their own.

        If the number of connections was set, for all hosts or for one, it is kept.
        """
        if self.sources[_CONNECTIONS] != "default":
            return self
        sites, own = Sites(self.config), dict(self.config.sites)
        for host in hosts:
            is_unlimited = sites.for_host(host).politeness.rate_per_second == 0
            if is_unlimited and _CONNECTIONS not in sites.setting_patterns(host):
                with suppress(ConfigError):  # not a valid site name
                    own |= validate_sites({host: {**own.get(host, {}), _CONNECTIONS: OWN_SITE_CONNECTIONS}})
        return msgspec.structs.replace(self, config=msgspec.structs.replace(self.config, sites=own))


def load_config(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, SettingValue] | None = None,
    command_defaults: Mapping[str, SettingValue] | None = None,
) -> LoadedConfig:
    """Combine the sources with the defaults.

    `flags` maps `section.name` to a value and the flag that gave it. `command_defaults` are the defaults of a command;
    every other source overrides them.
    """
    known = {setting.key: setting for setting in all_settings()}
    flags = flags or {}
    for key, setting in flags.items():
        if key not in known:
            raise ConfigError(f"{setting.source}: unknown key `{key}`{suggest_name(key, known)}")
    tables = _read_tables(file) if file is not None else {}
    sites = _read_sites(tables.pop("site", {}), str(file), set(flags))
    settings = _enable_named_guesses(
        {
            **(command_defaults or {}),
            **_from_tables(tables, str(file), known),
            **_from_environment(environment or {}, known),
            **flags,
        }
    )
    sections: dict[str, Any] = {"sites": sites}
    for key, setting in settings.items():
        section, name = key.split(".")
        sections.setdefault(section, {})[name] = validate_value(known[key], setting)
    sources = {key: settings[key].source if key in settings else "default" for key in known}
    config = msgspec.convert(sections, Config)
    check_combinations(config, sources)
    return LoadedConfig(config, sources, str(file or ""))


def _enable_named_guesses(settings: Mapping[str, SettingValue]) -> dict[str, SettingValue]:
    """Enable guesses if a source that guesses was named, unless `discovery.guesses` is set."""
    named = settings.get("discovery.sources")
    if named is None or "discovery.guesses" in settings or not has_guess_source(named.value):
        return dict(settings)
    return {**settings, "discovery.guesses": SettingValue("always", named.source)}


def _read_tables(file: Path) -> dict[str, Any]:
    import tomllib  # reader processes, and crawls without a file, do not need it

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{file}: no such file; give --config the path of a TOML file, or leave it out") from None
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: not valid TOML: it is not written in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: not valid TOML: {error}") from None


def _from_tables(tables: Mapping[str, Any], file: str, known: Mapping[str, Setting]) -> dict[str, SettingValue]:
    settings = {}
    for section, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{file}: `{section}` must be in a section, such as [crawl]")
        for name, value in table.items():
            key = f"{section}.{name}"
            if key not in known:
                raise ConfigError(f"{file}: unknown key `{key}`{suggest_name(key, known)}")
            settings[key] = SettingValue(tuple(value) if isinstance(value, list) else value, file, is_typed=True)
    return settings


def _read_sites(tables: Any, file: str, flag_keys: set[str]) -> dict[str, dict[str, Any]]:
    """The settings of single sites in the file, without those that a flag sets, because a flag applies to every
    site."""
    if not isinstance(tables, dict):
        raise ConfigError(f'{file}: `site` must be a table, such as [site."example.org"]')
    sites = validate_sites(tables, file)
    left = {site: {key: value for key, value in own.items() if key not in flag_keys} for site, own in sites.items()}
    return {site: own for site, own in left.items() if own}


def _from_environment(environment: Mapping[str, str], known: Mapping[str, Setting]) -> dict[str, SettingValue]:
    variables = {name: setting for setting in known.values() for name in setting.variables}
    settings = {}
    # In declared order, so that TENAX_PAGE_FETCHER_… overrides the other name of the same setting.
    for variable, text in sorted(environment.items()):
        if not variable.startswith(("TENAX_", "PAGE_FETCHER_")) or variable.startswith("TENAX_TEST_"):
            continue
        setting = variables.get(variable)
        if setting is None:
            raise ConfigError(f"unknown variable {variable}{suggest_name(variable, variables)}")
        value = tuple(part.strip() for part in text.split(",") if part.strip()) if setting.is_list else text
        settings[setting.key] = SettingValue(value, variable)
    return settings
