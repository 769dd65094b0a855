"""Every regular expression of the program, found in its sources, and texts that are hard on each.

A text that is hard on a pattern is made of what the pattern repeats: runs of it, alone or behind what must come first,
each followed by something that may make the match fail.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple, TypeAlias

import tenax

Pattern: TypeAlias = re.Pattern[Any]

SOURCES = Path(tenax.__file__).parent
LONG_REPEAT = 64
"""A repeat that may be as long as this is one to be tried."""
_FUNCTIONS = frozenset(("compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"))
_METHODS = _FUNCTIONS - {"compile"}
ANCHORED = ("match", "fullmatch")
"""The methods that match at one position only."""
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_CLASSES = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY)
_USUAL = " \t\n\rabefhnpstuxzABFSTZ0129_-.,:;/?#&=+*!|~^$%@'\"`<>()[]{}\\é—·中\0\x1b\x9b\xa0\u2028"
_MOST_SAMPLES = 2


class Made(NamedTuple):
    """What a function compiles from other text than a constant."""

    patterns: Callable[[], Iterable[Pattern]]
    methods: frozenset[str] = _METHODS


class Site(NamedTuple):
    """A location in the sources that compiles patterns."""

    name: str
    """`module.NAME` of a constant, `module.function` of what is made later."""
    patterns: tuple[Pattern, ...]
    methods: frozenset[str]
    """What is asked of them, as far as the sources show; all there is when they do not."""


def sites(made_later: Mapping[str, Made]) -> Iterator[Site]:
    """Every location; `made_later` has the patterns of the functions that compile what is no constant.

    Raises `LookupError` for a location whose patterns cannot be found, and for one of `made_later` that is not there.
    """
    unused = dict(made_later)
    trees = {_module_of(path): ast.parse(path.read_bytes()) for path in sorted(SOURCES.rglob("*.py"))}
    for module, tree in trees.items():
        used = _methods_used(tree)
        locations: dict[str, Site] = {}
        for call, name, is_constant in _calls(module, tree):
            location = f"{module}.{name}"
            if is_constant:
                found = tuple(_patterns_in(getattr(importlib.import_module(module), name)))
                if not found:
                    raise LookupError(f"{location}: there is no pattern in it")
                locations[location] = Site(location, found, used.get(name, _METHODS))
            elif (literal := _literal(call)) is not None:
                locations[f"{location}, line {call.lineno}"] = Site(location, (literal,), _METHODS)
            elif location in made_later:
                made = made_later[location]
                locations[location] = Site(location, tuple(made.patterns()), made.methods)
                unused.pop(location, None)
            else:
                raise LookupError(f"{location}, line {call.lineno}: name its patterns in the test")
        yield from locations.values()
    if unused:
        raise LookupError(f"no such locations: {', '.join(unused)}")


def _module_of(path: Path) -> str:
    parts = ["tenax", *path.relative_to(SOURCES).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _calls(module: str, tree: ast.Module) -> Iterator[tuple[ast.Call, str, bool]]:
    """Each call of `re`, with the constant that it makes, or else the function that it stands in."""
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            for call in _calls_in(statement):
                if not isinstance(target, ast.Name):
                    raise LookupError(f"{module}, line {call.lineno}: give the pattern a name of its own")
                yield call, target.id, True
        else:
            for function in _functions(module, statement):
                for call in _calls_in(function):
                    yield call, function.name, False


def _functions(module: str, statement: ast.stmt) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The outermost ones, those of classes too."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield statement
    elif isinstance(statement, ast.ClassDef):
        for inner in statement.body:
            yield from _functions(module, inner)
    elif isinstance(statement, ast.ImportFrom) and statement.module == "re":
        raise LookupError(f"{module}: write `import re`, so that its patterns are found")
    elif any(True for _ in _calls_in(statement)):
        raise LookupError(f"{module}, line {statement.lineno}: make the pattern in a constant or a function")


def _calls_in(node: ast.AST) -> Iterator[ast.Call]:
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Attribute)
            and isinstance(inner.func.value, ast.Name)
            and inner.func.value.id == "re"
            and inner.func.attr in _FUNCTIONS
        ):
            yield inner


def _literal(call: ast.Call) -> Pattern | None:
    first, flags = call.args[0] if call.args else None, 0
    for keyword in call.keywords:
        for node in ast.walk(keyword.value) if keyword.arg == "flags" else ():
            flags |= int(getattr(re, node.attr)) if isinstance(node, ast.Attribute) else 0
    return re.compile(first.value, flags) if isinstance(first, ast.Constant) else None


def _methods_used(tree: ast.Module) -> dict[str, frozenset[str]]:
    """What its own module asks of each constant. One that begins with no underscore may be asked by others."""
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _METHODS:
            used.setdefault(node.value.id, set()).add(node.attr)
    return {name: frozenset(methods) for name, methods in used.items() if name.startswith("_")}


def _patterns_in(value: object) -> Iterator[Pattern]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _patterns_in(inner)
    elif isinstance(value, (tuple, list, set, frozenset)):
        for inner in value:
            yield from _patterns_in(inner)


# ---- texts that are hard on a pattern ---------------------------------------------------------------------


class Hard(NamedTuple):
    """A text that may be hard on a pattern, of any length."""

    start: str
    unit: str
    is_bytes: bool

    def text(self, length: int, tails: str) -> Any:
        """A run before each of these characters; a single one, when there are none."""
        run = self.start + self.unit * (length // len(self.unit) // max(len(tails), 1))
        text = "".join(run + tail for tail in tails) if tails else run
        return text.encode("latin-1") if self.is_bytes else text


def hard_texts(pattern: Pattern) -> list[Hard]:
    """Each once; none when the pattern repeats nothing without end."""
    is_bytes = isinstance(pattern.pattern, bytes)
    parsed = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE if is_bytes else pattern.flags)
    samples = _Samples(parsed, is_bytes)
    found: dict[Hard, None] = {}
    for before, inner in samples.repeats(parsed, ("",)):
        for body in filter(None, samples.of(inner, len(samples.pool))):
            for first in before:
                for start, unit in ((first, body), ("", first + body), ("", first or body)):
                    found[Hard(start, unit, is_bytes)] = None
    return list(found)


class _Samples:
    """Short texts that parts of a pattern match, as far as what it looks around for lets them."""

    def __init__(self, parsed: Any, is_bytes: bool) -> None:
        self._state = parsed.state
        self._is_bytes = is_bytes
        self._members: dict[str, frozenset[str]] = {}
        written = self._state.str.decode("latin-1") if is_bytes else self._state.str
        chars = [char for char in dict.fromkeys(_USUAL + written) if not is_bytes or ord(char) < 256]
        classes = {repr(item): self._chars_of(item, chars) for item in _leaves(parsed)}
        # Of characters that no part of the pattern tells apart, one is enough.
        alike: dict[tuple[object, ...], str] = {}
        for char in chars:
            word = char.isalnum() or char == "_"
            alike.setdefault((word, char.isspace(), *(char in members for members in classes.values())), char)
        self.pool = tuple(alike.values())
        self._members = {name: members & frozenset(self.pool) for name, members in classes.items()}

    def _chars_of(self, item: Any, chars: Iterable[str]) -> frozenset[str]:
        one = _compiler.compile(_parser.SubPattern(self._state, [item]), self._state.flags)
        return frozenset(char for char in chars if one.fullmatch(char.encode("latin-1") if self._is_bytes else char))

    def of(self, items: Iterable[Any], most: int = _MOST_SAMPLES) -> tuple[str, ...]:
        found = [""]
        for item in items:
            found = [one + other for one in found for other in self._of_item(item, most)][:most]
        return tuple(dict.fromkeys(found))

    def _of_item(self, item: Any, most: int) -> tuple[str, ...]:
        kind, value = item
        if kind is _constants.LITERAL:
            return (chr(value),)
        if kind in _CLASSES:
            return tuple(sorted(self._members[repr(item)]))[:most]
        if kind is _constants.BRANCH:
            return tuple(one for branch in value[1] for one in self.of(branch, most))[: max(most, len(value[1]))]
        if kind is _constants.SUBPATTERN:
            return self.of(value[3], most)
        if kind is _constants.ATOMIC_GROUP:
            return self.of(value, most)
        if kind in _REPEATS:
            least, _, inner = value
            once = self.of(inner, most)
            return tuple(one * least for one in once) if least else ("", *once)[:most]
        return ("",)

    def repeats(self, items: Iterable[Any], before: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        """Each long repeat, with texts that match what stands before it."""
        for item in items:
            kind, value = item
            if kind in _REPEATS and (value[1] is _constants.MAXREPEAT or value[1] >= LONG_REPEAT):
                yield before, value[2]
            for inner in _parts(item):
                yield from self.repeats(inner, before)
            after = self._of_item(item, _MOST_SAMPLES)
            before = tuple(dict.fromkeys(one + other for one in before for other in after))[:_MOST_SAMPLES]


def _parts(item: Any) -> tuple[Any, ...]:
    """What an item of a pattern is made of."""
    kind, value = item
    if kind in _REPEATS:
        return (value[2],)
    if kind is _constants.BRANCH:
        return tuple(value[1])
    if kind is _constants.SUBPATTERN:
        return (value[3],)
    if kind is _constants.ATOMIC_GROUP:
        return (value,)
    if kind in (_constants.ASSERT, _constants.ASSERT_NOT):
        return (value[1],)
    if kind is _constants.GROUPREF_EXISTS:
        return tuple(part for part in value[1:] if part is not None)
    return ()


def _leaves(items: Iterable[Any]) -> Iterator[Any]:
    """What matches a single character."""
    for item in items:
        if item[0] in _CLASSES:
            yield item
        for inner in _parts(item):
            yield from _leaves(inner)
