"""Contract of every database about recrawled pages, a suite that each backend must pass."""

from __future__ import annotations

import msgspec
import pytest

from tenax.clock import ManualClock
from tenax.database import Database, DueTask, TaskState
from tenax.model import (
    ChangeHistory,
    ChangeNotice,
    Claim,
    Failed,
    FailureKind,
    Outcome,
    Priority,
    Reschedule,
    Source,
    Unchanged,
)
from tests.contracts.database import Opened, candidate, claim_soon, claimed, drain, page_of, visit_of
from tests.contracts.stored_copies import NOT_FOUND, TROUBLE, life_of
from tests.contracts.url_lists import SITEMAP, admit_list, asked, reopened

A, B = "https://a.test/1", "https://b.test/1"
DAY = 86_400.0
CALM = ChangeHistory(seen_at=1_000_000.5, rates=b"\x00\x7f\xff" * 10, visits=3, published_at=77.0, is_hub=True)


async def kept(
    database: Database,
    clock: ManualClock,
    history: ChangeHistory | None = CALM,
    outcome: Outcome | None = None,
    days: float = 7.0,
) -> Claim:
    """Visit the next task, with a recrawl due after this many days."""
    claim = await claimed(database)
    visit = visit_of(claim, clock, outcome, Reschedule(clock.now() + days * DAY, why="changes every week"))
    await database.commit(msgspec.structs.replace(visit, change_history=history))
    clock.advance(60)
    return claim


async def announce(
    database: Database, clock: ManualClock, *change_notices: ChangeNotice, is_known: bool = False
) -> None:
    """A sitemap of the first host is visited, and announces changes."""
    if not is_known:
        await admit_list(database)
    claim = await asked(database, clock, change_notices=change_notices)
    assert claim.task.url == SITEMAP


def change_notice(url: str, at: float) -> ChangeNotice:
    return ChangeNotice(url, "/".join(url.split("/", 3)[:3]), at)


async def due_of(database: Database, url: str) -> float:
    history = await life_of(database, url)
    assert history.due is not None and history.state is TaskState.WAITING
    return history.due


