"""Markdown of the selected blocks: CommonMark with GFM tables."""
