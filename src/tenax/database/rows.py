"""How values become rows and rows become values, for any backend that keeps them in tables."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Protocol

import msgspec

from tenax.database import Counts, VisitRecord
from tenax.database.schedule import Entry
from tenax.model import (
    NEEDS_BROWSER,
    Again,
    DeadLetter,
    Deferred,
    Failed,
    Fetched,
    Freshness,
    Held,
    Hop,
    HostRecord,
    Offer,
    Outcome,
    Page,
    PageKind,
    Park,
    Priority,
    Redirected,
    Refused,
    Rejected,
    RobotsCopy,
    Source,
    Task,
    Unchanged,
    Visit,
    Way,
)


class Row(Protocol):
    """A row whose columns have names."""

    def __getitem__(self, name: str, /) -> Any: ...


SOURCES = tuple(Source)
SOURCE_NUMBER = {source: number for number, source in enumerate(SOURCES)}
WAYS = (None, *Way)
WHOLE = 8  # in a hint: ask for the whole page
CATALOGUE = 16  # in a hint: a sitemap or a feed is said to be there
ANNOUNCED = 32  # in a hint: a sitemap has told of a change since the last visit
FREQUENCY = 64  # in a hint, times its place in the list below: how often a sitemap says it changes
FREQUENCIES = ("", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
_LASTING = CATALOGUE + FREQUENCY * 7

_first_64_bits = struct.Struct(">q").unpack_from
encode = msgspec.json.Encoder().encode
_decode_host = msgspec.json.Decoder(HostRecord).decode
_decode_robots = msgspec.json.Decoder(RobotsCopy).decode
_decode_visit = msgspec.json.Decoder(VisitRecord).decode
_decode_chain = msgspec.json.Decoder(tuple[Hop, ...]).decode
_decode_freshness = msgspec.json.Decoder(Freshness).decode
decode_authors = msgspec.json.Decoder(tuple[str, ...]).decode


def keys_by(secret: bytes) -> Callable[[str], int]:
    """How one ledger makes 64-bit keys of normalised URLs: BLAKE2b, salted with the ledger's secret.

    A copy of the salted state costs half of what a SHA-256 does, and of what the keyed mode does, which hashes its
    key anew every time; as the salt is not known outside, it keeps collisions from being aimed just as well.
    """
    salted = blake2b(digest_size=8, salt=secret).copy

    def url_key(url: str) -> int:
        digest = salted()
        digest.update(url.encode("utf-8", "surrogatepass"))
        key: int = _first_64_bits(digest.digest())[0]
        return key

    return url_key


def milliseconds(seconds: float) -> int:
    return int(seconds * 1000)


def domain_of(origin: str) -> str:
    """The host name of an origin, without scheme and port."""
    name = origin.partition("://")[2]
    return name[: name.index("]") + 1] if name.startswith("[") else name.partition(":")[0]


def host_record(origin: str, state: bytes | None, robots: bytes | None) -> HostRecord:
    record = _decode_host(state) if state is not None else HostRecord(origin=origin, domain=domain_of(origin))
    return msgspec.structs.replace(record, robots=_decode_robots(robots)) if robots is not None else record


def host_state(record: HostRecord) -> bytes:
    return encode(record if record.robots is None else msgspec.structs.replace(record, robots=None))


def task_of(entry: Entry, origin: str) -> Task:
    return Task(
        url=origin + entry.path,
        origin=origin,
        depth=entry.depth,
        priority=Priority(3 - entry.rank),
        source=SOURCES[entry.source],
        via=entry.via_url,
        discovered_at=entry.found / 1000,
        due=entry.due / 1000,
        attempt=entry.attempt,
        chain=chain_of(entry.chain),
        way=WAYS[entry.hint % WHOLE] if entry.hint else None,
        is_unconditional=bool(entry.hint and entry.hint & WHOLE),
        is_catalogue=bool(entry.hint and entry.hint & CATALOGUE),
        is_announced=bool(entry.hint and entry.hint & ANNOUNCED),
        changefreq=FREQUENCIES[entry.hint // FREQUENCY % 8] if entry.hint else "",
    )


def hint_of(plan: Again, hint: int | None = None) -> int | None:
    """How to visit it then, as the queue holds it; None for as usual. `hint` is how it was visited now."""
    return (WAYS.index(plan.way) + plan.is_unconditional * WHOLE + ((hint or 0) & _LASTING)) or None


def hint_for(offer: Offer) -> int | None:
    """How to visit what was offered."""
    if not offer.is_catalogue and not offer.changefreq:
        return None
    said = FREQUENCIES.index(offer.changefreq) if offer.changefreq in FREQUENCIES else 0
    return (offer.is_catalogue * CATALOGUE + said * FREQUENCY) or None


def held_of(row: tuple[Any, ...] | None) -> Held | None:
    if row is None:
        return None
    at, status, kind, etag, last_modified, body_bytes, catalogue, freshness, content_hash, fingerprint = row
    return Held(
        at / 1000, status, PageKind(kind) if kind else None, etag, last_modified, body_bytes, catalogue or "",
        freshness_of(freshness), content_hash.hex() if content_hash else "", fingerprint or b"",
    )  # fmt: skip


def freshness_of(blob: bytes | None) -> Freshness | None:
    return _decode_freshness(blob) if blob is not None else None


def chain_of(blob: bytes | None) -> tuple[Hop, ...]:
    return _decode_chain(blob) if blob is not None else ()


def chain_blob(chain: tuple[Hop, ...]) -> bytes | None:
    return encode(chain) if chain else None


def visit_record(detail: bytes) -> VisitRecord:
    return _decode_visit(detail)


def visit_detail(visit: Visit) -> bytes:
    return encode(
        VisitRecord(
            at=visit.finished_at,
            outcome=visit.outcome,
            plan=visit.plan,
            attempt=visit.claim.task.attempt,
            fetch=visit.fetch,
            offered=len(visit.offers),
            refusals=visit.refusals,
            is_conditional=visit.claim.held is not None and _was_conditional(visit, visit.claim.held),
        )
    )


def _was_conditional(visit: Visit, held: Held) -> bool:
    was_asked = visit.fetch.status is not None and asks_site(visit.outcome)
    return was_asked and bool(held.etag or held.last_modified) and not visit.claim.task.is_unconditional


def asks_site(outcome: Outcome) -> bool:
    """Whether the page itself was asked for."""
    match outcome:
        case Deferred() | Refused():
            return False
        case Unchanged(why=why):
            return not why
        case _:
            return True


def is_confirmed(outcome: Outcome) -> bool:
    """The site says that what we hold is what it has."""
    return isinstance(outcome, Unchanged) and not outcome.why


def stale_why(outcome: Outcome) -> str:
    """What is wrong with a page that was asked for again and did not come."""
    match outcome:
        case Failed(why=why) | Rejected(why=why):
            return why
        case Redirected(status=status, to=to):
            return f"HTTP {status} to {to}"
        case _:
            return ""


def unicode(text: str) -> str:
    """A header may hold any bytes."""
    return text.encode("utf-8", "replace").decode()


def with_texts(visit: Visit, mend: Callable[[str], str]) -> Visit:
    """The visit with every text in it mended."""

    def mended(value: Any) -> Any:
        if isinstance(value, str):
            return mend(value)
        if isinstance(value, dict):
            return {name: mended(part) for name, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [mended(part) for part in value]
        return value

    return msgspec.convert(mended(msgspec.to_builtins(visit)), Visit)


def authors_text(authors: tuple[str, ...]) -> str:
    """As a column holds them."""
    return encode(authors).decode() if authors else "[]"


def told_of(page: Page) -> tuple[object, ...]:
    """What makes a page that came again news; as `stored_pages` gives it of the stored one."""
    return (
        page.kind, bytes.fromhex(page.content_hash), page.title, page.description, page.canonical, page.language,
        page.status, page.headline, authors_text(page.authors), page.published, page.words,
    )  # fmt: skip


def state_after(visit: Visit) -> str:
    match visit.plan:
        case Again():
            return "waiting"
        case DeadLetter():
            return "dead"
        case Park():
            return "parked"
        case _:
            return "settled"


def status_after(outcome: Outcome) -> str:
    """The URL's status in the words of the page table."""
    match outcome:
        case Deferred():
            return "never_crawled"
        case Refused():
            return "blocked"
        case Rejected():
            return "rejected"
        case Failed():
            return "failed"
        case _:
            return "fetched"


