"""The rules of this crawl as they stand now: kept in the ledger, widened when a seed turns out to live elsewhere."""

from __future__ import annotations

import msgspec

from tenax.errors import LedgerUnusable
from tenax.ledger import Ledger
from tenax.model import Source, Task
from tenax.urls.admit import Rules, refusal
from tenax.urls.normalize import normalize, spelling_of
from tenax.urls.scope import widen

_NAME = "rules"
_decode = msgspec.json.Decoder(Rules).decode


class Rulebook:
    def __init__(self, ledger: Ledger, rules: Rules) -> None:
        self._ledger = ledger
        self.rules = rules

    async def keep(self) -> None:
        await self._ledger.remember(_NAME, msgspec.json.encode(self.rules))

    async def redirect_refusal(self, url: str, task: Task) -> str | None:
        """Why a redirect of this task is not followed, or None. Where a seed leads, the crawl was meant to go."""
        target = normalize(url, None, spelling_of(self.rules.urls))
        if target is None:
            return "invalid"
        why = refusal(self.rules, target, task.depth)
        if why == "scope" and _is_seed(task):
            self.rules = msgspec.structs.replace(self.rules, scope=widen(self.rules.scope, target))
            await self.keep()
            why = refusal(self.rules, target, task.depth)
        return why


def _is_seed(task: Task) -> bool:
    return task.depth == 0 and task.source in (Source.SEED, Source.REDIRECT)


async def kept_rules(ledger: Ledger) -> Rules | None:
    """The rules a ledger was last crawled by; None when none were kept."""
    stored = await ledger.recall(_NAME)
    try:
        return _decode(stored) if stored is not None else None
    except msgspec.DecodeError as error:
        raise LedgerUnusable(
            f"the rules kept with this crawl cannot be read ({error}); begin anew with --fresh"
        ) from None
