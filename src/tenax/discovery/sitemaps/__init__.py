"""Sitemaps: XML, plain text, RSS and Atom, compressed or not. `read` is the entry point."""
