"""The ledger in PostgreSQL: the backend of a crawl by many workers. Needs the extra `postgres`; names it when missing.

What the tables hold is written in `migrations/`, every statement in `queries.sql`.
"""

from tenax.database.postgres.schema import migrate, server_offset
from tenax.database.postgres.store import PostgresLedger
from tenax.database.postgres.visited import refill

__all__ = ["PostgresLedger", "migrate", "refill", "server_offset"]
