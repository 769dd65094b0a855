"""One page read, with no crawler involved: `tenax.read`, and the reasons for what it keeps.

page = tenax.read(html, "https://example.org/story")
print(page.headline, page.published, page.article)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from tenax.clock import SteadyClock
from tenax.config import ReadingConfig
from tenax.errors import UsageError
from tenax.extract.article.blocks import Blocks
from tenax.extract.article.explain import whys_of
from tenax.extract.article.features import features_of
from tenax.extract.article.hints import hints_of
from tenax.extract.article.layout import Outline
from tenax.extract.article.page_type import page_kind
from tenax.extract.article.select import read_article
from tenax.extract.budget import CpuBudget, TooCostly
from tenax.extract.document import Document, read_with_dom, unread
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import read_head
from tenax.model import Value
from tenax.runtime.cpu_time import cpu_seconds
from tenax.runtime.memory import uncollected
from tenax.text.masking import mask_url
from tenax.urls.normalize import Spelling, normalize
from tenax.urls.resolve import base_of, resolvable, resolver

MAX_CPU_SECONDS = ReadingConfig().max_cpu_seconds
GIVEN = "given"
"""The source of the charset of a page that came as text: there was nothing to find out."""


class Explained(Value, frozen=True, omit_defaults=False):
    """One block of a page, and what was decided about it."""

    is_kept: bool
    score: float
    """From 0 to 1: how surely it belongs to the clean part."""
    why: str
    text: str


def read(
    html: str | bytes,
    url: str | None = None,
    *,
    content_type: str | None = None,
    max_cpu_seconds: float = MAX_CPU_SECONDS,
) -> Document:
    """All that can be read in one page. Nothing is fetched, and no page makes it raise.

    With `url`, the page's own, every address in the answer is absolute: hrefs of links, in the Markdown too,
    `canonical`, `image` and `base_href`; links that lead nowhere on the web are left out. It also helps to date the
    page. Without it they are as written. Raises `UsageError` when `url` is no http or https URL.

    Without a `content_type` it is HTML; with an empty one, its first bytes tell. Bytes are decoded by what declares
    their encoding, or by a guess; a `str` is taken as it is, and `charset_source` says `given`.

    A page that takes more CPU time of this thread than `max_cpu_seconds`, or more memory than any page needs, is not
    read: its `media` is `other`, and `media_why` begins with "too costly to read". The time is looked at between the
    steps of reading, so it may take a little more.
    """
    where = _page_url(url)
    from_base = partial(_resolver, where) if where is not None else None
    now = SteadyClock().now()
    budget = CpuBudget(cpu_seconds, max_cpu_seconds)
    try:
        with uncollected():
            document, _ = read_with_dom(
                *_as_body(html, content_type), url=where, now=now, resolver=from_base, budget=budget
            )
            budget.check("reading it")
    except TooCostly as error:
        return unread(str(error))
    if isinstance(html, str) and document.charset:
        document = msgspec.structs.replace(document, charset="", charset_source=GIVEN)
    return document if where is None else resolved(document, where)


def explained(
    html: str | bytes,
    url: str | None = None,
    *,
    content_type: str | None = None,
    max_cpu_seconds: float = MAX_CPU_SECONDS,
) -> list[Explained]:
    """Every block of the page in order, kept or dropped, and why; none when it is not HTML, or too costly to read.

    Arguments as of `read`.
    """
    where = _page_url(url)
    try:
        _, dom = read_with_dom(*_as_body(html, content_type), budget=CpuBudget(cpu_seconds, max_cpu_seconds))
        return _explained(dom, where) if dom is not None else []
    except TooCostly:
        return []


def _explained(dom: Dom, url: str | None) -> list[Explained]:
    """Raises `TooCostly`."""
    blocks = Blocks(dom.walk)
    dom.check("parting it into blocks")
    outline = Outline(blocks, hints_of(read_head(dom), url))
    judgement = read_article(blocks, outline, page_kind(outline))
    dom.check("judging its blocks")
    features = features_of(blocks, outline)  # of every block, where judging passes over some
    dom.check("judging all of its blocks")
    whys = whys_of(blocks, features, judgement.kept)
    return [
        Explained(is_kept, score, why, text)
        for is_kept, score, why, text in zip(judgement.kept, judgement.scores, whys, blocks.texts, strict=True)
    ]


def resolved(document: Document, url: str) -> Document:
    """The document with absolute addresses, spelled as a crawl would give them."""
    base = base_of(document.base_href, url)
    most = resolvable((link.href for link in document.links), base)
    cut_why = f"read to link {most:,}, for its base is so long" if most < len(document.links) else ""
    links = [(link, _web_url(link.href, base)) for link in document.links[:most]]
    return msgspec.structs.replace(
        document,
        cut_why=document.cut_why or cut_why,
        links=tuple(msgspec.structs.replace(link, href=href) for link, href in links if href is not None),
        canonical=_web_url(document.canonical, base) if document.canonical else None,
        image=_web_url(document.image, base) if document.image else None,
        base_href=base if document.base_href else None,
    )


def _resolver(url: str, base_href: str | None) -> Callable[[str], str]:
    return resolver(base_of(base_href, url))


def _page_url(url: str | None) -> str | None:
    found = _web_url(url, None) if url is not None else None
    if url is not None and found is None:
        raise UsageError(f"`{mask_url(url)[:200]}` is not the URL of a page; write it like https://example.org/page")
    return found


def _web_url(href: str, base: str | None) -> str | None:
    found = normalize(href, base, Spelling())
    return found.url if found is not None else None


def _as_body(html: str | bytes, content_type: str | None) -> tuple[bytes, str]:
    """The page as a server would send it: a body and its type."""
    declared = "text/html" if content_type is None else content_type
    if isinstance(html, bytes):
        return html, declared
    # Whatever encoding the type or the page itself names was that of bytes which are no more.
    return html.encode("utf-8", "replace"), f"{declared.partition(';')[0]}; charset=utf-8"
