"""Conversion between values and table rows, shared by all backends."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Protocol

import msgspec

from tenax.database import Counts, VisitRecord
from tenax.database.schedule import Entry
from tenax.model import (
    NEEDS_BROWSER,
    Candidate,
    ChangeHistory,
    DeadLetter,
    Deferred,
    Failed,
    Fetched,
    Hop,
    HostRecord,
    Outcome,
    Page,
    PageKind,
    Park,
    Priority,
    Redirected,
    Refused,
    Rejected,
    Reschedule,
    RobotsCopy,
    Source,
    StoredCopy,
    Task,
    TransportKind,
    Unchanged,
    Visit,
)


class Row(Protocol):
    """A row with named columns."""

    def __getitem__(self, name: str, /) -> Any: ...


SOURCES = tuple(Source)
SOURCE_NUMBER = {source: number for number, source in enumerate(SOURCES)}
TRANSPORTS = (None, *TransportKind)
HINT_UNCONDITIONAL = 8  # in a hint: send an unconditional request
HINT_URL_LIST = 16  # in a hint: a sitemap or a feed is expected there
HINT_ANNOUNCED = 32  # in a hint: a sitemap announced a change since the last visit
HINT_FREQUENCY = 64  # in a hint, times an index into the list below: the `changefreq` of a sitemap
FREQUENCIES = ("", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
_LASTING_HINTS = HINT_URL_LIST + HINT_FREQUENCY * 7

_first_64_bits = struct.Struct(">q").unpack_from
encode = msgspec.json.Encoder().encode
_decode_host = msgspec.json.Decoder(HostRecord).decode
_decode_robots = msgspec.json.Decoder(RobotsCopy).decode
_decode_visit = msgspec.json.Decoder(VisitRecord).decode
_decode_chain = msgspec.json.Decoder(tuple[Hop, ...]).decode
_decode_change_history = msgspec.json.Decoder(ChangeHistory).decode
decode_authors = msgspec.json.Decoder(tuple[str, ...]).decode


def make_url_key(secret: bytes) -> Callable[[str], int]:
    """The function that makes the 64-bit keys of one database: BLAKE2b of the normalized URL, salted with the
    database's secret.

    Copying the salted state takes half as long as SHA-256, or as the keyed mode, which hashes its key every time. The
    salt is secret, so it prevents crafted collisions as well as a key.
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


def origin_domain(origin: str) -> str:
    """The host name of an origin, without scheme and port."""
    name = origin.partition("://")[2]
    return name[: name.index("]") + 1] if name.startswith("[") else name.partition(":")[0]


def decode_host_record(origin: str, state: bytes | None, robots: bytes | None) -> HostRecord:
    record = _decode_host(state) if state is not None else HostRecord(origin=origin, domain=origin_domain(origin))
    return msgspec.structs.replace(record, robots=_decode_robots(robots)) if robots is not None else record


def encode_host_state(record: HostRecord) -> bytes:
    return encode(record if record.robots is None else msgspec.structs.replace(record, robots=None))


MAX_REMEMBERED_HOSTS = 10_000
"""Maximum hosts that are remembered. Beyond it, robots.txt files are written again."""


class StoredRobotsHashes:
    """Which robots.txt is stored for a host. Hashes are remembered instead of copies, to limit memory."""

    def __init__(self, max_hosts: int = MAX_REMEMBERED_HOSTS) -> None:
        self._max_hosts = max_hosts
        self._hashes: dict[int, int] = {}

    def find_changed(self, hosts: Mapping[int, HostRecord]) -> dict[int, RobotsCopy]:
        """The robots.txt copies that differ from the last one stored."""
        return {
            host_id: record.robots
            for host_id, record in hosts.items()
            if record.robots is not None and self._hashes.get(host_id) != hash(record.robots)
        }

    def mark_stored(self, host_id: int, copy: RobotsCopy) -> None:
        if len(self._hashes) >= self._max_hosts:
            self._hashes.clear()
        self._hashes[host_id] = hash(copy)

    def forget(self) -> None:
        """Clear everything, because the last writes may not have been committed."""
        self._hashes.clear()


