"""How values become rows and rows become values."""

from __future__ import annotations

import sqlite3
import struct
from hashlib import sha256
from typing import Any

import msgspec
from isal import isal_zlib

from tenax.ledger import VisitRecord
from tenax.ledger.schedule import Entry
from tenax.model import (
    Again,
    DeadLetter,
    Deferred,
    Failed,
    Fetched,
    Hop,
    HostRecord,
    Outcome,
    Page,
    PageKind,
    Priority,
    Redirected,
    Refused,
    Rejected,
    RobotsCopy,
    Source,
    Task,
    Visit,
)

SOURCES = tuple(Source)
SOURCE_NUMBER = {source: number for number, source in enumerate(SOURCES)}

_first_64_bits = struct.Struct(">q").unpack_from
encode = msgspec.json.Encoder().encode
_decode_host = msgspec.json.Decoder(HostRecord).decode
_decode_robots = msgspec.json.Decoder(RobotsCopy).decode
_decode_visit = msgspec.json.Decoder(VisitRecord).decode
_decode_chain = msgspec.json.Decoder(tuple[Hop, ...]).decode
decode_page = msgspec.json.Decoder(Page).decode


def url_key(url: str) -> int:
    """The first 64 bits of the SHA-256 of a normalised URL, as SQLite stores integers."""
    key: int = _first_64_bits(sha256(url.encode("utf-8", "surrogatepass")).digest())[0]
    return key


def domain_of(origin: str) -> str:
    """The host name of an origin, without scheme and port."""
    name = origin.partition("://")[2]
    return name[: name.index("]") + 1] if name.startswith("[") else name.partition(":")[0]


def pack(text: str) -> bytes:
    """Deflated, so that anything can read it; by a library that does it in half the time of the usual one."""
    return isal_zlib.compress(text.encode("utf-8", "replace"), 0)


def unpack(body: bytes | None) -> str:
    return isal_zlib.decompress(body).decode("utf-8") if body is not None else ""


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
    )


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
        )
    )


def state_after(visit: Visit) -> str:
    match visit.plan:
        case Again():
            return "waiting"
        case DeadLetter():
            return "dead"
        case _:
            return "settled"


def status_after(outcome: Outcome) -> str:
    """The URL's status in the words of the page table."""
    match outcome:
        case Deferred():
            return "never_crawled"
        case Refused():
            return "blocked"
        case Rejected() | Failed():
            return "failed"
        case _:
            return "fetched"


def http_status_of(outcome: Outcome) -> int | None:
    match outcome:
        case Fetched(status=status) | Redirected(status=status) | Failed(status=status):
            return status
        case _:
            return None


def trouble_of(visit: Visit) -> str | None:
    """What went wrong, in words; None when nothing did."""
    match visit.outcome:
        case Failed(why=why) | Refused(why=why) | Rejected(why=why) | Deferred(why=why):
            return why
        case Redirected(why=why) if why:
            return why
        case _:
            return None


def page_of(row: sqlite3.Row | dict[str, Any], text: str, via: str | None) -> Page:
    return Page(
        url=row["origin"] + row["path"],
        status=row["http_status"],
        content_type=row["content_type"],
        content_hash=row["content_hash"].hex(),
        content_length=row["content_length"],
        fetched_at=row["fetched_at"] / 1000,
        title=row["title"],
        description=row["description"],
        canonical=row["canonical"],
        language=row["language"],
        kind=PageKind(row["kind"]),
        charset=row["charset"],
        charset_source=row["charset_source"],
        text=text,
        links_count=row["links_count"],
        depth=row["depth"],
        via=via,
        duration_ms=row["duration_ms"],
        chain=chain_of(row["chain"]),
    )
