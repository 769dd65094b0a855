"""The relay: in order, once each, and a cursor that is never ahead of the sink."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from tenax.errors import SinkError
from tenax.events.relay import EVENT_BATCH_SIZE, EVENTS_PER_ROUND, Relay, round_pause
from tenax.model import Cursor, Event, Page


def event(seq: int) -> Event:
    return Event(
        seq=seq,
        at=0.0,
        page=Page(
            url=f"https://example.org/{seq}",
            status=200,
            content_type="text/html",
            content_hash="ab" * 32,
            content_length=5,
            fetched_at=0.0,
        ),
    )


class Outbox:
    """A database's outbox, in memory."""

    def __init__(self, count: int = 0, most_at_once: int = EVENT_BATCH_SIZE) -> None:
        """`most_at_once`: returns fewer events than requested, as when their texts are long."""
        self.most_at_once = most_at_once
        self.kept = [event(seq) for seq in range(1, count + 1)]
        self.cursors: dict[str, Cursor] = {}
        self.asked = asyncio.Event()
        self.is_ours = True
        """This process is the leader."""

    def add(self, count: int) -> None:
        self.kept += [event(seq) for seq in range(len(self.kept) + 1, len(self.kept) + count + 1)]

    async def events(self, after: int, limit: int) -> list[Event]:
        self.asked.set()
        return [event for event in self.kept if event.seq > after][: min(limit, self.most_at_once)]

    async def subscribe(self, sink: str) -> Cursor:
        return self.cursors.setdefault(sink, Cursor())

    async def advance(self, sink: str, cursor: Cursor) -> None:
        self.cursors[sink] = cursor

    async def is_leader(self, sink: str) -> bool:
        return self.is_ours


class Sink:
    """Records what it was given; fails on request."""

    name = "memory"

    def __init__(self, fails_at: int | None = None) -> None:
        self.seqs: list[int] = []
        self.batches: list[int] = []
        self.opened_at: Cursor | None = None
        self.is_closed = False
        self._fails_at = fails_at

    async def open(self, cursor: Cursor, is_behind: bool) -> None:
        self.opened_at = cursor
        self.is_closed = False
        self.seqs = self.seqs[: cursor.position]

    async def write(self, events: Sequence[Event]) -> Cursor:
        self.seqs += [event.seq for event in events]
        self.batches.append(len(events))
        if self._fails_at is not None and self.seqs[-1] >= self._fails_at:
            self._fails_at = None
            raise SinkError("no room")
        return Cursor(seq=self.seqs[-1], position=len(self.seqs))

    async def close(self) -> None:
        self.is_closed = True


async def carried(outbox: Outbox, sink: Sink) -> None:
    """One run over what is there already."""
    relay = Relay(outbox, sink)
    await relay.open()
    relay.stop()
    try:
        await relay.run()
    finally:
        await relay.close()


@pytest.mark.parametrize(
    "count", [0, 1, EVENT_BATCH_SIZE - 1, EVENT_BATCH_SIZE, EVENT_BATCH_SIZE + 1, 3 * EVENT_BATCH_SIZE]
)
async def test_everything_committed_before_the_end_is_carried(count: int) -> None:
    outbox, sink = Outbox(count), Sink()
    await carried(outbox, sink)
    assert sink.seqs == list(range(1, count + 1))
    assert outbox.cursors["memory"].seq == count
    assert max(sink.batches, default=0) <= EVENT_BATCH_SIZE
    assert sink.is_closed


async def test_fewer_events_than_were_asked_for_are_not_the_last_ones() -> None:
    outbox, sink = Outbox(10, most_at_once=3), Sink()
    await carried(outbox, sink)
    assert sink.seqs == list(range(1, 11))
    assert sink.batches == [3, 3, 3, 1]


async def test_it_goes_on_where_its_cursor_is() -> None:
    outbox, sink = Outbox(3), Sink()
    await carried(outbox, sink)
    outbox.add(2)
    await carried(outbox, sink)
    assert sink.opened_at == Cursor(seq=3, position=3)
    assert sink.seqs == [1, 2, 3, 4, 5]


async def test_a_failure_of_the_sink_does_not_move_the_cursor() -> None:
    """What it accepted before it failed is written again; the sink cuts it off when it opens."""
    outbox, sink = Outbox(EVENT_BATCH_SIZE + 3), Sink(fails_at=EVENT_BATCH_SIZE + 1)
    with pytest.raises(SinkError):
        await carried(outbox, sink)
    assert outbox.cursors["memory"] == Cursor(seq=EVENT_BATCH_SIZE, position=EVENT_BATCH_SIZE)
    await carried(outbox, sink)
    assert sink.seqs == list(range(1, EVENT_BATCH_SIZE + 4))


async def test_events_that_come_while_it_runs_are_carried_too() -> None:
    outbox, sink = Outbox(2), Sink()
    relay = Relay(outbox, sink, pause_seconds=0.001)
    await relay.open()
    running = asyncio.ensure_future(relay.run())
    for _ in range(3):
        outbox.asked.clear()
        await asyncio.wait_for(outbox.asked.wait(), 60)
        outbox.add(1)
    outbox.asked.clear()
    relay.stop()
    await asyncio.wait_for(running, 60)
    assert sink.seqs == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("sent", "seconds", "pause"),
    [
        (0, 0.5, 0.5),
        (1, 0.5, 0.5),
        (EVENTS_PER_ROUND, 0.5, 0.5),
        (2 * EVENTS_PER_ROUND, 0.5, 0.25),
        (EVENTS_PER_ROUND, 0.1, 0.1),
        (10 * EVENTS_PER_ROUND, 0.0, 0.0),
        (EVENTS_PER_ROUND, 60.0, 0.5),
    ],
)
def test_the_pause_lets_no_more_events_pile_up_than_are_in_memory(sent: int, seconds: float, pause: float) -> None:
    assert round_pause(0.5, sent, seconds) == pytest.approx(pause)


