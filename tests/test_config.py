"""Every knob: where its value comes from, and how a slip is answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from tenax.config import Config, Knob, Section, Setting, knobs, load
from tenax.errors import ConfigError


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "tenax.toml"
    file.write_text(text, encoding="utf-8")
    return file


# ---- the knobs themselves ---------------------------------------------------------------------------------


@pytest.mark.parametrize("knob", list(knobs()), ids=lambda knob: knob.key)
def test_every_knob_says_what_it_means(knob: Knob) -> None:
    assert len(knob.meaning) > 15
    assert knob.meaning.endswith(".")
    assert re.fullmatch(r"[a-z]+\.[a-z_]+", knob.key)
    assert knob.variable == "TENAX_" + knob.key.upper().replace(".", "_")


@pytest.mark.parametrize("knob", list(knobs()), ids=lambda knob: knob.key)
def test_a_number_has_its_unit_in_its_name(knob: Knob) -> None:
    """A float is a measure of something; only shares and rates that say so go without `seconds`."""
    if knob.type is float:
        assert re.search(r"seconds|per_second|jitter", knob.name)


def test_every_section_is_a_section_and_every_variable_its_own() -> None:
    sections = get_type_hints(Config).values()
    assert all(issubclass(section, Section) and section.__doc__ for section in sections)
    variables = [knob.variable for knob in knobs()]
    assert len(variables) == len(set(variables))


# ---- where values come from -------------------------------------------------------------------------------


def test_without_anything_there_are_the_defaults() -> None:
    loaded = load()
    assert loaded.config == Config()
    assert set(loaded.sources.values()) == {"default"}
    assert set(loaded.sources) == {knob.key for knob in knobs()}


def test_the_later_source_wins_and_is_remembered(tmp_path: Path) -> None:
    file = written(tmp_path, "[crawl]\nmax_depth = 3\nmax_pages = 30\nconcurrency = 8\n")
    environment = {"TENAX_CRAWL_MAX_PAGES": "40", "TENAX_CRAWL_CONCURRENCY": "9", "HOME": "/root"}
    loaded = load(file, environment, {"crawl.concurrency": Setting("10", "--concurrency")})
    crawl = loaded.config.crawl
    assert (crawl.max_depth, crawl.max_pages, crawl.concurrency) == (3, 40, 10)
    assert loaded.sources["crawl.max_depth"] == str(file)
    assert loaded.sources["crawl.max_pages"] == "TENAX_CRAWL_MAX_PAGES"
    assert loaded.sources["crawl.concurrency"] == "--concurrency"
    assert loaded.sources["crawl.scope"] == "default"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("crawl.max_depth", "3", 3),
        ("politeness.rate_per_second", "0.5", 0.5),
        ("politeness.rate_per_second", "2", 2.0),
        ("urls.strip_trailing_slash", "true", True),
        ("urls.strip_trailing_slash", "0", False),
        ("crawl.scope", "domain", "domain"),
        ("crawl.exclude", "*/tag/*, /x$/ ,", ("*/tag/*", "/x$/")),
        ("crawl.exclude", "", ()),
        ("guard.ports", "80, 443", (80, 443)),
        ("guard.allow_networks", "10.1.0.0/16", ("10.1.0.0/16",)),
        ("events.jsonl", "", ""),
        ("fetch.user_agent", "007", "007"),
    ],
)
def test_a_variable_is_read_as_the_knob_wants_it(key: str, text: str, value: object) -> None:
    variable = "TENAX_" + key.upper().replace(".", "_")
    loaded = load(environment={variable: text})
    section, name = key.split(".")
    found = getattr(getattr(loaded.config, section), name)
    assert found == value
    assert type(found) is type(value)


def test_a_file_holds_values_of_their_own_type(tmp_path: Path) -> None:
    text = '[crawl]\ninclude = ["*/a/*", "/b/"]\n[urls]\nstrip_trailing_slash = true\n[guard]\nports = [81]\n'
    config = load(written(tmp_path, text)).config
    assert config.crawl.include == ("*/a/*", "/b/")
    assert config.urls.strip_trailing_slash is True
    assert config.guard.ports == (81,)


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert load(written(tmp_path, "# nothing yet\n[crawl]\n")).config == Config()


def test_variables_for_our_own_tests_are_not_settings() -> None:
    assert load(environment={"TENAX_TEST_KAFKA": "localhost:9092", "PATH": "/bin"}).config == Config()


# ---- slips ------------------------------------------------------------------------------------------------

FILES = {
    "[crawl]\nmax_dept = 3\n": "unknown key `crawl.max_dept`; did you mean `crawl.max_depth`?",
    "[speed]\nvery = 3\n": "unknown key `speed.very`; `tenax config` lists them all",
    "max_depth = 3\n": "`max_depth` must stand in a section, such as [crawl]",
    "[crawl.max_depth]\nx = 1\n": "bad value {'x': 1} for `crawl.max_depth`",
    "[crawl]\nmax_depth = '3'\n": "bad value '3' for `crawl.max_depth`",
    "[crawl]\nmax_depth = 3.5\n": "bad value 3.5 for `crawl.max_depth`",
    "[crawl]\nmax_depth = true\n": "bad value True for `crawl.max_depth`",
    "[crawl]\nmax_depth = -1\n": "bad value -1 for `crawl.max_depth`",
    "[crawl]\ninclude = 'one'\n": "bad value 'one' for `crawl.include`",
    "[crawl]\ninclude = [1]\n": "bad value (1,) for `crawl.include`",
    "[crawl]\nscope = 'planet'\n": "bad value 'planet' for `crawl.scope`",
    "[crawl\n": "not valid TOML",
}


@pytest.mark.parametrize("text", FILES)
def test_a_slip_in_a_file_names_the_key_and_the_file(tmp_path: Path, text: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as slip:
        load(file)
    assert str(slip.value).startswith(f"{file}: {FILES[text]}")
    assert "\n" not in str(slip.value)


ENVIRONMENTS: list[tuple[Mapping[str, str], str]] = [
    (
        {"TENAX_CRAWL_MAX_DEPHT": "3"},
        "unknown variable TENAX_CRAWL_MAX_DEPHT; did you mean `TENAX_CRAWL_MAX_DEPTH`?",
    ),
    ({"TENAX_XYZZY": "3"}, "unknown variable TENAX_XYZZY; `tenax config` lists them all"),
    ({"TENAX_CRAWL_MAX_DEPTH": "three"}, "TENAX_CRAWL_MAX_DEPTH: bad value 'three' for `crawl.max_depth`"),
    ({"TENAX_CRAWL_MAX_DEPTH": ""}, "TENAX_CRAWL_MAX_DEPTH: bad value '' for `crawl.max_depth`"),
    ({"TENAX_GUARD_PORTS": "80,http"}, "TENAX_GUARD_PORTS: bad value ('80', 'http') for `guard.ports`"),
    ({"TENAX_POLITENESS_RATE_PER_SECOND": "nan"}, "TENAX_POLITENESS_RATE_PER_SECOND: bad value 'nan'"),
    ({"TENAX_POLITENESS_RATE_PER_SECOND": "inf"}, "TENAX_POLITENESS_RATE_PER_SECOND: bad value 'inf'"),
]


@pytest.mark.parametrize(("environment", "says"), ENVIRONMENTS, ids=[str(given) for given, _ in ENVIRONMENTS])
def test_a_slip_in_a_variable_names_it(environment: Mapping[str, str], says: str) -> None:
    with pytest.raises(ConfigError) as slip:
        load(environment=environment)
    assert str(slip.value).startswith(says)


def test_a_flag_for_a_knob_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"--set: unknown key `crawl.depth`"):
        load(flags={"crawl.depth": Setting("3", "--set")})


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file; give --config the path of a TOML file"):
        load(tmp_path / "missing.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path)
    binary = tmp_path / "tenax.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(binary)


def test_every_bound_holds_for_the_default() -> None:
    """msgspec checks bounds when it converts, not when a struct is made: a default outside of them would go unseen."""
    for section, section_type in get_type_hints(Config).items():
        for name, hint in get_type_hints(section_type, include_extras=True).items():
            _, meta = get_args(hint)
            default = getattr(section_type(), name)
            assert meta.ge is None or default >= meta.ge, f"{section}.{name}"
            assert meta.gt is None or default > meta.gt, f"{section}.{name}"
            assert meta.le is None or default <= meta.le, f"{section}.{name}"
