"""Random small websites, crawled in several runs with changing rules: every answer about every URL is true.

All URLs of a site are known. After each run that ended by itself, `explain` of every URL, the ending, the files and the
log of the server are compared with a model of the site under the rules of the runs so far. Some runs are killed with -9
and restarted.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from bench.killing import wreck_troubles
from bench.report import ROOT, WORKPLACE, Report, run, say, table
from bench.soak_honest_answers import Snapshot, ending_of, same_answer, says_complete, take_snapshot
from bench.soak_honest_model import Judge, Violation
from bench.soak_honest_plan import AS_STORED, Outline, Run, outline, runs_of
from bench.soak_honest_server import Request, Server, open_sockets
from bench.soak_honest_site import GUESSES, Site, build

SITES, QUICK_SITES = 200, 10
STUCK_SECONDS = 120.0
SAMPLE = 3
"""URLs per site for which the `explain` command runs."""
SHOWN = 3
"""Violations printed per kind and site."""


def main() -> None:
    run("honest", measure, options)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sites", type=int, help=f"how many, otherwise {SITES} ({QUICK_SITES} when quick)")
    parser.add_argument("--site", type=int, help="only this one of the seed's sites, as a failure names it")
    parser.add_argument("--seed", type=int, default=1, help="of everything: the same seed, the same sites and runs")
    parser.add_argument("--serve", action="store_true", help="with --site: serve it, print its commands, and wait")


@dataclass
class SiteResult:
    """The result of one site."""

    number: int
    themes: tuple[str, ...] = ()
    urls: int = 0
    runs: int = 0
    kills: int = 0
    requests: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    home: Path | None = None
    seconds: float = 0.0


def measure(report: Report, chosen: argparse.Namespace) -> None:
    wanted = chosen.sites or (QUICK_SITES if chosen.quick else SITES)
    numbers = [chosen.site] if chosen.site is not None else range(1, wanted + 1)
    report.is_partial = chosen.sites is not None or chosen.site is not None
    (WORKPLACE / "runs").mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="honest-", dir=WORKPLACE / "runs"))
    if chosen.serve:
        serve(chosen.seed, numbers[0], home)
        return
    results = []
    for number in numbers:
        results.append(result := crawl_site(chosen.seed, number, home / f"site-{number}"))
        _say_result(result, chosen.seed)
        if not result.violations:
            shutil.rmtree(home / f"site-{number}", ignore_errors=True)
    _write_report(report, results, chosen.seed)


# ---- one site ---------------------------------------------------------------------------------------------------


@dataclass
class Stage:
    """A site with addresses, and its runs."""

    outline: Outline
    site: Site
    runs: tuple[Run, ...]
    sockets: list[socket.socket]
    server: Server

    @property
    def ports(self) -> list[int]:
        return [one.getsockname()[1] for one in self.sockets]

    def command(self, one: Run, out: Path) -> list[str]:
        flags = [*one.rules.flags(self.ports), *self.outline.machine, "--dir", str(out)]
        return ["-m", "tenax", "crawl", *flags]


def stage_of(seed: int, number: int, plan: Outline | None = None) -> Stage:
    """A random site, or one with this plan."""
    chance = Random(f"{seed}/{number}")
    plan = plan or outline(chance)
    shape = plan.shape
    place = f"127.0.{1 + number % 100}."
    hosts = [f"{place}{1 + index}" for index in range(shape.addresses)]
    live = open_sockets([(host, 0) for host in (*hosts, *([hosts[0]] * shape.extra_ports))])
    dead = open_sockets([(f"{place}99", 0)] * shape.dead_hosts)  # bound, so that nobody else listens there either
    origins, closed = ([f"http://{host}:{port}" for host, port in map(_name, part)] for part in (live, dead))
    site = build(shape, origins, closed, chance)
    return Stage(plan, site, runs_of(plan, site, chance), [*live, *dead], Server(site, live, seed))


def _name(one: socket.socket) -> tuple[str, int]:
    host, port = one.getsockname()
    return str(host), int(port)


def crawl_site(seed: int, number: int, home: Path) -> SiteResult:
    """Run and check all runs of one site."""
    began = time.monotonic()
    stage, out = stage_of(seed, number), home / "out"
    home.mkdir(parents=True)
    chance = Random(f"{seed}/{number}/asked")
    universe = universe_of(stage.site, chance)
    judge = Judge(stage.site, universe)
    result = SiteResult(number, stage.outline.themes, len(universe), home=home)
    with stage.server.running():
        for planned in stage.runs:
            one = _with_page_limit(planned, judge.before)
            before = len(stage.server.log)
            result.commands.append(_shown(stage, one, out))
            code, said = ran(stage, one, out, home / f"said-{len(result.commands)}.txt")
            requests = stage.server.log[before:]
            result.requests += len(requests)
            found = _judged(judge, one, code, said, requests, out)
            result.violations += [_in_run(violation, len(result.commands)) for violation in found]
            result.runs += code != -signal.SIGKILL
            result.kills += code == -signal.SIGKILL
        result.violations += _sampled(judge, chance, out)
    for one_socket in stage.sockets:
        one_socket.close()
    result.answers, result.seconds = judge.counted, time.monotonic() - began
    return result


def _with_page_limit(one: Run, snapshot: Snapshot | None) -> Run:
    if one.rules.max_pages != AS_STORED:
        return one
    return replace(one, rules=replace(one.rules, max_pages=snapshot.pages if snapshot is not None else 0))


def universe_of(site: Site, chance: Random) -> list[str]:
    """Every URL that the site has or names, the well-known URLs of lists, and some that do not exist."""
    urls = dict.fromkeys(site.named())
    for host in site.hosts:
        urls |= dict.fromkeys(host.origin + path for path in GUESSES)
        urls |= dict.fromkeys(f"{host.origin}/{part}/nowhere-{chance.randrange(10**6)}" for part in ("p", "x"))
        urls[f"{host.origin}/shop?f=nowhere"] = None
    return list(urls)


def _judged(
    judge: Judge, one: Run, code: int | None, said: str, requests: Sequence[Request], out: Path
) -> list[Violation]:
    if code is None:
        return [Violation("it did not end", "", f"within {STUCK_SECONDS:g} s: {said[-300:]}")]
    if code == -signal.SIGKILL:
        troubles = [Violation("the files are damaged", "", text) for text in asyncio.run(wreck_troubles(out))]
        return troubles + judge.killed(one.rules, _snapshot_after_kill(out, judge.universe), requests)
    try:
        snapshot = asyncio.run(take_snapshot(out, judge.universe))
    except Exception as error:  # any error is a violation of this site
        return [Violation("explain failed", "", f"{type(error).__name__}: {error}; exit {code}: {said[-300:]}")]
    return judge.ended(one.rules, snapshot, requests, ending_of(code, said))


def _snapshot_after_kill(out: Path, universe: Sequence[str]) -> Snapshot | None:
    """Answers of a killed crawl, read from a copy; None when it was killed before it had rules."""
    with tempfile.TemporaryDirectory(dir=out.parent) as copy:
        for name in ("tenax.db", "tenax.db-wal"):
            if (out / name).exists():
                shutil.copy(out / name, copy)
        try:
            return asyncio.run(take_snapshot(Path(copy), universe))
        except Exception:  # there are no tables, or no rules yet
            return None


def _sampled(judge: Judge, chance: Random, out: Path) -> list[Violation]:
    """Compare the commands with the library."""
    answers = chance.sample([*judge.before.answers.values()], SAMPLE) if judge.before is not None else []
    found = []
    for answer in answers:
        done = _asked("explain", answer.url, "--json", "--dir", str(out))
        if done.returncode != 0 or not same_answer(done.stdout, answer):
            found.append(Violation("explain prints something else", answer.url, (done.stdout + done.stderr)[-300:]))
    done = _asked("status", "--dir", str(out))
    if done.returncode != 0 or (says_complete(done.stdout) and judge.is_something_left):
        found.append(Violation("status says that the crawl is complete", "", (done.stdout + done.stderr)[-300:]))
    return found


def _asked(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tenax", *words]
    return subprocess.run(command, capture_output=True, text=True, env=_environment(), timeout=STUCK_SECONDS)


def _in_run(violation: Violation, number: int) -> Violation:
    return Violation(violation.kind, violation.url, f"run {number}: {violation.text}")


# ---- the command ------------------------------------------------------------------------------------------------


def ran(stage: Stage, one: Run, out: Path, words: Path) -> tuple[int | None, str]:
    """Run it until it ends or is killed; returns the exit code (None after a timeout) and the output."""
    with words.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, *stage.command(one, out)],
            stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=_environment(), start_new_session=True,
        )  # fmt: skip
    try:
        if one.kill_after is not None:
            _shoot(process, one, stage.server)
        code: int | None = process.wait(STUCK_SECONDS)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return code, words.read_text(encoding="utf-8", errors="replace")


def _shoot(process: subprocess.Popen[bytes], one: Run, server: Server) -> None:
    """Kill it shortly after its n-th request, unless it ends before."""
    before, until = len(server.log), time.monotonic() + STUCK_SECONDS
    while len(server.log) - before < (one.kill_after or 0) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    with suppress(subprocess.TimeoutExpired):
        process.wait(one.kill_delay_seconds)
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TENAX_")}
    return {**ours, "PYTHONPATH": str(ROOT / "src")}


def _shown(stage: Stage, one: Run, out: Path) -> str:
    killed = f"   # killed after {one.kill_after} requests" if one.kill_after is not None else ""
    return shlex.join([".venv/bin/python", *stage.command(one, out)]) + killed


def serve(seed: int, number: int, home: Path) -> None:
    """For debugging: serve the site and print the commands."""
    stage = stage_of(seed, number)
    with stage.server.running(), suppress(KeyboardInterrupt):
        for one in stage.runs:
            say(_shown(stage, one, home / "out"))
        say("Serving; Ctrl-C ends it.")
        signal.pause()


# ---- report -----------------------------------------------------------------------------------------------------


def _say_result(result: SiteResult, seed: int) -> None:
    state = "true" if not result.violations else f"{len(result.violations)} VIOLATIONS"
    say(
        f"site {result.number:>3}  {result.urls:>3} URLs  {result.runs} runs, {result.kills} killed  "
        f"{result.requests:>4} requests  {result.seconds:5.1f} s  {', '.join(result.themes):<24} {state}"
    )
    kinds = Counter(violation.kind for violation in result.violations)
    for kind, count in kinds.most_common():
        say(f"    {kind} ({count})")
        for violation in [one for one in result.violations if one.kind == kind][:SHOWN]:
            say(f"        {violation.url}  {violation.text}")
    if result.violations:
        say(f"    repeat: scripts/soak honest --seed {seed} --site {result.number}   left in {result.home}")
        for number, command in enumerate(result.commands, 1):
            say(f"    run {number}: {command}")


def _write_report(report: Report, results: Sequence[SiteResult], seed: int) -> None:
    kinds = Counter(violation.kind for result in results for violation in result.violations)
    sites = Counter(kind for result in results for kind in {violation.kind for violation in result.violations})
    if kinds:
        table(["violation", "times", "sites"], [[kind, str(n), str(sites[kind])] for kind, n in kinds.most_common()])
    answers = sum((result.answers for result in results), Counter[str]())
    report.figure("seed", seed)
    report.figure("sites", len(results))
    report.figure("runs", sum(result.runs for result in results))
    report.figure("kills", sum(result.kills for result in results))
    report.figure("requests", sum(result.requests for result in results))
    report.figure("answers", dict(sorted(answers.items())))
    report.figure("seconds", sum(result.seconds for result in results))
    report.figure("themes", dict(sorted(Counter(theme for result in results for theme in result.themes).items())))
    report.figure("violations", dict(kinds.most_common()))
    report.at_least("answers judged", answers.total(), 1)
    report.at_most("violations", kinds.total(), 0)


if __name__ == "__main__":
    main()