def http_status_of(outcome: Outcome) -> int | None:
    match outcome:
        case Fetched(status=status) | Redirected(status=status) | Failed(status=status):
            return status
        case _:
            return None


def http_status_after(visit: Visit) -> int | None:
    """The status of the answer, also of one that was not kept; None when no answer came."""
    return visit.fetch.status if isinstance(visit.outcome, Rejected) else http_status_of(visit.outcome)


def rejection_of(outcome: Outcome) -> str | None:
    """Why an answer was not kept; None when it was, or when there was none."""
    return outcome.why if isinstance(outcome, Rejected) else None


def canonical_key(page: Page) -> int | None:
    """What a page is found by under its canonical URL; None when it has none, or only its own.

    A canonical URL on another site is not believed: any page could claim to be a copy of any other.
    """
    other = page.canonical
    if not other or other == page.url or _site_of(other) != _site_of(page.url):
        return None
    return key_of_canonical(other)


def key_of_canonical(url: str) -> int:
    """The key is no secret: whoever looks a page up by it compares the URL as well."""
    key: int = _first_64_bits(blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest())[0]
    return key


def _site_of(url: str) -> str:
    """Host name and port, without scheme and `www.`."""
    return origin_of(url).partition("://")[2].removeprefix("www.")


def trouble_of(visit: Visit) -> str | None:
    """What went wrong, in words; None when nothing did."""
    return trouble_in(visit.outcome)


