"""The ledger in one SQLite file: the backend of a crawl on one machine."""

from tenax.ledger.sqlite.schema import owned
from tenax.ledger.sqlite.store import SqliteLedger

__all__ = ["SqliteLedger", "owned"]
