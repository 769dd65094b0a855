"""Whether a response is a page: distinguishes block pages, consent pages and empty shells from short good pages.

No single sign is enough, because good pages mention captchas and cookies too, and load scripts of the same vendors.
These signs are combined: markup that only a block page has, the headline, phrases that address the visitor, and most of
all how much text is left without these. A good page has text of its own.

*Hard* means that the site blocks us: the host gets a cooldown. *Soft* means that the response is not a page, but the
site does not block us; for some reasons a browser may help (`retry.fallback_transport`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
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
    PHRASES,
    WIDGET_SIGNATURES,
    BlockKind,
)
from tenax.model import TransportKind, Validation, Value

_STRAIGHT_QUOTES: Final = (("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("„", '"'), ("\xa0", " "))
_PUNCTUATION: Final = ".,!?:;\"'()…–"
_TITLE_SEPARATORS: Final = re.compile(r" [-–—|·:•] |[|·•]")
# Scripts without spaces between words, for which we have phrases.
_UNSPACED_SCRIPT: Final = re.compile("[\u3040-\u9fff\uac00-\ud7af]")


def fold_text(text: str) -> str:
    """The text in lower case with straight quotes, like the signatures."""
    text = text.lower()
    if not text.isascii():
        for mark, straight in _STRAIGHT_QUOTES:
            if mark in text:
                text = text.replace(mark, straight)
    return text


def headline_parts(headline: str) -> tuple[str, ...]:
    """A folded headline and its parts between separators, without surrounding dots and exclamation marks."""
    whole = headline[:300]
    return tuple(part.strip(" .…!*[]") for part in (whole, *_TITLE_SEPARATORS.split(whole)))


def headline_kind(parts: Iterable[str]) -> BlockKind | None:
    return next((HEADLINES[part] for part in parts if part in HEADLINES), None)


def find_phrases(text: str) -> list[tuple[str, BlockKind]]:
    """The phrases in a folded text.

    Each phrase is found by one of its words, so only few phrases are searched for.
    """
    keys = _PHRASES_BY_WORD.keys() & set(_split_words(text))
    found = [entry for key in sorted(keys) for entry in _PHRASES_BY_WORD[key] if entry[0] in text]
    if not text.isascii() and _UNSPACED_SCRIPT.search(text):
        found += [entry for entry in _UNSPACED_PHRASES if entry[0] in text]
    return found


def _split_words(text: str) -> list[str]:
    # `replace` is several times faster here than a regular expression.
    for mark in _PUNCTUATION:
        if mark in text:
            text = text.replace(mark, " ")
    return text.split()


def _index_phrases(entries: Iterable[tuple[str, BlockKind]]) -> dict[str, list[tuple[str, BlockKind]]]:
    """Phrases by their longest word, because long words are rare."""
    found: dict[str, list[tuple[str, BlockKind]]] = {}
    for entry in entries:
        found.setdefault(max(_split_words(entry[0]), key=len), []).append(entry)
    return found


_UNSPACED_PHRASES: Final = tuple(entry for entry in PHRASES if _UNSPACED_SCRIPT.search(entry[0]))
_PHRASES_BY_WORD: Final = _index_phrases(entry for entry in PHRASES if not _UNSPACED_SCRIPT.search(entry[0]))

SMALL_BODY_BYTES: Final = 500
"""A body that is smaller must have the text of a page, unless `validation.min_body_bytes` is set."""
MIN_PAGE_CHARS: Final = 2_000
"""A response with this much text is a page, unless its title says otherwise."""
MAX_BLOCK_PAGE_CHARS: Final = 6_000
"""No block page has more text than this."""
MAX_MARKED_PAGE_CHARS: Final = 1_500
"""Maximum other text on a page that a mark identifies as a block page."""
MAX_OTHER_CHARS_BELOW_HEADLINE: Final = 160
"""Maximum other text on a block page with a matching headline, or half of the text if that is more."""
MAX_OTHER_CHARS: Final = 30
"""The same limit without a matching headline."""
MAX_SHELL_CHARS: Final = 200
"""A shell may show a name and a menu around the empty area."""
MAX_HEADLINE_CHARS: Final = 60
"""A text of at most this length is its own headline."""
MIN_CHARS_BESIDES_TITLE: Final = 12
"""Minimum text besides the title. The name of a site above "please log in" is a block page."""
NEVER_A_BLOCK_PAGE: Final = -1
"""The limit if the page is no block page, even without other text."""
MAX_REFRESH_SECONDS: Final = 10

_REASONS: Final[dict[BlockKind, str]] = {
    "blocked": "the site blocks us",
    "captcha": "the site shows a captcha",
    "limited": "the site says that we send too many requests",
    "challenge": "the site checks the browser first",
    "javascript": "the page needs JavaScript",
    "consent": "the site asks for consent first",
    "login": "the page needs a login",
}
_SENTENCE_ENDS: Final = re.compile("[.!?。！？…\n]+")
_REFRESH: Final = re.compile(r"\s*([0-9]{1,6})(?:\.[0-9]*)?\s*[;,]\s*(?:url\s*=\s*)?['\"]?(.+)", re.IGNORECASE)


class Verdict(Value, frozen=True):
    """The decision and its evidence."""

    status: Validation = ""
    """Empty: the response was not judged."""
    why: str = ""
    """One word, a colon and its meaning; empty for a page."""
    evidence: str = ""
    """What was seen, in the words of the page."""


VALID: Final = Verdict("valid")


def validate(
    content: Content,
    facts: Callable[[], BlockPageSignals],
    config: ValidationConfig,
    body_bytes: int,
    status: int = 200,
    transport: TransportKind = TransportKind.HTTP,
) -> Verdict:
    """Judge the extracted page. `facts` is only called when the page is in doubt."""
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
    """Judge the page by its text, whatever its size."""
    if content.media == "text":
        return VALID if content.text else Verdict("soft", "empty: the page has no text")
    is_small = body_bytes < (SMALL_BODY_BYTES if config.min_body_bytes < 0 else config.min_body_bytes)
    if not is_small and _is_clearly_a_page(content):
        return VALID
    return _BlockPageCheck(content, facts(), is_small, transport).verdict()


def refresh_target(facts: BlockPageSignals) -> str:
    """The target of an immediate meta refresh, as written; empty if there is none."""
    found = _REFRESH.match(facts.refresh)
    if found is None or int(found[1]) > MAX_REFRESH_SECONDS:
        return ""
    return found[2].strip().rstrip("'\"")


class _BlockPageCheck:
    """The detailed check of a page with little text, or with the title of a block page."""

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
        """Reject a page with a mark that only a block page has."""
        if self.facts.is_large or len(self.text) > MAX_MARKED_PAGE_CHARS:
            return None
        for mark, kind, maker in MARKUP_SIGNATURES:
            if mark in self.facts.attributes_text:
                return self._reject(kind, f"{maker}: {mark}")
        return None

    def _check_phrases(self) -> Verdict | None:
        """Reject a page with phrases to the visitor, or the headline of a block page, and little else."""
        if self.title.startswith(EXPLAINER_TITLE_PREFIXES):
            return None
        phrases_found = find_phrases("\n".join((self.title, *self.headings, self.text)))
        kind = self._strongest_kind(phrases_found)
        if kind is None:
            return None
        widget = next(
            (maker for mark, sort, maker in WIDGET_SIGNATURES if sort == kind and mark in self.facts.attributes_text),
            "",
        )
        if self._other_chars(kind, [phrase for phrase, _ in phrases_found]) > self._max_other_chars(
            kind, phrases_found, bool(widget)
        ):
            return None
        seen = (next((phrase for phrase, sort in phrases_found if sort == kind), ""), widget)
        return self._reject(kind, ", ".join(filter(None, seen)) or f"headline: {self.content.title or self.text}")

    def _strongest_kind(self, phrases_found: list[tuple[str, BlockKind]]) -> BlockKind | None:
        """The kind of block page. Being blocked comes first, then the headline, then the phrases."""
        kinds = [kind for kind in (self.headline_kind, *(kind for _, kind in phrases_found)) if kind is not None]
        return next((kind for kind in kinds if kind in HARD_KINDS), kinds[0] if kinds else None)

    def _max_other_chars(self, kind: BlockKind, phrases_found: list[tuple[str, BlockKind]], has_widget: bool) -> int:
        """Maximum characters of other text on a block page."""
        heads = "\n".join((self.title, *self.headings))
        if not has_widget and not any(phrase in self._text_without_headings() for phrase, _ in phrases_found):
            # A headline alone: "Access Denied" may be the name of a song, which is then described below it.
            return MAX_OTHER_CHARS
        if self.headline_kind is not None or any(phrase in heads for phrase, _ in phrases_found):
            return max(MAX_OTHER_CHARS_BELOW_HEADLINE, len(self.text) // 2)
        if self.headings and not self.is_small:
            return NEVER_A_BLOCK_PAGE
        if kind == "consent" and len(phrases_found) < 2 and not has_widget:
            # A page about its own cookies uses the same words.
            return NEVER_A_BLOCK_PAGE
        if name := self._shown_title():
            return min(len(name) + MIN_CHARS_BESIDES_TITLE, MAX_OTHER_CHARS)
        if not self.headings and sum(sort in HARD_KINDS for _, sort in phrases_found) > 1:
            return MAX_OTHER_CHARS_BELOW_HEADLINE
        return 2 * MAX_OTHER_CHARS if has_widget else MAX_OTHER_CHARS

    def _text_without_headings(self) -> str:
        """The text without the lines that are headings."""
        return "\n".join(line for line in self.text.splitlines() if line.strip() not in self.headings)

    def _shown_title(self) -> str:
        """The title, if it is also a heading or the first line. Block pages rarely have this."""
        first = self.text.partition("\n")[0].strip()
        return next((name for name in headline_parts(self.title) if name and name in (first, *self.headings)), "")

    def _other_chars(self, kind: BlockKind, phrases: list[str]) -> int:
        """Characters of the text in sentences that are not those of a block page."""
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
        """Reject a page without content: not loaded yet, or empty."""
        facts, text = self.facts, self.text
        if self._is_loading() and refresh_target(facts):
            return Verdict("soft", "refresh: meta refresh to another page", facts.refresh)
        if facts.script_count and (seen := self._shell_evidence()):
            return Verdict("soft", "shell: the page is built by scripts", seen)
        if text or facts.media_count or facts.is_large or self.content.links:
            return None
        return Verdict("soft", "empty: the page has no text")

    def _is_loading(self) -> bool:
        """Whether the text, if any, only says that something is loading."""
        return len(self.text) <= MAX_HEADLINE_CHARS or (
            len(self.text) <= MAX_SHELL_CHARS and any(words in self.text for words in LOADING_PHRASES)
        )

    def _shell_evidence(self) -> str:
        """What shows that scripts still have to build the page; empty if nothing does."""
        facts, text = self.facts, self.text
        noscript_phrases = find_phrases(fold_text(facts.noscript_text))
        if facts.has_empty_mount and len(text) <= (MAX_SHELL_CHARS if noscript_phrases else MAX_HEADLINE_CHARS):
            return noscript_phrases[0][0] if noscript_phrases else "an empty container for an application"
        if len(text) <= MAX_HEADLINE_CHARS and text.strip(" .…").startswith(LOADING_PHRASES):
            name = self._shown_title()
            return "" if name and len(text) > len(name) + MIN_CHARS_BESIDES_TITLE else self.content.text
        return "" if text or facts.media_count or facts.is_large else "only scripts"

    def _reject(self, kind: BlockKind, evidence: str) -> Verdict:
        # A browser check that a browser did not pass is a block.
        is_hard = kind in HARD_KINDS or (kind == "challenge" and self.transport is TransportKind.BROWSER)
        return Verdict("hard" if is_hard else "soft", f"{kind}: {_REASONS[kind]}", evidence)


def _is_clearly_a_page(content: Content) -> bool:
    length = len(content.text)
    if length < MIN_PAGE_CHARS:
        return False
    return length > MAX_BLOCK_PAGE_CHARS or headline_kind(headline_parts(fold_text(content.title))) is None
