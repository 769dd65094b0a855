"""A page as it is kept, put together from what a host answered and what was read in it."""

from __future__ import annotations

from tenax.fetch import Response
from tenax.fetch.headers import validator
from tenax.model import Hop, Page, Task
from tenax.reading import Reading


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
