"""Readers: the same answers wherever they are, and no document that stops them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tenax import readers as readers_module
from tenax.config import Config, PoolConfig
from tenax.readers import InlineReaders, ProcessReaders, ReaderFailed, Readers, readers_of
from tenax.reading import Job, Reading
from tenax.urls.admit import Rules, rules_of

RULES = rules_of(["https://a.test/"], Config(), 2026)


def job(number: int, *paths: str, body: bytes = b"") -> Job:
    links = "".join(f'<a href="{path}">x</a>' for path in paths)
    html = f"<html lang=en><title>Page {number}</title><p>Words of page {number}.</p>{links}".encode()
    url = f"https://a.test/{number}"
    return Job(number, url, url, 1, body or html, "text/html; charset=utf-8")


@asynccontextmanager
async def started(readers: Readers) -> AsyncIterator[Readers]:
    await readers.start()
    try:
        yield readers
    finally:
        await readers.close()


def reader_pids() -> list[int]:
    """Our reader processes, those that still live."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(") ")[2].split()[1])
            is_reader = b"tenax.reader" in (entry / "cmdline").read_bytes()
        except (OSError, ValueError, IndexError):
            continue
        if parent == os.getpid() and is_reader:
            found.append(int(entry.name))
    return found


async def a_new_reader(known: set[int]) -> int:
    """Wait for a reader that is not known yet."""
    for _ in range(2000):
        if fresh := set(await asyncio.to_thread(reader_pids)) - known:
            known |= fresh
            return fresh.pop()
        await asyncio.sleep(0.005)
    raise AssertionError("no reader was started")


async def read_all(readers: Readers, jobs: list[Job], rules: Rules = RULES) -> list[Reading]:
    async with asyncio.timeout(30):
        return list(await asyncio.gather(*(readers.read(one, rules) for one in jobs)))


# ---- the same everywhere ----------------------------------------------------------------------------------

KINDS: dict[str, Callable[[], Readers]] = {
    "inline": InlineReaders,
    "processes": lambda: ProcessReaders(2, max_batch=16),
    "one by one": lambda: ProcessReaders(1, max_batch=1),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_every_document_gets_its_own_answer(kind: str) -> None:
    jobs = [job(number, f"/{number}/a", f"/{number}/b", "https://b.test/") for number in range(60)]
    async with started(KINDS[kind]()) as readers:
        readings = await read_all(readers, jobs)
    for number, reading in enumerate(readings):
        assert reading.title == f"Page {number}"
        assert [offer.url for offer in reading.offers] == [f"https://a.test/{number}/{name}" for name in "ab"]
        assert reading.refusals == {"scope": 1}
        assert (reading.language, reading.rejected) == ("en", None)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_no_page_is_an_answer_too(kind: str) -> None:
    async with started(KINDS[kind]()) as readers:
        [picture, rest] = await read_all(readers, [job(1, body=b"\x89PNG\r\n\x1a\n" + bytes(600)), job(2)])
    assert picture.rejected is not None
    assert picture.rejected.why.startswith("content: ")
    assert rest.title == "Page 2"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_large_document_passes_through(kind: str) -> None:
    """Larger than any buffer of a socket, in both directions."""
    large = b"<title>Large</title>" + b"<p>Many words stand here, again and again.</p>" * 100_000
    async with started(KINDS[kind]()) as readers:
        [reading] = await read_all(readers, [job(1, body=large)])
    assert reading.title == "Large"
    assert len(reading.text) > 1_000_000


@pytest.mark.parametrize("kind", KINDS)
async def test_other_rules_give_other_answers_at_the_same_time(kind: str) -> None:
    wide = rules_of(["https://a.test/"], Config(), 2026)
    narrow = rules_of(["https://other.test/"], Config(), 2026)
    async with started(KINDS[kind]()) as readers:
        async with asyncio.timeout(30):
            readings = await asyncio.gather(
                *(readers.read(job(n, f"/{n}/x"), wide if n % 2 else narrow) for n in range(20))
            )
    assert [len(reading.offers) for reading in readings] == [n % 2 for n in range(20)]


@pytest.mark.parametrize("kind", KINDS)
async def test_rules_hold_until_others_come(kind: str) -> None:
    """A reader is sent rules only when they are new to it."""
    wide = rules_of(["https://a.test/"], Config(), 2026)
    narrow = rules_of(["https://other.test/"], Config(), 2026)
    async with started(KINDS[kind]()) as readers:
        async with asyncio.timeout(30):
            turns = [wide, wide, narrow, narrow, wide]
            readings = [await readers.read(job(n, f"/{n}/x"), rules) for n, rules in enumerate(turns)]
    assert [len(reading.offers) for reading in readings] == [1, 1, 0, 0, 1]


# ---- what the ledger has already --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["inline", "one by one"])
async def test_links_are_offered_until_a_visit_that_offered_them_is_committed(kind: str) -> None:
    async with started(KINDS[kind]()) as readers:

        async def offered(number: int, *paths: str) -> list[str]:
            [reading] = await read_all(readers, [job(number, *paths)])
            assert reading.links_count == len(paths)
            return [offer.url.removeprefix("https://a.test") for offer in reading.offers]

        assert await offered(1, "/x", "/y") == ["/x", "/y"]
        assert await offered(2, "/x", "/z") == ["/x", "/z"]  # 1 may still be lost
        readers.committed(1)
        assert await offered(3, "/x", "/y", "/z") == ["/z"]
        readers.committed(999)  # read by nobody here
        assert await offered(4, "/z", "/x") == ["/z"]


async def test_documents_are_gathered_only_where_more_may_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers_module, "GATHER_SECONDS", 3600.0)
    async with started(ProcessReaders(1, max_batch=2)) as readers:
        async with asyncio.timeout(30):
            assert (await readers.read(job(1), RULES, others=0)).title == "Page 1"
        first = asyncio.ensure_future(readers.read(job(2), RULES, others=readers_module.FEW_VISITS))
        await asyncio.sleep(0.3)
        assert not first.done()
        assert (await read_all(readers, [job(3)]))[0].title == "Page 3"
        assert (await first).title == "Page 2"


