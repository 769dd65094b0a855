"""The ledger in PostgreSQL: the backend of a crawl by many workers. Needs the extra `postgres`; names it when missing.

What the tables hold is written in `migrations/`, every statement in `queries.sql`.
"""

from tenax.ledger.postgres.schema import migrate, server_offset
from tenax.ledger.postgres.store import PostgresLedger
from tenax.ledger.postgres.visited import refill

__all__ = ["PostgresLedger", "migrate", "refill", "server_offset"]
