"""The current rules of a crawl: stored in the database, and widened when a seed redirects out of the scope.

Several processes may work on one crawl, and each of them may change its rules. If a page were read by outdated rules,
links would be lost. So a page is read by rules that were checked less than `CACHE_SECONDS` ago. A process that changes
the rules waits `PROPAGATION_SECONDS` before it adds what depends on the change. Concurrent changes are serialized: each
is made to the stored rules, and is repeated if another change came first.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Callable, Sequence
from hashlib import blake2b

import msgspec

from tenax.config import Config
from tenax.database import Records, Reports
from tenax.errors import DatabaseBusy, DatabaseUnusable
from tenax.model import Source, Task
from tenax.urls.admit import Rules, build_rules, is_seed_host, redirect_refusal
from tenax.urls.normalize import WebUrl, normalize, normalize_options
from tenax.urls.scope import is_in_scope, site_key, widen_scope

CACHE_SECONDS = 0.5
PROPAGATION_SECONDS = 1.0
MAX_TRIES = 100
"""Attempts at a change while other changes come first."""
MAX_PAUSE_SECONDS = 0.05

_RULES_KEY = "rules"
_VERSION_KEY = "rules_version"
"""A new value with every change, small enough to be read twice a second: a digest of the rules, and a random part."""
DIGEST_BYTES = 8
_decode = msgspec.json.Decoder(Rules).decode


class CrawlRules:
    """`is_shared`: other processes may change the rules too."""

    def __init__(self, records: Records, rules: Rules, *, is_shared: bool = False) -> None:
        self._records = records
        self.is_shared = is_shared
        self._version: bytes | None = None
        self._checked_at: float | None = None
        self._refresh_lock = asyncio.Lock()
        self.rules = rules

    async def current(self) -> Rules:
        """The rules by which pages are read. For a crawl that is not shared, they are always `rules`."""
        if self.is_shared and not self._is_current():
            async with self._refresh_lock:
                if not self._is_current():
                    await self._refresh()
        return self.rules

    async def change(self, update: Callable[[Rules], Rules]) -> None:
        """Change the rules. Returns when all processes use the changed rules. `update` must be idempotent."""
        if not self.is_shared:
            self.rules = update(self.rules)
            await self._records.set_meta(_RULES_KEY, msgspec.json.encode(self.rules))
            return
        for _ in range(MAX_TRIES):
            stored = await self._records.get_meta(_RULES_KEY)
            rules = _decode_rules(stored) or self.rules
            changed = update(rules)
            encoded = stored if stored is not None and changed == rules else msgspec.json.encode(changed)
            if encoded is stored or await self._records.compare_and_set_meta(_RULES_KEY, stored, encoded):
                await self._publish_change(encoded)
                return
            await asyncio.sleep(random.uniform(0, MAX_PAUSE_SECONDS))  # another change came first
        raise DatabaseBusy("other processes keep changing the rules of this crawl; run the same command again")

    async def redirect_refusal(self, url: str, task: Task) -> str | None:
        """Why a redirect of this task is not followed, or None. The target of a seed is added to the scope."""
        rules = await self.current()
        target = normalize(url, None, normalize_options(rules.urls))
        if target is None:
            return "invalid"
        if task.is_url_list:
            return None if _may_host_url_list(rules, target, task) else "scope"
        if _is_seed(task) and _is_outside_scope(rules, target, task):
            await self.change(lambda rules: _widen_scope(rules, target))
        return redirect_refusal(self.rules, target, task.depth)

    def _is_current(self) -> bool:
        return self._checked_at is not None and _now() - self._checked_at < CACHE_SECONDS

    async def _refresh(self) -> None:
        began = _now()
        mark = await self._records.get_meta(_VERSION_KEY)
        if mark != self._version and (stored := await load_rules(self._records)) is not None:
            self.rules, self._version = stored, mark
        self._checked_at = began

    async def _publish_change(self, encoded: bytes) -> None:
        """Returns when all processes, including this one, have rules that are at least as new.

        Also called if nothing was left to change: the process that made the change may have made it just now, or died
        before this step.
        """
        digest = blake2b(encoded, digest_size=DIGEST_BYTES).digest()
        mark = await self._records.get_meta(_VERSION_KEY)
        if mark is None or not mark.startswith(digest):
            await self._records.set_meta(_VERSION_KEY, digest + secrets.token_bytes(DIGEST_BYTES))
        await asyncio.sleep(PROPAGATION_SECONDS)
        async with self._refresh_lock:
            await self._refresh()


def _is_outside_scope(rules: Rules, target: WebUrl, task: Task) -> bool:
    """Whether a seed redirects out of the scope, or to a host that another scope may not contain."""
    own = normalize(task.url, None, normalize_options(rules.urls))
    is_same_site = own is not None and site_key(own) == site_key(target)
    return not is_in_scope(rules.scope, target) or not (is_same_site or target.url in rules.moved_to)


def _widen_scope(rules: Rules, target: WebUrl) -> Rules:
    if target.url in rules.moved_to:
        return rules
    moved_to = (*rules.moved_to, target.url)
    return msgspec.structs.replace(rules, scope=widen_scope(rules.scope, target), moved_to=moved_to)


def _may_host_url_list(rules: Rules, target: WebUrl, task: Task) -> bool:
    """Whether a redirect may lead to a sitemap or feed here. It is not a page, so patterns and depth do not apply, but
    it must be on a seed host or on its own host."""
    own = normalize(task.url, None, normalize_options(rules.urls))
    return is_seed_host(rules, target) or (own is not None and site_key(own) == site_key(target))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_seed(task: Task) -> bool:
    return task.depth == 0 and task.source in (Source.SEED, Source.REDIRECT)


def resume_rules(new: Rules, stored: Rules | None) -> tuple[Rules, tuple[str, ...]]:
    """The rules of a resumed crawl, and the names of the rules that changed.

    They are the new rules, with the scope that redirects of seeds have added.
    """
    if stored is None:
        return new, ()
    if new.scope.name == stored.scope.name and new.seeds == stored.seeds:
        new = msgspec.structs.replace(new, scope=stored.scope)
    names = ("seeds", "scope", "include", "exclude", "max_depth", "max_links_per_page", "urls")
    changed = tuple(name for name in names if getattr(new, name) != getattr(stored, name))
    return _increment_revision(new, stored), changed


def extend_rules(stored: Rules, seeds: Sequence[str], config: Config, year: int) -> Rules:
    """The rules of a crawl that gets more seeds: those of this config, for everything in its previous scope too."""
    new = build_rules((*stored.seeds, *seeds), config, year, stored.moved_to)
    if new.scope.name != stored.scope.name:
        return _increment_revision(new, stored)
    scope = msgspec.structs.replace(
        new.scope,
        hosts=new.scope.hosts | stored.scope.hosts,
        domains=new.scope.domains | stored.scope.domains,
        prefixes=new.scope.prefixes | stored.scope.prefixes,
    )
    return _increment_revision(msgspec.structs.replace(new, scope=scope), stored)


def _increment_revision(new: Rules, stored: Rules) -> Rules:
    """The new rules, with the number of changes so far."""
    is_same = msgspec.structs.replace(new, revision=stored.revision, year=stored.year) == stored
    return msgspec.structs.replace(new, revision=stored.revision + (not is_same))


async def load_rules(reports: Reports) -> Rules | None:
    """The rules by which a database was last crawled; None if none are stored."""
    return _decode_rules(await reports.get_meta(_RULES_KEY))


def _decode_rules(encoded: bytes | None) -> Rules | None:
    try:
        return _decode(encoded) if encoded is not None else None
    except msgspec.DecodeError as error:
        raise DatabaseUnusable(
            f"the rules stored with this crawl cannot be read ({error}); start over with --restart or in another schema"
        ) from None
