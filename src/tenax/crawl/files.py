"""File names in the directory of a crawl."""

DATABASE_FILE = "tenax.db"
