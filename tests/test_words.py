"""The vocabulary of the project: one usual word for one thing, in code, settings, logs, docs and tests.

`OLD_WORDS` must not appear at all. `OLD_NAMES` are ordinary English words that were once names of things in here: prose
may use them, identifiers of Python code may not. Functions are named after what they do or what they return.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
TREES = ("src", "tests", "bench", "docs", "scripts", "deploy")
SUFFIXES = frozenset(
    (".py", ".c", ".h", ".sql", ".sh", ".md", ".toml", ".yaml", ".yml", ".html", ".css", ".js", ".svg", ".txt", "")
)
NOT_OURS = (
    "bench/peers",  # programs of others
    "bench/results",  # figures of the code as it was when it was measured
    "bench/cost_fragments.txt",  # markup to breed documents from
    "docs/site",  # built from the rest
    "tests/pages",  # pages of others
    "tests/extract/fuzzed",  # bytes that a fuzzer found
    "tests/test_words.py",
)

OLD_WORDS = {
    "ledger": "database",
    "ledgers": "databases",
    "tiding": "change notice",
    "tidings": "change notices",
    "likeness": "similarity",
    "likenesses": "similarities",
    "knob": "setting",
    "knobs": "settings",
    "catalogue": "URL list",
    "catalogues": "URL lists",
    "rulebook": "rules",
    "upkeep": "recrawl, maintenance",
    "whys": "reasons",
    "wholes": "lists and tables",
    "errand": "fetch",
    "errands": "fetches",
    "hasten": "expedite",
    "hastens": "expedites",
    "hastened": "expedited",
    "hastening": "expediting",
    "lesson": "visit update",
    "lessons": "visit updates",
    "revisit": "recrawl",
    "revisits": "recrawls",
    "revisited": "recrawled",
    "revisiting": "recrawling",
}
OLD_PHRASES = {
    "keep-fresh": "continuous",
    "go on with it": "resume",
    "only leads on": "meta refresh",
    "beyond the guesses of a host": "guess budget used up",
}
OLD_NAMES = {
    "agenda": "due tasks",
    "company": "peers",
    "crew": "workers",
    "doubts": "candidates, uncertain blocks",
    "elsewhere": "redirect target, other host",
    "finds": "guess state",
    "freshness": "change history, recrawl",
    "glance": "status view",
    "held": "stored copy, leased, reserved",
    "kernel": "native",
    "kin": "prior kind, siblings",
    "manners": "behaviours, pace",
    "offer": "candidate",
    "offered": "candidates",
    "offers": "candidates",
    "orders": "options",
    "pulse": "heartbeat",
    "resting": "backing off",
    "rests": "backoffs",
    "telling": "reporting",
    "told": "output, reported, published",
    "trial": "trace",
    "trials": "traces",
    "turns": "permits, rate limiter",
    "twin": "duplicate, original",
    "twins": "duplicates",
    "untold": "unpublished",
}

ALLOWED: dict[tuple[str, str], str] = {
    ("bench/discover_pages.py", "catalogue"): "a path of the simulated shop",
    ("bench/discover_traps.py", "catalogue"): "a path of the simulated shop",
    ("bench/validate.py", "held"): "pages held out from training, as machine learning calls it",
    ("src/tenax/demo/pages.py", "offer"): "an Offer of schema.org",
    ("src/tenax/urls/traps.py", "lesson"): "a path of an online course",
    ("tests/bench/test_discover_site.py", "catalogue"): "a path of the simulated shop",
    ("tests/urls/test_normalize.py", "orders"): "the plural of order: query parameters in any order",
    ("tests/urls/test_traps.py", "lesson"): "a path of an online course",
}
"""Words that mean something else in a file or folder, and what they mean there."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_GAPS = {"-": "[_-]", " ": r"[\s_-]+"}


def phrase_pattern(phrase: str) -> re.Pattern[str]:
    return re.compile("(?<![a-z])" + "".join(_GAPS.get(sign, sign) for sign in phrase) + "(?![a-z])")


_PHRASES = {phrase_pattern(phrase): phrase for phrase in OLD_PHRASES}


class Finding(NamedTuple):
    """An old word in a file."""

    file: str
    line: int
    word: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.word} → {self.instead}"


def words_of(text: str) -> list[str]:
    """The words of prose or of an identifier: `openLedger`, `open_ledger` and `--ledger` have the same last word."""
    return [word.lower() for word in _WORD.findall(text)]


