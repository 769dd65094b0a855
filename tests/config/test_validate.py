"""The list of settings: each with a description, a unit, a default within its bounds and its own variable."""

from __future__ import annotations

import re
from typing import get_args, get_type_hints

import pytest

from tenax.config import Config, Section, Setting, all_settings, sections


@pytest.mark.parametrize("setting", list(all_settings()), ids=lambda setting: setting.key)
def test_every_setting_says_what_it_means(setting: Setting) -> None:
    assert len(setting.meaning) > 15
    assert setting.meaning.endswith(".")
    assert re.fullmatch(r"[a-z_]+\.[a-z_]+", setting.key)
    assert setting.variable == "TENAX_" + setting.key.upper().replace(".", "_")


@pytest.mark.parametrize("setting", list(all_settings()), ids=lambda setting: setting.key)
def test_a_number_has_its_unit_in_its_name(setting: Setting) -> None:
    """A float is a measure; only ratios and rates go without `seconds` in the name."""
    if setting.type is float:
        assert re.search(
            r"seconds|per_second|per_minute|per_day|jitter|factor|multiplier|similarity|ratio", setting.name
        )


def test_every_section_is_a_section_and_every_variable_its_own() -> None:
    assert [*sections(), "sites"] == list(Config.__struct_fields__)
    assert all(issubclass(section, Section) and section.__doc__ for section in sections().values())
    variables = [setting.variable for setting in all_settings()]
    assert len(variables) == len(set(variables))


def test_only_what_holds_passwords_is_secret() -> None:
    secret = [setting.key for setting in all_settings() if setting.is_secret]
    assert secret == ["redis.url", "proxy.urls", "database.url", "events.redis", "page_fetcher.redis_url"]


def test_every_bound_holds_for_the_default() -> None:
    """msgspec checks bounds when it converts, not when a struct is made: a default outside of them would go unseen."""
    for section, section_type in sections().items():
        for name, hint in get_type_hints(section_type, include_extras=True).items():
            _, meta = get_args(hint)
            default = getattr(section_type(), name)
            assert meta.ge is None or default >= meta.ge, f"{section}.{name}"
            assert meta.gt is None or default > meta.gt, f"{section}.{name}"
            assert meta.le is None or default <= meta.le, f"{section}.{name}"
