"""Readers: processes that extract pages, the pool that feeds them, and the messages in between."""
