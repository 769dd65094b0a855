"""What people are told of a ledger, put together from its rows: the life of a URL, dead letters, the status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tenax.database import (
    Agenda,
    AgendaLine,
    CutCount,
    CutPage,
    HostLine,
    LetterRecord,
    Life,
    ParkedRedirect,
    Status,
    TaskState,
    rows,
)
from tenax.database.rows import Row
from tenax.database.schedule import Entry
from tenax.model import Again, Cursor, HostRecord, Page, Priority, setting_of

PAGES_AT_ONCE = 200
BUSIEST = 20


def life_of_task(url: str, entry: Entry, host: HostRecord, via: str | None) -> Life:
    """Of a URL that was never visited; `via` is where it was found."""
    return Life(
        url=url,
        state=TaskState.WAITING,
        discovered_at=entry.found / 1000,
        source=rows.SOURCES[entry.source],
        depth=entry.depth,
        priority=Priority(3 - entry.rank),
        via=via,
        chain=rows.chain_of(entry.chain),
        due=entry.due / 1000,
        attempt=entry.attempt,
        host=host,
    )


def life_of_record(
    row: Row, entry: Entry | None, host: HostRecord, via: str | None, page: Page | None, visits: Iterable[bytes]
) -> Life:
    """Of a URL that was visited; `entry` is its task when it waits again, `page` what it brought."""
    return Life(
        url=row["origin"] + row["path"],
        state=TaskState(row["state"]),
        discovered_at=row["discovered_at"] / 1000,
        source=rows.SOURCES[row["source"]],
        depth=row["depth"],
        priority=Priority(row["priority"]),
        via=via,
        chain=rows.chain_of(row["chain"]),
        due=entry.due / 1000 if entry else None,
        attempt=row["attempt"],
        cause=row["error_message"] if row["state"] in (TaskState.DEAD, TaskState.PARKED) else None,
        page=page,
        visits=tuple(map(rows.visit_record, visits)),
        host=host,
    )


def letter_of(row: Row) -> LetterRecord:
    return LetterRecord(
        url=row["origin"] + row["path"],
        cause=row["error_message"] or "",
        at=row["last_visit_at"] / 1000,
        attempt=row["attempt"],
        depth=row["depth"],
        via=row["via_url"],
        http_status=row["http_status"],
        validation_status=row["validation_status"] or "",
        rejection_reason=row["rejection_reason"],
    )


def status_of(
    tally: dict[str, int],
    now: float,
    *,
    created: bytes | None,
    hosts: int,
    events: int,
    busiest: Iterable[HostLine],
    due_now: int,
    next_due: float | None,
    cursors: dict[str, Cursor],
    workers: int,
    cut_off: Iterable[tuple[str, int, int]],
    parked: Iterable[tuple[str, int]],
) -> Status:
    """`created` as the ledger remembers it; `workers`: others that crawl into it now."""
    return Status(
        created_at=float(created) if created else now,
        now=now,
        waiting=tally.get("waiting", 0),
        settled=tally.get("settled", 0),
        dead=tally.get("dead", 0),
        needs_browser=tally.get("needs_browser", 0),
        pages=tally.get("pages", 0),
        articles=tally.get("articles", 0),
        duplicates=tally.get("duplicates", 0),
        hosts=hosts,
        body_bytes=tally.get("body_bytes", 0),
        wire_bytes=tally.get("wire_bytes", 0),
        saved_bytes=tally.get("saved_bytes", 0),
        events=events,
        outcomes=rows.with_prefix(tally, "outcome:"),
        refusals=rows.with_prefix(tally, "refusal:"),
        cut_off={name: CutCount(links, pages) for name, links, pages in cut_off if setting_of(name)},
        parked=dict(parked),
        found=rows.with_prefix(tally, "found:"),
        busiest=tuple(busiest),
        due_now=due_now,
        next_due=next_due,
        cursors=cursors,
        is_running=workers > 0,
        workers=workers,
    )


def cut_page_of(row: Sequence[Any]) -> CutPage:
    """Of a row of `cut_off_after`."""
    url, origin, packed, record_id, depth, catalogue, cut = row
    return CutPage(url, origin, packed, record_id, depth, catalogue, _decode_cut(cut))


def redirect_of(row: Sequence[Any]) -> ParkedRedirect:
    """Of a row of `redirects_after`."""
    record_id, url, depth, cause = row
    return ParkedRedirect(record_id, url, depth, cause.rpartition(" to ")[2])


_decode_cut = msgspec.json.Decoder(dict[str, int]).decode

HORIZONS = {"now": 0, "hour": 3_600_000, "day": 86_400_000, "week": 604_800_000}
"""Until when a task is due, in milliseconds from now; what comes after is `later`."""


def horizons(now: float) -> list[int]:
    """The ends of the horizons, in milliseconds since 1970."""
    return [rows.milliseconds(now) + ahead for ahead in HORIZONS.values()]


def agenda_of(
    now: float, counts: Iterable[int | None], tasks: Iterable[tuple[str, int, int, int, bytes | None]]
) -> Agenda:
    """`counts`: what is due until each horizon, and in all; of tasks their URL, time, rank, source and last visit."""
    *until, _ = totals = [count or 0 for count in counts]
    within = [total - before for total, before in zip(totals, [0, *until], strict=True)]
    lines = tuple(
        AgendaLine(url, due / 1000, Priority(3 - rank), rows.SOURCES[source], _why(visit), visit is None)
        for url, due, rank, source, visit in tasks
    )
    return Agenda(now, dict(zip((*HORIZONS, "later"), within, strict=True)), lines)


def _why(visit: bytes | None) -> str:
    """Why a task waits again, by its last visit."""
    if visit is None:
        return ""
    record = rows.visit_record(visit)
    if isinstance(record.plan, Again) and record.plan.why:
        return record.plan.why
    return rows.trouble_in(record.outcome) or ""
