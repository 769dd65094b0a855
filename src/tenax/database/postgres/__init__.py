"""The PostgreSQL backend: a crawl by many workers. Needs the extra `postgres`, which an error names when missing.

Tables are described in `migrations/`, statements in `queries.sql`.
"""

from tenax.database.postgres.schema import migrate, server_clock_offset
from tenax.database.postgres.store import PostgresDatabase
from tenax.database.postgres.visited import refill_visited_set

__all__ = ["PostgresDatabase", "migrate", "refill_visited_set", "server_clock_offset"]
