"""What a browser makes a page of, and what that page may ask for: only what its text may depend on."""

from __future__ import annotations

from collections.abc import Mapping

from tenax.model import Value

_PAGE_TYPES = ("text/html", "application/xhtml+xml", "")
# What only a person would see or a statistician want. `Ping` is beacons, and the pings of links.
_BLOCKED_TYPES = frozenset({
    "CSPViolationReport", "Font", "Image", "Manifest", "Media", "Ping", "Prefetch", "TextTrack",
})  # fmt: skip


class DocumentResponse(Value, frozen=True):
    """The answer to one request for the main document."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def is_renderable(self) -> bool:
        """Whether a browser makes a page of it. The rest would be a download, a viewer, or nothing at all."""
        kind = self.header("content-type").partition(";")[0].strip().lower()
        return (
            kind in _PAGE_TYPES
            and self.status not in (204, 205)
            and not self.header("content-disposition").lower().startswith("attachment")
        )


def is_request_needed(kind: str, headers: Mapping[str, str], priority: str) -> bool:
    """Whether a request of this kind, as Chromium names it, may change what the page says.

    Chromium has no name for some: icons, workers' scripts and rules for speculation are all `Other`.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    if kind in _BLOCKED_TYPES or "prefetch" in sent.get("sec-purpose", ""):
        return False
    if kind != "Other":
        return True
    is_icon = sent.get("accept", "").startswith("image/")
    # A worker's script is asked for within its own origin, and so without an Origin.
    is_speculation = "origin" in sent and priority == "VeryLow"
    return not is_icon and not is_speculation
