"""Reports built from rows: the history of a URL, dead letters, the status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from tenax.database import (
    CutOffCount,
    CutOffPage,
    DeadLetterRecord,
    DueTask,
    DueTasks,
    EndedTask,
    HostStatus,
    ParkedRedirect,
    Status,
    TaskState,
    UrlHistory,
    rows,
)
from tenax.database.rows import Row
from tenax.database.schedule import Entry
from tenax.model import Cursor, HostRecord, Page, Priority, Reschedule, limit_setting

PAGE_BATCH_SIZE = 200
BUSIEST_HOSTS = 20


def history_from_entry(url: str, entry: Entry, host: HostRecord, via: str | None) -> UrlHistory:
    """The history of a URL that was never visited; `via` is where it was found."""
    return UrlHistory(
        url=url,
        state=TaskState.WAITING,
        discovered_at=entry.found / 1000,
        source=rows.SOURCES[entry.source],
        depth=entry.depth,
        priority=Priority(3 - entry.rank),
        via=via,
        chain=rows.decode_chain(entry.chain),
        due=entry.due / 1000,
        attempt=entry.attempt,
        host=host,
    )


def history_from_record(
    row: Row, entry: Entry | None, host: HostRecord, via: str | None, page: Page | None, visits: Iterable[bytes]
) -> UrlHistory:
    """The history of a visited URL. `entry` is its task if it waits again, `page` its stored page."""
    return UrlHistory(
        url=row["origin"] + row["path"],
        state=TaskState(row["state"]),
        discovered_at=row["discovered_at"] / 1000,
        source=rows.SOURCES[row["source"]],
        depth=row["depth"],
        priority=Priority(row["priority"]),
        via=via,
        chain=rows.decode_chain(row["chain"]),
        due=entry.due / 1000 if entry else None,
        attempt=row["attempt"],
        cause=_cause(row) if row["state"] in (TaskState.DEAD, TaskState.PARKED) else None,
        page=page,
        visits=tuple(map(rows.decode_visit, visits)),
        host=host,
    )


def _cause(row: Row) -> str | None:
    """The cause of a dead letter or a parked task, without the conditions for another visit."""
    stored = row["error_message"]
    return rows.split_cause(stored)[0] if stored is not None else None


def dead_letter_from_row(row: Row) -> DeadLetterRecord:
    return DeadLetterRecord(
        url=row["origin"] + row["path"],
        cause=_cause(row) or "",
        at=row["last_visit_at"] / 1000,
        attempt=row["attempt"],
        depth=row["depth"],
        via=row["via_url"],
        http_status=row["http_status"],
        validation_status=row["validation_status"] or "",
        rejection_reason=row["rejection_reason"],
    )


class StatusRows(NamedTuple):
    """What is read for the status, besides the tally."""

    created: bytes | None
    """The stored creation time."""
    hosts: int
    events: int
    busiest: Sequence[HostStatus]
    due_now: int
    next_due: float | None
    cursors: dict[str, Cursor]
    workers: int
    """The other processes that crawl into the database."""
    cut_off: Sequence[tuple[str, int, int]]
    parked: Sequence[tuple[str, int]]


def build_status(tally: dict[str, int], found: StatusRows, now: float) -> Status:
    return Status(
        created_at=float(found.created) if found.created else now,
        now=now,
        waiting=tally.get("waiting", 0),
        settled=tally.get("settled", 0),
        dead=tally.get("dead", 0),
        needs_browser=tally.get("needs_browser", 0),
        pages=tally.get("pages", 0),
        articles=tally.get("articles", 0),
        duplicates=tally.get("duplicates", 0),
        hosts=found.hosts,
        body_bytes=tally.get("body_bytes", 0),
        wire_bytes=tally.get("wire_bytes", 0),
        saved_bytes=tally.get("saved_bytes", 0),
        events=found.events,
        outcomes=rows.select_prefix(tally, "outcome:"),
        refusals=rows.select_prefix(tally, "refusal:"),
        cut_off={name: CutOffCount(links, pages) for name, links, pages in found.cut_off if limit_setting(name)},
        parked=dict(found.parked),
        found=rows.select_prefix(tally, "found:"),
        busiest=tuple(found.busiest),
        due_now=found.due_now,
        next_due=found.next_due,
        cursors=found.cursors,
        is_running=found.workers > 0,
        workers=found.workers,
    )


def cut_off_page_from_row(row: Sequence[Any]) -> CutOffPage:
    """From a row of `cut_off_after`."""
    url, origin, packed, record_id, depth, url_list, cut = row
    return CutOffPage(
        url,
        origin,
        packed,
        record_id=record_id,
        depth=depth,
        url_list=url_list,
        cut_off_counts=_decode_cut_off_counts(cut),
    )


def redirect_from_row(row: Sequence[Any]) -> ParkedRedirect:
    """From a row of `redirects_after`."""
    record_id, url, depth, cause = row
    return ParkedRedirect(record_id, url, depth, cause.rpartition(" to ")[2])


def ended_task_from_row(row: Sequence[Any]) -> EndedTask:
    """From a row of `ended_by_settings_after`."""
    record_id, url, stored = row
    cause, conditions = rows.split_cause(stored)
    return EndedTask(record_id, url, cause, conditions)


_decode_cut_off_counts = msgspec.json.Decoder(dict[str, int]).decode

HORIZONS = {"now": 0, "hour": 3_600_000, "day": 86_400_000, "week": 604_800_000}
"""Upper bounds of due times, in milliseconds from now. All later times are `later`."""


def horizon_ends(now: float) -> list[int]:
    """The ends of the horizons, in milliseconds since 1970."""
    return [rows.milliseconds(now) + ahead for ahead in HORIZONS.values()]


def build_due_tasks(
    now: float, counts: Iterable[int | None], tasks: Iterable[tuple[str, int, int, int, bytes | None]]
) -> DueTasks:
    """`counts` has the number of tasks due until each horizon, and of all tasks. `tasks` have their URL, time, rank,
    source and last visit."""
    *until, _ = totals = [count or 0 for count in counts]
    within = [total - before for total, before in zip(totals, [0, *until], strict=True)]
    lines = tuple(
        DueTask(
            url,
            due / 1000,
            Priority(3 - rank),
            source=rows.SOURCES[source],
            why=_wait_reason(visit),
            is_new=visit is None,
        )
        for url, due, rank, source, visit in tasks
    )
    return DueTasks(now, dict(zip((*HORIZONS, "later"), within, strict=True)), lines)


def _wait_reason(visit: bytes | None) -> str:
    """Why a task waits again, according to its last visit."""
    if visit is None:
        return ""
    record = rows.decode_visit(visit)
    if isinstance(record.plan, Reschedule) and record.plan.why:
        return record.plan.why
    return rows.outcome_error(record.outcome) or ""
