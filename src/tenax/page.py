"""A page on its way: what a host answered as it is given to readers, and what they read in it as it is kept."""

from __future__ import annotations

from tenax.config import SiteConfig
from tenax.fetch import Response
from tenax.fetch.headers import validator
from tenax.model import Claim, Hop, Page, Task
from tenax.reading import Job, Reading


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
