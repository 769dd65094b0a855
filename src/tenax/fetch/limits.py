"""Limits of every transport that are not settings: no honest response needs more."""

from __future__ import annotations

from typing import Final

MAX_HEAD_BYTES: Final = 256 * 1024
"""Status line and headers together; the same for trailers. Policies of real sites are long; 200 of 64 KB are not
accepted."""
MAX_HEADERS: Final = 256
SMALL_BODY_BYTES: Final = 64 * 1024
"""The body of a redirect or an error is read up to this size, to keep the connection; a larger one is dropped."""
BODILESS_STATUSES: Final = frozenset({204, 304})
"""Responses without a body, whatever length they announce: it is the length of the page that was not sent."""
KEEP_ALIVE_SECONDS: Final = 10.0
"""How long an idle connection is kept: several requests at the usual rate, few enough open files for a broad crawl."""
TIMER_SLACK_SECONDS: Final = 0.01
"""Event loops call timers slightly early: code that reads a clock then allows for it."""
