"""Laying the sources of settings over each other, and remembering where each value came from.

Values come from five places; the later wins: the defaults, a TOML file, `TENAX_SECTION_KEY` variables, the file's
tables of single sites, command-line flags. A key or a value that is not known is refused in a sentence that names
both. A knob of the page-fetcher has a second variable, `PAGE_FETCHER_KEY`: the name that its neighbours know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tenax.config.checks import check_together
from tenax.config.discovery import names_guesses
from tenax.config.schema import Knob, Setting, checked, knobs, nearest
from tenax.config.sections import Config
from tenax.config.sites import SiteConfig, Sites, checked_sites, source_name
from tenax.errors import ConfigError

OWN_SITE_CONNECTIONS = 8
_CONNECTIONS = "politeness.connections_per_host"


class Loaded(msgspec.Struct, frozen=True):
    """A config that remembers the source of each of its values."""

    config: Config
    sources: dict[str, str]
    file: str = ""
    """Where the tables of single sites were read."""

    def at(self, host: str) -> Loaded:
        """The config as it holds for one host, and which site's table says so."""
        sites = Sites(self.config)
        site = sites.of(host)
        effective = msgspec.structs.replace(
            self.config, **{name: getattr(site, name) for name in SiteConfig.__struct_fields__}
        )
        sources = {key: source_name(self.file, pattern) for key, pattern in sites.patterns(host).items()}
        return Loaded(effective, {**self.sources, **sources}, self.file)

    def with_own_sites(self, hosts: Iterable[str]) -> Loaded:
        """Several connections to those of these hosts that have no rate limit: a person typed them, as sites of their
        own. A number of connections that was set, for all hosts or for one, stays as it is."""
        if self.sources[_CONNECTIONS] != "default":
            return self
        sites, own = Sites(self.config), dict(self.config.sites)
        for host in hosts:
            is_unlimited = sites.of(host).politeness.rate_per_second == 0
            if is_unlimited and _CONNECTIONS not in sites.patterns(host):
                with suppress(ConfigError):  # a name that no site can be set for
                    own |= checked_sites({host: {**own.get(host, {}), _CONNECTIONS: OWN_SITE_CONNECTIONS}})
        return msgspec.structs.replace(self, config=msgspec.structs.replace(self.config, sites=own))


def load(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Setting] | None = None,
    beneath: Mapping[str, Setting] | None = None,
) -> Loaded:
    """Lay the sources over the defaults. `flags` maps `section.name` to a value and the flag that gave it.

    `beneath` holds a command's own defaults, which everything else is stronger than.
    """
    known = {knob.key: knob for knob in knobs()}
    flags = flags or {}
    for key, setting in flags.items():
        if key not in known:
            raise ConfigError(f"{setting.source}: unknown key `{key}`{nearest(key, known)}")
    tables = _tables(file) if file is not None else {}
    sites = _sites(tables.pop("site", {}), str(file), set(flags))
    settings = _with_guesses_asked(
        {
            **(beneath or {}),
            **_from_tables(tables, str(file), known),
            **_from_environment(environment or {}, known),
            **flags,
        }
    )
    sections: dict[str, Any] = {"sites": sites}
    for key, setting in settings.items():
        section, name = key.split(".")
        sections.setdefault(section, {})[name] = checked(known[key], setting)
    sources = {key: settings[key].source if key in settings else "default" for key in known}
    config = msgspec.convert(sections, Config)
    check_together(config, sources)
    return Loaded(config, sources, str(file or ""))


def _with_guesses_asked(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Whoever names a way of guessing among the sources asks for guesses, unless they say otherwise."""
    named = settings.get("discovery.sources")
    if named is None or "discovery.guesses" in settings or not names_guesses(named.value):
        return dict(settings)
    return {**settings, "discovery.guesses": Setting("always", named.source)}


def _tables(file: Path) -> dict[str, Any]:
    import tomllib  # a crawl without such a file does without it, and so do its readers

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


def _from_tables(tables: Mapping[str, Any], file: str, known: Mapping[str, Knob]) -> dict[str, Setting]:
    settings = {}
    for section, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{file}: `{section}` must stand in a section, such as [crawl]")
        for name, value in table.items():
            key = f"{section}.{name}"
            if key not in known:
                raise ConfigError(f"{file}: unknown key `{key}`{nearest(key, known)}")
            settings[key] = Setting(tuple(value) if isinstance(value, list) else value, file, is_typed=True)
    return settings


def _sites(tables: Any, file: str, flagged: set[str]) -> dict[str, dict[str, Any]]:
    """What the file says about single sites, but for knobs that a flag sets: whoever types one means every site."""
    if not isinstance(tables, dict):
        raise ConfigError(f'{file}: `site` must be a table, such as [site."example.org"]')
    sites = checked_sites(tables, file)
    left = {site: {key: value for key, value in own.items() if key not in flagged} for site, own in sites.items()}
    return {site: own for site, own in left.items() if own}


def _from_environment(environment: Mapping[str, str], known: Mapping[str, Knob]) -> dict[str, Setting]:
    variables = {name: knob for knob in known.values() for name in knob.variables}
    settings = {}
    # In their order, so that of two names for one knob TENAX_PAGE_FETCHER_… is the stronger.
    for variable, text in sorted(environment.items()):
        if not variable.startswith(("TENAX_", "PAGE_FETCHER_")) or variable.startswith("TENAX_TEST_"):
            continue
        knob = variables.get(variable)
        if knob is None:
            raise ConfigError(f"unknown variable {variable}{nearest(variable, variables)}")
        value = tuple(part.strip() for part in text.split(",") if part.strip()) if knob.takes_a_list else text
        settings[knob.key] = Setting(value, variable)
    return settings
