"""Discovery of pages besides links: sitemaps, feeds, archives and pagination. Pure.

`sitemaps` and `feeds` parse URL lists that a site publishes. `archives` and `pagination` guess further URLs, within a
share of a host's requests, and learn from the results.
"""