def old_words(file: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        for word in words_of(line):
            if word in OLD_WORDS:
                yield Finding(file, number, word, OLD_WORDS[word])
        for pattern, phrase in _PHRASES.items():
            if pattern.search(line.lower()):
                yield Finding(file, number, phrase, OLD_PHRASES[phrase])


def old_names(file: str, code: str) -> Iterator[Finding]:
    """Old words in identifiers. The name of a test is a sentence, and so it counts as prose."""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.NAME and not token.string.startswith("test_"):
            for word in words_of(token.string):
                if word in OLD_NAMES:
                    yield Finding(file, token.start[0], f"{token.string} ({word})", OLD_NAMES[word])


def files() -> Iterator[tuple[str, str]]:
    """Path and text of every file that we write."""
    for path in (ROOT / "README.md", *(path for tree in TREES for path in sorted((ROOT / tree).rglob("*")))):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in SUFFIXES and path.is_file() and not name.startswith(NOT_OURS) and "__pycache__" not in name:
            yield name, path.read_text(encoding="utf-8")


def is_allowed(finding: Finding) -> bool:
    return any(finding.file.startswith(where) and word in words_of(finding.word) for where, word in ALLOWED)


def listed(findings: Iterable[object]) -> str:
    return "\n" + "\n".join(map(str, findings))


def test_old_words_are_gone() -> None:
    found = [finding for file, text in files() for finding in old_words(file, text) if not is_allowed(finding)]
    assert not found, listed(found)


def test_old_words_are_gone_from_names() -> None:
    found = [
        finding
        for file, text in files()
        if file.endswith(".py")
        for finding in old_names(file, text)
        if not is_allowed(finding)
    ]
    assert not found, listed(found)


def test_every_exception_is_needed() -> None:
    texts = dict(files())
    for where, word in ALLOWED:
        found = [words_of(text) for file, text in texts.items() if file.startswith(where)]
        assert any(word in words for words in found), f"{where} does not use {word!r} any more"


@pytest.mark.parametrize(
    "text",
    ["open_ledger", "LedgerConfig", "TENAX_LEDGER_URL", "--ledger", "the ledger's", "Keep_Fresh", "--keep-fresh"],
)
def test_an_old_word_is_noticed_however_it_is_written(text: str) -> None:
    assert [finding.line for finding in old_words("x.md", f"\n{text}")] == [2]


def test_old_names_are_noticed_in_code_and_not_in_prose() -> None:
    code = '"""What the host was told."""\n\n\ndef test_it_is_told(told_urls: str) -> None: ...\n'
    assert [finding.word for finding in old_names("x.py", code)] == ["told_urls (told)"]


# ---- functions are verbs or nouns -------------------------------------------------------------------------------

NO_PARTICIPLES = frozenset((
    "embed", "ending", "feed", "green", "listen", "need", "open", "ping", "red", "screen", "seed", "speed", "string",
    "warning",
))  # fmt: skip
"""Verbs, nouns and adjectives that only end like a participle."""
IRREGULAR = frozenset((
    "begun", "bound", "brought", "built", "done", "found", "given", "gone", "held", "kept", "known", "lost", "made",
    "met", "said", "seen", "sent", "shown", "told", "worn", "written",
))  # fmt: skip
ADVERBS = frozenset((
    "again", "ahead", "apart", "away", "back", "behind", "down", "enough", "here", "later", "not", "off", "on",
    "once", "only", "out", "over", "so", "then", "there", "together", "too", "up",
))  # fmt: skip
PREPOSITIONS = frozenset((
    "about", "above", "against", "among", "around", "as", "at", "behind", "below", "beside", "beyond", "by", "during",
    "in", "into", "of", "than", "through", "under", "unlike", "until", "upon",
))  # fmt: skip
"""A name that begins with one is half a sentence; `to_`, `from_`, `for_`, `with_` and `on_` are idioms."""
GOOD_NAMES = {
    "in_flight": "the usual word for requests that are not answered yet",
    "in_link_points": "in-links are links to a page",
}


def is_participle(word: str) -> bool:
    return word in IRREGULAR or (word.endswith(("ed", "en", "ing")) and word not in NO_PARTICIPLES)


def is_phrase(name: str) -> bool:
    """Whether a function is named by a participle (`stored`, `taken_up`) or a preposition (`of_host`), not by a verb or
    a noun. A participle before a noun (`parked_tasks`) is part of a noun."""
    first, *others = name.strip("_").split("_")
    if first in PREPOSITIONS or (first in ADVERBS and not others):
        return True
    is_whole = all(is_participle(word) or word in ADVERBS | PREPOSITIONS for word in others)
    return is_participle(first) and is_whole


def functions(code: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All but properties, whose names are states, and methods that Python calls."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_property = any("property" in ast.unparse(one) for one in node.decorator_list)
            if not is_property and not node.name.startswith("__"):
                yield node


def test_functions_are_named_by_verbs_or_nouns() -> None:
    found = [
        f"{file}:{function.lineno}: {function.name}"
        for file, text in files()
        if file.startswith("src/tenax/") and file.endswith(".py")
        for function in functions(text)
        if is_phrase(function.name) and function.name not in GOOD_NAMES
    ]
    assert not found, listed(found)


@pytest.mark.parametrize(
    "name", ["stored", "_told", "taken_up", "of_host", "by_rules", "_ended", "going_on", "kept_back"]
)
def test_phrases_are_noticed(name: str) -> None:
    assert is_phrase(name)


@pytest.mark.parametrize(
    "name", ["store_page", "parked_tasks", "is_stored", "open", "to_json", "on_stopped", "read", "with_path", "seed"]
)
def test_verbs_and_nouns_pass(name: str) -> None:
    assert not is_phrase(name)
