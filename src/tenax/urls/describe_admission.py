"""Explains the admission of one URL in sentences.

It checks the same rules in the same order as `admit`. The first verdict that did not pass has the name under which
`admit` counts the refusal.
"""

from __future__ import annotations

from collections.abc import Iterable

from tenax.model import Value
from tenax.urls.admit import Rules
from tenax.urls.normalize import WebUrl
from tenax.urls.scope import Scope, compile_patterns, is_in_scope
from tenax.urls.traps import find_trap

_MAX_NAMED = 3

_TRAP_REASONS = {
    "max_length": "it is longer than {limit} characters",
    "max_path_segments": "its path has more than {limit} segments",
    "max_repeated_segments": "its path repeats itself more than {limit} times",
    "max_query_params": "it has more than {limit} query parameters",
    "calendar_years": "it names a date that an endless calendar would; dates may lie {limit} years ahead",
}


class RuleVerdict(Value, frozen=True):
    """The verdict of one rule about one URL."""

    rule: str
    """`scope`, `include`, `exclude`, `depth` or `trap`. A trap that matches adds its setting: `trap:max_length`."""
    passed: bool
    why: str


def rule_verdicts(rules: Rules, url: WebUrl, depth: int) -> list[RuleVerdict]:
    """The verdict of every rule, in the order of admission. All rules are checked, whatever the first ones say."""
    return [
        _check_scope(rules.scope, url),
        _check_include(rules, url),
        _check_exclude(rules, url),
        _check_depth(rules.max_depth, depth),
        _check_traps(rules, url),
    ]


def _check_scope(scope: Scope, url: WebUrl) -> RuleVerdict:
    if scope.name == "any":
        return RuleVerdict("scope", True, "the scope is `any`: every host may be visited")
    passed = is_in_scope(scope, url)
    limits = _format_names(scope.hosts or scope.domains or scope.prefixes)
    return RuleVerdict("scope", passed, f"{'inside' if passed else 'outside'} the scope `{scope.name}`: {limits}")


def _check_include(rules: Rules, url: WebUrl) -> RuleVerdict:
    if not rules.include:
        return RuleVerdict("include", True, "no include patterns are set")
    match = compile_patterns(rules.include).first_match(url.url)
    if match is None:
        return RuleVerdict("include", False, f"matches none of the include patterns: {_format_names(rules.include)}")
    return RuleVerdict("include", True, f"matches the include pattern `{match}`")


def _check_exclude(rules: Rules, url: WebUrl) -> RuleVerdict:
    match = compile_patterns(rules.exclude).first_match(url.url)
    if match is not None:
        return RuleVerdict("exclude", False, f"matches the exclude pattern `{match}`")
    return RuleVerdict(
        "exclude", True, "matches no exclude pattern" if rules.exclude else "no exclude patterns are set"
    )


def _check_depth(max_depth: int, depth: int) -> RuleVerdict:
    links = "a seed" if depth == 0 else f"{depth} {'link' if depth == 1 else 'links'} from a seed"
    return RuleVerdict("depth", depth <= max_depth, f"{links}; `crawl.max_depth` is {max_depth}")


def _check_traps(rules: Rules, url: WebUrl) -> RuleVerdict:
    setting = find_trap(url, rules.urls, rules.year)
    if setting is None:
        return RuleVerdict("trap", True, "looks like no trap")
    limit = getattr(rules.urls, setting)
    return RuleVerdict(f"trap:{setting}", False, f"{_TRAP_REASONS[setting].format(limit=limit)} (`urls.{setting}`)")


def _format_names(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - _MAX_NAMED} more" if len(ordered) > _MAX_NAMED else ""
    return ", ".join(ordered[:_MAX_NAMED]) + more
