"""Finding what links do not show, and coming back when it changed; pure.

`sitemaps` and `feeds` read what a site says about itself. `archives` and `pagination` guess where more may be, within a
share of a host's requests, and learn from how the guesses went. `freshness` says when a page is to be visited again.
"""
