"""What every ledger promises about pages that are kept fresh, as a suite that any backend must pass."""

from __future__ import annotations

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database import AgendaLine, Ledger, TaskState
from tenax.model import Again, Claim, Failed, FailureKind, Freshness, Outcome, Priority, Source, Tiding, Unchanged
from tests.contracts.catalogues import SITEMAP, asked, offered, reopened
from tests.contracts.held_pages import NOT_FOUND, TROUBLE, life_of
from tests.contracts.ledger import Opened, claim_soon, claimed, drain, offer, page_of, visit_of

A, B = "https://a.test/1", "https://b.test/1"
DAY = 86_400.0
CALM = Freshness(seen_at=1_000_000.5, rates=b"\x00\x7f\xff" * 10, visits=3, published_at=77.0, is_hub=True)


async def kept(
    ledger: Ledger,
    clock: ManualClock,
    freshness: Freshness | None = CALM,
    outcome: Outcome | None = None,
    days: float = 7.0,
) -> Claim:
    """The next task is visited, and is to be kept up with: it is due again after so many days."""
    claim = await claimed(ledger)
    visit = visit_of(claim, clock, outcome, Again(clock.now() + days * DAY, why="changes every week"))
    await ledger.commit(msgspec.structs.replace(visit, freshness=freshness))
    clock.advance(60)
    return claim


async def told(ledger: Ledger, clock: ManualClock, *tidings: Tiding, is_known: bool = False) -> None:
    """A sitemap of the first host is visited, and tells of changes."""
    if not is_known:
        await offered(ledger)
    claim = await asked(ledger, clock, tidings=tidings)
    assert claim.task.url == SITEMAP


def tiding(url: str, at: float) -> Tiding:
    return Tiding(url, "/".join(url.split("/", 3)[:3]), at)


async def due_of(ledger: Ledger, url: str) -> float:
    life = await life_of(ledger, url)
    assert life.due is not None and life.state is TaskState.WAITING
    return life.due