# ---- readers that die -------------------------------------------------------------------------------------


async def test_a_reader_that_is_killed_is_replaced_and_nothing_is_lost() -> None:
    known: set[int] = set()
    async with started(ProcessReaders(1, max_batch=4)) as readers:
        first = await a_new_reader(known)
        await read_all(readers, [job(0)])
        os.kill(first, signal.SIGSTOP)
        reading = asyncio.ensure_future(read_all(readers, [job(number) for number in range(20)]))
        await asyncio.sleep(0)
        os.kill(first, signal.SIGKILL)
        assert [one.title for one in await reading] == [f"Page {number}" for number in range(20)]
        assert await a_new_reader(known) != first


async def test_a_reader_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers_module, "READ_DEADLINE_SECONDS", 2.0)  # enough to start another one
    async with started(ProcessReaders(1, max_batch=4)) as readers:
        first = await a_new_reader(set())
        os.kill(first, signal.SIGSTOP)
        [reading] = await read_all(readers, [job(7)])
        assert first not in await asyncio.to_thread(reader_pids)
    assert reading.title == "Page 7"


async def test_a_document_that_ends_two_readers_is_given_up_and_the_next_ones_are_read() -> None:
    """Whoever takes it is killed; the second time it travelled alone, so it is to blame."""
    known: set[int] = set()
    async with started(ProcessReaders(1, max_batch=4)) as readers:
        bad = asyncio.ensure_future(readers.read(job(1), RULES))
        for _ in range(2):
            pid = await a_new_reader(known)
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(ReaderFailed, match="crashed its reader or took too long"):
            await asyncio.wait_for(bad, 30)
        [reading] = await read_all(readers, [job(2)])
    assert reading.title == "Page 2"


async def test_close_ends_every_reader_and_everyone_who_waits() -> None:
    readers = ProcessReaders(2, max_batch=4)
    await readers.start()
    known: set[int] = set()
    for pid in (await a_new_reader(known), *known):
        os.kill(pid, signal.SIGSTOP)
    waiting = [asyncio.ensure_future(readers.read(job(number), RULES)) for number in range(3)]
    await asyncio.sleep(0.05)
    await readers.close()
    assert reader_pids() == []
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


def test_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert isinstance(readers_of(PoolConfig(processes=0)), InlineReaders)
    many = readers_of(PoolConfig(processes=-1))
    assert isinstance(many, ProcessReaders)
    assert many._count == 7
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert isinstance(readers_of(PoolConfig(processes=-1)), InlineReaders)
    assert isinstance(readers_of(PoolConfig(processes=1)), ProcessReaders)


async def test_several_readers_share_what_comes_singly() -> None:
    """One document wakes every idle reader; those that find nothing left must live on."""
    readers = ProcessReaders(3, 16)
    async with started(readers):
        for number in range(5):
            assert (await readers.read(job(number), RULES)).title == f"Page {number}"
        assert not any(task.done() for task in readers._tasks)
