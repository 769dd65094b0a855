"""Other ways to fetch: which trouble may be cured by which of them."""

from __future__ import annotations

from tenax.config import FetchConfig
from tenax.model import Failed, FailureKind, Outcome, Rejected, Way, label

# A reset often means that the host knows our TLS handshake, and dislikes it. (`fetch.fallbacks` gives the order.)
_AFTER_FAILURE = {FailureKind.RESET: frozenset({Way.CURL, Way.BROWSER})}
# A page that is no content yet, such as "enable JavaScript", may become one in a browser.
_AFTER_SOFT_REJECTION = frozenset({Way.BROWSER})
# What these say about a page, a browser would say too.
_SAME_WORDS = "catalogue content empty guess login noindex partial refresh small unreadable"
_SAME_IN_A_BROWSER = frozenset(f"rejected:{word}" for word in _SAME_WORDS.split())


def other_way(outcome: Outcome, way: Way, fetch: FetchConfig, ways: frozenset[Way]) -> Way | None:
    """How to try instead, after a visit by `way` ended like this; None when nothing is left to try.

    `ways` are those at hand. Each comes up once: only what stands after `way` in the order is left to try.
    """
    cures = _cures(outcome)
    if not cures:
        return None
    order = [Way(name) for name in fetch.fallbacks]
    untried = order[order.index(way) + 1 :] if way in order else order
    return next((other for other in untried if other in cures and other in ways and other is not way), None)


def needs_browser(outcome: Outcome, way: Way) -> bool:
    """Whether what came by `way` is no page yet, and only a browser could tell."""
    return isinstance(outcome, Rejected) and way is not Way.BROWSER and Way.BROWSER in _cures(outcome)


def _cures(outcome: Outcome) -> frozenset[Way]:
    match outcome:
        case Failed(kind=kind):
            return _AFTER_FAILURE.get(kind, frozenset())
        case Rejected(is_hard=False) if label(outcome) not in _SAME_IN_A_BROWSER:
            return _AFTER_SOFT_REJECTION
        case _:
            return frozenset()
