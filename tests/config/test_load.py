"""Where a value comes from, and how errors are reported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tenax.config import Config, SettingValue, Sites, all_settings, load_config
from tenax.errors import ConfigError


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "tenax.toml"
    file.write_text(text, encoding="utf-8")
    return file


# ---- where values come from -------------------------------------------------------------------------------


def test_without_anything_there_are_the_defaults() -> None:
    loaded = load_config()
    assert loaded.config == Config()
    assert set(loaded.sources.values()) == {"default"}
    assert set(loaded.sources) == {setting.key for setting in all_settings()}


def test_the_later_source_wins_and_is_remembered(tmp_path: Path) -> None:
    file = written(tmp_path, "[crawl]\nmax_depth = 3\nmax_pages = 30\nconcurrency = 8\n")
    environment = {"TENAX_CRAWL_MAX_PAGES": "40", "TENAX_CRAWL_CONCURRENCY": "9", "HOME": "/root"}
    loaded = load_config(file, environment, {"crawl.concurrency": SettingValue("10", "--concurrency")})
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
def test_a_variable_is_read_as_the_setting_wants_it(key: str, text: str, value: object) -> None:
    variable = "TENAX_" + key.upper().replace(".", "_")
    loaded = load_config(environment={variable: text})
    section, name = key.split(".")
    found = getattr(getattr(loaded.config, section), name)
    assert found == value
    assert type(found) is type(value)


def test_a_file_holds_values_of_their_own_type(tmp_path: Path) -> None:
    text = '[crawl]\ninclude = ["*/a/*", "/b/"]\n[urls]\nstrip_trailing_slash = true\n[guard]\nports = [81]\n'
    config = load_config(written(tmp_path, text)).config
    assert config.crawl.include == ("*/a/*", "/b/")
    assert config.urls.strip_trailing_slash is True
    assert config.guard.ports == (81,)


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert load_config(written(tmp_path, "# nothing yet\n[crawl]\n")).config == Config()


def test_variables_for_our_own_tests_are_not_settings() -> None:
    assert load_config(environment={"TENAX_TEST_KAFKA": "localhost:9092", "PATH": "/bin"}).config == Config()


# ---- errors -----------------------------------------------------------------------------------------------

FILES = {
    "[crawl]\nmax_dept = 3\n": "unknown key `crawl.max_dept`; did you mean `crawl.max_depth`?",
    "[speed]\nvery = 3\n": "unknown key `speed.very`; `tenax config` lists them all",
    "max_depth = 3\n": "`max_depth` must be in a section, such as [crawl]",
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
        load_config(environment=environment)
    assert str(slip.value).startswith(says)


def test_a_flag_for_a_setting_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"--set: unknown key `crawl.depth`"):
        load_config(flags={"crawl.depth": SettingValue("3", "--set")})


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file; give --config the path of a TOML file"):
        load_config(tmp_path / "missing.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path)
    binary = tmp_path / "tenax.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="it is not written in UTF-8"):
        load_config(binary)


def test_a_password_in_a_bad_value_is_not_quoted(tmp_path: Path) -> None:
    for text in ("[proxy]\nurls = 'http://me:hush@a.test:1'\n", "[site.'a.test']\nproxy.urls = 'me:hush@a.test'\n"):
        with pytest.raises(ConfigError, match=r"bad value \*\*\* for `proxy.urls`") as slip:
            load_config(written(tmp_path, text))
        assert "hush" not in str(slip.value)


# ---- single sites -----------------------------------------------------------------------------------------

SITES = """
[politeness]
rate_per_second = 3
connections_per_host = 4
robots_ttl_seconds = 60

[site."*.example.org"]
politeness.rate_per_second = 0.2
fetch.contact = "mailto:us@example.org"

