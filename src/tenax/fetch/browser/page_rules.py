"""What the browser renders, and which subrequests a page may make: only those that may affect its text."""

from __future__ import annotations

from collections.abc import Mapping

from tenax.model import Value

_PAGE_TYPES = ("text/html", "application/xhtml+xml", "")
# Only visible to a person or used for statistics. `Ping` covers beacons and link pings.
_BLOCKED_TYPES = frozenset({
    "CSPViolationReport", "Font", "Image", "Manifest", "Media", "Ping", "Prefetch", "TextTrack",
})  # fmt: skip


class DocumentResponse(Value, frozen=True):
    """The response to one request for the main document."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def is_renderable(self) -> bool:
        """Whether a browser renders it. Anything else would be a download, a viewer, or nothing."""
        kind = self.header("content-type").partition(";")[0].strip().lower()
        return (
            kind in _PAGE_TYPES
            and self.status not in (204, 205)
            and not self.header("content-disposition").lower().startswith("attachment")
        )


def is_request_needed(kind: str, headers: Mapping[str, str], priority: str) -> bool:
    """Whether a request of this kind, as Chromium names it, may change the page's text.

    Chromium has no name for some: icons, workers' scripts and speculation rules are all `Other`.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    if kind in _BLOCKED_TYPES or "prefetch" in sent.get("sec-purpose", ""):
        return False
    if kind != "Other":
        return True
    is_icon = sent.get("accept", "").startswith("image/")
    # A worker's script is same-origin, so it has no Origin header.
    is_speculation = "origin" in sent and priority == "VeryLow"
    return not is_icon and not is_speculation
