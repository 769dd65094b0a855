"""Extracts one page without a crawl (`tenax.read`), and explains what was kept.

page = tenax.read(html, "https://example.org/story")
print(page.headline, page.published, page.article)
"""

from __future__ import annotations

from functools import partial

import msgspec

from tenax.clock import SteadyClock
from tenax.config import ExtractConfig
from tenax.errors import UsageError
from tenax.extract.article.blocks import Blocks
from tenax.extract.article.explain import explain_blocks
from tenax.extract.article.features import compute_features
from tenax.extract.article.layout import PageLayout
from tenax.extract.article.page_type import classify_page
from tenax.extract.article.select import select_article
from tenax.extract.budget import CpuBudget, ExtractLimitExceeded
from tenax.extract.document import Content, ExtractOptions, empty_content, extract_with_dom
from tenax.extract.html.dom import Dom
from tenax.extract.html.head import read_head, read_page_hints
from tenax.extract.html.links import Links
from tenax.model import Value
from tenax.runtime.resources import cpu_seconds, pause_collection
from tenax.text.sanitize import mask_url
from tenax.urls.normalize import NormalizeOptions, count_resolvable, normalize, page_link_resolver, resolve_base

MAX_CPU_SECONDS = ExtractConfig().max_cpu_seconds
CHARSET_GIVEN = "given"
"""The `charset_source` of a page that was given as text."""


class ExplainedBlock(Value, frozen=True, omit_defaults=False):
    """One block of a page, and the decision about it."""

    is_kept: bool
    score: float
    """How likely the block belongs to the main content, from 0 to 1."""
    why: str
    text: str


def read(
    html: str | bytes,
    url: str | None = None,
    *,
    content_type: str | None = None,
    max_cpu_seconds: float = MAX_CPU_SECONDS,
) -> Content:
    """Extract all of one page. Nothing is fetched, and no page makes it raise.

    With `url`, the page's own, every URL in the result is absolute: the hrefs of links, in the Markdown too,
    `canonical`, `image` and `base_href`; links that are not http or https are left out. It also helps to date the page.
    Without it URLs are as written. Raises `UsageError` when `url` is not an http or https URL.

    Without a `content_type` the page is HTML; with an empty one its first bytes decide. Bytes are decoded by their
    declared encoding, or by a guess; a `str` is used as it is, with `charset_source` `given`.

    A page that takes more than `max_cpu_seconds` of this thread's CPU time, or more memory than any page needs, is not
    extracted: its `media` is `other`, and `media_reason` begins with "too costly to read". The time is checked between
    the steps of extraction, so it may take a little more.
    """
    where = _page_url(url)
    from_base = partial(page_link_resolver, where) if where is not None else None
    now = SteadyClock().now()
    budget = CpuBudget(cpu_seconds, max_cpu_seconds)
    try:
        with pause_collection():
            content, _ = extract_with_dom(
                *_encode_body(html, content_type), url=where, now=now, options=ExtractOptions(from_base), budget=budget
            )
            budget.check("reading it")
    except ExtractLimitExceeded as error:
        return empty_content(str(error))
    if isinstance(html, str) and content.charset:
        content = msgspec.structs.replace(content, charset="", charset_source=CHARSET_GIVEN)
    return content if where is None else resolve_urls(content, where)


def explain_page(
    html: str | bytes,
    url: str | None = None,
    *,
    content_type: str | None = None,
    max_cpu_seconds: float = MAX_CPU_SECONDS,
) -> list[ExplainedBlock]:
    """Every block of the page in order: kept or dropped, and why. Empty if the page is not HTML, or costs too much to
    read.

    Takes the arguments of `read`.
    """
    where = _page_url(url)
    try:
        _, dom = extract_with_dom(*_encode_body(html, content_type), budget=CpuBudget(cpu_seconds, max_cpu_seconds))
        return _explain_dom(dom, where) if dom is not None else []
    except ExtractLimitExceeded:
        return []


def _explain_dom(dom: Dom, url: str | None) -> list[ExplainedBlock]:
    """Raises `ExtractLimitExceeded`."""
    blocks = Blocks(dom.walk)
    dom.check_budget("parting it into blocks")
    outline = PageLayout(blocks, read_page_hints(read_head(dom), url))
    judgement = select_article(blocks, outline, classify_page(outline))
    dom.check_budget("judging its blocks")
    features = compute_features(blocks, outline)  # of every block; the usual scoring skips some blocks
    dom.check_budget("judging all of its blocks")
    reasons = explain_blocks(blocks, features, judgement.kept)
    return [
        ExplainedBlock(is_kept, score, why, text)
        for is_kept, score, why, text in zip(judgement.kept, judgement.scores, reasons, blocks.texts, strict=True)
    ]


def resolve_urls(content: Content, url: str) -> Content:
    """The content with absolute URLs, in the form that a crawl stores."""
    base = resolve_base(content.base_href, url)
    most = count_resolvable(content.links.hrefs, base)
    cut_why = (
        f"only the first {most:,} links are resolved: the base URL is too long" if most < len(content.links) else ""
    )
    links = [(link, _web_url(link.href, base)) for link in content.links[:most]]
    return msgspec.structs.replace(
        content,
        truncated_reason=content.truncated_reason or cut_why,
        links=Links.from_links(msgspec.structs.replace(link, href=href) for link, href in links if href is not None),
        canonical=_web_url(content.canonical, base) if content.canonical else None,
        image=_web_url(content.image, base) if content.image else None,
        base_href=base if content.base_href else None,
    )


def _page_url(url: str | None) -> str | None:
    found = _web_url(url, None) if url is not None else None
    if url is not None and found is None:
        raise UsageError(f"`{mask_url(url)[:200]}` is not the URL of a page; write it like https://example.org/page")
    return found


def _web_url(href: str, base: str | None) -> str | None:
    found = normalize(href, base, NormalizeOptions())
    return found.url if found is not None else None


def _encode_body(html: str | bytes, content_type: str | None) -> tuple[bytes, str]:
    """The page in the form that a server would send: a body and its type."""
    declared = "text/html" if content_type is None else content_type
    if isinstance(html, bytes):
        return html, declared
    # The declared encoding is that of the original bytes, not of this text.
    return html.encode("utf-8", "replace"), f"{declared.partition(';')[0]}; charset=utf-8"
