"""Parses the program's answers about a run and about a URL into the values that `soak_honest_model` compares.

Only this module knows their format: `tenax explain --json`, its first sentence, the exit code and the summary of
`tenax crawl`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from tenax.cli.commands.explain import explain_url
from tenax.cli.views.timeline import headline
from tenax.crawl.location import Location
from tenax.crawl.wiring import open_database

NEVER_LINKED = "no stored page links to it"
"""In the headline of a URL that no page, sitemap or feed names."""
_ENDINGS = {
    "Crawl complete:": "complete",
    "Page limit reached:": "page_limit",
    "Stopped for now:": "patience",
    "Interrupted:": "interrupted",
    "Nothing could be stored": "nothing",
}
_SETTING = re.compile(r"`([a-z_]+\.[a-z_]+)`")


@dataclass(frozen=True)
class Answer:
    """The answer about one URL."""

    url: str
    state: str
    """`stored`, `list`, `waiting`, `redirected`, `rejected`, `failed`, `refused`, `cut_off` or `never`."""
    detail: str = ""
    """The rule that refuses it, the limits that cut it off (with commas), or the kind of failure."""
    headline: str = ""
    is_admitted: bool = False
    depth: int = 0
    via: str = ""
    source: str = ""
    due: float | None = None
    backoff_seconds: float = 0.0
    """How long its host backs off from now on."""
    cut_off_via: tuple[str, ...] = ()
    """Pages that name it and were cut off there."""
    duplicate_of: str = ""

    @property
    def says_unlinked(self) -> bool:
        return NEVER_LINKED in self.headline

    @property
    def says_guarded(self) -> bool:
        return self.state == "never" and "guard, because the address is private" in self.headline

    @property
    def says_due_now(self) -> bool:
        return "due now" in self.headline


@dataclass(frozen=True)
class Ending:
    """How a run ended, from its output."""

    name: str
    """`complete`, `limited`, `page_limit`, `patience`, `nothing` or `unknown`."""
    exit_code: int
    limits: frozenset[str] = frozenset()
    """Settings that the summary names."""
    said: str = ""

    @property
    def began_complete(self) -> bool:
        """Whether the run printed at its start that the crawl is complete."""
        return "this crawl is complete" in self.said


@dataclass(frozen=True)
class Snapshot:
    """All answers of a crawl at one time."""

    answers: dict[str, Answer]
    waiting: int
    pages: int
    lines: tuple[tuple[str, str], ...]
    """URL and content hash of each line of `pages.jsonl`."""


async def take_snapshot(out: Path, urls: Iterable[str]) -> Snapshot:
    """Explains every URL with the library code of `tenax explain`."""
    database = await open_database(Location(out), read_only=True)
    try:
        answers = {}
        for url in urls:
            explanation = await explain_url(database, url)
            document = json.loads(msgspec.json.encode(explanation))
            answers[url] = answer_of(document, headline(explanation))
        status = await database.status()
    finally:
        await database.close()
    file = out / "pages.jsonl"
    texts = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    lines = [json.loads(text) for text in texts]
    return Snapshot(answers, status.waiting, status.pages, tuple((line["url"], line["content_hash"]) for line in lines))


def answer_of(document: dict[str, Any], sentence: str = "") -> Answer:
    """Parses the JSON of `tenax explain`, which omits default values."""
    history = document.get("history")
    state, detail = _never_admitted(document) if history is None else _state_of_history(history)
    common = {"url": document["url"], "state": state, "detail": detail, "headline": sentence}
    if history is None:
        via = tuple(str(one.get("via", "")) for one in document.get("cut_off", ()))
        return Answer(**common, cut_off_via=via)
    return Answer(
        **common,
        is_admitted=True,
        depth=history["depth"],
        via=history.get("via") or "",
        source=history["source"],
        due=history.get("due"),
        backoff_seconds=(history.get("host") or {}).get("next_at", 0.0) - document["now"],
        duplicate_of=(history.get("page") or {}).get("duplicate_of") or "",
    )


def _never_admitted(document: dict[str, Any]) -> tuple[str, str]:
    refusing = next((one["rule"] for one in document.get("verdicts", ()) if not one.get("passed", False)), "")
    if refusing:
        return "refused", refusing
    if limits := sorted({one["limit"] for one in document.get("cut_off", ())}):
        return "cut_off", ",".join(limits)
    return "never", ""


def _state_of_history(history: dict[str, Any]) -> tuple[str, str]:
    last = history["visits"][-1]["outcome"] if history.get("visits") else {}
    why = str(last.get("why", ""))
    if history["state"] == "waiting":
        return "waiting", why
    if history["state"] == "dead":
        return "failed", str(last.get("kind", "")) or why.partition(":")[0]
    if history.get("page") is not None:
        return "stored", ""
    match last.get("type"):
        case "fetched" if last.get("url_list"):
            return "list", str(last["url_list"])
        case "failed":
            return "failed", str(last["kind"])
        case "refused" if why.startswith("rules: "):
            return "refused", why.removeprefix("rules: ")
        case "refused" | "rejected" as state:
            return state, why.partition(":")[0]
        case "redirected":
            return "redirected", why
        case other:
            return str(other), why


def ending_of(exit_code: int, said: str) -> Ending:
    """Parses the output of `tenax crawl`."""
    limits = frozenset(_SETTING.findall(said))
    for sign, name in _ENDINGS.items():
        if sign in said:
            return Ending(name, exit_code, limits, said)
    name = "limited" if re.search(r"(?im)^\W*(?:crawl )?limited\b|^limited:", said) else "unknown"
    return Ending(name, exit_code, limits, said)


def says_complete(status: str) -> bool:
    """Whether `tenax status` printed that the crawl is complete."""
    return "the crawl is complete" in status


def same_answer(printed: str, ours: Answer) -> bool:
    """Whether command and library agree."""
    return replace(answer_of(json.loads(printed), ours.headline), backoff_seconds=0.0) == replace(
        ours, backoff_seconds=0.0
    )