class FreshnessContract:
    """Inherited by each backend's test class."""

    # -- how a page changes -----------------------------------------------------------------------------------

    @pytest.mark.parametrize(("days", "is_reopened"), [(0.0, False), (7.0, False), (7.0, True)])
    async def test_how_a_page_changes_comes_back_with_its_claim(
        self, opened: Opened, clock: ManualClock, days: float, is_reopened: bool
    ) -> None:
        """When it is due at once, and does not leave the ledger's memory, as when it is read back later."""
        ledger = await opened()
        await ledger.admit([offer(A)])
        freshness: Freshness | None = None
        outcomes = (None, Unchanged(), None, TROUBLE, NOT_FOUND, TROUBLE, None)
        for visits, outcome in enumerate(outcomes, 1):
            before, freshness = freshness, msgspec.structs.replace(CALM, visits=visits)
            claim = await kept(ledger, clock, freshness, outcome, days)
            assert (claim.held.freshness if claim.held is not None else None) == before, outcome
            if is_reopened:
                ledger = await reopened(ledger, opened)
            clock.advance(days * DAY)
        assert ledger.counts().pages == 1

    async def test_how_a_page_changes_stays_when_nobody_keeps_count(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(A)])
        await kept(ledger, clock)
        clock.advance(7 * DAY)
        claim = await claimed(ledger)
        await ledger.commit(visit_of(claim, clock))
        clock.advance(60)
        await ledger.revisit(clock.now())
        held = (await claimed(ledger)).held
        assert held is not None and held.freshness == CALM

    @pytest.mark.parametrize(("why", "attempt"), [("changes every week", 0), ("", 2)])
    async def test_what_is_kept_up_with_begins_its_attempts_anew(
        self, opened: Opened, clock: ManualClock, why: str, attempt: int
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(A)])
        for _ in range(2):
            trouble = visit_of(await claimed(ledger), clock, TROUBLE, Again(clock.now() + 1, spends_attempt=True))
            await ledger.commit(trouble)
            clock.advance(60)
        claim = await claimed(ledger)
        assert claim.task.attempt == 2
        await ledger.commit(visit_of(claim, clock, plan=Again(clock.now() + 1, why=why)))
        assert (await life_of(ledger, A)).attempt == attempt
        clock.advance(60)
        assert (await claimed(ledger)).task.attempt == attempt

    # -- announced changes ------------------------------------------------------------------------------------

    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_a_page_that_is_said_to_have_changed_is_due_at_once(
        self, opened: Opened, clock: ManualClock, is_reopened: bool
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(B, depth=1)])
        links = (offer(A, via=B, depth=2, changefreq="daily"), offer("https://a.test/2", due=clock.now() + 0.5))
        await ledger.commit(visit_of(await claimed(ledger), clock, offers=links))
        before = await kept(ledger, clock)
        await kept(ledger, clock)
        clock.advance(DAY)
        now = clock.now()
        await told(ledger, clock, tiding(A, now - 5), tiding(A, now), tiding("https://a.test/never", now))
        assert await due_of(ledger, A) == now
        assert await due_of(ledger, "https://a.test/2") > now + DAY
        assert ledger.counts().waiting == (await ledger.status()).waiting == 2
        if is_reopened:
            ledger = await reopened(ledger, opened)
        claim = await claimed(ledger)
        wanted = msgspec.structs.replace(before.task, due=now, is_announced=True)
        assert claim.task == wanted
        assert claim.held is not None and claim.held.freshness == CALM
        await ledger.commit(visit_of(claim, clock, Unchanged(), Again(clock.now() + DAY, why="calm")))
        assert await claim_soon(ledger) is None
        clock.advance(DAY)
        again = await claimed(ledger)
        assert (again.task.url, again.task.is_announced, again.task.changefreq) == (A, False, "daily")

    async def test_a_page_that_was_visited_since_is_not_hastened(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(A)])
        visited_at = clock.now()
        await kept(ledger, clock)
        due = await due_of(ledger, A)
        await told(ledger, clock, tiding(A, visited_at - 1), tiding(A, visited_at))
        assert await due_of(ledger, A) == due
        await ledger.revisit(clock.now())
        await told(ledger, clock, tiding(A, visited_at + 1), tiding(A, visited_at - 1), is_known=True)
        assert await due_of(ledger, A) < due

    @pytest.mark.parametrize(
        ("freshness", "is_hastened"),
        [(None, False)] + [(msgspec.structs.replace(CALM, false_alarms=alarms), alarms < 2) for alarms in range(4)],
    )
    async def test_a_page_whose_sitemap_cried_wolf_keeps_its_pace(
        self, opened: Opened, clock: ManualClock, freshness: Freshness | None, is_hastened: bool
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(A)])
        await kept(ledger, clock, freshness)
        due = await due_of(ledger, A)
        await told(ledger, clock, tiding(A, clock.now()))
        assert (await due_of(ledger, A) < due) is is_hastened
        claim = await claim_soon(ledger)
        assert (claim.task.url if claim is not None else None) == (A if is_hastened else None)

    async def test_a_host_hastens_its_own_pages_only(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(B)])
        await kept(ledger, clock)
        due = await due_of(ledger, B)
        await told(ledger, clock, tiding(B, clock.now()), Tiding(B, "https://a.test", clock.now()))
        assert await due_of(ledger, B) == due

    async def test_what_is_settled_or_due_is_not_hastened(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        done, waiting = "https://a.test/done", "https://a.test/waiting"
        await ledger.admit([offer(done)])
        claim = await claimed(ledger)
        settled = visit_of(claim, clock, page=page_of(claim, clock))
        await ledger.commit(msgspec.structs.replace(settled, freshness=CALM))
        clock.advance(60)
        await ledger.admit([offer(A)])
        await kept(ledger, clock, days=0.01)
        clock.advance(DAY)
        due = await due_of(ledger, A)
        await ledger.admit([offer(waiting)])
        await ledger.admit([offer(SITEMAP, priority=Priority.HIGH, is_catalogue=True)])
        await told(ledger, clock, *(tiding(url, clock.now()) for url in (done, A, waiting)), is_known=True)
        assert await due_of(ledger, A) == due
        tasks = [(await asked(ledger, clock, Unchanged())).task for _ in range(2)]
        assert [(task.url, task.is_announced) for task in tasks] == [(A, False), (waiting, False)]
        assert (await life_of(ledger, done)).state is TaskState.SETTLED

    async def test_a_page_with_another_level_by_now_is_hastened(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(A, priority=Priority.LOW)])
        await kept(ledger, clock)
        ledger = await reopened(ledger, opened)
        assert await ledger.links.prioritize(lambda url, source, level: Priority.MEDIUM) == 1
        await told(ledger, clock, tiding(A, clock.now()))
        claim = await claimed(ledger)
        assert (claim.task.url, claim.task.priority, claim.task.is_announced) == (A, Priority.MEDIUM, True)

    # -- what is due when -------------------------------------------------------------------------------------

    async def test_an_empty_agenda(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        agenda = await ledger.agenda(10)
        assert (agenda.now, agenda.lines) == (clock.now(), ())
        assert agenda.due_within == {"now": 0, "hour": 0, "day": 0, "week": 0, "later": 0}

    async def test_the_agenda_counts_each_task_once_and_names_the_first(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        now = clock.now()
        waits = (-100.0, 0.0, 3600.0, 3600.001, DAY, DAY + 1, 7 * DAY, 7 * DAY + 1, 400 * DAY)
        urls = [f"https://{'ab'[number % 2]}.test/{number}" for number in range(len(waits))]
        await ledger.admit(
            [
                offer(url, due=now + wait, lead_seconds=1000.0, source=Source.FEED)
                for url, wait in zip(urls, waits, strict=True)
            ]
        )
        agenda = await ledger.agenda(4)
        assert agenda.due_within == {"now": 2, "hour": 1, "day": 2, "week": 2, "later": 2}
        assert [line.due for line in agenda.lines] == pytest.approx([now + wait for wait in waits[:4]], abs=0.002)
        for line, url in zip(agenda.lines, urls, strict=False):
            assert line == AgendaLine(url, line.due, Priority.LOW, Source.FEED, "", is_new=True)
        assert [line.url for line in (await ledger.agenda(100)).lines] == urls

    async def test_the_agenda_says_why_then(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer("https://c.test/", due=clock.now() + 3 * DAY, priority=Priority.DISCOVERY)])
        await ledger.admit([offer(A, source=Source.SEED, priority=Priority.HIGH)])
        await kept(ledger, clock, days=2)
        await ledger.admit([offer(B)])
        failed = Failed("no answer", FailureKind.CONNECT)
        await ledger.commit(visit_of(await claimed(ledger), clock, failed, Again(clock.now() + DAY)))
        lines = (await ledger.agenda(10)).lines
        assert [(line.url, line.why, line.is_new, line.priority, line.source) for line in lines] == [
            (B, "no answer", False, Priority.LOW, Source.LINK),
            (A, "changes every week", False, Priority.HIGH, Source.SEED),
            ("https://c.test/", "", True, Priority.DISCOVERY, Source.LINK),
        ]

    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_nothing_is_due_while_everything_waits_for_later(
        self, opened: Opened, clock: ManualClock, is_reopened: bool
    ) -> None:
        ledger = await opened()
        await ledger.admit([offer(A), offer(B), offer("https://c.test/", due=clock.now() + 10 * DAY)])
        dues = []
        for days in (3.0, 2.0):
            dues.append(clock.now() + days * DAY)
            await kept(ledger, clock, days=days)
        if is_reopened:
            ledger = await reopened(ledger, opened)
        for _ in range(2):
            status = await ledger.status()
            assert (status.waiting, status.due_now) == (3, 0)
            assert status.next_due == pytest.approx(min(dues), abs=0.01)
            assert await claim_soon(ledger) is None
        clock.advance(2 * DAY)
        status = await ledger.status()
        assert (status.waiting, status.due_now) == (3, 1)

    async def test_what_is_kept_up_with_comes_round_again_and_again(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(A), offer(B)])
        rounds = []
        for _ in range(3):
            rounds.append(sorted([(await kept(ledger, clock)).task.url for _ in range(2)]))
            assert await claim_soon(ledger) is None
            clock.advance(7 * DAY)
        assert rounds == [[A, B]] * 3
        assert sorted(await drain(ledger, clock)) == [A, B]
