"""Lists every setting for the documentation and the error messages, and validates values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from tenax.config.crawl import Config
from tenax.config.fetch import Section
from tenax.errors import ConfigError
from tenax.text.sanitize import MASK, mask_text

_SECRET_KEYS = frozenset({"proxy.urls", "database.url", "redis.url", "events.redis", "page_fetcher.redis_url"})
_TYPE_NAMES = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    bool: ("true or false", "truth values"),
    str: ("a text", "texts"),
}


class Setting(msgspec.Struct, frozen=True):
    """One setting: its section, type, default and description."""

    section: str
    name: str
    type: Any
    default: Any
    meaning: str
    hint: Any
    """The type with its bounds."""

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        return f"TENAX_{self.section}_{self.name}".upper()

    @property
    def variables(self) -> tuple[str, ...]:
        """Every environment variable that sets this setting."""
        own = f"{self.section}_{self.name}".upper()
        return (self.variable, own) if self.section == "page_fetcher" else (self.variable,)

    @property
    def is_list(self) -> bool:
        return get_origin(self.type) is tuple

    @property
    def is_secret(self) -> bool:
        """Whether values of this setting hold passwords, which are masked."""
        return self.key in _SECRET_KEYS


class SettingValue(msgspec.Struct, frozen=True):
    """A value and its source."""

    value: Any
    source: str
    is_typed: bool = False
    """True if numbers are written as numbers (TOML, Python), so that text is not converted to a number."""


def sections() -> dict[str, type[Section]]:
    """The sections of a config, in order."""
    return {name: kind for name, kind in get_type_hints(Config).items() if _is_section(kind)}


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


@cache
def all_settings() -> tuple[Setting, ...]:
    """Every setting, in declared order."""
    return tuple(_declared_settings())


def _declared_settings() -> Iterator[Setting]:
    for section, section_type in sections().items():
        defaults = section_type()
        for name, hint in get_type_hints(section_type, include_extras=True).items():
            base, *notes = get_args(hint)
            yield Setting(
                section, name, base, default=getattr(defaults, name), meaning=notes[0].description or "", hint=hint
            )


def validate_value(setting: Setting, setting_value: SettingValue) -> Any:
    """The value, with the type of the setting and within its bounds. Text is converted to numbers and booleans."""
    is_text = isinstance(setting_value.value, (str, tuple)) and not setting_value.is_typed
    try:
        value = msgspec.convert(setting_value.value, setting.hint, strict=not is_text)
    except msgspec.ValidationError:
        raise _bad_value(setting, setting_value) from None
    if isinstance(value, float) and not math.isfinite(value):
        raise _bad_value(setting, setting_value)
    return value


def _bad_value(setting: Setting, setting_value: SettingValue) -> ConfigError:
    value = MASK if setting.is_secret else mask_text(repr(setting_value.value))
    return ConfigError(
        f"{setting_value.source}: bad value {value} for `{setting.key}`: it takes {_describe_type(setting)}"
    )


def _describe_type(setting: Setting) -> str:
    """The values that the setting accepts, for an error message."""
    if setting.is_list:
        item = get_args(setting.type)[0]
        return (
            f"a list of {_join_choices(item)}" if get_origin(item) is Literal else f"a list of {_TYPE_NAMES[item][1]}"
        )
    if get_origin(setting.type) is Literal:
        return _join_choices(setting.type)
    _, meta = get_args(setting.hint)
    bounds = [(meta.ge, "{} or more"), (meta.gt, "more than {}"), (meta.le, "at most {}"), (meta.lt, "less than {}")]
    return ", ".join(
        [_TYPE_NAMES[setting.type][0], *(words.format(bound) for bound, words in bounds if bound is not None)]
    )


def _join_choices(kind: Any) -> str:
    *first, last = get_args(kind)
    return f"{', '.join(first)} or {last}"


def suggest_name(word: str, known: Mapping[str, Any]) -> str:
    """The end of an error message about an unknown name."""
    import difflib

    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean `{close[0]}`?" if close else "; `tenax config` lists them all"
