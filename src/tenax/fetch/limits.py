"""Limits that hold for every transport and are nobody's taste: what no honest answer needs more of."""

from __future__ import annotations

from typing import Final

MAX_HEAD_BYTES: Final = 256 * 1024
"""Status line and headers together; so the trailers. Policies of real sites are long; 200 of 64 KB are not taken."""
MAX_HEADERS: Final = 256
SMALL_BODY_BYTES: Final = 64 * 1024
"""The body of a redirect or an error is read up to this size, to keep the connection; a larger one is not awaited."""
BODILESS_STATUSES: Final = frozenset({204, 304})
"""Answers without a body, whatever length they announce: that is the length of the page that was not sent."""
KEEP_ALIVE_SECONDS: Final = 10.0
"""How long an idle connection is kept: some turns of a host at the usual pace, few enough files for a broad crawl."""
TIMER_SLACK_SECONDS: Final = 0.01
"""Event loops call a timer a little too early: whoever reads a clock then allows for it."""
