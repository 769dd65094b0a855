"""A few random sites crawled and judged; and a judge that notices every lie it is told."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from bench.soak_honest import Stage, crawl_site, ran, stage_of, universe_of
from bench.soak_honest_answers import Answer, Ending, Snapshot, answer_of, ending_of, take_snapshot
from bench.soak_honest_model import Judge
from bench.soak_honest_plan import THEMES, Outline, Rules, outline
from bench.soak_honest_server import Request
from bench.soak_honest_site import Kind, Shape
from tests.bench.honest_crawler import HonestCrawler

SEED = 7
UNLINKED = "“no stored page links to it” is false"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_is_said_of_a_random_site_is_true(number: int, tmp_path: Path) -> None:
    result = crawl_site(SEED, number, tmp_path / "site")
    assert result.runs >= 2
    assert result.answers["stored"] and result.answers["never"]
    assert not result.violations, "\n".join([*map(str, result.violations), *result.commands])


# ---- the plan -----------------------------------------------------------------------------------------------


def test_the_same_seed_is_the_same_plan() -> None:
    stages = [stage_of(SEED, 4), stage_of(SEED, 4), stage_of(SEED, 5)]
    for stage in stages:
        for one in stage.sockets:
            one.close()
    shapes = [(stage.outline, len(stage.site.resources), len(stage.runs)) for stage in stages]
    assert shapes[0] == shapes[1] != shapes[2]


def test_every_theme_comes_up() -> None:
    found = {theme for seed in range(200) for theme in outline(Random(seed)).themes}
    assert found == set(THEMES)


# ---- the judge asks for nothing impossible ------------------------------------------------------------------


@pytest.mark.parametrize("is_slow_to_forget", [False, True])
@pytest.mark.parametrize("number", range(1, 41))
def test_a_crawler_without_faults_passes(number: int, is_slow_to_forget: bool) -> None:
    stage = stage_of(SEED, number)
    for one in stage.sockets:
        one.close()
    universe = universe_of(stage.site, Random(number))
    judge = Judge(stage.site, universe)
    crawler = HonestCrawler(stage.site, Random(number), is_slow_to_forget=is_slow_to_forget)
    found = []
    for run in stage.runs:
        requests, name = crawler.run(run.rules, run.kill_after)
        if run.kill_after is not None:
            found += judge.killed(crawler.rules, crawler.snapshot(universe), requests)
        else:
            found += judge.ended(crawler.rules, crawler.snapshot(universe), requests, crawler.ending(name))
    assert not found, (stage.outline, found[:5])


# ---- the judge notices lies -----------------------------------------------------------------------------------

PLAN = Outline(("plain",), Shape(core=10, listed=3, fed=2, fan=8), ("--set", "pool.processes=0"))


@dataclass
class Crawled:
    """A crawl that ended well, as the judge is told of it."""

    stage: Stage
    universe: list[str]
    snapshot: Snapshot
    requests: list[Request]
    ending: Ending

    @property
    def rules(self) -> Rules:
        return self.stage.runs[0].rules

    def kinds(
        self, snapshot: Snapshot | None = None, requests: list[Request] | None = None, name: str = ""
    ) -> set[str]:
        judge = Judge(self.stage.site, self.universe)
        ending = replace(self.ending, name=name or self.ending.name)
        found = judge.ended(
            self.rules, snapshot or self.snapshot, self.requests if requests is None else requests, ending
        )
        return {violation.kind for violation in found} - {UNLINKED}

    def with_answer(self, url: str, change: Callable[[Answer], Answer]) -> Snapshot:
        return replace(self.snapshot, answers=self.snapshot.answers | {url: change(self.snapshot.answers[url])})

    def some(self, state: str) -> str:
        site = self.stage.site
        urls = (url for url, answer in self.snapshot.answers.items() if answer.state == state and url not in site.seeds)
        return next(url for url in urls if url.endswith(".html"))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    home = tmp_path_factory.mktemp("honest")
    stage = stage_of(SEED, 60, PLAN)
    universe = universe_of(stage.site, Random(SEED))
    with stage.server.running():
        code, said = ran(stage, replace(stage.runs[-1], kill_after=None), home / "out", home / "said.txt")
    for one in stage.sockets:
        one.close()
    assert code == 0
    snapshot = asyncio.run(take_snapshot(home / "out", universe))
    yield Crawled(stage, universe, snapshot, list(stage.server.log), ending_of(code, said))


def never(answer: Answer) -> Answer:
    return Answer(answer.url, "never", headline="Never offered.")


def test_a_true_account_passes(crawled: Crawled) -> None:
    assert crawled.ending.name == "complete"
    assert crawled.kinds() == set()


def test_a_page_that_is_said_to_be_unknown_is_missed(crawled: Crawled) -> None:
    snapshot = crawled.with_answer(crawled.some("stored"), never)
    assert {"lost", "complete is said, and it is not", "pages.jsonl differs"} <= crawled.kinds(snapshot)


def test_a_refusal_in_the_name_of_another_rule_is_noticed(crawled: Crawled) -> None:
    refused = next(url for url, one in crawled.snapshot.answers.items() if one.detail == "scope")
    snapshot = crawled.with_answer(refused, lambda answer: replace(answer, detail="exclude"))
    assert "refused without a word: scope" in crawled.kinds(snapshot)


def test_a_page_that_nobody_named_is_noticed(crawled: Crawled) -> None:
    nowhere = next(url for url in crawled.universe if "nowhere" in url)
    snapshot = crawled.with_answer(nowhere, lambda answer: replace(answer, state="stored", is_admitted=True))
    assert "admitted against the rules" in crawled.kinds(snapshot)


def test_a_limit_that_cut_nothing_off_is_noticed(crawled: Crawled) -> None:
    nowhere = next(url for url in crawled.universe if "nowhere" in url)
    cut_off = "crawl.max_links_per_page"
    snapshot = crawled.with_answer(nowhere, lambda answer: replace(answer, state="cut_off", detail=cut_off))
    assert "nothing names it" in crawled.kinds(snapshot)


def test_an_ending_while_something_waits_is_noticed(crawled: Crawled) -> None:
    snapshot = crawled.with_answer(crawled.some("stored"), lambda answer: replace(answer, state="waiting", due=0.0))
    assert {"complete is said while it waits", "complete is said, and it is not"} <= crawled.kinds(snapshot)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("limited", "limited is said, and nothing was cut off"),
        ("page_limit", "the page limit is named, and nothing waits"),
        ("patience", "it stopped, and nothing waits"),
        ("unknown", "how it ended is not said"),
    ],
)
def test_an_ending_that_is_another_is_noticed(crawled: Crawled, name: str, kind: str) -> None:
    assert kind in crawled.kinds(name=name)


def test_a_page_written_twice_is_noticed(crawled: Crawled) -> None:
    snapshot = replace(crawled.snapshot, lines=(*crawled.snapshot.lines, crawled.snapshot.lines[0]))
    assert crawled.kinds(snapshot) == {"stored twice in pages.jsonl"}


def test_a_second_request_is_noticed(crawled: Crawled) -> None:
    page = Request("GET", crawled.some("stored"), 200)
    assert crawled.kinds(requests=[*crawled.requests, page]) == {"asked for too often"}
    judge = Judge(crawled.stage.site, crawled.universe)
    judge.ended(crawled.rules, crawled.snapshot, crawled.requests, crawled.ending)
    again = judge.ended(crawled.rules, crawled.snapshot, [page], crawled.ending)
    assert "asked for again" in {violation.kind for violation in again}


def test_a_limit_that_cuts_without_a_word_is_noticed(crawled: Crawled) -> None:
    """As if the limit had been 4, and two leaves of the fan were not admitted."""
    named = Counter(link.url for one in crawled.stage.site.resources.values() for link in one.links)
    leaves = [url for url, times in named.items() if "/fan/" in url and url.endswith(".html") and times == 1][:2]
    answers = crawled.snapshot.answers | {url: never(crawled.snapshot.answers[url]) for url in leaves}
    judge = Judge(crawled.stage.site, crawled.universe)
    rules = replace(crawled.rules, links_per_page=4)
    found = judge.ended(rules, replace(crawled.snapshot, answers=answers), crawled.requests, crawled.ending)
    silent = {violation.url for violation in found if violation.kind.startswith("cut off without a word")}
    assert len(leaves) == 2 and silent == set(leaves)
    brought = judge.ended(crawled.rules, replace(crawled.snapshot, answers=answers), [], crawled.ending)
    assert "not brought back: crawl.max_links_per_page" in {violation.kind for violation in brought}


def test_what_a_limit_cut_off_is_read() -> None:
    passed = {"rule": "scope", "passed": True, "why": ""}
    cut = {"limit": "crawl.max_links_per_page", "via": "http://a/"}
    document = {"url": "http://a/1", "now": 0.0, "verdicts": [passed], "cut_off": [cut]}
    answer = answer_of(document, "Cut off.")
    assert (answer.state, answer.detail, answer.cut_off_via) == ("cut_off", cut["limit"], ("http://a/",))
    refused = answer_of(document | {"verdicts": [{"rule": "depth", "passed": False, "why": ""}]}, "")
    assert (refused.state, refused.detail) == ("refused", "depth")


def test_what_a_crawl_prints_is_read() -> None:
    complete = "Crawl complete: nothing is left to visit.\n  pages 3\n"
    limited = "Limited: 1,500 links of 1 page were not followed (`crawl.max_links_per_page`).\n"
    assert ending_of(0, complete).name == "complete"
    assert ending_of(0, limited) == Ending("limited", 0, frozenset({"crawl.max_links_per_page"}), limited)
    assert ending_of(1, "tenax: internal error").name == "unknown"


def test_a_site_has_every_kind_of_answer() -> None:
    kinds = set()
    for number in range(1, 30):
        stage = stage_of(SEED, number)
        kinds |= {one.kind for one in stage.site.resources.values()}
        for one in stage.sockets:
            one.close()
        assert len(stage.runs) >= 2
    assert kinds == set(Kind)
