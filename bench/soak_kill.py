"""A crawl of the demo site with repeated kill -9: no page lost or duplicated in the database and the JSONL file.

It runs the normal command. Most kills hit all processes during the crawl, some only the main process, some the opening
of the files. Each round has its own directory and runs to completion; rounds repeat until enough kills were made.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from bench.killing import STYLES, Range, Round, survive
from bench.report import WORKPLACE, BenchError, Report, run, say, table
from tenax.demo import Site
from tenax.demo.server import DemoProcess

SITE, KILLS = Site(hosts=4, pages_per_host=300, behaviours="quick"), 200
QUICK_SITE, QUICK_KILLS = Site(hosts=4, pages_per_host=60, behaviours="quick"), 10
ROUND_KILLS, QUICK_ROUND_KILLS = 25, 4
"""Kills per round, so that every kind of crawl gets its share."""
MOST_ROUNDS = 100


def main() -> None:
    run("kill", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, help=f"how many, otherwise {KILLS} ({QUICK_KILLS} when quick)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the kill times")


def measure(report: Report, chosen: argparse.Namespace) -> None:
    site, wanted, each = (QUICK_SITE, QUICK_KILLS, QUICK_ROUND_KILLS) if chosen.quick else (SITE, KILLS, ROUND_KILLS)
    report.is_partial = chosen.kills is not None
    wanted = chosen.kills or wanted
    (WORKPLACE / "runs").mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="kill-", dir=WORKPLACE / "runs"))
    rounds = asyncio.run(shoot(site, home, wanted, each, Random(chosen.seed)))
    _write_report(report, rounds, chosen.seed, wanted)
    if all(round_.is_whole for round_ in rounds):
        shutil.rmtree(home)
    else:
        say(f"what is left of it: {home}")


async def shoot(site: Site, home: Path, wanted: int, each: int, dice: Random) -> list[Round]:
    """Run rounds of at most `each` kills until there are enough."""
    rounds: list[Round] = []
    names = list(STYLES)
    log = home / "requests.jsonl"
    async with DemoProcess(site, is_warm=True, log=log) as demo:
        while (made := sum(round_.kills.total() for round_ in rounds)) < wanted:
            if len(rounds) == MOST_ROUNDS:
                raise BenchError(f"only {made} kills in {MOST_ROUNDS} rounds: the crawl is too quick for this site")
            style = names[len(rounds) % len(names)]
            out = home / f"round-{len(rounds) + 1}"
            rounds.append(await survive(Range(demo, log), out, style, dice, min(wanted - made, each)))
            _say_round(len(rounds), rounds[-1], made + rounds[-1].kills.total(), wanted)
    return rounds


def _say_round(number: int, round_: Round, made: int, wanted: int) -> None:
    state = "whole" if round_.is_whole else "BROKEN"
    kills = f"{round_.kills.total()} kills ({made} of {wanted})"
    say(f"round {number:>2}  {round_.style:<9} {kills:<24} {round_.pages:,} pages  {round_.seconds:5.1f} s  {state}")
    for trouble in round_.troubles[:10]:
        say(f"    {trouble}")


def _write_report(report: Report, rounds: list[Round], seed: int, wanted: int) -> None:
    rows = []
    for style in STYLES:
        mine = [round_ for round_ in rounds if round_.style == style]
        kills, pages = sum(round_.kills.total() for round_ in mine), sum(round_.pages for round_ in mine)
        lost, doubled = sum(round_.lost for round_ in mine), sum(round_.doubled for round_ in mine)
        rows.append([style, *(f"{number:,}" for number in (len(mine), kills, pages, lost, doubled))])
    table(["crawl", "rounds", "kills", "pages", "lost", "doubled"], rows)
    moments = sum((round_.kills for round_ in rounds), Counter[str]())
    report.figure("seed", seed)
    report.figure("rounds", len(rounds))
    report.figure("pages", sum(round_.pages for round_ in rounds))
    report.figure("seconds", sum(round_.seconds for round_ in rounds))
    report.figure("kills_by_moment", dict(sorted(moments.items())))
    report.figure("styles", list(STYLES))
    report.at_least("kills", moments.total(), wanted)
    report.at_most("lost", sum(round_.lost for round_ in rounds), 0)
    report.at_most("doubled", sum(round_.doubled for round_ in rounds), 0)
    report.at_most("foreign", sum(round_.foreign for round_ in rounds), 0)
    report.at_most("troubles", sum(len(round_.troubles) for round_ in rounds), 0)


if __name__ == "__main__":
    main()
