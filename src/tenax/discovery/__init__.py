"""Finding pages that no link shows: sitemaps, feeds, archives and pagination. Pure.

`sitemaps` and `feeds` read what a site says about itself. `archives` and `pagination` guess where more may be, within a
share of a host's requests, and learn from how the guesses went.
"""
