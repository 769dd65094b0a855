"""The content of the architecture diagram, from the source: packages, their imports, and the path of a URL.

Only `STEPS` is written by hand. Its names are looked up in the source whenever the diagram is drawn.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from docs.from_code import GROUPS, SOURCE, first_sentence

LOOSE = "modules"
"""The modules beside the packages."""


class Step(NamedTuple):
    """One step of a URL, and the module or package that performs it."""

    module: str
    what: str


STEPS = (
    Step("crawl.discovery_candidates", "proposes URLs: links, sitemaps, feeds, guesses"),
    Step("urls.admit", "normalizes, checks scope and rules, ranks"),
    Step("database.schedule", "claims the next task of a host that is ready"),
    Step("fetch.pipeline", "robots.txt, rate limit, SSRF guard, request"),
    Step("crawl.reader", "extracts text, metadata and links of the page"),
    Step("crawl.after_visit", "plans what happens to task, host and page"),
    Step("database.visit_rows", "one transaction: page, links, plan, event"),
    Step("events.relay", "carries events from the outbox to every sink"),
    Step("events.jsonl", "a sink: a file, Kafka or a Redis stream"),
)


class DiagramError(Exception):
    """The diagram names a module that does not exist."""


class Package(NamedTuple):
    name: str
    sentence: str
    uses: tuple[str, ...]
    """The packages it imports, in the order of the diagram from the top, without modules beside the packages."""


@cache
def packages() -> Mapping[str, Package]:
    """Every package, and the modules beside them as one more. Reads the whole source once."""
    names = [name for group in reversed(GROUPS) for name in group]
    found = {}
    for name in names:
        used = _imported(SOURCE / name) - {name}
        uses = tuple(other for other in names if other in used)
        found[name] = Package(name, first_sentence(SOURCE / name / "__init__.py"), uses)
    loose = sorted(file.stem for file in SOURCE.glob("*.py") if not file.stem.startswith("__"))
    return found | {LOOSE: Package(LOOSE, f"Beside the packages: {', '.join(loose)}.", ())}


def _imported(package: Path) -> set[str]:
    """The first name after `tenax` in every import of the package, at any level."""
    return {
        name.split(".")[1]
        for file in package.rglob("*.py")
        for name in _imports(ast.parse(file.read_text(encoding="utf-8")))
        if name.startswith("tenax.")
    }


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def checked_steps() -> tuple[Step, ...]:
    """The steps; raises if a module is missing."""
    missing = [step.module for step in STEPS if not _exists(step.module)]
    if missing:
        raise DiagramError(
            f"docs/packages.py: STEPS names {', '.join(missing)}, not found in src/tenax: rename it there"
        )
    return STEPS


def _exists(module: str) -> bool:
    path = SOURCE.joinpath(*module.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