[site."www.example.org".politeness]
connections_per_host = 2
"""


def test_a_site_beats_the_file_and_the_variables_and_a_flag_beats_all(tmp_path: Path) -> None:
    environment = {"TENAX_POLITENESS_RATE_PER_SECOND": "5", "TENAX_POLITENESS_CONNECTIONS_PER_HOST": "6"}
    flags = {"politeness.connections_per_host": SettingValue("7", "--per-host")}
    loaded = load_config(written(tmp_path, SITES), environment, flags)
    politeness = Sites(loaded.config).for_host("www.example.org").politeness
    assert (politeness.rate_per_second, politeness.connections_per_host) == (0.2, 7)
    other_host = Sites(loaded.config).for_host("example.com").politeness
    assert (other_host.rate_per_second, other_host.connections_per_host) == (5, 7)


def test_site_tables_override_the_sources_below_them(tmp_path: Path) -> None:
    beneath = {
        "politeness.rate_per_second": SettingValue(9.0, "demo"),
        "fetch.contact": SettingValue("demo", "demo"),
        "crawl.max_pages": SettingValue(5, "demo"),
    }
    file = written(tmp_path, SITES)
    loaded = load_config(file, command_defaults=beneath)
    site = Sites(loaded.config).for_host("a.example.org")
    assert (site.politeness.rate_per_second, site.fetch.contact) == (0.2, "mailto:us@example.org")
    assert loaded.config.politeness.rate_per_second == 3
    assert loaded.sources["politeness.rate_per_second"] == str(file)
    assert (loaded.config.fetch.contact, loaded.config.crawl.max_pages) == ("demo", 5)
    assert loaded.sources["crawl.max_pages"] == "demo"


def test_the_config_of_one_host_knows_which_table_each_value_came_from(tmp_path: Path) -> None:
    file = written(tmp_path, SITES)
    loaded = load_config(file)
    here = loaded.for_host("www.example.org")
    assert here.sources["politeness.rate_per_second"] == f'{file} [site."*.example.org"]'
    assert here.sources["politeness.connections_per_host"] == f'{file} [site."www.example.org"]'
    assert here.sources["politeness.robots_ttl_seconds"] == str(file)
    assert here.sources["fetch.max_attempts"] == "default"
    assert here.config.politeness == Sites(loaded.config).for_host("www.example.org").politeness
    assert here.config.crawl == loaded.config.crawl
    assert loaded.for_host("example.org") == loaded


SITE_SLIPS = {
    '[site."a.test"]\npoliteness.rate_per_sec = 1\n': '[site."a.test"]: unknown key `politeness.rate_per_sec`; '
    "did you mean `politeness.rate_per_second`?",
    '[site."a.test"]\nspeed.very = 1\n': '[site."a.test"]: unknown key `speed.very`; `tenax config` lists them all',
    '[site."a.test"]\nrate_per_second = 1\n': '[site."a.test"]: unknown key `rate_per_second`; did you mean '
    "`politeness.rate_per_second`?",
    '[site."a.test"]\ncrawl.max_depth = 1\n': '[site."a.test"]: `crawl.max_depth` applies to the whole crawl',
    '[site."a.test"]\nbrowser.pages = 1\n': '[site."a.test"]: `browser.pages` applies to the whole crawl',
    '[site."a.test"]\npoliteness.rate_per_second = "1"\n': "[site.\"a.test\"]: bad value '1' for "
    "`politeness.rate_per_second`",
    '[site."a.test"]\npoliteness.rate_per_second = -1\n': '[site."a.test"]: bad value -1 for '
    "`politeness.rate_per_second`",
    '[site."a.test"]\npoliteness.rate_per_second = nan\n': '[site."a.test"]: bad value nan',
    '[site."a.test"]\npoliteness = 1\n': '[site."a.test"]: unknown key `politeness`',
    "[site.a.test]\npoliteness.rate_per_second = 1\n": '[site."a"]: unknown key `test.politeness`; put a name '
    "with dots in quotes",
    '[site]\n"a.test" = 1\n': '[site."a.test"]: `a.test` must be a table of settings',
    'site = "a.test"\n': '`site` must be a table, such as [site."example.org"]',
    '[site."https://a.test/"]\n': '[site."https://a.test/"]: a site is a host name such as example.org',
    '[site."a.test:8080"]\n': '[site."a.test:8080"]: a site is a host name',
    '[site."*"]\n': '[site."*"]: a site is a host name',
    '[site."*a.test"]\n': '[site."*a.test"]: a site is a host name',
    '[site.""]\n': '[site.""]: a site is a host name',
    '[site."a.test"]\n[site."A.test."]\n': '[site."A.test."]: this site is named twice',
}


@pytest.mark.parametrize(("text", "says"), [*FILES.items(), *SITE_SLIPS.items()])
def test_a_slip_names_the_file_the_site_and_the_key(tmp_path: Path, text: str, says: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as slip:
        load_config(file)
    assert str(slip.value).startswith(f"{file}: {says}")
    assert "\n" not in str(slip.value)


def test_a_setting_of_the_page_fetcher_has_a_second_variable() -> None:
    loaded = load_config(environment={"PAGE_FETCHER_RATE_LIMIT_PER_SECOND": "0.5", "PAGE_FETCHER_DLQ_QUEUE": "lost"})
    assert (loaded.config.page_fetcher.rate_limit_per_second, loaded.config.page_fetcher.dlq_queue) == (0.5, "lost")
    assert loaded.sources["page_fetcher.dlq_queue"] == "PAGE_FETCHER_DLQ_QUEUE"
    both = {"TENAX_PAGE_FETCHER_MAX_RETRIES": "4", "PAGE_FETCHER_MAX_RETRIES": "5"}
    assert load_config(environment=both).sources["page_fetcher.max_retries"] == "TENAX_PAGE_FETCHER_MAX_RETRIES"
    with pytest.raises(ConfigError, match="unknown variable PAGE_FETCHER_DLQ; did you mean `PAGE_FETCHER_DLQ_QUEUE`"):
        load_config(environment={"PAGE_FETCHER_DLQ": "lost"})


@pytest.mark.parametrize(
    ("text", "flags", "guesses", "source"),
    [
        ("", {}, "auto", "default"),
        ("", {"discovery.sources": ("links", "archives")}, "always", "--flag"),
        ("", {"discovery.sources": ("links", "sitemaps")}, "auto", "default"),
        ("", {"discovery.sources": ("pagination",), "discovery.guesses": "auto"}, "auto", "--flag"),
        ('sources = ["links", "sitemaps", "feeds", "archives", "pagination"]', {}, "always", "file"),
        ('sources = ["links", "pagination"]\nguesses = "never"', {}, "never", "file"),
        ('guesses = "never"', {"discovery.sources": ("archives",)}, "never", "file"),
    ],
)
def test_naming_a_guessing_source_enables_guesses(
    tmp_path: Path, text: str, flags: dict[str, object], guesses: str, source: str
) -> None:
    file = tmp_path / "tenax.toml"
    file.write_text(f"[discovery]\n{text}\n")
    loaded = load_config(file, flags={key: SettingValue(value, "--flag") for key, value in flags.items()})
    assert loaded.config.discovery.guesses == guesses
    assert loaded.sources["discovery.guesses"] == (str(file) if source == "file" else source)


@pytest.mark.parametrize(
    ("text", "flags", "guesses"),
    [
        ('discovery.sources = ["links", "archives"]', {}, "always"),
        ('discovery.sources = ["links"]', {}, "auto"),
        ('discovery.sources = ["archives"]\ndiscovery.guesses = "never"', {}, "never"),
        ('discovery.sources = ["archives"]', {"discovery.sources": ("links",)}, "auto"),
    ],
)
def test_naming_one_for_a_site_enables_guesses_there(
    tmp_path: Path, text: str, flags: dict[str, object], guesses: str
) -> None:
    file = tmp_path / "tenax.toml"
    file.write_text(f'[site."example.org"]\n{text}\n')
    loaded = load_config(file, flags={key: SettingValue(value, "--flag") for key, value in flags.items()})
    assert loaded.for_host("example.org").config.discovery.guesses == guesses
    assert loaded.config.discovery.guesses == "auto"


# ---- sites of one's own -----------------------------------------------------------------------------------

NO_LIMIT = "[politeness]\nrate_per_second = 0\n"


@pytest.mark.parametrize(
    ("text", "environment", "connections"),
    [
        ("", {}, {}),
        (NO_LIMIT, {}, {"mine.example": 8, "[::1]": 8}),
        ("", {"TENAX_POLITENESS_RATE_PER_SECOND": "0"}, {"mine.example": 8, "[::1]": 8}),
        (NO_LIMIT + "connections_per_host = 1\n", {}, {}),
        (NO_LIMIT, {"TENAX_POLITENESS_CONNECTIONS_PER_HOST": "1"}, {}),
        (NO_LIMIT, {"TENAX_POLITENESS_CONNECTIONS_PER_HOST": "3"}, {"mine.example": 3, "[::1]": 3, "other": 3}),
        ('[site."mine.example"]\npoliteness.rate_per_second = 0\n', {}, {"mine.example": 8}),
        (NO_LIMIT + '[site."mine.example"]\npoliteness.rate_per_second = 2\n', {}, {"[::1]": 8}),
        (NO_LIMIT + '[site."*.example"]\npoliteness.connections_per_host = 2\n', {}, {"mine.example": 2, "[::1]": 8}),
        (NO_LIMIT + '[site."mine.example"]\nfetch.max_attempts = 9\n', {}, {"mine.example": 8, "[::1]": 8}),
    ],
)
def test_typed_hosts_without_a_rate_limit_get_several_connections(
    tmp_path: Path, text: str, environment: dict[str, str], connections: dict[str, int]
) -> None:
    before = load_config(written(tmp_path, text), environment)
    sites, sites_before = Sites(before.with_own_sites(["mine.example", "[::1]", "a~b"]).config), Sites(before.config)
    for host in ("mine.example", "[::1]", "other", "www.mine.example"):
        expected = connections.get(host, 2 if "*" in text and host.endswith("example") else connections.get("other", 1))
        assert sites.for_host(host).politeness.connections_per_host == expected, host
        assert sites.for_host(host).fetch == sites_before.for_host(host).fetch
