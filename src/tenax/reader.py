"""Reading a document: parse it, judge its links. Pure, and usually done in a process of its own.

Such a process is started by `readers.ProcessReaders` as `python -m tenax.reader FD`: it takes documents from its
socket, gives back what they hold, and ends when the socket does. Frames are a length in four bytes, then msgpack.
"""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable, Iterable, Set
from functools import partial
from itertools import islice

from tenax.fetch.validate import Verdict, refresh_target, validate
from tenax.memory import settle_memory
from tenax.model import Offer, PageLink, Rejected
from tenax.parse.document import Document, read_with_dom
from tenax.parse.facts import read_facts
from tenax.parse.html import Dom
from tenax.parse.metadata import shown
from tenax.reading import HEADER, Job, Reading, decode_work, encode_readings
from tenax.urls.admit import Rules, admit_links
from tenax.urls.normalize import Spelling, normalize, spelling_of

MOST_KNOWN = 100_000
MOST_OPEN = 2000
MAX_EVIDENCE_CHARS = 200


class Reader:
    """Reads documents, and remembers the links that the ledger has, so as not to offer them on every page again.

    A link counts as known only when a visit that offered it was committed; until then it is offered each time.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._known_before: set[str] = set()
        self._offered: dict[int, tuple[Offer, ...]] = {}
        """What was offered by jobs that are not committed yet."""

    def read(self, job: Job, rules: Rules) -> Reading:
        reading = read_page(job, rules, self._known, self._known_before)
        if reading.offers:
            if len(self._offered) >= MOST_OPEN:
                del self._offered[next(iter(self._offered))]
            self._offered[job.number] = reading.offers
        return reading

    def committed(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._known.update(offer.url for offer in self._offered.pop(number, ()))
        if len(self._known) > MOST_KNOWN:
            self._known_before, self._known = self._known, set()


def read_page(job: Job, rules: Rules, known: Set[str] = frozenset(), known_before: Set[str] = frozenset()) -> Reading:
    """What a document holds; links in one of the two sets are not offered."""
    document, dom = read_with_dom(
        job.body,
        job.content_type,
        job.robots_header,
        url=job.fetched_url,
        now=job.now,
        resolver=partial(absolute_from, job.fetched_url),
        with_article=job.reading.articles,
        with_markdown=job.reading.markdown,
    )
    if document.media == "other":
        return Reading(rejected=Rejected(why=f"content: {document.media_why}"))
    verdict = validate(document, partial(read_facts, dom), job.validation, len(job.body), job.status, job.way)
    if verdict.why:
        return _turned_away(job, rules, document, dom, verdict)
    base = _base(document.base_href, job.fetched_url)
    hrefs = [(link.href, link.is_nofollow or document.is_nofollow) for link in document.links]
    offers, refusals = admit_links(rules, job.url, base, job.depth, hrefs, known, known_before)
    canonical = normalize(document.canonical, base, spelling_of(rules.urls)) if document.canonical else None
    return Reading(
        title=document.title,
        description=document.description,
        canonical=canonical.url if canonical else None,
        language=document.language,
        kind=document.kind,
        charset=document.charset,
        charset_source=document.charset_source,
        headline=document.headline,
        language_confidence=document.language_confidence,
        authors=document.authors,
        published=document.published,
        modified=document.modified,
        site_name=document.site_name,
        section=document.section,
        keywords=document.keywords,
        image=web_url(document.image, base) if document.image else None,
        text=document.text,
        article=document.article,
        markdown=document.markdown,
        abstract=document.abstract,
        words=document.words,
        fingerprint=document.fingerprint,
        links=kept_links(document, base, job.reading.max_links) if job.reading.keep_links else (),
        content_hash=document.content_hash,
        links_count=len(document.links),
        offers=offers,
        refusals=refusals,
        is_noindex=document.is_noindex,
        validation=verdict.status,
    )


def _turned_away(job: Job, rules: Rules, document: Document, dom: Dom | None, verdict: Verdict) -> Reading:
    """A wall or a shell: its links are not the site's, but a page that only leads on is followed."""
    offers: tuple[Offer, ...] = ()
    if verdict.why.startswith("refresh:") and not document.is_nofollow:
        base = _base(document.base_href, job.fetched_url)
        offers, _ = admit_links(rules, job.url, base, job.depth, [(refresh_target(read_facts(dom)), False)])
    return Reading(
        charset=document.charset,
        charset_source=document.charset_source,
        offers=offers,
        validation=verdict.status,
        evidence=shown(verdict.evidence, MAX_EVIDENCE_CHARS),
        rejected=Rejected(verdict.why, verdict.status == "hard"),
    )


def absolute_from(fetched_url: str, base_href: str | None) -> Callable[[str], str]:
    """What makes an address of the page absolute; one that leads nowhere on the web stays as it is."""
    base = _base(base_href, fetched_url)
    return lambda href: web_url(href, base) or href


def web_url(href: str, base: str) -> str | None:
    """Where it leads, spelled as the page has it otherwise; None when that is nowhere on the web."""
    found = normalize(href, base, Spelling())
    return found.url if found is not None else None


def kept_links(document: Document, base: str, most: int) -> tuple[PageLink, ...]:
    """The links as they are kept: those that lead somewhere on the web, in the order of the page."""
    kept = (
        PageLink(url, link.text, link.rel, link.is_nofollow or document.is_nofollow, link.is_in_article)
        for link in document.links
        if (url := web_url(link.href, base)) is not None
    )
    return tuple(islice(kept, most))


def _base(base_href: str | None, fetched_url: str) -> str:
    """Where relative links start. Spelled plainly: the crawl's own spelling may drop a slash that matters here."""
    if base_href is None:
        return fetched_url
    base = normalize(base_href, fetched_url, Spelling())
    return base.url if base is not None else fetched_url


def serve(channel: socket.socket) -> None:
    stream = channel.makefile("rb", buffering=1024 * 1024)
    reader = Reader()
    rules: Rules | None = None
    while header := stream.read(HEADER.size):
        work = decode_work(stream.read(HEADER.unpack(header)[0]))
        reader.committed(work.committed)
        rules = work.rules or rules
        assert rules is not None, "the first work comes with rules"
        answer = encode_readings(tuple([reader.read(job, rules) for job in work.jobs]))
        channel.sendall(HEADER.pack(len(answer)) + answer)


def main() -> None:
    # Ctrl-C reaches the whole process group; the parent decides when we end, by closing the socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settle_memory()
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
