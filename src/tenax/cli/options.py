"""The options of a crawl run; and the seeds and flags that a crawl stores for the command that resumes it.

A stored setting overrides what a flag overrides. A flag of the current command overrides the stored setting. Secrets
are not stored: a URL with a password must be given again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tenax.cli.settings import FLAGS, flag_spelling
from tenax.config import Config, SettingValue, all_settings
from tenax.config.validate import validate_value
from tenax.crawl.location import Location
from tenax.errors import DatabaseError, DatabaseUnusable, UsageError
from tenax.model import Value
from tenax.text.sanitize import mask_setting, quote_shell_word

if TYPE_CHECKING:
    from tenax.database import Records, Reports
    from tenax.urls.admit import Rules


class CrawlOptions(Value, frozen=True):
    """What to crawl, and what to print about it."""

    seeds: tuple[str, ...]
    location: Location
    is_restart: bool = False
    is_recrawl: bool = False
    is_quiet: bool = False
    program: str = "tenax"
    """How a person calls this program."""
    resume_command: str = ""
    """The command that resumes this crawl; empty if it cannot be resumed."""
    examples: tuple[tuple[str, str], ...] = ()
    """URLs worth explaining, each with a short description."""
    notices: tuple[str, ...] = ()
    """Printed at the start, before the notices of the crawl itself."""
    settings: bytes | None = None
    """Options to store with the crawl for the next command; None: nothing."""
    has_typed_seeds: bool = True
    """A person typed the seeds, now or for an earlier run. Private addresses are allowed for them."""
    opening_notices: tuple[str, ...] = ()
    """Printed at the start instead of all other notices."""


STORED_SOURCE = "kept from the last run"
MAX_PAGES = "crawl.max_pages"
CONTINUOUS = "recrawl.continuous"

_PER_RUN_PREFIXES = ("log.", "metrics.", "database.url", "database.schema")
"""Prefixes of settings that belong to one run or to the location, and are not stored."""
_RULE_KEYS = frozenset({"crawl.scope", "crawl.include", "crawl.exclude", "crawl.max_depth", "crawl.max_links_per_page"})
"""Settings whose changes the crawl itself reports, by comparing its stored rules."""

FlagValue = str | tuple[str, ...]


class StoredOptions(Value, frozen=True):
    """The options of the last run. The database stores them as JSON."""

    settings: dict[str, FlagValue] = {}
    """Values by `section.name`, as typed."""
    secrets: dict[str, FlagValue] = {}
    """Settings with a password, masked as `***`. The next command must give them again."""
    config_file: str = ""
    """The value of `--config`."""


class ExistingCrawl(Value, frozen=True):
    """What is known about a crawl that already exists."""

    seeds: tuple[str, ...]
    settings: dict[str, FlagValue] = {}
    secrets: dict[str, FlagValue] = {}
    reached_page_limit: int = 0
    """The `crawl.max_pages` of the last run if it was reached, else 0."""
    has_typed_seeds: bool = False
    """A person gave the seeds to a command. False: they may come from a program."""


async def load_existing_crawl(location: Location, config: Config, *, is_required: bool) -> ExistingCrawl | None:
    """The crawl at this location; None if there is none.

    If it cannot be opened, this raises `DatabaseError` if `is_required`. Otherwise it returns None: the crawl is opened
    for writing later, which reports the error or completes a half-created file.
    """
    from tenax.clock import SteadyClock
    from tenax.crawl.rules import load_rules
    from tenax.crawl.wiring import open_database

    try:
        # A local clock, because reading the database needs no other server.
        database = await open_database(location, read_only=True, config=config, clock=SteadyClock())
    except DatabaseError:
        if is_required:
            raise
        return None
    try:
        rules = await load_rules(database)
        if rules is None:
            return None
        stored = await load_stored_options(database)
        settings = stored.settings if stored is not None else _settings_from_rules(rules)
        secrets = stored.secrets if stored is not None else {}
        max_pages = (
            validate_value(_SETTINGS[MAX_PAGES], SettingValue(settings[MAX_PAGES], STORED_SOURCE))
            if MAX_PAGES in settings
            else 0
        )
        is_reached = max_pages and database.counts().pages_this_round >= max_pages
        is_typed = bool(await database.get_meta("command"))
        return ExistingCrawl(rules.seeds, settings, secrets, max_pages if is_reached else 0, is_typed)
    finally:
        await database.close()


async def load_stored_options(reports: Reports) -> StoredOptions | None:
    from tenax.crawl.api import SETTINGS_KEY

    data = await reports.get_meta(SETTINGS_KEY)
    if data is None:
        return None
    try:
        stored = msgspec.json.decode(data, type=StoredOptions)
    except msgspec.DecodeError as error:
        raise DatabaseUnusable(
            f"the settings stored with this crawl cannot be read ({error}); start again, with --restart or in another "
            "schema"
        ) from None
    settings = {key: value for key, value in stored.settings.items() if key in _SETTINGS}
    return msgspec.structs.replace(stored, settings=settings)


def _settings_from_rules(rules: Rules) -> dict[str, FlagValue]:
    """The settings of a crawl that was not started by a command, if they differ from the defaults."""
    values = {
        "crawl.scope": rules.scope.name,
        "crawl.include": rules.include,
        "crawl.exclude": rules.exclude,
        "crawl.max_depth": rules.max_depth,
        "crawl.max_links_per_page": rules.max_links_per_page,
    }
    changed = {key: value for key, value in values.items() if value != _SETTINGS[key].default}
    return {key: value if isinstance(value, (str, tuple)) else str(value) for key, value in changed.items()}


def merge_settings(
    existing: ExistingCrawl, given: Mapping[str, SettingValue], *, is_new_round: bool
) -> dict[str, SettingValue]:
    """The settings that apply to a command with these flags.

    A page limit that was reached is dropped, because it would end the run at once. A page limit and `--continuous`
    exclude each other; the one that was typed now is kept.
    """
    stored = dict(existing.settings)
    if (existing.reached_page_limit and not is_new_round) or _is_enabled(given, CONTINUOUS):
        stored.pop(MAX_PAGES, None)
    if _is_enabled(given, MAX_PAGES):
        stored.pop(CONTINUOUS, None)
    return {**{key: SettingValue(value, STORED_SOURCE) for key, value in stored.items()}, **given}


def resume_notices(
    existing: ExistingCrawl, effective: Mapping[str, SettingValue], given: Mapping[str, SettingValue]
) -> list[str]:
    """Notices about settings that were taken from the last run, changed, or dropped."""
    lines = []
    stored = [key for key in effective if key not in given]
    if stored:
        # Named flags first, then `--set`.
        settings = sorted(
            (to_flags(key, effective[key].value) for key in stored), key=lambda words: words[0] == "--set"
        )
        lines.append(f"{STORED_SOURCE}: {_join_shell_words(word for words in settings for word in words)}")
    in_both = [key for key in given if key in existing.settings and key not in _RULE_KEYS]
    changed = [
        f"{key} {_format_value(key, existing.settings[key])} → {_format_value(key, given[key].value)}"
        for key in in_both
        if _parse_value(key, existing.settings[key]) != _parse_value(key, given[key].value)
    ]
    if changed:
        lines.append(f"changed since the last run: {', '.join(changed)}")
    for key in existing.settings.keys() - effective.keys():
        words = _join_shell_words(to_flags(key, existing.settings[key]))
        is_reached = key == MAX_PAGES and existing.reached_page_limit
        lines.append(f"the last run's {words} {'was reached and ' if is_reached else ''}no longer applies")
    return lines


def _join_shell_words(words: Iterable[str]) -> str:
    """Words quoted for a shell."""
    return " ".join(map(quote_shell_word, words))


def _is_enabled(given: Mapping[str, SettingValue], key: str) -> bool:
    return key in given and bool(_parse_value(key, given[key].value))


def check_secrets(existing: ExistingCrawl, sources: Mapping[str, str]) -> None:
    """Raise `UsageError` if the last run had a setting with a password, and this run does not have the setting.

    Without its proxy, for example, the crawl would reveal its own address.
    """
    for key, value in existing.secrets.items():
        if sources[key] == "default":
            raise UsageError(
                f"the last run had {_join_shell_words(to_flags(key, value))}, whose password is not stored; give it "
                f"again, or --set {key}= to resume without it"
            )


def options_to_store(effective: Mapping[str, SettingValue], config_file: str | None) -> StoredOptions:
    """The part of these settings that is stored for the next command."""
    values = {key: setting.value for key, setting in effective.items() if not key.startswith(_PER_RUN_PREFIXES)}
    secrets = {key: _mask_value(key, value) for key, value in values.items() if is_secret(key, value)}
    return StoredOptions(
        {key: value for key, value in values.items() if key not in secrets}, secrets, config_file or ""
    )


def build_resume_command(location: Location, stored: StoredOptions) -> str:
    """The command that resumes this crawl from the current directory. The crawl stores everything else."""
    from tenax.cli.parser import program_name

    files = (
        f"--dir {quote_shell_word(os.fspath(location.directory))}"
        if location.server and location.directory is not None
        else ""
    )
    more = ["--config", stored.config_file] if stored.config_file else []
    more += [word for key, value in stored.secrets.items() for word in to_flags(key, value)]
    return " ".join(part for part in (program_name(), "crawl", location.flags, files, _join_shell_words(more)) if part)


async def store_more_settings(records: Records, given: Mapping[str, SettingValue]) -> None:
    """Add settings to the stored ones. The rules of a crawl that was not started by a command contain its settings."""
    from tenax.crawl.api import SETTINGS_KEY

    before = await load_stored_options(records)
    more = options_to_store(given, None).settings
    if before is not None and more:
        stored = msgspec.structs.replace(before, settings={**before.settings, **more})
        await records.set_meta(SETTINGS_KEY, msgspec.json.encode(stored))


def is_secret(key: str, value: FlagValue) -> bool:
    return _mask_value(key, value) != value


def to_flags(key: str, value: FlagValue) -> list[str]:
    """A setting as command-line words, with secrets masked."""
    value = _mask_value(key, value)
    name = next((name for name, setting in FLAGS.items() if setting == key and name not in _SERVICE_FLAGS), None)
    if name is None or not value or (key == CONTINUOUS and not _parse_value(key, value)):
        return ["--set", f"{key}={','.join(value) if isinstance(value, tuple) else value}"]
    flag = flag_spelling(name)
    if key == CONTINUOUS:
        return [flag]
    if key == "discovery.sources" and isinstance(value, tuple):
        return [flag, ",".join(value)]
    return [word for one in (value if isinstance(value, tuple) else (value,)) for word in (flag, one)]


_SERVICE_FLAGS = frozenset({"queue_redis", "kafka"})
_SETTINGS = {setting.key: setting for setting in all_settings()}


def _mask_value(key: str, value: FlagValue) -> FlagValue:
    is_secret = _SETTINGS[key].is_secret
    if isinstance(value, tuple):
        return tuple(mask_setting(item, is_secret=is_secret) for item in value)
    return mask_setting(value, is_secret=is_secret)


def _parse_value(key: str, text: FlagValue) -> Any:
    return validate_value(_SETTINGS[key], SettingValue(text, STORED_SOURCE))


def _format_value(key: str, value: FlagValue) -> str:
    value = _mask_value(key, value)
    return (" ".join(value) or "none") if isinstance(value, tuple) else value
