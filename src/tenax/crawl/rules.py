"""The rules of this crawl as they stand now: kept in the ledger, widened when a seed turns out to live elsewhere.

Where several work on one crawl, its rules may be changed by any of them, and a page read by yesterday's rules would
lose links. So a page is read by rules that were looked at less than `FRESH_SECONDS` ago, and whoever changes them lets
`SETTLE_SECONDS` pass before it adds what depends on the change. Changes that meet follow one another: each is made to
the rules as they are there, and begins anew when another came first.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Callable, Sequence
from hashlib import blake2b

import msgspec

from tenax.config import Config
from tenax.database import Ledger
from tenax.errors import LedgerBusy, LedgerUnusable
from tenax.model import Source, Task
from tenax.urls.admit import Rules, is_of_seeds, redirect_refusal, rules_of
from tenax.urls.normalize import WebUrl, normalize, spelling_of
from tenax.urls.scope import in_scope, site_of, widen

FRESH_SECONDS = 0.5
SETTLE_SECONDS = 1.0
TRIES = 100
"""Of a change that others come before, each time."""
LONGEST_PAUSE_SECONDS = 0.05

_NAME = "rules"
_MARK = "rules_mark"
"""Another one with every change, small enough to be asked for twice a second: a digest of the rules, then chance."""
DIGEST_BYTES = 8
_decode = msgspec.json.Decoder(Rules).decode


class Rulebook:
    """`is_shared`: others may change the rules as well."""

    def __init__(self, ledger: Ledger, rules: Rules, *, is_shared: bool = False) -> None:
        self._ledger = ledger
        self._is_shared = is_shared
        self._mark: bytes | None = None
        self._looked_at: float | None = None
        self._looking = asyncio.Lock()
        self.rules = rules

    async def current(self) -> Rules:
        """The rules to read a page by."""
        if self._is_shared and not self._is_fresh():
            async with self._looking:
                if not self._is_fresh():
                    await self._look()
        return self.rules

    async def change(self, rule: Callable[[Rules], Rules]) -> None:
        """Returns when everyone goes by the changed rules. `rule` must change nothing that it has changed already."""
        if not self._is_shared:
            self.rules = rule(self.rules)
            await self._ledger.remember(_NAME, msgspec.json.encode(self.rules))
            return
        for _ in range(TRIES):
            kept = await self._ledger.recall(_NAME)
            rules = _rules_in(kept) or self.rules
            changed = rule(rules)
            encoded = kept if kept is not None and changed == rules else msgspec.json.encode(changed)
            if encoded is kept or await self._ledger.remember_if(_NAME, kept, encoded):
                await self._announce(encoded)
                return
            await asyncio.sleep(random.uniform(0, LONGEST_PAUSE_SECONDS))  # another's change came before ours
        raise LedgerBusy("others change the rules of this crawl all the time; run the same command again")

    async def redirect_refusal(self, url: str, task: Task) -> str | None:
        """Why a redirect of this task is not followed, or None. Where a seed leads, the crawl was meant to go."""
        rules = await self.current()
        target = normalize(url, None, spelling_of(rules.urls))
        if target is None:
            return "invalid"
        if task.is_catalogue:
            return None if _may_hold_catalogue(rules, target, task) else "scope"
        if _is_seed(task) and _is_elsewhere(rules, target, task):
            await self.change(lambda rules: _widened(rules, target))
        return redirect_refusal(self.rules, target, task.depth)

    def _is_fresh(self) -> bool:
        return self._looked_at is not None and _now() - self._looked_at < FRESH_SECONDS

    async def _look(self) -> None:
        began = _now()
        mark = await self._ledger.recall(_MARK)
        if mark != self._mark and (kept := await kept_rules(self._ledger)) is not None:
            self.rules, self._mark = kept, mark
        self._looked_at = began

    async def _announce(self, kept: bytes) -> None:
        """Returns when everyone, we too, has looked at rules that are at least as new.

        Also when there was nothing left to change: who changed it may have done so just now, or died before this.
        """
        digest = blake2b(kept, digest_size=DIGEST_BYTES).digest()
        mark = await self._ledger.recall(_MARK)
        if mark is None or not mark.startswith(digest):
            await self._ledger.remember(_MARK, digest + secrets.token_bytes(DIGEST_BYTES))
        await asyncio.sleep(SETTLE_SECONDS)
        async with self._looking:
            await self._look()


def _is_elsewhere(rules: Rules, target: WebUrl, task: Task) -> bool:
    """Whether a seed leads out of the scope, or to a host that another scope might not hold."""
    own = normalize(task.url, None, spelling_of(rules.urls))
    is_same_site = own is not None and site_of(own) == site_of(target)
    return not in_scope(rules.scope, target) or not (is_same_site or target.url in rules.moved_to)


def _widened(rules: Rules, target: WebUrl) -> Rules:
    if target.url in rules.moved_to:
        return rules
    moved_to = (*rules.moved_to, target.url)
    return msgspec.structs.replace(rules, scope=widen(rules.scope, target), moved_to=moved_to)


def _may_hold_catalogue(rules: Rules, target: WebUrl, task: Task) -> bool:
    """A sitemap or a feed is no page, so patterns and depth are not asked; it stays with the seeds, or where it was."""
    own = normalize(task.url, None, spelling_of(rules.urls))
    return is_of_seeds(rules, target) or (own is not None and site_of(own) == site_of(target))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_seed(task: Task) -> bool:
    return task.depth == 0 and task.source in (Source.SEED, Source.REDIRECT)


def agreed(new: Rules, kept: Rules | None) -> tuple[Rules, tuple[str, ...]]:
    """The rules of a run that goes on with a crawl: the new ones, with what the scope had learned from redirected
    seeds; and the names of what has changed."""
    if kept is None:
        return new, ()
    if new.scope.name == kept.scope.name and new.seeds == kept.seeds:
        new = msgspec.structs.replace(new, scope=kept.scope)
    names = ("seeds", "scope", "include", "exclude", "max_depth", "max_links_per_page", "urls")
    changed = tuple(name for name in names if getattr(new, name) != getattr(kept, name))
    return _revised(new, kept), changed


def with_seeds(kept: Rules, seeds: Sequence[str], config: Config, year: int) -> Rules:
    """The rules of a crawl that gets more seeds: what this config says, for all that was in its scope before too."""
    new = rules_of((*kept.seeds, *seeds), config, year, kept.moved_to)
    if new.scope.name != kept.scope.name:
        return _revised(new, kept)
    scope = msgspec.structs.replace(
        new.scope,
        hosts=new.scope.hosts | kept.scope.hosts,
        domains=new.scope.domains | kept.scope.domains,
        prefixes=new.scope.prefixes | kept.scope.prefixes,
    )
    return _revised(msgspec.structs.replace(new, scope=scope), kept)


def _revised(new: Rules, kept: Rules) -> Rules:
    """The new rules, with the number of changes that the crawl has seen."""
    is_same = msgspec.structs.replace(new, revision=kept.revision, year=kept.year) == kept
    return msgspec.structs.replace(new, revision=kept.revision + (not is_same))


async def kept_rules(ledger: Ledger) -> Rules | None:
    """The rules a ledger was last crawled by; None when none were kept."""
    return _rules_in(await ledger.recall(_NAME))


def _rules_in(kept: bytes | None) -> Rules | None:
    try:
        return _decode(kept) if kept is not None else None
    except msgspec.DecodeError as error:
        raise LedgerUnusable(
            f"the rules kept with this crawl cannot be read ({error}); begin anew, with --fresh or in another schema"
        ) from None