async def test_the_end_does_not_wait_for_the_pause() -> None:
    outbox, sink = Outbox(1), Sink()
    relay = Relay(outbox, sink, pause_seconds=3600)
    await relay.open()
    running = asyncio.ensure_future(relay.run())
    await asyncio.wait_for(outbox.asked.wait(), 60)
    outbox.add(1)
    relay.stop()
    await asyncio.wait_for(running, 60)
    assert sink.seqs == [1, 2]


class StuckSink(Sink):
    """Accepts nothing until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.free = asyncio.Event()

    async def write(self, events: Sequence[Event]) -> Cursor:
        await self.free.wait()
        return await super().write(events)


async def test_a_sink_that_takes_nothing_holds_up_the_end_for_a_moment_only() -> None:
    outbox, sink = Outbox(3), StuckSink()
    relay = Relay(outbox, sink, drain_seconds=0.01)
    await relay.open()
    relay.stop()
    await relay.run()
    await relay.close()
    assert (outbox.cursors["memory"], sink.seqs) == (Cursor(), [])
    sink.free.set()
    await carried(outbox, sink)
    assert (outbox.cursors["memory"].seq, sink.seqs) == (3, [1, 2, 3])


async def test_a_sink_that_comes_back_goes_on_where_it_was() -> None:
    outbox, sink = Outbox(3), StuckSink()
    relay = Relay(outbox, sink, pause_seconds=0.001)
    await relay.open()
    running = asyncio.ensure_future(relay.run())
    await outbox.asked.wait()
    outbox.add(2)
    sink.free.set()
    relay.stop()
    await running
    assert sink.seqs == [1, 2, 3, 4, 5]


# ---- one of many ------------------------------------------------------------------------------------------


async def until(is_so: Callable[[], bool]) -> None:
    for _ in range(60_000):
        if is_so():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it did not come to that")


async def test_a_follower_writes_nothing_and_ends_at_once() -> None:
    outbox, sink = Outbox(3), Sink()
    outbox.is_ours = False
    relay = Relay(outbox, sink, leader_check_seconds=3600)
    await relay.open()
    running = asyncio.ensure_future(relay.run())
    await asyncio.sleep(0)
    relay.stop()
    await asyncio.wait_for(running, 60)
    await relay.close()
    assert (sink.opened_at, sink.seqs, outbox.cursors) == (None, [], {"memory": Cursor()})


async def test_a_new_leader_continues_at_the_cursor() -> None:
    outbox, sink = Outbox(5), Sink()
    outbox.is_ours = False
    relay = Relay(outbox, sink, pause_seconds=0.001, leader_check_seconds=0.001)
    await relay.open()
    running = asyncio.ensure_future(relay.run())
    await outbox.advance("memory", Cursor(3, 0))  # another process was the leader until now
    outbox.is_ours = True
    await until(lambda: outbox.cursors["memory"].seq == 5)
    outbox.is_ours = False
    await until(lambda: sink.is_closed)
    outbox.add(4)
    await outbox.advance("memory", Cursor(7, 2))
    outbox.is_ours = True
    await until(lambda: outbox.cursors["memory"].seq == 9)
    relay.stop()
    await running
    assert sink.seqs == [4, 5, 8, 9]


async def test_a_former_leader_drops_events_that_the_sink_has_not_accepted() -> None:
    """Ours would come after the new leader's events of the same pages."""
    outbox, sink = Outbox(3), StuckSink()
    relay = Relay(outbox, sink, pause_seconds=0.001, leader_check_seconds=0.001)
    await relay.open()
    running = asyncio.ensure_future(relay.run())
    await outbox.asked.wait()
    outbox.is_ours = False
    await until(lambda: sink.is_closed)
    sink.free.set()
    relay.stop()
    await running
    assert (sink.seqs, outbox.cursors["memory"]) == ([], Cursor())


class BusyOutbox(Outbox):
    """Others commit faster than we write."""

    async def events(self, after: int, limit: int) -> list[Event]:
        self.add(EVENT_BATCH_SIZE)
        await asyncio.sleep(0.001)
        return await super().events(after, limit)


async def test_the_end_leaves_to_others_what_they_go_on_committing() -> None:
    outbox, sink = BusyOutbox(), Sink()
    relay = Relay(outbox, sink, drain_seconds=0.05, is_shared=True)
    await relay.open()
    running = asyncio.ensure_future(relay.run())
    await until(lambda: bool(sink.seqs))
    relay.stop()
    await asyncio.wait_for(running, 60)
    await relay.close()
    seqs = sink.seqs[-1]
    assert seqs - EVENT_BATCH_SIZE <= outbox.cursors["memory"].seq <= seqs, "cut between telling and writing that down"


class SilentOutbox(Outbox):
    """The database is unavailable."""

    async def is_leader(self, sink: str) -> bool:
        if self.asked.is_set():
            await asyncio.Event().wait()
        return await super().is_leader(sink)


async def test_an_unavailable_database_does_not_delay_the_end() -> None:
    outbox, sink = SilentOutbox(3), Sink()
    relay = Relay(outbox, sink, drain_seconds=0.01)
    await relay.open()
    relay.stop()
    await asyncio.wait_for(relay.run(), 60)
    await relay.close()
    assert sink.seqs == []
