"""Which other transport may succeed after a failure."""

from __future__ import annotations

from tenax.config import FetchConfig
from tenax.model import Failed, FailureKind, Outcome, Rejected, TransportKind, outcome_label

# A reset often means that the host recognises our TLS handshake and refuses it. (`fetch.fallbacks` gives the order.)
_FALLBACKS_AFTER_FAILURE = {FailureKind.RESET: frozenset({TransportKind.CURL, TransportKind.BROWSER})}
# A page without content yet, such as "enable JavaScript", may have some in a browser.
_FALLBACKS_AFTER_SOFT_REJECTION = frozenset({TransportKind.BROWSER})
# A browser would get the same result.
_FINAL_REASONS = "content empty guess login noindex partial refresh small unreadable url_list"
_FINAL_REJECTIONS = frozenset(f"rejected:{word}" for word in _FINAL_REASONS.split())


def fallback_transport(
    outcome: Outcome, transport: TransportKind, fetch: FetchConfig, available: frozenset[TransportKind]
) -> TransportKind | None:
    """The transport to try after a visit by `transport` ended like this; None if none is left.

    `available` are the installed ones. Each is tried once: only those after `transport` in the order are left.
    """
    cures = _useful_transports(outcome)
    if not cures:
        return None
    order = [TransportKind(name) for name in fetch.fallbacks]
    untried = order[order.index(transport) + 1 :] if transport in order else order
    return next((other for other in untried if other in cures and other in available and other is not transport), None)


def needs_browser(outcome: Outcome, transport: TransportKind) -> bool:
    """Whether the response is not a page yet, and only a browser could tell."""
    return (
        isinstance(outcome, Rejected)
        and transport is not TransportKind.BROWSER
        and TransportKind.BROWSER in _useful_transports(outcome)
    )


def _useful_transports(outcome: Outcome) -> frozenset[TransportKind]:
    match outcome:
        case Failed(kind=kind):
            return _FALLBACKS_AFTER_FAILURE.get(kind, frozenset())
        case Rejected(is_hard=False) if outcome_label(outcome) not in _FINAL_REJECTIONS:
            return _FALLBACKS_AFTER_SOFT_REJECTION
        case _:
            return frozenset()
