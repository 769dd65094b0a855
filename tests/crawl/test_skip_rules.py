"""What is claimed and not asked for."""

from __future__ import annotations

import msgspec
import pytest

from tenax.config import Config
from tenax.crawl.skip_rules import spared
from tenax.model import (
    Claim,
    FacetRule,
    Finds,
    Held,
    HostRecord,
    Lease,
    Priority,
    SeriesRule,
    Source,
    Task,
)
from tenax.urls.admit import Rules, rules_of

SITE = "https://a.test"
NOW = 1_772_000_000.0
RULES = rules_of([SITE], Config(), 2026)
TRIED = RULES.urls.facets_tried
NARROWED = msgspec.structs.replace(RULES, revision=1, exclude=("*/shop*",))
JUDGED = Finds(facets={"/shop": FacetRule(TRIED, 0.0)})
FRUITFUL = Finds(facets={"/shop": FacetRule(TRIED, 0.5)})
SAME = Finds(series={"/months/{n}": SeriesRule(RULES.urls.max_same_in_series)})
SELECTION, MONTH = "/shop?colour=red", "/months/12"


def claim(path: str, source: Source = Source.LINK, held: Held | None = None) -> Claim:
    task = Task(SITE + path, SITE, 1, Priority.HIGH, source, f"{SITE}/months/11", NOW, NOW)
    return Claim(task, HostRecord(SITE, "a.test"), Lease(1, 1, NOW + 60), held)


@pytest.mark.parametrize(
    ("one", "finds", "rules", "expected"),
    [
        pytest.param(claim("/about"), JUDGED, RULES, None, id="any page"),
        pytest.param(claim(SELECTION), Finds(), NARROWED, "rules", id="refused by now"),
        pytest.param(claim(SELECTION), JUDGED, RULES, "facets", id="a selection like the others"),
        pytest.param(claim(SELECTION, Source.SEED), JUDGED, RULES, None, id="a person named it"),
        pytest.param(claim(SELECTION, held=Held(NOW, 200)), JUDGED, RULES, None, id="it is stored already"),
        pytest.param(claim(SELECTION), FRUITFUL, RULES, None, id="they are worth it"),
        pytest.param(claim(MONTH), SAME, RULES, "series", id="a month like the others"),
        pytest.param(claim(MONTH), Finds(), RULES, None, id="a month"),
    ],
)
def test_what_is_not_asked_for(one: Claim, finds: Finds, rules: Rules, expected: str | None) -> None:
    why = spared(one, finds, rules)
    assert why == expected if why is None else why.why.startswith(f"{expected}: ")
