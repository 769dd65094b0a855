"""No setting of validation settles a URL: a run whose settings accept it visits it, and nothing else, again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenax.cli.output import TextStyle
from tenax.cli.views.summary import format_status
from tenax.cli.views.timeline import headline
from tenax.config import Sites
from tenax.crawl.ended_tasks import requeue_for_settings
from tenax.crawl.location import Location
from tenax.crawl.wiring import open_database
from tenax.database import TaskState
from tenax.model import Ending
from tests.crawl.test_readmission import SHORT_BACKOFFS, config, own, site_crawl
from tests.site.hostile import page, serves

SHORT = b"<html><title>Prices</title><body><p>A short list of our prices.</p><a href='/behind'>more</a></body></html>"
LOGIN = page("Please log in", ["/behind"], words="")
REFRESH = (
    b"<html><head><meta http-equiv=refresh content='0; url=/there'></head><body><a href='/behind'>x</a></body></html>"
)
EMPTY_TEXT = b"   \n"
OFF = {"validation.enabled": False}
LESS = {"validation.min_body_bytes": 50}
STRICT = {"validation.min_body_bytes": 500}
# The response, its type, the settings of the first run and of the last, the setting that the first run names.
REJECTED: dict[str, tuple[bytes, str, dict[str, Any], dict[str, Any], str]] = {
    "small": (SHORT, "text/html", STRICT, {}, "validation.min_body_bytes"),
    "small, with a lower minimum": (
        SHORT,
        "text/html",
        STRICT,
        {"validation.min_body_bytes": 50},
        "validation.min_body_bytes",
    ),
    "small, without validation": (SHORT, "text/html", STRICT, STRICT | OFF, "validation.min_body_bytes"),
    "login": (LOGIN, "text/html", {}, OFF, "validation.enabled"),
}


@pytest.mark.parametrize("name", REJECTED)
async def test_what_validation_rejected_is_visited_by_a_run_that_accepts_it(name: str, tmp_path: Path) -> None:
    body, media, before, after, setting = REJECTED[name]
    behaviours = {"/": own("home", "/doubt", "/a"), "/a": own("first"), "/behind": own("behind")}
    async with site_crawl({**behaviours, "/doubt": serves(body, media)}, tmp_path) as crawl:
        first = await crawl.run(before)
        assert (first.ending, first.asked, first.status.settled) == (Ending.LIMITED, ["/", "/a", "/doubt"], 2)
        assert setting in "\n".join(format_status(first.status, "crawl", "again", TextStyle(False)))
        explanation = await crawl.explain("/doubt")
        assert explanation.history is not None and explanation.history.state is TaskState.PARKED
        assert f"`{setting}`" in headline(explanation)
        assert "!=" not in headline(explanation), "conditions are not for people"
        same = await crawl.run(before)
        assert (same.ending, same.asked, same.status.parked) == (Ending.LIMITED, [], first.status.parked)
        more = await crawl.run(after)
        assert (more.ending, more.asked, more.status.parked) == (Ending.COMPLETE, ["/behind", "/doubt"], {})


@pytest.mark.parametrize(
    ("body", "media"), [(REFRESH, "text/html"), (EMPTY_TEXT, "text/plain")], ids=["refresh", "empty"]
)
async def test_what_has_no_content_is_kept_and_limits_no_crawl(body: bytes, media: str, tmp_path: Path) -> None:
    behaviours = {"/": own("home", "/doubt"), "/there": own("there"), "/behind": own("behind")}
    async with site_crawl({**behaviours, "/doubt": serves(body, media)}, tmp_path) as crawl:
        first = await crawl.run({})
        assert first.ending is Ending.COMPLETE
        assert sum(first.status.parked.values()) == 1
        assert "`validation.enabled`" in headline(await crawl.explain("/doubt"))
        assert (await crawl.run({})).asked == []
        assert "/doubt" in (await crawl.run(OFF)).asked


async def test_a_block_page_is_visited_again_without_validation(tmp_path: Path) -> None:
    wall = page("Access Denied", [], words="")
    hurried = {**SHORT_BACKOFFS, "fetch.max_attempts": 1, "hosts.cooldown_seconds": 0.01}
    async with site_crawl({"/": own("home", "/wall"), "/wall": serves(wall)}, tmp_path) as crawl:
        first = await crawl.run(hurried)
        assert (first.status.dead, first.status.pages) == (1, 1)
        explanation = await crawl.explain("/wall")
        assert "(tried 1 times). " in headline(explanation)
        assert (await crawl.run(hurried)).asked == []
        more = await crawl.run(hurried | OFF)
        assert (more.asked, more.status.dead, more.status.pages) == (["/wall"], 0, 2)


async def test_a_page_that_needs_a_browser_is_stored_without_validation(tmp_path: Path) -> None:
    shell = b"<html><title>App</title><body><div id=root></div><script src=/a.js></script></body></html>"
    async with site_crawl({"/": own("home", "/app"), "/app": serves(shell)}, tmp_path) as crawl:
        without = {"fetch.fallbacks": ()}
        assert (await crawl.run(without)).status.needs_browser == 1
        more = await crawl.run(without | OFF)
        assert (more.asked, more.status.needs_browser, more.status.dead) == (["/app"], 0, 0)


async def test_a_site_may_have_settings_of_its_own(tmp_path: Path) -> None:
    behaviours = {"/": own("home", "/doubt"), "/doubt": serves(SHORT), "/behind": own("behind")}
    async with site_crawl(behaviours, tmp_path) as crawl:
        assert (await crawl.run(STRICT)).ending is Ending.LIMITED
        database = await open_database(Location(tmp_path), read_only=False)
        try:
            for host, count in (("other.example", 0), ("127.0.0.1", 1)):
                table = {host: {"validation.min_body_bytes": -1}}
                sites = Sites(msgspec.structs.replace(config(STRICT), sites=table))
                assert await requeue_for_settings(database, sites) == count
            assert await database.find_problems() == []
        finally:
            await database.close()


async def test_a_recrawl_visits_it_again(tmp_path: Path) -> None:
    answers = [own("doubt"), serves(SHORT), own("doubt")]

    async def changing(exchange: Any) -> None:
        await answers.pop(0)(exchange)

    async with site_crawl({"/": own("home", "/doubt"), "/doubt": changing}, tmp_path) as crawl:
        assert (await crawl.run(STRICT)).ending is Ending.COMPLETE
        rejected = await crawl.run(STRICT, recrawl=True)
        assert (rejected.ending, rejected.status.parked, rejected.status.pages) == (Ending.LIMITED, {"small": 1}, 2)
        later = await crawl.run(STRICT, recrawl=True)
        assert (later.ending, later.status.parked) == (Ending.COMPLETE, {})
