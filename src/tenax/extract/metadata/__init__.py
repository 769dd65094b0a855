"""Metadata of a page: title, authors, dates, image, JSON-LD."""
