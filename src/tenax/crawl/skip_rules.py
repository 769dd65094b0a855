"""What is claimed and not asked for: the rules refuse it by now, or others like it showed the same again. Pure."""

from __future__ import annotations

from tenax.discovery.facets import why_spared
from tenax.discovery.series import why_left
from tenax.model import Claim, Finds, Refused, Source
from tenax.urls.admit import Rules, refusal_now


def spared(claim: Claim, finds: Finds, rules: Rules) -> Refused | None:
    """Why nothing is sent for this task; None: it is visited."""
    task = claim.task
    if rules.revision and (why := refusal_now(rules, task)) is not None:
        return Refused(f"rules: {why}")
    if claim.held is not None or task.source is Source.SEED:
        return None
    if why := why_spared(finds, task.url, task.origin, rules.urls.facets_tried):
        return Refused(f"facets: {why}")
    if why := why_left(finds, task.url, task.via, task.origin, rules.urls.max_same_in_series):
        return Refused(f"series: {why}")
    return None
