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
from tenax.extract.document import Content
from tenax.extract.html.block_page_signals import BlockPageSignals
from tenax.fetch.block_page_signatures import (
    EXPLAINER_TITLE_PREFIXES,
    FILLER_PHRASES,
    FOOTER_PHRASES,
    HARD_KINDS,
    HEADLINES,
    LOADING_PHRASES,
    MARKUP_SIGNATURES,
    WIDGET_SIGNATURES,
    BlockKind,
)
from tenax.fetch.block_page_words import find_phrases, fold_text, headline_kind, headline_parts
from tenax.model import TransportKind, Validation, Value

SMALL_BODY_BYTES: Final = 500
"""A smaller body must read like a page, where `validation.min_body_bytes` does not say what a page must have."""
MIN_PAGE_CHARS: Final = 2_000
"""With so much to read it is a page, unless its very title says otherwise."""
MAX_BLOCK_PAGE_CHARS: Final = 6_000
"""No wall has more text than this."""
MAX_MARKED_PAGE_CHARS: Final = 1_500
"""What a page may have of its own and still be the wall that a mark says it is."""
MAX_OTHER_CHARS_BELOW_HEADLINE: Final = 160
"""What a wall may say besides, when its headline is a wall's; half of a longer text."""
MAX_OTHER_CHARS: Final = 30
"""The same when its headline is not."""
MAX_SHELL_CHARS: Final = 200
"""A shell may show a name and a menu around the empty place."""
MAX_HEADLINE_CHARS: Final = 60
"""A text so short is its own headline."""
MIN_CHARS_BESIDES_TITLE: Final = 12
"""What a page must have of its own besides its name: a site's name above "please log in" is a wall."""
NEVER_A_BLOCK_PAGE: Final = -1
"""No rest is small enough: not even none."""
MAX_REFRESH_SECONDS: Final = 10

_REASONS: Final[dict[BlockKind, str]] = {
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
    content: Content,
    facts: Callable[[], BlockPageSignals],
    config: ValidationConfig,
    body_bytes: int,
    status: int = 200,
    transport: TransportKind = TransportKind.HTTP,
) -> Verdict:
    """Judge what was read. `facts` is only asked for when the page is not plainly one."""
    if not config.enabled or content.media == "other" or not 200 <= status < 300:
        return Verdict()
    verdict = _check_content(content, facts, config, body_bytes, transport)
    if verdict is VALID and body_bytes < config.min_body_bytes:
        least = f"{config.min_body_bytes:,}, by `validation.min_body_bytes`"
        return Verdict("soft", f"small: the body has {body_bytes:,} bytes, and a page must have {least}")
    return verdict


def _check_content(
    content: Content,
    facts: Callable[[], BlockPageSignals],
    config: ValidationConfig,
    body_bytes: int,
    transport: TransportKind,
) -> Verdict:
    """What it reads like, whatever its size."""
    if content.media == "text":
        return VALID if content.text else Verdict("soft", "empty: there is nothing to read")
    is_small = body_bytes < (SMALL_BODY_BYTES if config.min_body_bytes < 0 else config.min_body_bytes)
    if not is_small and _is_clearly_a_page(content):
        return VALID
    return _BlockPageCheck(content, facts(), is_small, transport).verdict()


def refresh_target(facts: BlockPageSignals) -> str:
    """Where a page sends its visitors at once, as written; empty when it does not."""
    found = _REFRESH.match(facts.refresh)
    if found is None or int(found[1]) > MAX_REFRESH_SECONDS:
        return ""
    return found[2].strip().rstrip("'\"")


