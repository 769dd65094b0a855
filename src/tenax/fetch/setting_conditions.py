"""Settings that ended a URL, and the settings of a later run that may end it otherwise. Pure.

A setting never settles a URL. A URL that a setting ended keeps conditions such as `fetch.max_body_bytes>5000`. A run
whose settings fulfil one of them visits the URL again. So it does not matter which run, or which worker, ended it.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tenax.config import SiteConfig
from tenax.model import Rejected

_VALIDATION = ("validation.enabled!=", "validation.min_body_bytes!=")
_VALIDATION_REASONS = frozenset(
    ["blocked", "captcha", "challenge", "consent", "empty", "javascript", "limited", "login", "refresh", "shell"]
)
_SMALL = ("validation.enabled!=", "validation.min_body_bytes<")
_UNFOLLOWED_REASONS = frozenset({"empty", "refresh"})
"""The target of a meta refresh is followed, and a document without text has no links."""
_ATTEMPTS = "fetch.max_attempts>"
_CONDITION = re.compile(r"([a-z_]+)\.([a-z_]+)(!=|[<>])(.+)")


def rejection_conditions(rejected: Rejected, site: SiteConfig) -> str:
    """The conditions under which this response may be a page; empty if validation did not decide it."""
    reason, colon, _ = rejected.why.partition(":")
    if reason == "small":
        return _fill_in(_SMALL, site)
    return _fill_in(_VALIDATION, site) if colon and reason in _VALIDATION_REASONS else ""


def rejection_cause(rejected: Rejected) -> str:
    """The cause of a task that is parked because of this rejection. It begins with the name of a limit, unless nothing
    is lost."""
    reason = rejected.why.partition(":")[0]
    return rejected.why if reason == "small" or reason in _UNFOLLOWED_REASONS else f"validation: {rejected.why}"


def attempt_conditions(site: SiteConfig) -> str:
    """The conditions under which a URL that has spent its attempts gets more."""
    return _fill_in((_ATTEMPTS,), site)


def join_conditions(*conditions: str) -> str:
    return " ".join(filter(None, conditions))


def is_any_met(conditions: str, site: SiteConfig) -> bool:
    """Whether the settings of the site fulfil one of the conditions."""
    return any(_is_met(condition, site) for condition in conditions.split())


def _fill_in(beginnings: tuple[str, ...], site: SiteConfig) -> str:
    """Complete conditions without values with the current values of the settings."""
    return " ".join(f"{one}{msgspec.json.encode(_value(one.rstrip('!=<>'), site)).decode()}" for one in beginnings)


def _value(setting: str, site: SiteConfig) -> Any:
    section, _, name = setting.partition(".")
    return getattr(getattr(site, section), name)


def _is_met(condition: str, site: SiteConfig) -> bool:
    parts = _CONDITION.fullmatch(condition)
    if parts is None:
        return False
    section, name, operator, encoded = parts.groups()
    now = getattr(getattr(site, section, None), name, None)
    if now is None:  # a setting of another version
        return False
    then = msgspec.json.decode(encoded)
    match operator:
        case ">":
            return bool(now > then)
        case "<":
            return bool(now < then)
        case _:
            return bool(now != then)
