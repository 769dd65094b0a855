"""Active claims, and commits that wait for their group."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from tenax.database import Admission
from tenax.database.candidates import Batch
from tenax.database.schedule import Entry, Slot
from tenax.database.visit_rows import PendingVisit
from tenax.model import Claim


class ActiveClaim(NamedTuple):
    """A claim with its slot and queue entry."""

    claim: Claim
    slot: Slot
    entry: Entry


class PendingCommit(NamedTuple):
    """A commit that waits for its group."""

    pending_visit: PendingVisit | None
    batch: Batch
    slot: Slot | None
    done: asyncio.Future[Admission]
