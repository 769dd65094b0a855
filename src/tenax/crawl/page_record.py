"""A page on its way: what a host answered as it is given to readers, and what they read in it as it is kept."""

from __future__ import annotations

import msgspec

from tenax.config import SiteConfig
from tenax.crawl.reader.messages import Job, Reading
from tenax.fetch import Response
from tenax.fetch.answer import Answer
from tenax.fetch.headers import robot_names, validator
from tenax.model import Claim, Fetched, FetchRecord, Hop, Outcome, Page, Task, Unchanged, Visit

OFFER_BYTES = 512
"""What a link on its way to the ledger takes, its URL and all."""


def job_of(claim: Claim, response: Response, site: SiteConfig, now: float) -> Job:
    """What a reader is to do with an answer."""
    task = claim.task
    return Job(
        number=claim.lease.number,
        url=task.url,
        fetched_url=response.url,
        depth=task.depth,
        body=response.body,
        content_type=response.content_type,
        robots_header="\n".join(response.headers.all("X-Robots-Tag")) or None,
        robot_names=tuple(sorted(robot_names(site.fetch))),
        status=response.status,
        way=response.way,
        validation=site.validation,
        reading=site.reading,
        discovery=site.discovery,
        source=task.source,
        is_catalogue=task.is_catalogue,
        is_first=claim.held is None,
        is_kept_fresh=site.freshness.keep,
        now=now,
    )


def page_of(task: Task, response: Response, chain: tuple[Hop, ...], reading: Reading, seconds: float) -> Page:
    """`seconds` is how long the visit took. Whether it is a duplicate the ledger knows."""
    return Page(
        url=task.url,
        status=response.status,
        content_type=response.content_type,
        content_hash=reading.content_hash,
        content_length=len(response.body),
        fetched_at=response.finished_at,
        title=reading.title,
        description=reading.description,
        canonical=reading.canonical,
        language=reading.language,
        kind=reading.kind,
        charset=reading.charset,
        charset_source=reading.charset_source,
        headline=reading.headline,
        language_confidence=reading.language_confidence,
        authors=reading.authors,
        published=reading.published,
        modified=reading.modified,
        site_name=reading.site_name,
        section=reading.section,
        keywords=reading.keywords,
        image=reading.image,
        text=reading.text,
        article=reading.article,
        markdown=reading.markdown,
        abstract=reading.abstract,
        words=reading.words,
        fingerprint=reading.fingerprint,
        links=reading.links,
        links_count=reading.links_count,
        depth=task.depth,
        via=task.via,
        duration_ms=int(seconds * 1000),
        chain=chain,
        etag=validator(response.headers.get("ETag")),
        last_modified=validator(response.headers.get("Last-Modified")),
    )


def record_of(answer: Answer, reading: Reading | None) -> FetchRecord:
    """The measurements of the fetch, and what the reader thought of it."""
    if reading is None:
        return answer.record
    return msgspec.structs.replace(
        answer.record,
        charset_source=reading.charset_source,
        validation=reading.validation,
        evidence=reading.evidence,
    )


def visit_bytes(visit: Visit) -> int:
    """About how much memory a visit takes until it is committed: its texts, and its links."""
    text_bytes = visit.page.text_bytes if visit.page is not None else 0
    return text_bytes + len(visit.leads_to or b"") + OFFER_BYTES * len(visit.offers)


def validators_of(outcome: Outcome, answer: Answer) -> tuple[str | None, str | None]:
    """What a 304 says of the copy that we hold, or what came with a list of URLs: its ETag and its date."""
    is_list = isinstance(outcome, Fetched) and bool(outcome.catalogue)
    if not (is_list or isinstance(outcome, Unchanged)) or answer.response is None:
        return None, None
    headers = answer.response.headers
    return validator(headers.get("ETag")), validator(headers.get("Last-Modified"))