def trouble_in(outcome: Outcome) -> str | None:
    match outcome:
        case Failed(why=why) | Refused(why=why) | Rejected(why=why) | Deferred(why=why):
            return why
        case Redirected(why=why) if why:
            return why
        case _:
            return None


def counts_of(tally: dict[str, int]) -> Counts:
    return Counts(
        waiting=tally.get("waiting", 0),
        needs_browser=tally.get("needs_browser", 0),
        pages=tally.get("pages", 0),
        articles=tally.get("articles", 0),
        duplicates=tally.get("duplicates", 0),
        pages_this_round=tally.get("pages_this_round", 0),
        wire_bytes=tally.get("wire_bytes", 0),
        saved_bytes=tally.get("saved_bytes", 0),
        outcomes=with_prefix(tally, "outcome:"),
    )


def waits_for_browser(row: Row) -> bool:
    """Whether a dead letter waits for a run with a browser."""
    return (row["error_message"] or "").startswith(NEEDS_BROWSER)


def count_back(row: Row, tally: Counter[str]) -> None:
    """A task that was dead or settled waits again; the row is as it was before."""
    tally["waiting"] += 1
    tally[row["state"]] -= 1
    if row["state"] == "dead" and waits_for_browser(row):
        tally["needs_browser"] -= 1


def with_prefix(tally: dict[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in tally.items() if name.startswith(prefix) and count}


def origin_of(url: str) -> str:
    """The origin of a normalised URL."""
    scheme, _, rest = url.partition("://")
    ends = [place for mark in "/?#" if (place := rest.find(mark)) >= 0]
    return f"{scheme}://{rest[: min(ends)] if ends else rest}"


def is_heard(freshness: bytes | None) -> bool:
    """Whether a page is kept up with, and what its sitemap says of it has proved true."""
    known = freshness_of(freshness)
    return known is not None and known.is_sitemap_heard
