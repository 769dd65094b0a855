"""Injected defects that the soak must detect: a test that cannot fail proves nothing."""

from __future__ import annotations

from dataclasses import dataclass

from bench.cluster_soak_site import PACE_SECONDS

HURRY = 8


@dataclass(frozen=True)
class Plant:
    """A defect and the check that must detect it."""

    meaning: str
    finding: str
    """The kind of violation."""
    of_one: tuple[str, ...] = ()
    """Options of the worker in slot 0."""
    of_all: tuple[str, ...] = ()
    """Options of every worker."""
    sql: str = ""
    """SQL that runs after the crawl has ended."""


PLANTS = {
    "too-fast": Plant(
        f"one worker sends {HURRY} times as fast as allowed",
        "too_close",
        of_one=("--set", f"politeness.rate_per_second={HURRY / PACE_SECONDS}"),
    ),
    "crowd": Plant(
        "hosts that share an address ignore its pace",
        "crowds",
        of_all=("--set", "politeness.per_ip_rate_factor=0"),
    ),
    "lose": Plant(
        "a page is deleted from the database",
        "lost",
        sql="DELETE FROM tenax.record WHERE id = (SELECT min(id) FROM tenax.record WHERE content_id IS NOT NULL)",
    ),
    "double": Plant(
        "a page is stored and published twice",
        "doubled",
        sql="""
        WITH again AS (
            INSERT INTO tenax.content (id, at, page, body)
            SELECT nextval('tenax.number'), at, page, body FROM tenax.content ORDER BY id LIMIT 1 RETURNING id
        ), last AS (UPDATE tenax.outbox_end SET seq = seq + 1 RETURNING seq)
        INSERT INTO tenax.outbox (seq, content_id) SELECT last.seq, again.id FROM last, again
        """,
    ),
}
