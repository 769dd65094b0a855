"""One crawl.

`api` holds `tenax.Crawl`, `engine` the claim, visit, commit loop, `reader` the extraction processes. The pure parts
decide: `after_visit`, `discovery_candidates`, `visits`. `wiring` builds the parts from a config, `app` runs them,
`supervisor` and `connectivity` watch them. The effect of a visit is committed as a whole or not at all, and no page can
stop the crawl.
"""

from __future__ import annotations

DATABASE_FILE = "tenax.db"
