"""Defects planted on purpose, to see that a trial finds them: a trial that cannot fail proves nothing."""

from __future__ import annotations

from dataclasses import dataclass

from bench.cluster_soak_site import PACE_SECONDS

HURRY = 8


@dataclass(frozen=True)
class Plant:
    """What is made wrong, and by what it must be found."""

    meaning: str
    finding: str
    """The kind of offence that it is."""
    of_one: tuple[str, ...] = ()
    """Options of the worker in the first slot."""
    of_all: tuple[str, ...] = ()
    """Options of every worker."""
    sql: str = ""
    """What is done to the database when the crawl is at its end."""


PLANTS = {
    "too-fast": Plant(
        f"one worker goes {HURRY} times as fast as it may",
        "too_close",
        of_one=("--set", f"politeness.rate_per_second={HURRY / PACE_SECONDS}"),
    ),
    "crowd": Plant(
        "hosts that share an address do not wait for each other",
        "crowds",
        of_all=("--set", "politeness.per_ip_rate_factor=0"),
    ),
    "lose": Plant(
        "a page is taken out of the database",
        "lost",
        sql="DELETE FROM tenax.record WHERE id = (SELECT min(id) FROM tenax.record WHERE content_id IS NOT NULL)",
    ),
    "double": Plant(
        "a page is written and told a second time",
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
