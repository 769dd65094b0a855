"""The names of a crawl's files in its directory."""

DATABASE_FILE = "tenax.db"
