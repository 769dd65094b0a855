"""The database in PostgreSQL: the backend of a crawl by many workers. Needs the extra `postgres`; names it when missing.

What the tables hold is written in `migrations/`, every statement in `queries.sql`.
"""

from tenax.database.postgres.schema import migrate, server_clock_offset
from tenax.database.postgres.store import PostgresDatabase
from tenax.database.postgres.visited import refill_visited_set

__all__ = ["PostgresDatabase", "migrate", "refill_visited_set", "server_clock_offset"]
