"""What a page says about itself: title, description, canonical address, language, robots hints and kind.

Every text here may be shown on a terminal, so it leaves without control characters, escape sequences and marks
that turn the direction of writing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tenax.model import PageKind, Value
from tenax.parse.html import Dom, Node, tag_number
from tenax.parse.links import LINK, href_of, is_followable
from tenax.parse.text import visible_text

MAX_TITLE_CHARS = 1_000
MAX_DESCRIPTION_CHARS = 5_000
OUR_ROBOT_NAMES = frozenset(("robots", "tenax"))

_HEAD, _META, _SCRIPT, _TITLE = (tag_number(name) for name in ("head", "meta", "script", "title"))
_ARTICLE_PARAGRAPHS = 3
_ARTICLE_CHARS = 600
_MAX_ARTICLES = 10
_MAX_PARAGRAPHS = 100
_MAX_JSON_CHARS = 262_144

_ESCAPE_SEQUENCE = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]?")
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
_LANGUAGE = re.compile(r"([a-zA-Z]{2,3})(?:[-_]([a-zA-Z]{4}))?(?:[-_]([a-zA-Z]{2}|[0-9]{3}))?(?:[-_][a-zA-Z0-9]{1,8})*")
_ARTICLE_TYPE = re.compile(
    r'"@type"\s*:\s*(?:\[[^\]]{0,200}?)?"(?:https?://schema\.org/)?'
    r"(?:News|Blog|Tech|Scholarly|Medical\w{0,9}|Satirical|OpinionNews|AnalysisNews|ReportageNews|ReviewNews|"
    r'BackgroundNews|AskPublicNews)?(?:Article|Posting)"'
)
_VALUED_RULES = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))


class Metas(Value, frozen=True):
    """The `<meta>` elements of a page: what each name said first, and every robots rule."""

    named: dict[str, str]
    """By `name`, `property` or `http-equiv`, in lower case."""
    robots: tuple[tuple[str, str], ...] = ()


class Metadata(Value, frozen=True):
    """What the page says about itself."""

    title: str = ""
    description: str = ""
    canonical: str | None = None
    """As written; not resolved."""
    language: str | None = None
    kind: PageKind = PageKind.PAGE
    is_noindex: bool = False
    is_nofollow: bool = False


def read_metadata(dom: Dom, robots_header: str | None = None) -> Metadata:
    """`robots_header` is X-Robots-Tag; see `robots_hints`."""
    metas = read_metas(dom)
    is_noindex, is_nofollow = robots_hints(metas.robots, robots_header)
    return Metadata(
        title=_title(dom, metas),
        description=shown(
            metas.named.get("description") or metas.named.get("og:description", ""), MAX_DESCRIPTION_CHARS
        ),
        canonical=_canonical(dom),
        language=_language(dom, metas),
        kind=PageKind.ARTICLE if _is_article(dom, metas) else PageKind.PAGE,
        is_noindex=is_noindex,
        is_nofollow=is_nofollow,
    )


def read_metas(dom: Dom) -> Metas:
    named: dict[str, str] = {}
    robots = []
    for node in dom.walk.telling:
        if node.tag_id != _META:
            continue
        attributes = node.attributes
        name = attributes.get("name") or attributes.get("property") or attributes.get("http-equiv")
        content = attributes.get("content")
        if not name or not content:
            continue
        name = name.strip().lower()
        if name in OUR_ROBOT_NAMES:
            robots.append((name, content))
        else:
            named.setdefault(name, content)
    return Metas(named, tuple(robots))


def shown(text: str, max_chars: int) -> str:
    """One line of text that is safe to show anywhere, at most so long."""
    # Sliced before it is cleaned: a ten-megabyte title must not cost ten megabytes of work.
    text = " ".join(text[: 4 * max_chars].split())
    if not text.isprintable():
        text = " ".join(_UNPRINTED.sub("", _ESCAPE_SEQUENCE.sub("", text)).split())
    return text[:max_chars].rstrip()


def robots_hints(metas: Iterable[tuple[str, str]], header: str | None) -> tuple[bool, bool]:
    """Whether the page asks us not to keep it and not to follow its links: (noindex, nofollow).

    `metas` are pairs of name and content; `header` is X-Robots-Tag, several of them joined by commas or newlines.
    The strictest answer wins, whether it was given to every robot or to us by name.
    """
    rules: set[str] = set()
    for name, content in metas:
        if name.strip().lower() in OUR_ROBOT_NAMES:
            rules.update(re.split(r"[\s,]+", content.lower()))
    for line in header.lower().split("\n") if header else ():
        rules.update(_rules_for_us(line))
    forbids_all = "none" in rules
    return forbids_all or "noindex" in rules, forbids_all or "nofollow" in rules


def _rules_for_us(header: str) -> Iterable[str]:
    """The rules of one X-Robots-Tag line; a robot's name before a colon claims what follows it."""
    is_ours = True
    for part in header.split(","):
        before, colon, after = part.partition(":")
        rule = before.strip()
        if colon and rule not in _VALUED_RULES:
            is_ours = rule in OUR_ROBOT_NAMES
            rule = after.strip()
        if is_ours:
            yield rule


