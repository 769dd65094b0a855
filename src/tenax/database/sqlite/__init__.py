"""The ledger in one SQLite file: the backend of a crawl on one machine."""

from tenax.database.sqlite.schema import owned
from tenax.database.sqlite.store import SqliteLedger

__all__ = ["SqliteLedger", "owned"]
