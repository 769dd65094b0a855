"""Is this a page? Walls, consent pages and empty shells are told from short good pages here.

No single sign is enough, because good pages speak of captchas and cookies too, and carry the scripts of those who
build walls. Looked at together are: marks that only a wall has, what the headline is, what is said to the visitor,
and above all how much is left of the text when that is taken away. A good page has something of its own to say.

*Hard* means that we are shut out: the host rests. *Soft* means that a browser might see a page where we saw none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tenax.config import ValidationConfig
from tenax.extract.document import Document
from tenax.extract.html.block_page_signals import Facts
from tenax.fetch.block_page_signatures import (
    EXPLAINING,
    FILLER,
    HARD,
    HEADLINES,
    LOADING,
    MARKS,
    SMALL_PRINT,
    WIDGETS,
    Kind,
)
from tenax.fetch.block_page_words import folded, headline_kind, parts_of, said_in
from tenax.model import Validation, Value, Way

SMALL_BODY_BYTES: Final = 500
"""A smaller body must read like a page, where `validation.min_body_bytes` does not say what a page must have."""
PLAIN_TEXT_CHARS: Final = 2_000
"""With so much to read it is a page, unless its very title says otherwise."""
MOST_WALL_CHARS: Final = 6_000
"""No wall has more text than this."""
MARKED_CHARS: Final = 1_500
"""What a page may have of its own and still be the wall that a mark says it is."""
HEADED_REST_CHARS: Final = 160
"""What a wall may say besides, when its headline is a wall's; half of a longer text."""
REST_CHARS: Final = 30
"""The same when its headline is not."""
SHELL_CHARS: Final = 200
"""A shell may show a name and a menu around the empty place."""
LINE_CHARS: Final = 60
"""A text so short is its own headline."""
NAME_CHARS: Final = 12
"""What a page must have of its own besides its name: a site's name above "please log in" is a wall."""
NOTHING: Final = -1
"""No rest is small enough: not even none."""
REFRESH_SECONDS: Final = 10

_WORDS: Final[dict[Kind, str]] = {
    "blocked": "the site shuts us out",
    "captcha": "the site asks for a person",
    "limited": "the site says that we ask too often",
    "challenge": "the site checks the browser first",
    "javascript": "the page needs JavaScript",
    "consent": "the site asks for consent first",
    "login": "the page is for those who log in",
}
_SENTENCE_ENDS: Final = re.compile("[.!?。！？…\n]+")
_REFRESH: Final = re.compile(r"\s*([0-9]{1,6})(?:\.[0-9]*)?\s*[;,]\s*(?:url\s*=\s*)?['\"]?(.+)", re.IGNORECASE)


class Verdict(Value, frozen=True):
    """What was decided, and on what evidence."""

    status: Validation = ""
    """Empty: not judged."""
    why: str = ""
    """One word, a colon and what it means; empty for a page."""
    evidence: str = ""
    """What was seen, in the page's own words."""


VALID: Final = Verdict("valid")


def validate(
    document: Document,
    facts: Callable[[], Facts],
    config: ValidationConfig,
    body_bytes: int,
    status: int = 200,
    way: Way = Way.HTTP,
) -> Verdict:
    """Judge what was read. `facts` is only asked for when the page is not plainly one."""
    if not config.enabled or document.media == "other" or not 200 <= status < 300:
        return Verdict()
    verdict = _judged(document, facts, config, body_bytes, way)
    if verdict is VALID and body_bytes < config.min_body_bytes:
        least = f"{config.min_body_bytes:,}, by `validation.min_body_bytes`"
        return Verdict("soft", f"small: the body has {body_bytes:,} bytes, and a page must have {least}")
    return verdict


def _judged(
    document: Document, facts: Callable[[], Facts], config: ValidationConfig, body_bytes: int, way: Way
) -> Verdict:
    """What it reads like, whatever its size."""
    if document.media == "text":
        return VALID if document.text else Verdict("soft", "empty: there is nothing to read")
    is_small = body_bytes < (SMALL_BODY_BYTES if config.min_body_bytes < 0 else config.min_body_bytes)
    if not is_small and _is_plainly_a_page(document):
        return VALID
    return _Look(document, facts(), is_small, way).verdict()


def refresh_target(facts: Facts) -> str:
    """Where a page sends its visitors at once, as written; empty when it does not."""
    found = _REFRESH.match(facts.refresh)
    if found is None or int(found[1]) > REFRESH_SECONDS:
        return ""
    return found[2].strip().rstrip("'\"")


