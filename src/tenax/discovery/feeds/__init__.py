"""Feeds of every format: RSS, RDF, Atom, CDF and JSON Feed. `read` is the entry point."""