class _BlockPageCheck:
    """A closer look at one page that is short of text, or named like a wall."""

    def __init__(self, content: Content, facts: BlockPageSignals, is_small: bool, transport: TransportKind) -> None:
        self.content = content
        self.facts = facts
        self.is_small = is_small
        self.transport = transport
        self.title = fold_text(content.title)
        self.text = fold_text(content.text[:MAX_BLOCK_PAGE_CHARS])
        self.headings = tuple(map(fold_text, facts.headings))
        heads = (self.title, *self.headings, self.text if len(self.text) <= MAX_HEADLINE_CHARS else "")
        self.headline_kind = headline_kind(part for head in heads for part in headline_parts(head))

    def verdict(self) -> Verdict:
        return self._check_markup() or self._check_phrases() or self._check_shell() or VALID

    def _check_markup(self) -> Verdict | None:
        """A mark that only a wall has."""
        if self.facts.is_large or len(self.text) > MAX_MARKED_PAGE_CHARS:
            return None
        for mark, kind, maker in MARKUP_SIGNATURES:
            if mark in self.facts.attributes_text:
                return self._reject(kind, f"{maker}: {mark}")
        return None

    def _check_phrases(self) -> Verdict | None:
        """Words to the visitor, or a wall's headline, and little else."""
        if self.title.startswith(EXPLAINER_TITLE_PREFIXES):
            return None
        said = find_phrases("\n".join((self.title, *self.headings, self.text)))
        kind = self._strongest_kind(said)
        if kind is None:
            return None
        widget = next(
            (maker for mark, sort, maker in WIDGET_SIGNATURES if sort == kind and mark in self.facts.attributes_text),
            "",
        )
        if self._other_chars(kind, [phrase for phrase, _ in said]) > self._max_other_chars(kind, said, bool(widget)):
            return None
        seen = (next((phrase for phrase, sort in said if sort == kind), ""), widget)
        return self._reject(kind, ", ".join(filter(None, seen)) or f"headline: {self.content.title or self.text}")

    def _strongest_kind(self, said: list[tuple[str, BlockKind]]) -> BlockKind | None:
        """What kind of wall it would be: being shut out goes before all else, then the headline, then what is said."""
        kinds = [kind for kind in (self.headline_kind, *(kind for _, kind in said)) if kind is not None]
        return next((kind for kind in kinds if kind in HARD_KINDS), kinds[0] if kinds else None)

    def _max_other_chars(self, kind: BlockKind, said: list[tuple[str, BlockKind]], has_widget: bool) -> int:
        """How many characters of its own the page may have and still be nothing but a wall."""
        heads = "\n".join((self.title, *self.headings))
        if not has_widget and not any(phrase in self._text_without_headings() for phrase, _ in said):
            # A headline alone: "Access Denied" may be the name of a song. Then the song is described below it.
            return MAX_OTHER_CHARS
        if self.headline_kind is not None or any(phrase in heads for phrase, _ in said):
            return max(MAX_OTHER_CHARS_BELOW_HEADLINE, len(self.text) // 2)
        if self.headings and not self.is_small:
            return NEVER_A_BLOCK_PAGE
        if kind == "consent" and len(said) < 2 and not has_widget:
            # A page about its own cookies says as much.
            return NEVER_A_BLOCK_PAGE
        if name := self._shown_title():
            return min(len(name) + MIN_CHARS_BESIDES_TITLE, MAX_OTHER_CHARS)
        if not self.headings and sum(sort in HARD_KINDS for _, sort in said) > 1:
            return MAX_OTHER_CHARS_BELOW_HEADLINE
        return 2 * MAX_OTHER_CHARS if has_widget else MAX_OTHER_CHARS

    def _text_without_headings(self) -> str:
        """The text without the lines that are its headings."""
        return "\n".join(line for line in self.text.splitlines() if line.strip() not in self.headings)

    def _shown_title(self) -> str:
        """The title, when it stands above the text as well, as a heading or as its first line; walls seldom do that."""
        first = self.text.partition("\n")[0].strip()
        return next((name for name in headline_parts(self.title) if name and name in (first, *self.headings)), "")

    def _other_chars(self, kind: BlockKind, phrases: list[str]) -> int:
        """How many characters of the text are in sentences of its own."""
        around = (*FOOTER_PHRASES, *FILLER_PHRASES[kind]) if phrases else FOOTER_PHRASES
        wall_words = (*phrases, *(words for words in around if words in self.text))
        own = 0
        for sentence in _SENTENCE_ENDS.split(self.text):
            sentence = sentence.strip()
            if sentence in HEADLINES or any(words in sentence for words in wall_words):
                continue
            own += len(sentence)
        return own

    def _check_shell(self) -> Verdict | None:
        """Nothing there yet, or nothing there at all."""
        facts, text = self.facts, self.text
        if self._is_loading() and refresh_target(facts):
            return Verdict("soft", "refresh: the page only leads on to another", facts.refresh)
        if facts.script_count and (seen := self._shell_evidence()):
            return Verdict("soft", "shell: the page is built by scripts", seen)
        if text or facts.media_count or facts.is_large or self.content.links:
            return None
        return Verdict("soft", "empty: there is nothing to read")

    def _is_loading(self) -> bool:
        """Whether the text, if there is any, only asks for patience."""
        return len(self.text) <= MAX_HEADLINE_CHARS or (
            len(self.text) <= MAX_SHELL_CHARS and any(words in self.text for words in LOADING_PHRASES)
        )

    def _shell_evidence(self) -> str:
        """How the page shows that its scripts have yet to build it; empty when it does not."""
        facts, text = self.facts, self.text
        says_so = find_phrases(fold_text(facts.noscript_text))
        if facts.has_empty_mount and len(text) <= (MAX_SHELL_CHARS if says_so else MAX_HEADLINE_CHARS):
            return says_so[0][0] if says_so else "an empty place for an application"
        if len(text) <= MAX_HEADLINE_CHARS and text.strip(" .…").startswith(LOADING_PHRASES):
            name = self._shown_title()
            return "" if name and len(text) > len(name) + MIN_CHARS_BESIDES_TITLE else self.content.text
        return "" if text or facts.media_count or facts.is_large else "only scripts"

    def _reject(self, kind: BlockKind, evidence: str) -> Verdict:
        # A check of the browser that a browser did not pass is no longer a check.
        is_hard = kind in HARD_KINDS or (kind == "challenge" and self.transport is TransportKind.BROWSER)
        return Verdict("hard" if is_hard else "soft", f"{kind}: {_REASONS[kind]}", evidence)


def _is_clearly_a_page(content: Content) -> bool:
    length = len(content.text)
    if length < MIN_PAGE_CHARS:
        return False
    return length > MAX_BLOCK_PAGE_CHARS or headline_kind(headline_parts(fold_text(content.title))) is None