def task_from_entry(entry: Entry, origin: str) -> Task:
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
        chain=decode_chain(entry.chain),
        transport=TRANSPORTS[entry.hint % HINT_UNCONDITIONAL] if entry.hint else None,
        is_unconditional=bool(entry.hint and entry.hint & HINT_UNCONDITIONAL),
        is_url_list=bool(entry.hint and entry.hint & HINT_URL_LIST),
        is_announced=bool(entry.hint and entry.hint & HINT_ANNOUNCED),
        changefreq=FREQUENCIES[entry.hint // HINT_FREQUENCY % 8] if entry.hint else "",
    )


def plan_hint(plan: Reschedule, hint: int | None = None) -> int | None:
    """The hint in the queue for a rescheduled task; None for a normal visit. `hint` is that of the current visit."""
    return (
        TRANSPORTS.index(plan.transport) + plan.is_unconditional * HINT_UNCONDITIONAL + ((hint or 0) & _LASTING_HINTS)
    ) or None


def candidate_hint(candidate: Candidate) -> int | None:
    """The hint in the queue for a new task."""
    if not candidate.is_url_list and not candidate.changefreq:
        return None
    frequency = FREQUENCIES.index(candidate.changefreq) if candidate.changefreq in FREQUENCIES else 0
    return (candidate.is_url_list * HINT_URL_LIST + frequency * HINT_FREQUENCY) or None


def stored_copy_from_row(row: tuple[Any, ...] | None) -> StoredCopy | None:
    if row is None:
        return None
    at, status, kind, etag, last_modified, body_bytes, url_list, change_history, content_hash, fingerprint = row
    return StoredCopy(
        at / 1000, status, PageKind(kind) if kind else None, etag=etag, last_modified=last_modified,
        body_bytes=body_bytes, url_list=url_list or "", change_history=decode_change_history(change_history),
        content_hash=content_hash.hex() if content_hash else "", fingerprint=fingerprint or b"",
    )  # fmt: skip


def decode_change_history(blob: bytes | None) -> ChangeHistory | None:
    return _decode_change_history(blob) if blob is not None else None


def decode_chain(blob: bytes | None) -> tuple[Hop, ...]:
    return _decode_chain(blob) if blob is not None else ()


def encode_chain(chain: tuple[Hop, ...]) -> bytes | None:
    return encode(chain) if chain else None


def decode_visit(detail: bytes) -> VisitRecord:
    return _decode_visit(detail)


def encode_visit(visit: Visit) -> bytes:
    return encode(
        VisitRecord(
            at=visit.finished_at,
            outcome=visit.outcome,
            plan=visit.plan,
            attempt=visit.claim.task.attempt,
            fetch=visit.fetch,
            candidate_count=len(visit.candidates),
            refusals=visit.refusals,
            is_conditional=visit.claim.stored_copy is not None and _is_conditional(visit, visit.claim.stored_copy),
        )
    )


def _is_conditional(visit: Visit, stored_copy: StoredCopy) -> bool:
    is_requested = visit.fetch.status is not None and is_page_requested(visit.outcome)
    return (
        is_requested and bool(stored_copy.etag or stored_copy.last_modified) and not visit.claim.task.is_unconditional
    )


def is_page_requested(outcome: Outcome) -> bool:
    """Whether a request for the page was sent."""
    match outcome:
        case Deferred() | Refused():
            return False
        case Unchanged(why=why):
            return not why
        case _:
            return True


def is_confirmed(outcome: Outcome) -> bool:
    """Whether the site confirmed that the stored copy is current."""
    return isinstance(outcome, Unchanged) and not outcome.why


def stale_reason(outcome: Outcome) -> str:
    """Why a stored page could not be refreshed."""
    match outcome:
        case Failed(why=why) | Rejected(why=why):
            return why
        case Redirected(status=status, to=to):
            return f"HTTP {status} to {to}"
        case _:
            return ""


def encode_authors(authors: tuple[str, ...]) -> str:
    """The authors as the `authors` column stores them."""
    return encode(authors).decode() if authors else "[]"


def page_version(page: Page) -> tuple[object, ...]:
    """The fields that make a new version of a page if they change, in the order of `stored_pages`."""
    return (
        page.kind, bytes.fromhex(page.content_hash), page.title, page.description, page.canonical, page.language,
        page.status, page.headline, encode_authors(page.authors), page.published, page.words,
    )  # fmt: skip


