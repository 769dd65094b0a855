"""URLs: normalization, scope, admission, priority and traps.

Everything here is pure. A link passes these steps: `normalize` gives it one spelling; `admit` checks `scope`, patterns,
depth and `traps` in this order; `priority` ranks the link. The result of `admit` is a `Candidate`, or a refusal that is
counted under the name of the rule. `scope` also parses the seeds that a person typed. `describe_admission` explains the
same decisions in sentences, for `tenax explain`.

Promises:

- `normalize` is idempotent for any input, and its result has no credentials.
- All links to one page have one URL.
- No rule takes more than linear time in the length of the URL.
- What is cached between pages affects speed, never the result.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from tenax.model import Source


class FoundOn(NamedTuple):
    """Where URLs were found."""

    base: str
    """What relative URLs are relative to."""
    depth: int
    """Links from a seed to the page, sitemap or feed."""
    source: Source = Source.LINK
    via: str | None = None
    """Its normalized URL."""


class KnownUrls(NamedTuple):
    """URLs that the database surely has: the latest, and those before them."""

    urls: Container[str] = ()
    older: Container[str] = ()


NO_URLS = KnownUrls()
