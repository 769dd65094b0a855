"""The nouns of the crawl: frozen values that travel between the rooms.

A *task* is a URL due for a visit. A *visit* is one attempt at it and ends in an *outcome*, a value. The
outcome leads to a *plan*: what happens to the task next. Nothing here does I/O or reads a clock; times are
seconds since the epoch, as a `tenax.clock.Clock` gives them.
"""

from __future__ import annotations

from tenax.model.endings import (
    AddressClass,
    Again,
    DeadLetter,
    Deferred,
    Done,
    Failed,
    FailureKind,
    Fetched,
    FetchRecord,
    Outcome,
    Plan,
    Redirected,
    Refused,
    Rejected,
    Unchanged,
    Validation,
    label,
)
from tenax.model.finds import ArchiveRule, FacetRule, Finds, ListRule, Owed, Tally
from tenax.model.freshness import Freshness
from tenax.model.nouns import (
    Breaker,
    Budget,
    Catalogue,
    Claim,
    Company,
    Held,
    Hop,
    HostRecord,
    Lease,
    Offer,
    Priority,
    RobotsCopy,
    RobotsVerdict,
    Source,
    Task,
    Way,
)
from tenax.model.results import (
    Cursor,
    Ending,
    Event,
    Page,
    PageLink,
    Progress,
    Resting,
    Tiding,
    Visit,
)
from tenax.model.upkeep import Upkeep
from tenax.model.value import PageKind, Value
from tenax.model.worth import SECONDS_PER_POINT, points_of_links

__all__ = [
    "SECONDS_PER_POINT",
    "AddressClass",
    "Again",
    "ArchiveRule",
    "Breaker",
    "Budget",
    "Catalogue",
    "Claim",
    "Company",
    "Cursor",
    "DeadLetter",
    "Deferred",
    "Done",
    "Ending",
    "Event",
    "FacetRule",
    "Failed",
    "FailureKind",
    "FetchRecord",
    "Fetched",
    "Finds",
    "Freshness",
    "Held",
    "Hop",
    "HostRecord",
    "Lease",
    "ListRule",
    "Offer",
    "Outcome",
    "Owed",
    "Page",
    "PageKind",
    "PageLink",
    "Plan",
    "Priority",
    "Progress",
    "Redirected",
    "Refused",
    "Rejected",
    "Resting",
    "RobotsCopy",
    "RobotsVerdict",
    "Source",
    "Tally",
    "Task",
    "Tiding",
    "Unchanged",
    "Upkeep",
    "Validation",
    "Value",
    "Visit",
    "Way",
    "label",
    "points_of_links",
]