def task_state(visit: Visit) -> str:
    match visit.plan:
        case Reschedule():
            return "waiting"
        case DeadLetter():
            return "dead"
        case Park():
            return "parked"
        case _:
            return "settled"


_CONDITIONS = re.compile(r" \[([a-z_]+\.[a-z_]+(?:!=|[<>])[^ ]+(?: [a-z_]+\.[a-z_]+(?:!=|[<>])[^ ]+)*)\]$")


def plan_cause(plan: DeadLetter | Park) -> str:
    """The cause, followed by the conditions under which the task is visited again."""
    return f"{plan.cause} [{plan.visit_if}]" if plan.visit_if else plan.cause


def split_cause(stored: str) -> tuple[str, str]:
    """The cause and the conditions of a text made by `plan_cause`."""
    found = _CONDITIONS.search(stored)
    return (stored[: found.start()], found[1]) if found is not None else (stored, "")


def url_status(outcome: Outcome) -> str:
    """The value of the `status` column."""
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


def outcome_http_status(outcome: Outcome) -> int | None:
    match outcome:
        case Fetched(status=status) | Redirected(status=status) | Failed(status=status):
            return status
        case _:
            return None


def visit_http_status(visit: Visit) -> int | None:
    """The status of the response, also if it was rejected; None without a response."""
    return visit.fetch.status if isinstance(visit.outcome, Rejected) else outcome_http_status(visit.outcome)


def rejection_reason(outcome: Outcome) -> str | None:
    """Why a response was rejected; None if it was not, or if there was none."""
    return outcome.why if isinstance(outcome, Rejected) else None


def canonical_key(page: Page) -> int | None:
    """The key by which a page's canonical URL is looked up; None if it has none, or only its own URL.

    A canonical URL on another site is ignored, because any page could claim to be a copy of any other.
    """
    other = page.canonical
    if not other or other == page.url or _site_name(other) != _site_name(page.url):
        return None
    return canonical_url_key(other)


def canonical_url_key(url: str) -> int:
    """The key is not secret, because a look-up by this key also compares the URL."""
    key: int = _first_64_bits(blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest())[0]
    return key


def _site_name(url: str) -> str:
    """Host name and port, without scheme and `www.`."""
    return url_origin(url).partition("://")[2].removeprefix("www.")


def visit_error(visit: Visit) -> str | None:
    """The error of a visit in words; None if there is none."""
    return outcome_error(visit.outcome)


def outcome_error(outcome: Outcome) -> str | None:
    match outcome:
        case Failed(why=why) | Refused(why=why) | Rejected(why=why) | Deferred(why=why):
            return why
        case Redirected(why=why) if why:
            return why
        case _:
            return None


def counts_from_tally(tally: dict[str, int]) -> Counts:
    return Counts(
        waiting=tally.get("waiting", 0),
        needs_browser=tally.get("needs_browser", 0),
        pages=tally.get("pages", 0),
        articles=tally.get("articles", 0),
        duplicates=tally.get("duplicates", 0),
        pages_this_round=tally.get("pages_this_round", 0),
        wire_bytes=tally.get("wire_bytes", 0),
        saved_bytes=tally.get("saved_bytes", 0),
        outcomes=select_prefix(tally, "outcome:"),
    )


def is_waiting_for_browser(row: Row) -> bool:
    """Whether a dead letter needs a browser."""
    return (row["error_message"] or "").startswith(NEEDS_BROWSER)


def count_requeued(row: Row, tally: Counter[str]) -> None:
    """Count a dead, parked or settled task that waits again. The row is the one before the change."""
    tally["waiting"] += 1
    tally[row["state"]] -= 1
    if row["state"] == "dead" and is_waiting_for_browser(row):
        tally["needs_browser"] -= 1


def select_prefix(tally: dict[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in tally.items() if name.startswith(prefix) and count}


def url_origin(url: str) -> str:
    """The origin of a normalized URL."""
    scheme, _, remainder = url.partition("://")
    ends = [index for mark in "/?#" if (index := remainder.find(mark)) >= 0]
    return f"{scheme}://{remainder[: min(ends)] if ends else remainder}"


def is_sitemap_trusted(change_history: bytes | None) -> bool:
    """Whether the page has a change history, and the dates in its sitemap have proved correct."""
    known = decode_change_history(change_history)
    return known is not None and known.is_sitemap_trusted
