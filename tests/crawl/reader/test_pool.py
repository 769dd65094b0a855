"""The reader pool: the same answers in every kind of pool, and no document stops it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenax.config import Config, ExtractConfig, PoolConfig
from tenax.crawl.reader import channel as reader_channel
from tenax.crawl.reader import pool as readers_module
from tenax.crawl.reader.channel import Channel
from tenax.crawl.reader.messages import ExtractedPage, ExtractJob
from tenax.crawl.reader.pool import (
    MAX_BATCH_BYTES,
    InlineReaderPool,
    ProcessReaderPool,
    ReaderFailed,
    ReaderPool,
    build_reader_pool,
)
from tenax.crawl.reader.worker import ReaderProgress
from tenax.model import FailureKind
from tenax.urls.admit import Rules, build_rules
from tests.loops import FAULT_SECONDS, reached, rounds, turn

RULES = build_rules(["https://a.test/"], Config(), 2026)


def job(number: int, *paths: str, body: bytes = b"") -> ExtractJob:
    links = "".join(f'<a href="{path}">x</a>' for path in paths)
    html = f"<html lang=en><title>Page {number}</title><p>Words of page {number}.</p>{links}".encode()
    url = f"https://a.test/{number}"
    return ExtractJob(number, url, url, 1, body or html, "text/html; charset=utf-8")


MOST_KILLS = 12
"""In one test: two readers are started after each, and that takes time."""
ENDLESS = b"".join(b"<html a%d=1 b%d=2 c%d=3>" % (n, n, n) for n in range(100_000))
"""Takes minutes: the attributes of each tag are compared with those of all tags before it."""
SLOW = ENDLESS[:400_000]
SLOWISH = ENDLESS[:100_000]


def costly(number: int, body: bytes, max_cpu_seconds: float) -> ExtractJob:
    reading = ExtractConfig(max_cpu_seconds=max_cpu_seconds)
    return msgspec.structs.replace(job(number, body=body), extract=reading)


def endless(number: int) -> ExtractJob:
    return costly(number, ENDLESS, max_cpu_seconds=3600)


@asynccontextmanager
async def started(readers: ReaderPool) -> AsyncIterator[ReaderPool]:
    await readers.start()
    try:
        yield readers
    finally:
        await readers.close()


def reader_pids() -> list[int]:
    """The live reader processes of this process."""
    found = []
    for children in Path("/proc/self/task").glob("*/children"):
        pids = ""
        with suppress(OSError):  # the thread has ended meanwhile
            pids = children.read_text()
        for pid in map(int, pids.split()):
            with suppress(OSError):  # the process has ended meanwhile
                if b"tenax.crawl.reader.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
    return found


async def a_new_reader(known: set[int], unless: asyncio.Future[Any] | None = None) -> int:
    """Wait for a reader that is not in `known`; 0 when `done` comes first."""
    for _ in range(12_000):
        if fresh := set(await asyncio.to_thread(reader_pids)) - known:
            known.add(pid := min(fresh))
            return pid
        if unless is not None and unless.done():
            return 0
        await asyncio.sleep(0.005)
    raise AssertionError("no reader was started")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Channel]:
    """Every reader that was given a batch. The first two are stopped before, and never begin."""
    ask, found = Channel.extract_pages, list[Channel]()

    async def noting(
        self: Channel, rules: Rules, jobs: tuple[ExtractJob, ...], on_stuck: Callable[[], None]
    ) -> tuple[ExtractedPage, ...]:
        if len(found) < 2:
            self._process.send_signal(signal.SIGSTOP)
        found.append(self)
        return await ask(self, rules, jobs, on_stuck)

    monkeypatch.setattr(Channel, "extract_pages", noting)
    return found


def _are_more(asked: list[Channel], number: int) -> bool:
    return len(asked) > number


def progress_of(pid: int) -> ReaderProgress | None:
    """The memory that a reader shares with this process; None before it has it, and when it has ended."""
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if "tenax-reader" in str(entry.readlink()):
                return ReaderProgress(os.open(entry, os.O_RDWR))
    return None


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def until_it_reads(
    pid: int, documents: int = 1, unless: asyncio.Future[Any] | None = None, *, is_busy: bool = False
) -> bool:
    """Wait until a reader has begun this many documents, and reads one if `is_busy`; False when `unless` is done first,
    or the reader has ended."""
    progress: ReaderProgress | None = None
    try:
        for _ in range(60_000):
            progress = progress or progress_of(pid)
            if (unless is not None and unless.done()) or not is_there(pid):
                return False
            is_idle = progress is None or not progress.is_extracting
            if progress is not None and progress.started_count >= documents and not (is_busy and is_idle):
                return True
            await asyncio.sleep(0.001)
    finally:
        if progress is not None:
            progress.close()
    raise AssertionError("the reader reads nothing")


async def read_all(readers: ReaderPool, jobs: list[ExtractJob], rules: Rules = RULES) -> list[ExtractedPage]:
    async with asyncio.timeout(60):
        return list(await asyncio.gather(*(readers.extract(one, rules) for one in jobs)))


# ---- the same everywhere ----------------------------------------------------------------------------------

KINDS: dict[str, Callable[[], ReaderPool]] = {
    "inline": InlineReaderPool,
    "processes": lambda: ProcessReaderPool(2, max_batch=16),
    "one by one": lambda: ProcessReaderPool(1, max_batch=1),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_every_document_gets_its_own_answer(kind: str) -> None:
    jobs = [job(number, f"/{number}/a", f"/{number}/b", "https://b.test/") for number in range(60)]
    async with started(KINDS[kind]()) as readers:
        extracted_pages = await read_all(readers, jobs)
    for number, extracted in enumerate(extracted_pages):
        assert extracted.title == f"Page {number}"
        assert [candidate.url for candidate in extracted.candidates] == [
            f"https://a.test/{number}/{name}" for name in "ab"
        ]
        assert extracted.refusals == {"scope": 1}
        assert (extracted.language, extracted.rejection) == ("en", None)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_no_page_is_an_answer_too(kind: str) -> None:
    async with started(KINDS[kind]()) as readers:
        [picture, rest] = await read_all(readers, [job(1, body=b"\x89PNG\r\n\x1a\n" + bytes(600)), job(2)])
    assert picture.rejection is not None
    assert picture.rejection.why.startswith("content: ")
    assert rest.title == "Page 2"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_large_document_passes_through(kind: str) -> None:
    """Larger than any socket buffer, in both directions."""
    large = b"<title>Large</title>" + b"<p>Many words stand here, again and again.</p>" * 100_000
    async with started(KINDS[kind]()) as readers:
        [extracted] = await read_all(readers, [job(1, body=large)])
    assert extracted.title == "Large"
    assert len(extracted.text) > 1_000_000


async def test_documents_that_travel_together_are_not_too_long_together() -> None:
    readers = ProcessReaderPool(1, max_batch=16)
    lengths = [MAX_BATCH_BYTES // 2, MAX_BATCH_BYTES // 2, 1, MAX_BATCH_BYTES * 2, MAX_BATCH_BYTES * 2, 1, 1]
    waiting = [
        asyncio.ensure_future(readers.extract(job(number, body=bytes(length)), RULES, other_visits=0))
        for number, length in enumerate(lengths)
    ]
    await rounds()
    channel = await Channel.open()
    batches = [[wanted.job.number for wanted in await readers._next_batch(channel)] for _ in range(5)]
    await channel.close()
    assert batches == [[0, 1], [2], [3], [4], [5, 6]]
    for one in waiting:
        one.cancel()


@pytest.mark.parametrize("kind", KINDS)
async def test_other_rules_give_other_answers_at_the_same_time(kind: str) -> None:
    wide = build_rules(["https://a.test/"], Config(), 2026)
    narrow = build_rules(["https://other.test/"], Config(), 2026)
    async with started(KINDS[kind]()) as readers:
        async with asyncio.timeout(60):
            extracted_pages = await asyncio.gather(
                *(readers.extract(job(n, f"/{n}/x"), wide if n % 2 else narrow) for n in range(20))
            )
    assert [len(extracted.candidates) for extracted in extracted_pages] == [n % 2 for n in range(20)]


@pytest.mark.parametrize("kind", KINDS)
async def test_rules_hold_until_others_come(kind: str) -> None:
    """A reader gets rules only when they are new to it."""
    wide = build_rules(["https://a.test/"], Config(), 2026)
    narrow = build_rules(["https://other.test/"], Config(), 2026)
    async with started(KINDS[kind]()) as readers:
        async with asyncio.timeout(60):
            rule_sets = [wide, wide, narrow, narrow, wide]
            extracted_pages = [await readers.extract(job(n, f"/{n}/x"), rules) for n, rules in enumerate(rule_sets)]
    assert [len(extracted.candidates) for extracted in extracted_pages] == [1, 1, 0, 0, 1]


# ---- what the database has already --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["inline", "one by one"])
async def test_links_are_candidates_until_a_visit_with_them_is_committed(kind: str) -> None:
    async with started(KINDS[kind]()) as readers:

        async def new_candidates(number: int, *paths: str) -> list[str]:
            [extracted] = await read_all(readers, [job(number, *paths)])
            assert extracted.links_count == len(paths)
            return [candidate.url.removeprefix("https://a.test") for candidate in extracted.candidates]

        assert await new_candidates(1, "/x", "/y") == ["/x", "/y"]
        assert await new_candidates(2, "/x", "/z") == ["/x", "/z"]  # 1 may still be lost
        readers.mark_committed(1)
        assert await new_candidates(3, "/x", "/y", "/z") == ["/z"]
        readers.mark_committed(999)  # read by nobody here
        assert await new_candidates(4, "/z", "/x") == ["/z"]


async def test_documents_are_gathered_only_where_more_may_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers_module, "LINGER_SECONDS", 3600.0)
    async with started(ProcessReaderPool(1, max_batch=2)) as readers:
        async with asyncio.timeout(60):
            assert (await readers.extract(job(1), RULES, other_visits=0)).title == "Page 1"
        first = asyncio.ensure_future(readers.extract(job(2), RULES, other_visits=readers_module.MIN_BATCHING_VISITS))
        await asyncio.sleep(0.3)
        assert not first.done()
        assert (await read_all(readers, [job(3)]))[0].title == "Page 3"
        assert (await first).title == "Page 2"


# ---- readers that die -------------------------------------------------------------------------------------


async def test_a_reader_that_is_killed_is_replaced_and_nothing_is_lost() -> None:
    known: set[int] = set()
    async with started(ProcessReaderPool(1, max_batch=4)) as readers:
        first = await a_new_reader(known)
        await read_all(readers, [job(0)])
        os.kill(first, signal.SIGSTOP)
        reading = asyncio.ensure_future(read_all(readers, [job(number) for number in range(20)]))
        await asyncio.sleep(0)
        os.kill(first, signal.SIGKILL)
        assert [one.title for one in await reading] == [f"Page {number}" for number in range(20)]
        assert await a_new_reader(known) != first


async def test_a_reader_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, asked: list[Channel]) -> None:
    monkeypatch.setattr(reader_channel, "STALL_SECONDS", FAULT_SECONDS)
    async with started(ProcessReaderPool(1, max_batch=4)) as readers:
        reading = asyncio.ensure_future(readers.extract(job(7), RULES))
        await reached(lambda: len(asked) == 1, "a reader to take it")
        until = time.monotonic() + FAULT_SECONDS
        while len(asked) < 2:  # it is checked twice: it neither answered nor used CPU time in between
            assert time.monotonic() < until, "no other reader took it"
            turn(FAULT_SECONDS / 10)
            await asyncio.sleep(0.01)
        asked[1]._process.send_signal(signal.SIGCONT)
        assert (await asyncio.wait_for(reading, FAULT_SECONDS)).title == "Page 7"
        assert asked[0]._process.returncode == -signal.SIGKILL


async def test_readers_killed_before_they_read_blame_no_document() -> None:
    """As by the system when memory is short: each reader that takes the document is killed before it has begun."""
    known: set[int] = set()
    async with started(ProcessReaderPool(1, max_batch=4)) as readers:
        reading = asyncio.ensure_future(readers.extract(job(1), RULES))
        for _ in range(6):
            os.kill(await a_new_reader(known), signal.SIGKILL)
        assert (await asyncio.wait_for(reading, 60)).title == "Page 1"


async def test_only_a_document_that_kills_two_fresh_readers_is_given_up() -> None:
    """It takes long to read, and each of its readers is killed meanwhile. The rest of its batch is read at once."""
    known: set[int] = set()
    async with started(ProcessReaderPool(1, max_batch=8, has_extra=False)) as readers:
        bad = asyncio.ensure_future(readers.extract(endless(0), RULES))
        others = [asyncio.ensure_future(readers.extract(job(number), RULES)) for number in range(1, 6)]
        first = await a_new_reader(known)
        await until_it_reads(first)
        os.kill(first, signal.SIGKILL)
        ended = 1
        async with asyncio.timeout(FAULT_SECONDS):
            assert [one.title for one in await asyncio.gather(*others)] == [f"Page {n}" for n in range(1, 6)]
        while not bad.done():
            pid = await a_new_reader(known, unless=bad)
            if pid and await until_it_reads(pid, unless=bad, is_busy=True):
                os.kill(pid, signal.SIGKILL)
                ended += 1
        with pytest.raises(ReaderFailed, match="2 readers crashed on it, by SIGKILL"):
            await bad
        assert ended in (2, 3), "twice alone, and before perhaps once among others"
        [extracted] = await read_all(readers, [job(9)])
    assert extracted.title == "Page 9"


async def test_a_suspect_that_is_read_after_all_is_nothing_special() -> None:
    known: set[int] = set()
    async with started(ProcessReaderPool(1, max_batch=8, has_extra=False)) as readers:
        jobs = [costly(0, SLOW[:200_000], max_cpu_seconds=3600), *(job(number) for number in range(1, 4))]
        reading = asyncio.ensure_future(read_all(readers, jobs))
        first = await a_new_reader(known)
        await until_it_reads(first)
        os.kill(first, signal.SIGKILL)
        assert [one.failure for one in await reading] == [None] * 4


async def test_a_document_that_the_system_ends_for_its_cpu_time_is_too_costly_at_once() -> None:
    async with started(ProcessReaderPool(1, max_batch=8)) as readers:
        bad = asyncio.ensure_future(readers.extract(endless(0), RULES))
        pid = await a_new_reader(set())
        await until_it_reads(pid)
        os.kill(pid, signal.SIGXCPU)
        async with asyncio.timeout(FAULT_SECONDS):
            failed = (await bad).failure
            assert (await readers.extract(job(1), RULES)).title == "Page 1"
    assert failed is not None
    assert (failed.kind, failed.why) == (
        FailureKind.UNREADABLE,
        "too costly to read: 3600 s of CPU used up (`extract.max_cpu_seconds`)",
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_a_document_that_costs_too_much_is_a_failure_with_its_reason_and_others_are_read(kind: str) -> None:
    bad = [
        job(1, body=b"<div>" * 100_000),
        job(2, body=b"<p " + b" ".join(b"a%d" % n for n in range(50_000)) + b">"),
        costly(3, SLOW, max_cpu_seconds=1e-4),
    ]
    async with started(KINDS[kind]()) as readers:
        extracted_pages = await read_all(
            readers, [bad[0], job(4), bad[1], job(5), bad[2], *(job(n) for n in range(6, 30))]
        )
    reasons = [extracted.failure.why for extracted in extracted_pages if extracted.failure is not None]
    assert reasons[:2] == [
        "too costly to read: elements nest more than 10,000 deep",
        "too costly to read: a tag has more than 5,000 attributes",
    ]
    assert reasons[2].startswith("too costly to read: 0.0001 s of CPU used up parsing 16,384 of its")
    assert reasons[2].endswith("(`extract.max_cpu_seconds`)")
    titles = [extracted.title for extracted in extracted_pages if extracted.failure is None]
    assert titles == [f"Page {n}" for n in (4, 5, *range(6, 30))]


@pytest.mark.parametrize("kind", KINDS)
async def test_python_code_that_does_not_look_at_its_time_is_ended(kind: str) -> None:
    """A URL list is parsed without a look at the clock, and is interrupted."""
    urls = "".join(f"<url><loc>https://a.test/{number}</loc></url>" for number in range(400_000)).encode()
    body = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">' + urls + b"</urlset>"
    slow = msgspec.structs.replace(costly(1, body, max_cpu_seconds=1e-4), is_url_list=True, content_type="text/xml")
    async with started(KINDS[kind]()) as readers:
        [extracted, after] = await read_all(readers, [slow, job(2)])
    assert extracted.failure is not None
    assert extracted.failure.why == "too costly to read: 0.0005 s of CPU used up (`extract.max_cpu_seconds`)"
    assert after.title == "Page 2"


async def test_a_slow_document_does_not_delay_its_batch() -> None:
    """One batch of sixteen: it is answered as soon as the slow one is read, and the rest is returned unread."""
    async with started(ProcessReaderPool(1, max_batch=16)) as readers:
        jobs = [job(0), costly(1, SLOW, max_cpu_seconds=3600), *(job(number) for number in range(2, 16))]
        waiting = [asyncio.ensure_future(readers.extract(one, RULES)) for one in jobs]
        async with asyncio.timeout(FAULT_SECONDS):
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            assert done == {*waiting[:2]}
            assert [one.failure for one in await asyncio.gather(*waiting)] == [None] * 16


async def test_others_go_past_a_document_that_a_reader_is_stuck_on() -> None:
    """There is one regular reader. An extra one reads the others while it is busy, and ends when it is not needed."""
    async with started(ProcessReaderPool(1, max_batch=1)) as readers:
        slow = asyncio.ensure_future(readers.extract(endless(0), RULES))
        async with asyncio.timeout(FAULT_SECONDS):
            others = [await readers.extract(job(number), RULES) for number in range(1, 4)]
        assert [one.title for one in others] == ["Page 1", "Page 2", "Page 3"]
        assert not slow.done()
        assert len(reader_pids()) == 2
        slow.cancel()


async def test_a_reader_is_stuck_however_little_cpu_time_it_gets_between_two_checks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A busy machine gives it a hundredth of a second now and then. On a series of documents it is not stuck."""
    monkeypatch.setattr(reader_channel, "POLL_SECONDS", 0.001)
    seen: list[reader_channel._ReaderState] = []
    stuck: asyncio.Future[reader_channel._ReaderState] = asyncio.get_running_loop().create_future()

    def state() -> reader_channel._ReaderState:
        number = len(seen)  # four checks of each document up to the fifth, which is endless
        seen.append(reader_channel._ReaderState(min(number // 4, 4), True, number / 100))
        return seen[-1]

    def on_stuck() -> None:
        if not stuck.done():
            stuck.set_result(seen[-1])

    watch = reader_channel._Watchdog(state, lambda: None, on_stuck)
    found = await asyncio.wait_for(stuck, FAULT_SECONDS)
    watch.cancel()
    assert (found.started_count, round(found.cpu_seconds - 0.16, 2)) == (4, 0.1)


async def test_extra_readers_end_when_they_have_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers_module, "IDLE_SECONDS", 0.05)
    async with started(ProcessReaderPool(1, max_batch=1)) as readers:
        slow = asyncio.ensure_future(readers.extract(endless(0), RULES))
        async with asyncio.timeout(FAULT_SECONDS):
            assert (await readers.extract(job(1), RULES)).title == "Page 1"
        await reached(lambda: len(reader_pids()) == 1, "the extra reader to end")
        assert not slow.done()
        slow.cancel()


async def test_a_host_that_sent_a_slow_document_is_read_one_at_a_time_beside_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever it sends afterwards: others are not delayed, and nothing is lost."""
    monkeypatch.setattr(readers_module, "SLOW_CPU_SECONDS", 0.001)  # however fast the machine is
    async with started(ProcessReaderPool(1, max_batch=4)) as readers:
        first = await asyncio.wait_for(readers.extract(costly(0, SLOWISH, max_cpu_seconds=3600), RULES), FAULT_SECONDS)
        assert first.failure is None
        later = [asyncio.ensure_future(readers.extract(job(number), RULES)) for number in range(1, 4)]
        [other] = await read_all(readers, [msgspec.structs.replace(job(9), url="https://b.test/9")])
        assert other.title == "Page 9"
        assert [one.title for one in await asyncio.gather(*later)] == ["Page 1", "Page 2", "Page 3"]
        assert len(reader_pids()) == 2


async def test_waiting_documents_of_a_slow_host_leave_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readers_module, "SLOW_CPU_SECONDS", 0.001)
    readers = ProcessReaderPool(1, max_batch=1)
    async with started(readers):
        slow = [
            asyncio.ensure_future(readers.extract(costly(n, SLOWISH, max_cpu_seconds=3600), RULES)) for n in range(3)
        ]
        assert [one.failure for one in await asyncio.wait_for(asyncio.gather(*slow), FAULT_SECONDS)] == [None] * 3
        assert readers._slow_until.keys() == {"https://a.test"}


async def test_killing_readers_all_the_time_loses_no_document() -> None:
    """As soon as a reader has read some more documents it is killed, whatever it is doing."""
    known: set[int] = set()
    async with started(ProcessReaderPool(1, max_batch=16)) as readers:
        reading = asyncio.ensure_future(read_all(readers, [job(number) for number in range(400)]))
        kills = 0
        while not reading.done() and kills < MOST_KILLS:
            pid = await a_new_reader(known, unless=reading)
            if pid and await until_it_reads(pid, 5 + 7 * (kills % 5), unless=reading):
                os.kill(pid, signal.SIGKILL)
                kills += 1
        assert [one.title for one in await reading] == [f"Page {number}" for number in range(400)]
        assert kills >= 10


async def test_close_ends_every_reader_and_every_waiting_call() -> None:
    readers = ProcessReaderPool(2, max_batch=4)
    await readers.start()
    known: set[int] = set()
    for pid in (await a_new_reader(known), *known):
        os.kill(pid, signal.SIGSTOP)
    waiting = [asyncio.ensure_future(readers.extract(job(number), RULES)) for number in range(3)]
    await asyncio.sleep(0.05)
    await readers.close()
    assert reader_pids() == []
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


def test_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert isinstance(build_reader_pool(PoolConfig(processes=0)), InlineReaderPool)
    many = build_reader_pool(PoolConfig(processes=-1))
    assert isinstance(many, ProcessReaderPool)
    assert many._count == 7
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert isinstance(build_reader_pool(PoolConfig(processes=-1)), InlineReaderPool)
    assert isinstance(build_reader_pool(PoolConfig(processes=1)), ProcessReaderPool)


async def test_several_readers_share_what_comes_singly() -> None:
    """One document wakes every idle reader; those that find nothing left must live on."""
    readers = ProcessReaderPool(3, 16)
    async with started(readers):
        for number in range(5):
            assert (await readers.extract(job(number), RULES)).title == f"Page {number}"
        assert not any(task.done() for task in readers._tasks)
