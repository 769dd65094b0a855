"""Every knob as the documents and the error messages see it, and how a value given for one is checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from tenax.config.fetching import Section
from tenax.config.sections import Config
from tenax.errors import ConfigError
from tenax.text.masking import MASK, mask_text

_SECRETS = frozenset({"proxy.urls", "ledger.url", "hosts.url", "events.redis", "page_fetcher.redis_url"})
_KINDS = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    bool: ("true or false", "truth values"),
    str: ("a text", "texts"),
}


class Knob(msgspec.Struct, frozen=True):
    """One knob: where it stands, what it takes, what it means."""

    section: str
    name: str
    type: Any
    default: Any
    meaning: str
    hint: Any
    """Its type with its bounds."""

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        return f"TENAX_{self.section}_{self.name}".upper()

    @property
    def variables(self) -> tuple[str, ...]:
        """Every variable of the environment that sets it."""
        own = f"{self.section}_{self.name}".upper()
        return (self.variable, own) if self.section == "page_fetcher" else (self.variable,)

    @property
    def takes_a_list(self) -> bool:
        return get_origin(self.type) is tuple

    @property
    def is_secret(self) -> bool:
        """Whether its values hold passwords, and are never shown whole."""
        return self.key in _SECRETS


class Setting(msgspec.Struct, frozen=True):
    """A value and where it came from."""

    value: Any
    source: str
    is_typed: bool = False
    """True where numbers are written as numbers, so that text is only text: in TOML, in Python."""


def sections() -> dict[str, type[Section]]:
    """The sections of a config, in its order."""
    return {name: kind for name, kind in get_type_hints(Config).items() if _is_section(kind)}


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


@cache
def knobs() -> tuple[Knob, ...]:
    """Every knob, in the order it is declared."""
    return tuple(_declared())


def _declared() -> Iterator[Knob]:
    for section, section_type in sections().items():
        defaults = section_type()
        for name, hint in get_type_hints(section_type, include_extras=True).items():
            base, *notes = get_args(hint)
            yield Knob(section, name, base, getattr(defaults, name), notes[0].description or "", hint)


def checked(knob: Knob, setting: Setting) -> Any:
    """The value, of the knob's type and within its bounds. Text is read as numbers and truth values."""
    is_text = isinstance(setting.value, (str, tuple)) and not setting.is_typed
    try:
        value = msgspec.convert(setting.value, knob.hint, strict=not is_text)
    except msgspec.ValidationError:
        raise _bad_value(knob, setting) from None
    if isinstance(value, float) and not math.isfinite(value):
        raise _bad_value(knob, setting)
    return value


def _bad_value(knob: Knob, setting: Setting) -> ConfigError:
    value = MASK if knob.is_secret else mask_text(repr(setting.value))
    return ConfigError(f"{setting.source}: bad value {value} for `{knob.key}`: it takes {_wanted(knob)}")


def _wanted(knob: Knob) -> str:
    """What the knob takes, for whoever gave something else."""
    if knob.takes_a_list:
        item = get_args(knob.type)[0]
        return f"a list of {_either(item)}" if get_origin(item) is Literal else f"a list of {_KINDS[item][1]}"
    if get_origin(knob.type) is Literal:
        return _either(knob.type)
    _, meta = get_args(knob.hint)
    bounds = [(meta.ge, "{} or more"), (meta.gt, "more than {}"), (meta.le, "at most {}"), (meta.lt, "less than {}")]
    return ", ".join([_KINDS[knob.type][0], *(words.format(bound) for bound, words in bounds if bound is not None)])


def _either(kind: Any) -> str:
    *first, last = get_args(kind)
    return f"{', '.join(first)} or {last}"


def nearest(word: str, known: Mapping[str, Any]) -> str:
    """How the sentence about an unknown word ends."""
    import difflib

    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean `{close[0]}`?" if close else "; `tenax config` lists them all"
