"""The rules of this crawl as they stand now: kept in the database, widened when a seed turns out to live elsewhere.

Where several work on one crawl, its rules may be changed by any of them, and a page read by yesterday's rules would
lose links. So a page is read by rules that were looked at less than `CACHE_SECONDS` ago, and whoever changes them lets
`PROPAGATION_SECONDS` pass before it adds what depends on the change. Changes that meet follow one another: each is made to
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
from tenax.database import Database
from tenax.errors import DatabaseBusy, DatabaseUnusable
from tenax.model import Source, Task
from tenax.urls.admit import Rules, build_rules, is_seed_host, redirect_refusal
from tenax.urls.normalize import WebUrl, normalize, normalize_options
from tenax.urls.scope import is_in_scope, site_key, widen_scope

CACHE_SECONDS = 0.5
PROPAGATION_SECONDS = 1.0
MAX_TRIES = 100
"""Of a change that others come before, each time."""
MAX_PAUSE_SECONDS = 0.05

_RULES_KEY = "rules"
_VERSION_KEY = "rules_version"
"""Another one with every change, small enough to be asked for twice a second: a digest of the rules, then chance."""
DIGEST_BYTES = 8
_decode = msgspec.json.Decoder(Rules).decode


class CrawlRules:
    """`is_shared`: others may change the rules as well."""

    def __init__(self, database: Database, rules: Rules, *, is_shared: bool = False) -> None:
        self._database = database
        self._is_shared = is_shared
        self._version: bytes | None = None
        self._checked_at: float | None = None
        self._refresh_lock = asyncio.Lock()
        self.rules = rules

    async def current(self) -> Rules:
        """The rules to read a page by."""
        if self._is_shared and not self._is_current():
            async with self._refresh_lock:
                if not self._is_current():
                    await self._refresh()
        return self.rules

    async def change(self, update: Callable[[Rules], Rules]) -> None:
        """Returns when everyone goes by the changed rules. `update` must change nothing that it has changed already."""
        if not self._is_shared:
            self.rules = update(self.rules)
            await self._database.set_meta(_RULES_KEY, msgspec.json.encode(self.rules))
            return
        for _ in range(MAX_TRIES):
            kept = await self._database.get_meta(_RULES_KEY)
            rules = _decode_rules(kept) or self.rules
            changed = update(rules)
            encoded = kept if kept is not None and changed == rules else msgspec.json.encode(changed)
            if encoded is kept or await self._database.compare_and_set_meta(_RULES_KEY, kept, encoded):
                await self._publish_change(encoded)
                return
            await asyncio.sleep(random.uniform(0, MAX_PAUSE_SECONDS))  # another's change came before ours
        raise DatabaseBusy("others change the rules of this crawl all the time; run the same command again")

    async def redirect_refusal(self, url: str, task: Task) -> str | None:
        """Why a redirect of this task is not followed, or None. Where a seed leads, the crawl was meant to go."""
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
        mark = await self._database.get_meta(_VERSION_KEY)
        if mark != self._version and (kept := await load_rules(self._database)) is not None:
            self.rules, self._version = kept, mark
        self._checked_at = began

    async def _publish_change(self, encoded: bytes) -> None:
        """Returns when everyone, we too, has looked at rules that are at least as new.

        Also when there was nothing left to change: who changed it may have done so just now, or died before this.
        """
        digest = blake2b(encoded, digest_size=DIGEST_BYTES).digest()
        mark = await self._database.get_meta(_VERSION_KEY)
        if mark is None or not mark.startswith(digest):
            await self._database.set_meta(_VERSION_KEY, digest + secrets.token_bytes(DIGEST_BYTES))
        await asyncio.sleep(PROPAGATION_SECONDS)
        async with self._refresh_lock:
            await self._refresh()


def _is_outside_scope(rules: Rules, target: WebUrl, task: Task) -> bool:
    """Whether a seed leads out of the scope, or to a host that another scope might not hold."""
    own = normalize(task.url, None, normalize_options(rules.urls))
    is_same_site = own is not None and site_key(own) == site_key(target)
    return not is_in_scope(rules.scope, target) or not (is_same_site or target.url in rules.moved_to)


def _widen_scope(rules: Rules, target: WebUrl) -> Rules:
    if target.url in rules.moved_to:
        return rules
    moved_to = (*rules.moved_to, target.url)
    return msgspec.structs.replace(rules, scope=widen_scope(rules.scope, target), moved_to=moved_to)


def _may_host_url_list(rules: Rules, target: WebUrl, task: Task) -> bool:
    """A sitemap or a feed is no page, so patterns and depth are not asked; it stays with the seeds, or where it was."""
    own = normalize(task.url, None, normalize_options(rules.urls))
    return is_seed_host(rules, target) or (own is not None and site_key(own) == site_key(target))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_seed(task: Task) -> bool:
    return task.depth == 0 and task.source in (Source.SEED, Source.REDIRECT)


def resume_rules(new: Rules, stored: Rules | None) -> tuple[Rules, tuple[str, ...]]:
    """The rules of a run that goes on with a crawl: the new ones, with what the scope had learned from redirected
    seeds; and the names of what has changed."""
    if stored is None:
        return new, ()
    if new.scope.name == stored.scope.name and new.seeds == stored.seeds:
        new = msgspec.structs.replace(new, scope=stored.scope)
    names = ("seeds", "scope", "include", "exclude", "max_depth", "max_links_per_page", "urls")
    changed = tuple(name for name in names if getattr(new, name) != getattr(stored, name))
    return _increment_revision(new, stored), changed


def extend_rules(stored: Rules, seeds: Sequence[str], config: Config, year: int) -> Rules:
    """The rules of a crawl that gets more seeds: what this config says, for all that was in its scope before too."""
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
    """The new rules, with the number of changes that the crawl has seen."""
    is_same = msgspec.structs.replace(new, revision=stored.revision, year=stored.year) == stored
    return msgspec.structs.replace(new, revision=stored.revision + (not is_same))


async def load_rules(database: Database) -> Rules | None:
    """The rules a database was last crawled by; None when none were kept."""
    return _decode_rules(await database.get_meta(_RULES_KEY))


def _decode_rules(encoded: bytes | None) -> Rules | None:
    try:
        return _decode(encoded) if encoded is not None else None
    except msgspec.DecodeError as error:
        raise DatabaseUnusable(
            f"the rules kept with this crawl cannot be read ({error}); begin anew, with --restart or in another schema"
        ) from None
