"""Contract of every database about links cut off by limits and tasks parked by settings."""

from __future__ import annotations

import msgspec

from tenax.clock import ManualClock
from tenax.database import CutOffCount, CutOffPage, Database, TaskState
from tenax.database.page_codec import pack_urls, unpack_links
from tenax.model import (
    NEEDS_BROWSER,
    Budget,
    DeadLetter,
    Fetched,
    GuessState,
    Park,
    PendingGuess,
    Refused,
    Rejected,
)
from tests.contracts.database import Opened, candidate, claimed, drain, visit_of
from tests.contracts.stored_copies import life_of

A = "https://a.test"
PACKED = pack_urls(A, [f"{A}/two", "https://b.test/three"])


async def cut_pages(database: Database) -> list[CutOffPage]:
    return [page async for page in database.cut_offs.pages()]


async def visited(database: Database, clock: ManualClock, refusals: dict[str, int], **changes: object) -> None:
    """Commit a page for the next task, with these links not followed."""
    visit = visit_of(await claimed(database), clock)
    await database.commit(msgspec.structs.replace(visit, refusals=refusals, link_targets=PACKED, **changes))
    clock.advance(1)


class CutOffsContract:
    """Inherited by each backend's test class."""

    async def test_what_limits_cut_off_is_kept_with_the_page(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/one"), candidate(f"{A}/calm", due=clock.now() + 0.5)])
        await visited(database, clock, {"max_links_per_page": 1500, "depth": 2, "scope": 7, "nofollow": 1})
        await visited(database, clock, {"scope": 7})
        [page] = await cut_pages(database)
        assert page == CutOffPage(
            f"{A}/one", A, PACKED, page.record_id, 0, "", {"max_links_per_page": 1500, "depth": 2}
        ), "rules are no limits"
        assert [link.url for link in unpack_links(A, PACKED)] == [f"{A}/two", "https://b.test/three"]
        cut_off = (await database.status()).cut_off
        assert cut_off == {"max_links_per_page": CutOffCount(1500, 1), "depth": CutOffCount(2, 1)}
        assert await database.find_problems() == []

    async def test_links_of_a_page_that_is_not_kept(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/one")])
        rejected = Rejected("noindex: the page asks not to be kept")
        await visited(database, clock, {"depth": 2, "links_not_kept": 3}, outcome=rejected, page=None)
        [page] = await cut_pages(database)
        assert (page.packed, page.cut_off_counts) == (PACKED, {"depth": 2, "links_not_kept": 3})
        status = await database.status()
        assert (status.cut_off, status.refusals) == ({"depth": CutOffCount(2, 1)}, {"depth": 2})
        assert [one.url async for one in database.links.read_all()] == [f"{A}/one"]
        assert await database.find_problems() == []

    async def test_a_page_that_comes_again_replaces_its_counts(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/one")])
        await visited(database, clock, {"depth": 2, "max_sitemaps": 3})
        await database.start_recrawl(clock.now())
        await visited(database, clock, {"max_links_per_page": 1})
        [page] = await cut_pages(database)
        assert page.cut_off_counts == {"max_links_per_page": 1, "max_sitemaps": 3}, "robots.txt was not read again"

    async def test_what_budgets_refuse_is_kept_with_the_page(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/one")])
        budget = Budget("facets_per_path", "/list", 2)
        candidates = tuple(candidate(f"{A}/list?{number}", budgets=(budget,)) for number in range(5))
        await visited(database, clock, {}, candidates=candidates)
        [page] = await cut_pages(database)
        assert page.cut_off_counts == {"facets_per_path": 3}
        higher = Budget("facets_per_path", "/list", 4)
        more = [msgspec.structs.replace(one, budgets=(higher,)) for one in candidates]
        admission = await database.admit(more, via=page.record_id)
        assert (admission.admitted, admission.refusals) == (2, {"facets_per_path": 1})
        await database.cut_offs.replace({page.record_id: {"facets_per_path": 1}})
        assert [page.cut_off_counts for page in await cut_pages(database)] == [{"facets_per_path": 1}]
        history = await life_of(database, f"{A}/list?3")
        assert history.via == f"{A}/one", "as a link of the page"
        await database.cut_offs.replace({page.record_id: {}})
        assert await cut_pages(database) == []
        await database.cut_offs.replace({})

    async def test_guesses_that_were_not_made_are_kept_with_the_page(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/list")])
        visit = visit_of(await claimed(database), clock)
        owed = {"/list?page={n}": PendingGuess(2, 1, depth=1), "/news/{yyyy}/": PendingGuess()}
        host = msgspec.structs.replace(visit.host, guess_state=GuessState(verdict="news", requests=1, pending=owed))
        refusals = {"guesses": 2, "pages_guessed": 1}
        await database.commit(msgspec.structs.replace(visit, refusals=refusals, host=host))
        [page] = await cut_pages(database)
        assert (page.url, page.cut_off_counts) == (f"{A}/list", refusals)
        assert (await database.status()).cut_off == {"guesses": CutOffCount(2, 1), "pages_guessed": CutOffCount(1, 1)}
        await database.close()
        again = await opened()
        kept = await again.host(A)
        assert kept is not None and kept.guess_state.pending == owed, "a later run knows what to guess"
        assert [one.cut_off_counts for one in await cut_pages(again)] == [refusals]
        assert await again.find_problems() == []

    async def test_refusals_can_be_replaced(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/one"), candidate(f"{A}/two", due=clock.now() + 0.5)])
        await visited(database, clock, {"scope": 7, "exclude": 2})
        await database.cut_offs.replace_refusals({"exclude": 1})
        assert (await database.status()).refusals == {"exclude": 1}
        await visited(database, clock, {"exclude": 2})
        assert (await database.status()).refusals == {"exclude": 3}

    async def test_a_document_is_asked_for_again_whole(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit(
            [candidate(f"{A}/one"), candidate(f"{A}/map.xml", is_url_list=True, due=clock.now() + 0.5)]
        )
        await visited(database, clock, {"max_feeds": 1})
        await visited(database, clock, {"max_sitemap_urls": 9}, outcome=Fetched(200, "sitemap"), page=None)
        pages = await cut_pages(database)
        assert [(page.url, page.url_list, page.packed) for page in pages] == [
            (f"{A}/one", "", PACKED),
            (f"{A}/map.xml", "sitemap", PACKED),
        ]
        assert [row.url async for row in database.links.read_all()] == [f"{A}/one"], "a list is no page of the graph"
        assert [row.url_list async for row in database.links.read_all(with_url_lists=True)] == ["", "sitemap"]
        assert await database.cut_offs.refetch([page.record_id for page in pages]) == 2
        assert await database.cut_offs.refetch([page.record_id for page in pages]) == 0, "they wait already"
        assert await database.cut_offs.refetch([]) == 0
        tasks = []
        for _ in range(2):
            claim = await claimed(database)
            tasks.append((claim.task.url, claim.task.is_unconditional, claim.task.is_url_list))
            await database.commit(visit_of(claim, clock))
            clock.advance(1)
        assert sorted(tasks) == [(f"{A}/map.xml", True, True), (f"{A}/one", True, False)]
        assert await database.find_problems() == []

    async def test_a_parked_task_waits_for_its_cause(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/{name}") for name in "xyz"])
        urls = []
        for cause in ("guard: closed", "rules: exclude", "guard: closed"):
            claim = await claimed(database)
            urls.append(claim.task.url)
            await database.commit(visit_of(claim, clock, Refused(cause), Park(cause)))
            clock.advance(1)
        status = await database.status()
        assert (status.waiting, status.settled, status.parked) == (0, 0, {"guard": 2, "rules": 1})
        assert await database.find_problems() == []
        assert await database.links.states(urls[:1]) == {urls[0]: TaskState.PARKED}
        history = await life_of(database, urls[0])
        assert (history.state, history.cause) == (TaskState.PARKED, "guard: closed")
        assert await database.unpark(["facets"]) == 0
        assert await database.unpark(["guard", "facets"]) == 2
        assert database.counts().waiting == 2
        assert sorted(await drain(database, clock)) == sorted([urls[0], urls[2]])
        assert (await database.status()).parked == {"rules": 1}
        again = await database.admit([candidate(urls[1])])
        assert (again.admitted, again.known) == (0, 1), "it is in the crawl"
        assert await database.find_problems() == []

    async def test_what_a_setting_ended_waits_for_another(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(f"{A}/{name}") for name in "uvwxyz"])
        met = "validation.enabled!=true validation.min_body_bytes<5000"
        shut = Rejected("login: for members")
        plans: list[Park | DeadLetter] = [
            Park("validation: login: for members", met),
            Park("robots: closed"),
            DeadLetter("blocked: [no] way in (tried 3 times)", "fetch.max_attempts>3"),
            DeadLetter("HTTP 403"),
            DeadLetter(f"{NEEDS_BROWSER}: shell: scripts", met),
            DeadLetter("a cause [in brackets]"),
        ]
        urls = []
        for plan in plans:
            claim = await claimed(database)
            urls.append(claim.task.url)
            await database.commit(visit_of(claim, clock, shut, plan))
            clock.advance(1)
        status = await database.status()
        assert (status.parked, status.dead, status.needs_browser) == ({"validation": 1, "robots": 1}, 4, 1)
        ended = [one async for one in database.cut_offs.ended_by_settings()]
        assert [(one.url, one.cause, one.visit_if) for one in ended] == [
            (urls[number], plans[number].cause, plans[number].visit_if) for number in (0, 2, 4)
        ]
        assert [one.cause async for one in database.dead_letters()] == [plans[number].cause for number in (2, 3, 4, 5)]
        assert (await life_of(database, urls[0])).cause == plans[0].cause
        assert await database.cut_offs.requeue_ended([]) == 0
        ids = [one.record_id for one in ended]
        assert await database.cut_offs.requeue_ended(ids) == 3
        assert await database.cut_offs.requeue_ended(ids) == 0, "they wait already"
        status = await database.status()
        assert (status.waiting, status.parked, status.dead, status.needs_browser) == (3, {"robots": 1}, 2, 0)
        assert (await claimed(database)).task.is_unconditional
        assert await database.find_problems() == []
