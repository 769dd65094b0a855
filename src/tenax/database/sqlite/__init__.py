"""The SQLite backend: a crawl by one process into one file."""

from tenax.database.sqlite.schema import lock_database
from tenax.database.sqlite.store import SqliteDatabase

__all__ = ["SqliteDatabase", "lock_database"]