class _Look:
    """A closer look at one page that is short of text, or named like a wall."""

    def __init__(self, document: Document, facts: Facts, is_small: bool, way: Way) -> None:
        self.document = document
        self.facts = facts
        self.is_small = is_small
        self.way = way
        self.title = folded(document.title)
        self.text = folded(document.text[:MOST_WALL_CHARS])
        self.headings = tuple(map(folded, facts.headings))
        heads = (self.title, *self.headings, self.text if len(self.text) <= LINE_CHARS else "")
        self.headline_kind = headline_kind(part for head in heads for part in parts_of(head))

    def verdict(self) -> Verdict:
        return self._marked() or self._said() or self._unfinished() or VALID

    def _marked(self) -> Verdict | None:
        """A mark that only a wall has."""
        if self.facts.is_large or len(self.text) > MARKED_CHARS:
            return None
        for mark, kind, maker in MARKS:
            if mark in self.facts.marks:
                return self._rejected(kind, f"{maker}: {mark}")
        return None

    def _said(self) -> Verdict | None:
        """Words to the visitor, or a wall's headline, and little else."""
        if self.title.startswith(EXPLAINING):
            return None
        said = said_in("\n".join((self.title, *self.headings, self.text)))
        kind = self._strongest_kind(said)
        if kind is None:
            return None
        widget = next((maker for mark, sort, maker in WIDGETS if sort == kind and mark in self.facts.marks), "")
        if self._rest(kind, [phrase for phrase, _ in said]) > self._most_rest(kind, said, bool(widget)):
            return None
        seen = (next((phrase for phrase, sort in said if sort == kind), ""), widget)
        return self._rejected(kind, ", ".join(filter(None, seen)) or f"headline: {self.document.title or self.text}")

    def _strongest_kind(self, said: list[tuple[str, Kind]]) -> Kind | None:
        """What kind of wall it would be: being shut out goes before all else, then the headline, then what is said."""
        kinds = [kind for kind in (self.headline_kind, *(kind for _, kind in said)) if kind is not None]
        return next((kind for kind in kinds if kind in HARD), kinds[0] if kinds else None)

    def _most_rest(self, kind: Kind, said: list[tuple[str, Kind]], has_widget: bool) -> int:
        """How many characters of its own the page may have and still be nothing but a wall."""
        heads = "\n".join((self.title, *self.headings))
        if not has_widget and not any(phrase in self._below_heads() for phrase, _ in said):
            # A headline alone: "Access Denied" may be the name of a song. Then the song is described below it.
            return REST_CHARS
        if self.headline_kind is not None or any(phrase in heads for phrase, _ in said):
            return max(HEADED_REST_CHARS, len(self.text) // 2)
        if self.headings and not self.is_small:
            return NOTHING
        if kind == "consent" and len(said) < 2 and not has_widget:
            # A page about its own cookies says as much.
            return NOTHING
        if name := self._name():
            return min(len(name) + NAME_CHARS, REST_CHARS)
        if not self.headings and sum(sort in HARD for _, sort in said) > 1:
            return HEADED_REST_CHARS
        return 2 * REST_CHARS if has_widget else REST_CHARS

    def _below_heads(self) -> str:
        """The text without the lines that are its headings."""
        return "\n".join(line for line in self.text.splitlines() if line.strip() not in self.headings)

    def _name(self) -> str:
        """The title, when it stands above the text as well, as a heading or as its first line; walls seldom do that."""
        first = self.text.partition("\n")[0].strip()
        return next((name for name in parts_of(self.title) if name and name in (first, *self.headings)), "")

    def _rest(self, kind: Kind, phrases: list[str]) -> int:
        """How many characters of the text are in sentences of its own."""
        around = (*SMALL_PRINT, *FILLER[kind]) if phrases else SMALL_PRINT
        wall_words = (*phrases, *(words for words in around if words in self.text))
        own = 0
        for sentence in _SENTENCE_ENDS.split(self.text):
            sentence = sentence.strip()
            if sentence in HEADLINES or any(words in sentence for words in wall_words):
                continue
            own += len(sentence)
        return own

    def _unfinished(self) -> Verdict | None:
        """Nothing there yet, or nothing there at all."""
        facts, text = self.facts, self.text
        if self._is_waiting() and refresh_target(facts):
            return Verdict("soft", "refresh: the page only leads on to another", facts.refresh)
        if facts.scripts and (seen := self._shell()):
            return Verdict("soft", "shell: the page is built by scripts", seen)
        if text or facts.shown or facts.is_large or self.document.links:
            return None
        return Verdict("soft", "empty: there is nothing to read")

    def _is_waiting(self) -> bool:
        """Whether the text, if there is any, only asks for patience."""
        return len(self.text) <= LINE_CHARS or (
            len(self.text) <= SHELL_CHARS and any(words in self.text for words in LOADING)
        )

    def _shell(self) -> str:
        """How the page shows that its scripts have yet to build it; empty when it does not."""
        facts, text = self.facts, self.text
        says_so = said_in(folded(facts.noscript))
        if facts.is_unbuilt and len(text) <= (SHELL_CHARS if says_so else LINE_CHARS):
            return says_so[0][0] if says_so else "an empty place for an application"
        if len(text) <= LINE_CHARS and text.strip(" .…").startswith(LOADING):
            name = self._name()
            return "" if name and len(text) > len(name) + NAME_CHARS else self.document.text
        return "" if text or facts.shown or facts.is_large else "only scripts"

    def _rejected(self, kind: Kind, evidence: str) -> Verdict:
        # A check of the browser that a browser did not pass is no longer a check.
        is_hard = kind in HARD or (kind == "challenge" and self.way is Way.BROWSER)
        return Verdict("hard" if is_hard else "soft", f"{kind}: {_WORDS[kind]}", evidence)


def _is_plainly_a_page(document: Document) -> bool:
    length = len(document.text)
    if length < PLAIN_TEXT_CHARS:
        return False
    return length > MOST_WALL_CHARS or headline_kind(parts_of(folded(document.title))) is None
