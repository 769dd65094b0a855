"""What the program says about a run and about a URL, in the few words that the model of `soak_honest` compares.

This is the only part of the soak that knows how our answers look: `tenax explain --json`, its first sentence, the exit
code and the summary of `tenax crawl`.
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
"""What is said of a URL that no page, sitemap or feed named."""
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
    """What is said of one URL."""

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
    rests_seconds: float = 0.0
    """How long its host is left alone from now on."""
    cut_off_via: tuple[str, ...] = ()
    """Pages that name it and were cut off there."""
    duplicate_of: str = ""

    @property
    def says_unlinked(self) -> bool:
        return NEVER_LINKED in self.headline

    @property
    def says_guarded(self) -> bool:
        return self.state == "never" and "refused by the guard" in self.headline

    @property
    def says_due_now(self) -> bool:
        return "due now" in self.headline


@dataclass(frozen=True)
class Ending:
    """How a run ended, as it says itself."""

    name: str
    """`complete`, `limited`, `page_limit`, `patience`, `nothing` or `unknown`."""
    exit_code: int
    limits: frozenset[str] = frozenset()
    """Settings that the summary names."""
    said: str = ""

    @property
    def began_complete(self) -> bool:
        """Whether it was said at the start that nothing is left to do."""
        return "this crawl is complete" in self.said


@dataclass(frozen=True)
class Told:
    """Everything that a crawl says of itself at one time."""

    answers: dict[str, Answer]
    waiting: int
    pages: int
    lines: tuple[tuple[str, str], ...]
    """URL and content hash of each line of `pages.jsonl`."""


async def told_of(out: Path, urls: Iterable[str]) -> Told:
    """Asks the library for what `tenax explain` prints, for every URL."""
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
    return Told(answers, status.waiting, status.pages, tuple((line["url"], line["content_hash"]) for line in lines))


def answer_of(document: dict[str, Any], sentence: str = "") -> Answer:
    """Of the JSON of `tenax explain`, which leaves out what is usual."""
    life = document.get("life")
    state, detail = _never_admitted(document) if life is None else _life(life)
    common = {"url": document["url"], "state": state, "detail": detail, "headline": sentence}
    if life is None:
        via = tuple(str(one.get("via", "")) for one in document.get("cut_off", ()))
        return Answer(**common, cut_off_via=via)
    return Answer(
        **common,
        is_admitted=True,
        depth=life["depth"],
        via=life.get("via") or "",
        source=life["source"],
        due=life.get("due"),
        rests_seconds=(life.get("host") or {}).get("next_at", 0.0) - document["now"],
        duplicate_of=(life.get("page") or {}).get("duplicate_of") or "",
    )


def _never_admitted(document: dict[str, Any]) -> tuple[str, str]:
    refusing = next((one["rule"] for one in document.get("verdicts", ()) if not one.get("passed", False)), "")
    if refusing:
        return "refused", refusing
    if limits := sorted({one["limit"] for one in document.get("cut_off", ())}):
        return "cut_off", ",".join(limits)
    return "never", ""


def _life(life: dict[str, Any]) -> tuple[str, str]:
    last = life["visits"][-1]["outcome"] if life.get("visits") else {}
    why = str(last.get("why", ""))
    if life["state"] == "waiting":
        return "waiting", why
    if life["state"] == "dead":
        return "failed", str(last.get("kind", "")) or why.partition(":")[0]
    if life.get("page") is not None:
        return "stored", ""
    match last.get("type"):
        case "fetched" if last.get("URL list"):
            return "list", str(last["URL list"])
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
    """Of what `tenax crawl` printed."""
    limits = frozenset(_SETTING.findall(said))
    for sign, name in _ENDINGS.items():
        if sign in said:
            return Ending(name, exit_code, limits, said)
    name = "limited" if re.search(r"(?im)^\W*(?:crawl )?limited\b|^limited:", said) else "unknown"
    return Ending(name, exit_code, limits, said)


def says_complete(status: str) -> bool:
    """Whether `tenax status` printed that nothing is left to do."""
    return "the crawl is complete" in status


def same_answer(printed: str, ours: Answer) -> bool:
    """Whether the command printed what the library said."""
    return replace(answer_of(json.loads(printed), ours.headline), rests_seconds=0.0) == replace(ours, rests_seconds=0.0)
