"""Conversions along the way of a page: response to extract job, extracted page to stored page and fetch record."""

from __future__ import annotations

import msgspec

from tenax.config import SiteConfig
from tenax.crawl.reader.messages import ExtractedPage, ExtractJob
from tenax.fetch import Response
from tenax.fetch.answer import FetchResult
from tenax.fetch.headers import robot_names, usable_validator
from tenax.model import Claim, Fetched, FetchRecord, Hop, Outcome, Page, Task, Unchanged, Visit

CANDIDATE_BYTES = 512
"""Approximate memory of a link on its way to the database."""


def build_extract_job(claim: Claim, response: Response, site: SiteConfig, now: float) -> ExtractJob:
    """The job for a reader."""
    task = claim.task
    return ExtractJob(
        number=claim.lease.number,
        url=task.url,
        fetched_url=response.url,
        depth=task.depth,
        body=response.body,
        content_type=response.content_type,
        robots_header="\n".join(response.headers.get_all("X-Robots-Tag")) or None,
        robot_names=tuple(sorted(robot_names(site.fetch))),
        status=response.status,
        transport=response.transport,
        validation=site.validation,
        extract=site.extract,
        discovery=site.discovery,
        source=task.source,
        is_url_list=task.is_url_list,
        is_first=claim.stored_copy is None,
        is_continuous=site.recrawl.continuous,
        now=now,
    )


def fetched_page(task: Task, answer: FetchResult, extracted: ExtractedPage | None, seconds: float) -> Page | None:
    """The page to store; None for a URL list, and without a response."""
    if extracted is None or extracted.url_list or answer.response is None:
        return None
    return build_page(task, answer.response, answer.chain, extracted, seconds)


def build_page(
    task: Task, response: Response, chain: tuple[Hop, ...], extracted: ExtractedPage, duration_seconds: float
) -> Page:
    """`duration_seconds` is that of the visit. The database finds out whether the page is a duplicate."""
    return Page(
        url=task.url,
        status=response.status,
        content_type=response.content_type,
        content_hash=extracted.content_hash,
        content_length=len(response.body),
        fetched_at=response.finished_at,
        title=extracted.title,
        description=extracted.description,
        canonical=extracted.canonical,
        language=extracted.language,
        kind=extracted.kind,
        charset=extracted.charset,
        charset_source=extracted.charset_source,
        headline=extracted.headline,
        language_confidence=extracted.language_confidence,
        authors=extracted.authors,
        published=extracted.published,
        modified=extracted.modified,
        site_name=extracted.site_name,
        section=extracted.section,
        keywords=extracted.keywords,
        image=extracted.image,
        text=extracted.text,
        article=extracted.article,
        markdown=extracted.markdown,
        abstract=extracted.abstract,
        words=extracted.words,
        fingerprint=extracted.fingerprint,
        links=extracted.links,
        links_count=extracted.links_count,
        depth=task.depth,
        via=task.via,
        duration_ms=int(duration_seconds * 1000),
        chain=chain,
        etag=usable_validator(response.headers.get("ETag")),
        last_modified=usable_validator(response.headers.get("Last-Modified")),
    )


def build_fetch_record(answer: FetchResult, extracted: ExtractedPage | None) -> FetchRecord:
    """The measurements of the fetch, and the validation result of the reader."""
    if extracted is None:
        return answer.record
    return msgspec.structs.replace(
        answer.record,
        charset_source=extracted.charset_source,
        validation=extracted.validation,
        evidence=extracted.evidence,
    )


def visit_bytes(visit: Visit) -> int:
    """Approximate memory of a visit until it is committed: its texts and links."""
    text_bytes = visit.page.text_bytes if visit.page is not None else 0
    return text_bytes + len(visit.link_targets or b"") + CANDIDATE_BYTES * len(visit.candidates)


def response_validators(outcome: Outcome, answer: FetchResult) -> tuple[str | None, str | None]:
    """The ETag and Last-Modified of a 304 for the stored copy, or of a URL list."""
    is_list = isinstance(outcome, Fetched) and bool(outcome.url_list)
    if not (is_list or isinstance(outcome, Unchanged)) or answer.response is None:
        return None, None
    headers = answer.response.headers
    return usable_validator(headers.get("ETag")), usable_validator(headers.get("Last-Modified"))
