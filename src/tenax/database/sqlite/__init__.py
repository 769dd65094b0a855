"""The database in one SQLite file: the backend of a crawl on one machine."""

from tenax.database.sqlite.schema import lock_database
from tenax.database.sqlite.store import SqliteDatabase

__all__ = ["SqliteDatabase", "lock_database"]
