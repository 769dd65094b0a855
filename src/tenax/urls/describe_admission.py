"""The admission of one URL told in sentences, for a person who asks why.

It asks the same rules in the same order as `admit`; the first verdict that did not pass carries the name that a
refusal is counted under.
"""

from __future__ import annotations

from collections.abc import Iterable

from tenax.model import Value
from tenax.urls.admit import Rules
from tenax.urls.normalize import WebUrl
from tenax.urls.patterns import compile_patterns
from tenax.urls.scope import Scope, in_scope
from tenax.urls.traps import trap

_MAX_NAMED = 3

_TRAPS = {
    "max_length": "it is longer than {limit} characters",
    "max_path_segments": "its path has more than {limit} segments",
    "max_repeated_segments": "its path repeats itself more than {limit} times",
    "max_query_params": "it has more than {limit} query parameters",
    "calendar_years": "it names a date that an endless calendar would; dates may lie {limit} years ahead",
}


class Verdict(Value, frozen=True):
    """One rule's answer about one URL."""

    rule: str
    """`scope`, `include`, `exclude`, `depth` or `trap`; a trap that holds adds its knob: `trap:max_length`."""
    passed: bool
    why: str


def verdicts(rules: Rules, url: WebUrl, depth: int) -> list[Verdict]:
    """Every rule's answer, in the order of admission; all are asked, whatever the first ones say."""
    return [
        _on_scope(rules.scope, url),
        _on_include(rules, url),
        _on_exclude(rules, url),
        _on_depth(rules.max_depth, depth),
        _on_traps(rules, url),
    ]


def _on_scope(scope: Scope, url: WebUrl) -> Verdict:
    if scope.name == "any":
        return Verdict("scope", True, "the scope is `any`: every host may be visited")
    passed = in_scope(scope, url)
    limits = _listed(scope.hosts or scope.domains or scope.prefixes)
    return Verdict("scope", passed, f"{'inside' if passed else 'outside'} the scope `{scope.name}`: {limits}")


def _on_include(rules: Rules, url: WebUrl) -> Verdict:
    if not rules.include:
        return Verdict("include", True, "no include patterns are set")
    match = compile_patterns(rules.include).first_match(url.url)
    if match is None:
        return Verdict("include", False, f"matches none of the include patterns: {_listed(rules.include)}")
    return Verdict("include", True, f"matches the include pattern `{match}`")


def _on_exclude(rules: Rules, url: WebUrl) -> Verdict:
    match = compile_patterns(rules.exclude).first_match(url.url)
    if match is not None:
        return Verdict("exclude", False, f"matches the exclude pattern `{match}`")
    return Verdict("exclude", True, "matches no exclude pattern" if rules.exclude else "no exclude patterns are set")


def _on_depth(max_depth: int, depth: int) -> Verdict:
    links = "a seed" if depth == 0 else f"{depth} {'link' if depth == 1 else 'links'} from a seed"
    return Verdict("depth", depth <= max_depth, f"{links}; `crawl.max_depth` is {max_depth}")


def _on_traps(rules: Rules, url: WebUrl) -> Verdict:
    knob = trap(url, rules.urls, rules.year)
    if knob is None:
        return Verdict("trap", True, "looks like no trap")
    limit = getattr(rules.urls, knob)
    return Verdict(f"trap:{knob}", False, f"{_TRAPS[knob].format(limit=limit)} (`urls.{knob}`)")


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - _MAX_NAMED} more" if len(ordered) > _MAX_NAMED else ""
    return ", ".join(ordered[:_MAX_NAMED]) + more
