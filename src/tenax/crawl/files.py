"""The names of a crawl's files in its directory."""

LEDGER_FILE = "tenax.db"
