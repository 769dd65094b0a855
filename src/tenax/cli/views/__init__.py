"""Formats results for terminals, summaries and exported files."""
