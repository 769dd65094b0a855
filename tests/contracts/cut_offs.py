"""What every ledger promises about what limits cut off and what settings keep back, as a suite for any backend."""

from __future__ import annotations

import msgspec

from tenax.clock import ManualClock
from tenax.database import CutCount, CutPage, Ledger, TaskState
from tenax.database.links import pack_urls, unpack_links
from tenax.model import Budget, Fetched, Finds, Owed, Park, Refused, Rejected
from tests.contracts.held_pages import life_of
from tests.contracts.ledger import Opened, claimed, drain, offer, visit_of

A = "https://a.test"
PACKED = pack_urls(A, [f"{A}/two", "https://b.test/three"])


async def cut_pages(ledger: Ledger) -> list[CutPage]:
    return [page async for page in ledger.cut_offs.pages()]


async def visited(ledger: Ledger, clock: ManualClock, refusals: dict[str, int], **changes: object) -> None:
    """The next task brings a page of which so much was not followed."""
    visit = visit_of(await claimed(ledger), clock)
    await ledger.commit(msgspec.structs.replace(visit, refusals=refusals, leads_to=PACKED, **changes))
    clock.advance(1)


class CutOffsContract:
    """Inherited by each backend's test class."""

    async def test_what_limits_cut_off_is_kept_with_the_page(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/one"), offer(f"{A}/calm", due=clock.now() + 0.5)])
        await visited(ledger, clock, {"max_links_per_page": 1500, "depth": 2, "scope": 7, "nofollow": 1})
        await visited(ledger, clock, {"scope": 7})
        [page] = await cut_pages(ledger)
        assert page == CutPage(
            f"{A}/one", A, PACKED, page.record_id, 0, "", {"max_links_per_page": 1500, "depth": 2}
        ), "rules are no limits"
        assert [link.url for link in unpack_links(A, PACKED)] == [f"{A}/two", "https://b.test/three"]
        cut_off = (await ledger.status()).cut_off
        assert cut_off == {"max_links_per_page": CutCount(1500, 1), "depth": CutCount(2, 1)}
        assert await ledger.problems() == []

    async def test_links_of_a_page_that_is_not_kept(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/one")])
        rejected = Rejected("noindex: the page asks not to be kept")
        await visited(ledger, clock, {"depth": 2, "links_not_kept": 3}, outcome=rejected, page=None)
        [page] = await cut_pages(ledger)
        assert (page.packed, page.cut) == (PACKED, {"depth": 2, "links_not_kept": 3})
        status = await ledger.status()
        assert (status.cut_off, status.refusals) == ({"depth": CutCount(2, 1)}, {"depth": 2})
        assert [one.url async for one in ledger.links.all()] == [f"{A}/one"]
        assert await ledger.problems() == []

    async def test_a_page_that_comes_again_says_it_anew(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/one")])
        await visited(ledger, clock, {"depth": 2, "max_sitemaps": 3})
        await ledger.revisit(clock.now())
        await visited(ledger, clock, {"max_links_per_page": 1})
        [page] = await cut_pages(ledger)
        assert page.cut == {"max_links_per_page": 1, "max_sitemaps": 3}, "robots.txt was not read again"

    async def test_what_budgets_refuse_is_kept_with_the_page(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/one")])
        budget = Budget("facets_per_path", "/list", 2)
        offers = tuple(offer(f"{A}/list?{number}", budgets=(budget,)) for number in range(5))
        await visited(ledger, clock, {}, offers=offers)
        [page] = await cut_pages(ledger)
        assert page.cut == {"facets_per_path": 3}
        higher = Budget("facets_per_path", "/list", 4)
        more = [msgspec.structs.replace(one, budgets=(higher,)) for one in offers]
        admission = await ledger.admit(more, via=page.record_id)
        assert (admission.admitted, admission.refusals) == (2, {"facets_per_path": 1})
        await ledger.cut_offs.put({page.record_id: {"facets_per_path": 1}})
        assert [page.cut for page in await cut_pages(ledger)] == [{"facets_per_path": 1}]
        life = await life_of(ledger, f"{A}/list?3")
        assert life.via == f"{A}/one", "as a link of the page"
        await ledger.cut_offs.put({page.record_id: {}})
        assert await cut_pages(ledger) == []
        await ledger.cut_offs.put({})

    async def test_guesses_that_were_not_made_are_kept_with_the_page(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/list")])
        visit = visit_of(await claimed(ledger), clock)
        owed = {"/list?page={n}": Owed(2, 1, depth=1), "/news/{yyyy}/": Owed()}
        host = msgspec.structs.replace(visit.host, finds=Finds(verdict="news", requests=1, owed=owed))
        refusals = {"guesses": 2, "pages_guessed": 1}
        await ledger.commit(msgspec.structs.replace(visit, refusals=refusals, host=host))
        [page] = await cut_pages(ledger)
        assert (page.url, page.cut) == (f"{A}/list", refusals)
        assert (await ledger.status()).cut_off == {"guesses": CutCount(2, 1), "pages_guessed": CutCount(1, 1)}
        await ledger.close()
        again = await opened()
        kept = await again.host(A)
        assert kept is not None and kept.finds.owed == owed, "a later run knows what to guess"
        assert [one.cut for one in await cut_pages(again)] == [refusals]
        assert await again.problems() == []

    async def test_refusals_can_be_counted_anew(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/one"), offer(f"{A}/two", due=clock.now() + 0.5)])
        await visited(ledger, clock, {"scope": 7, "exclude": 2})
        await ledger.cut_offs.restate({"exclude": 1})
        assert (await ledger.status()).refusals == {"exclude": 1}
        await visited(ledger, clock, {"exclude": 2})
        assert (await ledger.status()).refusals == {"exclude": 3}

    async def test_a_document_is_asked_for_again_whole(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/one"), offer(f"{A}/map.xml", is_catalogue=True, due=clock.now() + 0.5)])
        await visited(ledger, clock, {"max_feeds": 1})
        await visited(ledger, clock, {"max_sitemap_urls": 9}, outcome=Fetched(200, "sitemap"), page=None)
        pages = await cut_pages(ledger)
        assert [(page.url, page.catalogue, page.packed) for page in pages] == [
            (f"{A}/one", "", PACKED),
            (f"{A}/map.xml", "sitemap", PACKED),
        ]
        assert [row.url async for row in ledger.links.all()] == [f"{A}/one"], "a list is no page of the graph"
        assert [row.catalogue async for row in ledger.links.all(with_lists=True)] == ["", "sitemap"]
        assert await ledger.cut_offs.ask_again([page.record_id for page in pages]) == 2
        assert await ledger.cut_offs.ask_again([page.record_id for page in pages]) == 0, "they wait already"
        assert await ledger.cut_offs.ask_again([]) == 0
        tasks = []
        for _ in range(2):
            claim = await claimed(ledger)
            tasks.append((claim.task.url, claim.task.is_unconditional, claim.task.is_catalogue))
            await ledger.commit(visit_of(claim, clock))
            clock.advance(1)
        assert sorted(tasks) == [(f"{A}/map.xml", True, True), (f"{A}/one", True, False)]
        assert await ledger.problems() == []

    async def test_a_parked_task_waits_for_its_cause(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(f"{A}/{name}") for name in "xyz"])
        urls = []
        for cause in ("guard: closed", "rules: exclude", "guard: closed"):
            claim = await claimed(ledger)
            urls.append(claim.task.url)
            await ledger.commit(visit_of(claim, clock, Refused(cause), Park(cause)))
            clock.advance(1)
        status = await ledger.status()
        assert (status.waiting, status.settled, status.parked) == (0, 0, {"guard": 2, "rules": 1})
        assert await ledger.problems() == []
        assert await ledger.links.states(urls[:1]) == {urls[0]: TaskState.PARKED}
        life = await life_of(ledger, urls[0])
        assert (life.state, life.cause) == (TaskState.PARKED, "guard: closed")
        assert await ledger.unpark(["facets"]) == 0
        assert await ledger.unpark(["guard", "facets"]) == 2
        assert ledger.counts().waiting == 2
        assert sorted(await drain(ledger, clock)) == sorted([urls[0], urls[2]])
        assert (await ledger.status()).parked == {"rules": 1}
        again = await ledger.admit([offer(urls[1])])
        assert (again.admitted, again.known) == (0, 1), "it is in the crawl"
        assert await ledger.problems() == []
