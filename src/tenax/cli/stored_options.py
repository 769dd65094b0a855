"""What a crawl keeps for the command that goes on with it: its seeds, and the settings that a person gave by flags.

A setting kept is as strong as a flag, but a flag of this command is stronger. Nothing secret is kept: a URL with a
password has to come from where it came from.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tenax.cli.settings import FLAGS
from tenax.config import Setting, knobs
from tenax.config.schema import checked
from tenax.errors import LedgerError, LedgerUnusable, UsageError
from tenax.model import Value
from tenax.text.escaping import shell_word
from tenax.text.masking import mask_setting

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.location import Place
    from tenax.database import Ledger
    from tenax.urls.admit import Rules

SOURCE = "kept from the last run"
MAX_PAGES = "crawl.max_pages"
KEEP_FRESH = "freshness.keep"

_OF_ONE_RUN = ("log.", "metrics.", "ledger.url", "ledger.schema")
"""How the settings begin that are about the command, or about where the crawl is."""
_RULES = frozenset({"crawl.scope", "crawl.include", "crawl.exclude", "crawl.max_depth", "crawl.max_links_per_page"})
"""Settings whose changes the crawl itself names: it compares them with the rules that it was last crawled by."""

Given = str | tuple[str, ...]


class Kept(Value, frozen=True):
    """What is remembered of the last run, as JSON in the ledger."""

    settings: dict[str, Given] = {}
    """By `section.name`, as they were typed."""
    secrets: dict[str, Given] = {}
    """Those that hold a password, with `***` for it: the command that goes on has to give them again."""
    config: str = ""
    """The file that `--config` named."""


class Earlier(Value, frozen=True):
    """The crawl that is there already."""

    seeds: tuple[str, ...]
    settings: dict[str, Given] = {}
    secrets: dict[str, Given] = {}
    reached: int = 0
    """The `crawl.max_pages` of the last run, when it is reached; else 0."""
    is_typed: bool = False
    """A person gave the seeds to a command; a program may have, otherwise."""


async def earlier(where: Place, config: Config, *, is_needed: bool) -> Earlier | None:
    """What is known of the crawl in this place; None when there is none yet.

    Raises `LedgerError` when it cannot be opened and `is_needed`. Otherwise whoever opens it to write will say so, or
    make a whole one of it: a file that was just begun, for example.
    """
    from tenax.clock import SteadyClock
    from tenax.crawl.rules import kept_rules
    from tenax.crawl.wiring import open_ledger

    try:
        # No time is asked for: a look at the ledger needs no other server.
        ledger = await open_ledger(where, read_only=True, config=config, clock=SteadyClock())
    except LedgerError:
        if is_needed:
            raise
        return None
    try:
        rules = await kept_rules(ledger)
        if rules is None:
            return None
        kept = await recalled(ledger)
        settings = kept.settings if kept is not None else _of_rules(rules)
        secrets = kept.secrets if kept is not None else {}
        most = checked(_KNOBS[MAX_PAGES], Setting(settings[MAX_PAGES], SOURCE)) if MAX_PAGES in settings else 0
        is_reached = most and ledger.counts().pages_this_round >= most
        is_typed = bool(await ledger.recall("command"))
        return Earlier(rules.seeds, settings, secrets, most if is_reached else 0, is_typed)
    finally:
        await ledger.close()


async def recalled(ledger: Ledger) -> Kept | None:
    from tenax.crawl.library import SETTINGS

    data = await ledger.recall(SETTINGS)
    if data is None:
        return None
    try:
        kept = msgspec.json.decode(data, type=Kept)
    except msgspec.DecodeError as error:
        raise LedgerUnusable(
            f"the settings kept with this crawl cannot be read ({error}); begin anew, with --fresh or in another schema"
        ) from None
    return msgspec.structs.replace(kept, settings={key: v for key, v in kept.settings.items() if key in _KNOBS})


def _of_rules(rules: Rules) -> dict[str, Given]:
    """The settings of a crawl that no command began, where they differ from the defaults."""
    values = {
        "crawl.scope": rules.scope.name,
        "crawl.include": rules.include,
        "crawl.exclude": rules.exclude,
        "crawl.max_depth": rules.max_depth,
        "crawl.max_links_per_page": rules.max_links_per_page,
    }
    changed = {key: value for key, value in values.items() if value != _KNOBS[key].default}
    return {key: value if isinstance(value, (str, tuple)) else str(value) for key, value in changed.items()}


def taken_up(there: Earlier, given: Mapping[str, Setting], *, is_new_round: bool) -> dict[str, Setting]:
    """The settings that hold for a command with these flags.

    A page limit that is reached would end it at once. A limit and pages that are kept fresh do not go together: the one
    that was typed now holds.
    """
    left = dict(there.settings)
    if (there.reached and not is_new_round) or _is_on(given, KEEP_FRESH):
        left.pop(MAX_PAGES, None)
    if _is_on(given, MAX_PAGES):
        left.pop(KEEP_FRESH, None)
    return {**{key: Setting(value, SOURCE) for key, value in left.items()}, **given}


def notices(there: Earlier, held: Mapping[str, Setting], given: Mapping[str, Setting]) -> list[str]:
    """What a person should know: which settings they did not type hold, and which are others now."""
    lines = []
    kept = [key for key in held if key not in given]
    if kept:
        # Named flags first: `--set` is for what few people set.
        settings = sorted((as_flags(key, held[key].value) for key in kept), key=lambda words: words[0] == "--set")
        lines.append(f"{SOURCE}: {_typed(word for words in settings for word in words)}")
    both = [key for key in given if key in there.settings and key not in _RULES]
    changed = [
        f"{key} {_text(key, there.settings[key])} → {_text(key, given[key].value)}"
        for key in both
        if _value(key, there.settings[key]) != _value(key, given[key].value)
    ]
    if changed:
        lines.append(f"changed since the last run: {', '.join(changed)}")
    for key in there.settings.keys() - held.keys():
        words = _typed(as_flags(key, there.settings[key]))
        is_reached = key == MAX_PAGES and there.reached
        lines.append(f"the last run's {words} {'is reached, and ' if is_reached else ''}holds no more")
    return lines


def _typed(words: Iterable[str]) -> str:
    """As a person types them into a shell."""
    return " ".join(map(shell_word, words))


def _is_on(given: Mapping[str, Setting], key: str) -> bool:
    return key in given and bool(_value(key, given[key].value))


def check_secrets(there: Earlier, sources: Mapping[str, str]) -> None:
    """Raises `UsageError` when the last run had a setting with a password that this one has not: without its proxy, for
    example, it would show itself to the site."""
    for key, value in there.secrets.items():
        if sources[key] == "default":
            raise UsageError(
                f"the last run had {_typed(as_flags(key, value))}, whose password is not kept; give it again, "
                f"or --set {key}= to go on without"
            )


def to_keep(held: Mapping[str, Setting], config_file: str | None) -> Kept:
    """What the next command should know of the settings that hold now."""
    own = {key: setting.value for key, setting in held.items() if not key.startswith(_OF_ONE_RUN)}
    secrets = {key: _masked(key, value) for key, value in own.items() if is_secret(key, value)}
    return Kept({key: value for key, value in own.items() if key not in secrets}, secrets, config_file or "")


def command_to_resume(where: Place, kept: Kept) -> str:
    """The command that goes on with this crawl, from where we are. The crawl knows all else."""
    from tenax.cli.parser import program

    files = f"--out {shell_word(os.fspath(where.out))}" if where.server and where.out is not None else ""
    more = ["--config", kept.config] if kept.config else []
    more += [word for key, value in kept.secrets.items() for word in as_flags(key, value)]
    return " ".join(part for part in (program(), "crawl", where.flags, files, _typed(more)) if part)


async def keep_more(ledger: Ledger, given: Mapping[str, Setting]) -> None:
    """Settings that were given to a crawl after it began; those of a crawl that no command began are in its rules."""
    from tenax.crawl.library import SETTINGS

    before = await recalled(ledger)
    more = to_keep(given, None).settings
    if before is not None and more:
        kept = msgspec.structs.replace(before, settings={**before.settings, **more})
        await ledger.remember(SETTINGS, msgspec.json.encode(kept))


def is_secret(key: str, value: Given) -> bool:
    return _masked(key, value) != value


def as_flags(key: str, value: Given) -> list[str]:
    """A setting as words of a command, fit to be seen."""
    value = _masked(key, value)
    name = next((name for name, turned in FLAGS.items() if turned == key and name not in _NOT_OF_CRAWL), None)
    if name is None or not value or (key == KEEP_FRESH and not _value(key, value)):
        return ["--set", f"{key}={','.join(value) if isinstance(value, tuple) else value}"]
    flag = f"--{name.replace('_', '-')}"
    if key == KEEP_FRESH:
        return [flag]
    if key == "discovery.sources" and isinstance(value, tuple):
        return [flag, ",".join(value)]
    return [word for one in (value if isinstance(value, tuple) else (value,)) for word in (flag, one)]


_NOT_OF_CRAWL = frozenset({"redis", "kafka"})
_KNOBS = {knob.key: knob for knob in knobs()}


def _masked(key: str, value: Given) -> Given:
    is_secret = _KNOBS[key].is_secret
    if isinstance(value, tuple):
        return tuple(mask_setting(item, is_secret=is_secret) for item in value)
    return mask_setting(value, is_secret=is_secret)


def _value(key: str, text: Given) -> Any:
    return checked(_KNOBS[key], Setting(text, SOURCE))


def _text(key: str, value: Given) -> str:
    value = _masked(key, value)
    return (" ".join(value) or "none") if isinstance(value, tuple) else value
