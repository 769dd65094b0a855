"""Dead letters and parked tasks that settings ended: finds those that the settings of this run may end otherwise."""

from __future__ import annotations

from tenax.config import Sites
from tenax.database import Records
from tenax.database.rows import url_origin
from tenax.fetch.setting_conditions import is_any_met
from tenax.logs import logger

log = logger(__name__)

BATCH_SIZE = 5000
"""Number of tasks that are queued again in one transaction."""


async def requeue_for_settings(records: Records, sites: Sites) -> int:
    """Queue the tasks whose conditions these settings fulfil. Returns how many."""
    found = [
        one.record_id
        async for one in records.cut_offs.ended_by_settings()
        if is_any_met(one.visit_if, sites.for_origin(url_origin(one.url)))
    ]
    parts = [found[at : at + BATCH_SIZE] for at in range(0, len(found), BATCH_SIZE)]
    count = sum([await records.cut_offs.requeue_ended(part) for part in parts])
    if count:
        log.info("settings changed, visiting URLs again", count=count)
    return count