def _title(dom: Dom, metas: Metas) -> str:
    node = _title_element(dom)
    title = shown(node.first_child.text_content or "", MAX_TITLE_CHARS) if node and node.first_child else ""
    title = title or shown(metas.named.get("og:title", ""), MAX_TITLE_CHARS)
    if title or (heading := dom.first("h1")) is None:
        return title
    return shown(visible_text(heading, 4 * MAX_TITLE_CHARS), MAX_TITLE_CHARS)


def _title_element(dom: Dom) -> Node | None:
    first = next((node for node in dom.walk.telling if node.tag_id == _TITLE), None)
    if first is None or ((parent := first.parent) is not None and parent.tag_id == _HEAD):
        return first
    # An SVG's <title> is the tooltip of a drawing.
    return dom.first("title:not(svg title)")


def _canonical(dom: Dom) -> str | None:
    for node in dom.walk.telling:
        if node.tag_id != LINK or "href" not in (attributes := node.attributes):
            continue
        if "canonical" in (attributes.get("rel") or "").lower().split():
            href = href_of(attributes["href"])
            return href if is_followable(href) else None
    return None


def _language(dom: Dom, metas: Metas) -> str | None:
    root = dom.root.attributes if dom.root is not None else {}
    declared = root.get("lang") or root.get("xml:lang")
    return normal_language(declared or "") or normal_language(
        (metas.named.get("content-language") or metas.named.get("language", "")).partition(",")[0]
    )


def normal_language(tag: str) -> str | None:
    """A language tag as BCP 47 writes it, such as `en`, `en-GB` or `zh-Hant-TW`; None when it is none."""
    found = _LANGUAGE.fullmatch(tag.strip()[:40])
    if found is None:
        return None
    language, script, region = found.groups()
    return "-".join(filter(None, (language.lower(), (script or "").title(), (region or "").upper())))


def _is_article(dom: Dom, metas: Metas) -> bool:
    return metas.named.get("og:type", "").strip().lower() == "article" or _says_article(dom) or _has_article_text(dom)


def _says_article(dom: Dom) -> bool:
    for node in dom.walk.telling:
        if node.tag_id != _SCRIPT or "ld+json" not in (node.attributes.get("type") or "").lower():
            continue
        text = node.first_child.text_content if node.first_child else None
        if text and _ARTICLE_TYPE.search(text[:_MAX_JSON_CHARS]):
            return True
    return False


def _has_article_text(dom: Dom) -> bool:
    """Whether some <article> holds enough paragraphs; teasers in a list hold few words each."""
    for article in dom.select("article")[:_MAX_ARTICLES]:
        count = chars = 0
        for paragraph in article.css("p")[:_MAX_PARAGRAPHS]:
            text = visible_text(paragraph, _ARTICLE_CHARS)
            count += bool(text)
            chars += len(text)
            if count >= _ARTICLE_PARAGRAPHS and chars >= _ARTICLE_CHARS:
                return True
    return False