class RecrawlContract:
    """Inherited by each backend's test class."""

    # -- change histories -------------------------------------------------------------------------------------

    @pytest.mark.parametrize(("days", "is_reopened"), [(0.0, False), (7.0, False), (7.0, True)])
    async def test_how_a_page_changes_comes_back_with_its_claim(
        self, opened: Opened, clock: ManualClock, days: float, is_reopened: bool
    ) -> None:
        """Both when it is due at once and stays in memory, and when it is read back later."""
        database = await opened()
        await database.admit([candidate(A)])
        change_history: ChangeHistory | None = None
        outcomes = (None, Unchanged(), None, TROUBLE, NOT_FOUND, TROUBLE, None)
        for visits, outcome in enumerate(outcomes, 1):
            before, change_history = change_history, msgspec.structs.replace(CALM, visits=visits)
            claim = await kept(database, clock, change_history, outcome, days)
            assert (claim.stored_copy.change_history if claim.stored_copy is not None else None) == before, outcome
            if is_reopened:
                database = await reopened(database, opened)
            clock.advance(days * DAY)
        assert database.counts().pages == 1

    async def test_how_a_page_changes_stays_when_nobody_keeps_count(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(A)])
        await kept(database, clock)
        clock.advance(7 * DAY)
        claim = await claimed(database)
        await database.commit(visit_of(claim, clock))
        clock.advance(60)
        await database.start_recrawl(clock.now())
        stored_copy = (await claimed(database)).stored_copy
        assert stored_copy is not None and stored_copy.change_history == CALM

    @pytest.mark.parametrize(("why", "attempt"), [("changes every week", 0), ("", 2)])
    async def test_a_recrawl_resets_the_attempts(
        self, opened: Opened, clock: ManualClock, why: str, attempt: int
    ) -> None:
        database = await opened()
        await database.admit([candidate(A)])
        for _ in range(2):
            trouble = visit_of(
                await claimed(database), clock, TROUBLE, Reschedule(clock.now() + 1, spends_attempt=True)
            )
            await database.commit(trouble)
            clock.advance(60)
        claim = await claimed(database)
        assert claim.task.attempt == 2
        await database.commit(visit_of(claim, clock, plan=Reschedule(clock.now() + 1, why=why)))
        assert (await life_of(database, A)).attempt == attempt
        clock.advance(60)
        assert (await claimed(database)).task.attempt == attempt

    # -- announced changes ------------------------------------------------------------------------------------

    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_a_page_that_is_said_to_have_changed_is_due_at_once(
        self, opened: Opened, clock: ManualClock, is_reopened: bool
    ) -> None:
        database = await opened()
        await database.admit([candidate(B, depth=1)])
        links = (candidate(A, via=B, depth=2, changefreq="daily"), candidate("https://a.test/2", due=clock.now() + 0.5))
        await database.commit(visit_of(await claimed(database), clock, candidates=links))
        before = await kept(database, clock)
        await kept(database, clock)
        clock.advance(DAY)
        now = clock.now()
        await announce(
            database,
            clock,
            change_notice(A, now - 5),
            change_notice(A, now),
            change_notice("https://a.test/never", now),
        )
        assert await due_of(database, A) == now
        assert await due_of(database, "https://a.test/2") > now + DAY
        assert database.counts().waiting == (await database.status()).waiting == 2
        if is_reopened:
            database = await reopened(database, opened)
        claim = await claimed(database)
        wanted = msgspec.structs.replace(before.task, due=now, is_announced=True)
        assert claim.task == wanted
        assert claim.stored_copy is not None and claim.stored_copy.change_history == CALM
        await database.commit(visit_of(claim, clock, Unchanged(), Reschedule(clock.now() + DAY, why="calm")))
        assert await claim_soon(database) is None
        clock.advance(DAY)
        again = await claimed(database)
        assert (again.task.url, again.task.is_announced, again.task.changefreq) == (A, False, "daily")

    async def test_a_page_that_was_visited_since_is_not_expedited(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(A)])
        visited_at = clock.now()
        await kept(database, clock)
        due = await due_of(database, A)
        await announce(database, clock, change_notice(A, visited_at - 1), change_notice(A, visited_at))
        assert await due_of(database, A) == due
        await database.start_recrawl(clock.now())
        await announce(
            database, clock, change_notice(A, visited_at + 1), change_notice(A, visited_at - 1), is_known=True
        )
        assert await due_of(database, A) < due

    @pytest.mark.parametrize(
        ("history", "is_expedited"),
        [(None, False)] + [(msgspec.structs.replace(CALM, false_alarms=alarms), alarms < 2) for alarms in range(4)],
    )
    async def test_a_page_whose_sitemap_cried_wolf_keeps_its_pace(
        self, opened: Opened, clock: ManualClock, history: ChangeHistory | None, is_expedited: bool
    ) -> None:
        database = await opened()
        await database.admit([candidate(A)])
        await kept(database, clock, history)
        due = await due_of(database, A)
        await announce(database, clock, change_notice(A, clock.now()))
        assert (await due_of(database, A) < due) is is_expedited
        claim = await claim_soon(database)
        assert (claim.task.url if claim is not None else None) == (A if is_expedited else None)

    async def test_a_host_expedites_its_own_pages_only(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(B)])
        await kept(database, clock)
        due = await due_of(database, B)
        await announce(database, clock, change_notice(B, clock.now()), ChangeNotice(B, "https://a.test", clock.now()))
        assert await due_of(database, B) == due

    async def test_what_is_settled_or_due_is_not_expedited(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        done, waiting = "https://a.test/done", "https://a.test/waiting"
        await database.admit([candidate(done)])
        claim = await claimed(database)
        settled = visit_of(claim, clock, page=page_of(claim, clock))
        await database.commit(msgspec.structs.replace(settled, change_history=CALM))
        clock.advance(60)
        await database.admit([candidate(A)])
        await kept(database, clock, days=0.01)
        clock.advance(DAY)
        due = await due_of(database, A)
        await database.admit([candidate(waiting)])
        await database.admit([candidate(SITEMAP, priority=Priority.HIGH, is_url_list=True)])
        await announce(database, clock, *(change_notice(url, clock.now()) for url in (done, A, waiting)), is_known=True)
        assert await due_of(database, A) == due
        tasks = [(await asked(database, clock, Unchanged())).task for _ in range(2)]
        assert [(task.url, task.is_announced) for task in tasks] == [(A, False), (waiting, False)]
        assert (await life_of(database, done)).state is TaskState.SETTLED

    async def test_a_page_with_another_level_by_now_is_expedited(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(A, priority=Priority.LOW)])
        await kept(database, clock)
        database = await reopened(database, opened)
        assert await database.links.prioritize(lambda url, source, level: Priority.MEDIUM) == 1
        await announce(database, clock, change_notice(A, clock.now()))
        claim = await claimed(database)
        assert (claim.task.url, claim.task.priority, claim.task.is_announced) == (A, Priority.MEDIUM, True)

    # -- due tasks -------------------------------------------------------------------------------------------

    async def test_no_due_tasks(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        due_tasks = await database.due_tasks(10)
        assert (due_tasks.now, due_tasks.tasks) == (clock.now(), ())
        assert due_tasks.due_within == {"now": 0, "hour": 0, "day": 0, "week": 0, "later": 0}

    async def test_due_tasks_count_each_task_once_and_name_the_first(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        now = clock.now()
        waits = (-100.0, 0.0, 3600.0, 3600.001, DAY, DAY + 1, 7 * DAY, 7 * DAY + 1, 400 * DAY)
        urls = [f"https://{'ab'[number % 2]}.test/{number}" for number in range(len(waits))]
        await database.admit(
            [
                candidate(url, due=now + wait, lead_seconds=1000.0, source=Source.FEED)
                for url, wait in zip(urls, waits, strict=True)
            ]
        )
        due_tasks = await database.due_tasks(4)
        assert due_tasks.due_within == {"now": 2, "hour": 1, "day": 2, "week": 2, "later": 2}
        assert [line.due for line in due_tasks.tasks] == pytest.approx([now + wait for wait in waits[:4]], abs=0.002)
        for line, url in zip(due_tasks.tasks, urls, strict=False):
            assert line == DueTask(url, line.due, Priority.LOW, Source.FEED, "", is_new=True)
        assert [line.url for line in (await database.due_tasks(100)).tasks] == urls

    async def test_due_tasks_give_the_reason(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate("https://c.test/", due=clock.now() + 3 * DAY, priority=Priority.DISCOVERY)])
        await database.admit([candidate(A, source=Source.SEED, priority=Priority.HIGH)])
        await kept(database, clock, days=2)
        await database.admit([candidate(B)])
        failed = Failed("no answer", FailureKind.CONNECT)
        await database.commit(visit_of(await claimed(database), clock, failed, Reschedule(clock.now() + DAY)))
        lines = (await database.due_tasks(10)).tasks
        assert [(line.url, line.why, line.is_new, line.priority, line.source) for line in lines] == [
            (B, "no answer", False, Priority.LOW, Source.LINK),
            (A, "changes every week", False, Priority.HIGH, Source.SEED),
            ("https://c.test/", "", True, Priority.DISCOVERY, Source.LINK),
        ]

    @pytest.mark.parametrize("is_reopened", [False, True])
    async def test_nothing_is_due_while_everything_waits_for_later(
        self, opened: Opened, clock: ManualClock, is_reopened: bool
    ) -> None:
        database = await opened()
        await database.admit([candidate(A), candidate(B), candidate("https://c.test/", due=clock.now() + 10 * DAY)])
        dues = []
        for days in (3.0, 2.0):
            dues.append(clock.now() + days * DAY)
            await kept(database, clock, days=days)
        if is_reopened:
            database = await reopened(database, opened)
        for _ in range(2):
            status = await database.status()
            assert (status.waiting, status.due_now) == (3, 0)
            assert status.next_due == pytest.approx(min(dues), abs=0.01)
            assert await claim_soon(database) is None
        clock.advance(2 * DAY)
        status = await database.status()
        assert (status.waiting, status.due_now) == (3, 1)

    async def test_what_is_kept_up_with_comes_round_again_and_again(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(A), candidate(B)])
        rounds = []
        for _ in range(3):
            rounds.append(sorted([(await kept(database, clock)).task.url for _ in range(2)]))
            assert await claim_soon(database) is None
            clock.advance(7 * DAY)
        assert rounds == [[A, B]] * 3
        assert sorted(await drain(database, clock)) == [A, B]
