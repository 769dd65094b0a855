"""A watched crawl, on the demo site: drawn while it runs, stopped by signals."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tenax.cli import run_crawl
from tenax.cli.options import CrawlOptions
from tenax.cli.run_crawl import LogView, SilentView, choose_view, crawl_with_view
from tenax.config import Config, CrawlConfig, LoadedConfig, LogConfig, PolitenessConfig, PoolConfig, all_settings
from tenax.crawl.api import Crawl
from tenax.crawl.location import Location
from tenax.database import Status
from tenax.demo import DemoProcess, Site
from tenax.errors import DatabaseTimeout
from tenax.model import Ending, HostBackoff, Progress

CONFIG = Config(
    crawl=CrawlConfig(max_pages=5), politeness=PolitenessConfig(rate_per_second=100), pool=PoolConfig(processes=0)
)
SITE = Site(hosts=1, pages_per_host=24, behaviours="none")


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("tenax")
    before = list(root.handlers), root.level, ours.level
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])


class Onlooker:
    """Writes down what it is shown, and sends a signal when it has seen enough."""

    interval_seconds = 0.01

    def __init__(self, signal_at_page: int | None = None) -> None:
        self.seen: list[str] = []
        self._signal_at_page = signal_at_page

    def begin(self, notices: Sequence[str]) -> None:
        self.seen.append(f"begin: {notices[0]}")

    def draw(self, progress: Progress) -> None:
        self.seen.append("draw")
        if self._signal_at_page is not None and progress.pages >= self._signal_at_page:
            self._signal_at_page = None
            os.kill(os.getpid(), signal.SIGINT)

    def on_stopping(self) -> None:
        self.seen.append("stopping")

    def finish(self, progress: Progress) -> None:
        self.seen.append(f"finish: {progress.pages} pages")

    def end(self) -> None:
        self.seen.append("end")


async def test_a_crawl_is_drawn_from_begin_to_end(tmp_path: Path) -> None:
    view = Onlooker()
    async with DemoProcess(SITE) as demo:
        crawl = Crawl([demo.origins[0]], CONFIG, directory=tmp_path, typed_by_person=True)
        options = CrawlOptions((demo.origins[0],), Location(tmp_path), opening_notices=("hello",))
        ending, progress, status = await crawl_with_view(crawl, view, options)
    assert ending is Ending.PAGE_LIMIT
    assert progress.pages == status.pages == 5
    assert view.seen[:2] == ["begin: hello", "draw"]
    assert view.seen[-2:] == ["finish: 5 pages", "end"]


async def test_ctrl_c_ends_it_gently_and_it_can_go_on(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    config = Config(politeness=PolitenessConfig(rate_per_second=20), pool=PoolConfig(processes=0))
    view = Onlooker(signal_at_page=2)
    async with DemoProcess(SITE) as demo:
        options = CrawlOptions((demo.origins[0],), Location(tmp_path))
        ending, _, status = await crawl_with_view(
            Crawl(options.seeds, config, directory=tmp_path, typed_by_person=True), view, options
        )
        assert ending is Ending.INTERRUPTED
        assert "stopping" in view.seen
        assert 2 <= status.pages < 24
        ending, _, status = await crawl_with_view(
            Crawl(options.seeds, CONFIG, directory=tmp_path, typed_by_person=True), Onlooker(), options
        )
    assert status.pages >= 5
    assert ending is Ending.PAGE_LIMIT
    assert signal.getsignal(signal.SIGINT) is before


def loaded(log: LogConfig) -> LoadedConfig:
    return LoadedConfig(Config(log=log), {setting.key: "default" for setting in all_settings()})


def test_files_and_pipes_get_lines_and_quiet_gets_nothing() -> None:
    options = CrawlOptions(("https://example.org",), Location(Path("out")))
    assert isinstance(choose_view(loaded(LogConfig()), options), LogView)
    assert isinstance(choose_view(loaded(LogConfig(format="json")), options), LogView)
    assert isinstance(
        choose_view(loaded(LogConfig()), CrawlOptions(options.seeds, options.location, is_quiet=True)), SilentView
    )


def test_a_line_has_the_facts(capsys: pytest.CaptureFixture[str]) -> None:
    view = choose_view(loaded(LogConfig()), CrawlOptions(("https://example.org",), Location(Path("out"))))
    host = HostBackoff("https://example.org", 143.0, "rate limited")
    view.begin(["resuming"])
    view.draw(Progress(100.0, 7.0, pages=12, waiting=3, failures={"dns": 1}, backing_off=(host,), hosts_backing_off=1))
    view.finish(Progress(100.0, 8.0, pages=13))
    first, second, third, fourth = capsys.readouterr().err.splitlines()
    assert first.endswith("notice text=resuming")
    assert second.endswith("crawl started location=out")
    assert "crawling pages=12 per_second=0.0 waiting=3" in third
    assert 'failures={"dns": 1} backing_off="https://example.org for 43 s: rate limited"' in third
    assert "crawl ended pages=13" in fourth


class Silent(Crawl):
    """Its database goes silent when the crawl is over."""

    async def status(self) -> Status:
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")


async def test_who_stops_a_crawl_does_not_wait_for_a_silent_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_crawl, "STATUS_TIMEOUT_SECONDS", 0.01)
    config = Config(politeness=PolitenessConfig(rate_per_second=20), pool=PoolConfig(processes=0))
    async with DemoProcess(SITE) as demo:
        crawl = Silent([demo.origins[0]], config, directory=tmp_path, typed_by_person=True)
        with pytest.raises(DatabaseTimeout, match="there is no summary"):
            await crawl_with_view(
                crawl, Onlooker(signal_at_page=1), CrawlOptions((demo.origins[0],), Location(tmp_path))
            )
