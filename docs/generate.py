"""Writes the parts of the documents that follow from the code and from measurements; run by `scripts/docs`.

A part stands between two markers, `<!-- begin NAME -->` and `<!-- end NAME -->`, in README.md or any page of docs/.
Everything outside of them is written by hand and left alone. With --check nothing is written, and the exit code says
whether something would be.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tenax.cli.parser import EXIT_CODES
from tenax.cli.settings import FLAGS
from tenax.cli.verbs import VERBS
from tenax.config import Config, Knob, knobs
from tenax.metrics import METRICS, PAGE_FETCHER_METRICS, Metric

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
NOT_MEASURED = "Not measured yet."

_PART = re.compile(
    r"(?P<head><!-- begin (?P<name>[a-z-]+) -->)(?P<body>.*?)(?P<tail><!-- end (?P=name) -->)", re.DOTALL
)
_EXIT_CODE = re.compile(r"^ *(\d+)  (.+)$", re.MULTILINE)

Row = Sequence[str]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/docs", description="Bring the generated parts of the documents up.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a part is out of date")
    is_check = parser.parse_args().check
    stale = {page: new for page in pages() if (new := rewritten(page.read_text("utf-8"))) != page.read_text("utf-8")}
    for page, new in stale.items():
        sys.stdout.write(f"{page.relative_to(ROOT)} {'is out of date: run scripts/docs' if is_check else 'written'}\n")
        if not is_check:
            page.write_text(new, encoding="utf-8")
    return 1 if is_check and stale else 0


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def rewritten(text: str) -> str:
    """The page with every part as it should be. A part that shares its line with other text stays on that line."""

    def part(match: re.Match[str]) -> str:
        content = PARTS[match["name"]]().strip()
        space = "\n\n" if match["body"].startswith("\n") else ""
        return f"{match['head']}{space}{content}{space}{match['tail']}"

    return _PART.sub(part, text)


def parts_of(text: str) -> list[str]:
    return [match["name"] for match in _PART.finditer(text)]


# ---- from the code ----------------------------------------------------------------------------------------


def knob_tables() -> str:
    """A table for every section of the config."""
    sections: dict[str, list[Knob]] = {}
    for knob in knobs():
        sections.setdefault(knob.section, []).append(knob)
    types = get_type_hints(Config)
    blocks = []
    for section, members in sections.items():
        rows = [[_named(knob), _default(knob), _accepts(knob), knob.meaning] for knob in members]
        blocks.append(f"### {section}\n\n{types[section].__doc__}\n\n{_table(_HEAD_OF_KNOBS, rows)}")
    return "\n\n".join(blocks)


_HEAD_OF_KNOBS = ("setting", "default", "accepts", "meaning")


def _named(knob: Knob) -> str:
    flag = next((name for name, key in FLAGS.items() if key == knob.key), None)
    return f"`{knob.key}`" + (f"<br>`--{flag.replace('_', '-')}`" if flag else "")


def _default(knob: Knob) -> str:
    if isinstance(knob.default, tuple):
        return ", ".join(f"`{item}`" for item in knob.default) or "none"
    if isinstance(knob.default, str):
        return f"`{knob.default}`" if knob.default else "empty"
    return f"`{str(knob.default).lower()}`"


def _accepts(knob: Knob) -> str:
    """What may be set: the kind of value and its bounds, in words."""
    if get_origin(knob.type) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(knob.type))
    if knob.takes_a_list:
        return "a list of numbers" if get_args(knob.type)[0] is int else "a list"
    kind = {int: "a whole number", float: "a number", str: "text", bool: "`true`, `false`"}[knob.type]
    note = get_args(get_type_hints(get_type_hints(Config)[knob.section], include_extras=True)[knob.name])[1]
    bounds = [(note.ge, "from {:,}"), (note.gt, "above {:,}"), (note.le, "to {:,}"), (note.lt, "below {:,}")]
    return " ".join([kind, *(words.format(bound) for bound, words in bounds if bound is not None)])


def page_fetcher_knobs() -> str:
    """The page-fetcher's own, by the name of their variable."""
    own = [knob for knob in knobs() if knob.section == "page_fetcher"]
    rows = [[f"`{knob.variables[-1]}`", _default(knob), _accepts(knob), knob.meaning] for knob in own]
    return _table(("variable", "default", "accepts", "meaning"), rows)


def exit_codes() -> dict[int, str]:
    """Every code the program ends with, and its meaning, as `tenax --help` lists them."""
    return {int(code): meaning for code, meaning in _EXIT_CODE.findall(EXIT_CODES)}


def exit_code_table() -> str:
    return _table(("code", "meaning"), [[f"`{code}`", meaning] for code, meaning in exit_codes().items()])


def metric_table(table: Sequence[Metric] = METRICS) -> str:
    rows = [[f"`{one.name}`", one.type, f"`{one.label}`" if one.label else "", one.meaning] for one in table]
    return _table(("metric", "type", "label", "meaning"), rows)


def verb_parsers() -> dict[str, argparse.ArgumentParser]:
    """Each verb's arguments, by its name."""
    parsers = {}
    for verb in VERBS:
        parsers[verb.NAME] = argparse.ArgumentParser(prog=f"tenax {verb.NAME}", add_help=False)
        verb.add_arguments(parsers[verb.NAME])
    return parsers


def command_reference() -> str:
    """A section for every verb: its sentence, its arguments, its examples."""
    sentences = {verb.NAME: (verb.SENTENCE, verb.EXAMPLES) for verb in VERBS}
    blocks = []
    for name, parser in verb_parsers().items():
        sentence, examples = sentences[name]
        rows = [[_spelled(action), (action.help or "").replace("%%", "%")] for action in parser._actions]
        lines = "\n".join(line.strip() for line in examples.strip().splitlines())
        table = _table(("argument", "meaning"), rows)
        blocks.append(f"## tenax {name}\n\n{sentence}\n\n{table}\n\n```sh\n{_aligned_comments(lines)}\n```")
    return "\n\n".join(blocks)


def _spelled(action: argparse.Action) -> str:
    takes = "" if action.nargs == 0 else f" {action.metavar or '|'.join(action.choices or [action.dest.upper()])}"
    if not action.option_strings:
        return f"`{takes.strip()}`"
    return ", ".join(f"`{option}{takes if option.startswith('--') else ''}`" for option in action.option_strings)


def _aligned_comments(lines: str) -> str:
    """In the help a remark follows two spaces or more; in a shell it needs a `#`."""
    return re.sub(r" {2,}(?=\S)", "  # ", lines)


# ---- from measurements ------------------------------------------------------------------------------------


def result(name: str) -> dict[str, Any] | None:
    """What a benchmark wrote when it was last run in full."""
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else None


_CONTESTANTS = {
    "tenax": "Tenax, durable commits",
    "scrapy": "Scrapy, `JOBDIR` off",
    "scrapy_jobdir": "Scrapy, `JOBDIR` on",
    "crawlee": "Crawlee for Python, in memory",
}


def crawl_tables() -> str:
    measured = result("crawl")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    rows = []
    for key, name in _CONTESTANTS.items():
        if key in figures:
            one, versus = figures[key], figures.get(f"tenax_vs_{key}", {})
            rows.append([
                name, number(one["pages_per_second"]), number(one["cpu_seconds_per_1000_pages"]),
                number(one["peak_rss_mb"]), _times(versus.get("pages_per_second")),
                _times(versus.get("pages_per_cpu_second")),
            ])  # fmt: skip
    head = ("", "pages/s", "CPU s per 1,000 pages", "peak RSS, MB", "Tenax, pages/s", "Tenax, pages per CPU s")
    size, rounds = number(figures["page_bytes"] / 1000), _counted(figures["rounds"], "interleaved round")
    about = f"{figures['pages']:,} pages of {size} kB, medians of {rounds}."
    return _with_bars(measured, f"{about}\n\n{_table(head, rows)}")


def ledger_tables() -> str:
    measured = result("ledger")
    if measured is None:
        return NOT_MEASURED
    rows = []
    for key, one in measured["figures"].items():
        if key.startswith("known_"):
            costs = [number(one[name]) for name in ("cpu_ms", "wall_ms", "rss_mb")]
            disk = number(one["disk_bytes"]) if one["disk_bytes"] else ""
            rows.append([f"{int(key.removeprefix('known_')):,}", *costs, disk])
    head = ("URLs known", "CPU ms a page", "wall ms a page", "RSS, MB", "bytes of disk a URL")
    return _with_bars(measured, _table(head, rows))


def hosts_tables() -> str:
    measured = result("hosts")
    if measured is None:
        return NOT_MEASURED
    names = ("cpu_ms", "wall_ms", "open_seconds", "rss_open_mb", "rss_half_mb", "rss_mb")
    rows = [
        [f"{int(key.removeprefix('hosts_')):,}", *(number(one[name]) for name in names)]
        for key, one in measured["figures"].items()
        if key.startswith("hosts_")
    ]
    head = (
        "hosts", "CPU ms a visit", "wall ms a visit", "s to open", "RSS, MB: opened", "half way", "in the end",
    )  # fmt: skip
    return _with_bars(measured, _table(head, rows))


def page_fetcher_tables() -> str:
    measured = result("page_fetcher")
    if measured is None:
        return NOT_MEASURED
    names = {
        "tenax": "`tenax page-fetcher`",
        "recipe": "httpx, redis and aiokafka in one loop, as the plan writes it",
        "recipe, 64 at once": "the same, 64 loops at once",
    }
    figures = measured["figures"]
    rows = [
        [words, number(figures[key]["urls_per_second"]), number(figures[key]["cpu_ms"])]
        for key, words in names.items()
    ]  # fmt: skip
    return _with_bars(measured, _table(("", "URLs/s", "CPU ms a URL"), rows))


def startup_tables() -> str:
    measured = result("startup")
    if measured is None:
        return NOT_MEASURED
    names = {
        "help_seconds": "`scripts/tenax --help`",
        "import_seconds": '`python -c "import tenax"`',
        "python_alone_seconds": "`python -c pass`, for comparison",
    }
    rows = [[words, f"{number(measured['figures'][key] * 1000)} ms"] for key, words in names.items()]
    return _with_bars(measured, _table(("command", "median wall time"), rows))


def polite_tables() -> str:
    measured = result("polite")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    one = figures["one_host"]
    rows = [["one, no pace", number(one["pages_per_second"]), "", "", "", number(one["cpu_ms_a_page"]), "", ""]]
    for key, many in figures.items():
        if key.startswith("hosts_"):
            rows.append([
                f"{int(key.removeprefix('hosts_')):,}", number(many["requests"] / figures["seconds"]),
                number(many["hosts_times_seconds"] / figures["seconds"]), number(many["ceiling"] / figures["seconds"]),
                f"{many['share_of_ideal']:.1%}", number(many["cpu_ms_a_page"]), _times(many["cpu_vs_one_host"]),
                f"{many['closest_seconds']:.3f} s",
            ])  # fmt: skip
    head = (
        "hosts", "requests/s", "asked for by the pace", "ceiling of the machine", "of the lower", "CPU ms a page",
        "of one host's", "closest two",
    )  # fmt: skip
    about = f"{number(figures['seconds'])} s each, medians of {_counted(figures['rounds'], 'round')}."
    return _with_bars(measured, f"{about}\n\n{_table(head, rows)}")


def simulate_tables() -> str:
    measured = result("simulate")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    rows = []
    for key, one in figures.items():
        if key.startswith("workers_"):
            rows.append([
                f"{int(key.removeprefix('workers_')):,}", number(one["pages_per_second"]),
                f"{one['share_of_ideal']:.1%}", f"{number(one['overdue_seconds'])} s", _times(one["overdue_vs_fair"]),
                number(one["hosts_leased_per_second"]), number(one["transactions_per_second"]),
            ])  # fmt: skip
    head = (
        "workers", "pages/s", "of the ideal", "longest overdue", "of a fair round", "hosts leased/s", "transactions/s",
    )  # fmt: skip
    about = f"{figures['hosts']:,} hosts; the window of a worker takes {number(figures['window_mb'])} MB."
    return _with_bars(measured, f"{about}\n\n{_table(head, rows)}")


def kill_tables() -> str:
    measured = result("kill")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    about = f"{figures['pages']:,} pages in {_counted(figures['rounds'], 'crawl')}, {number(figures['seconds'])} s."
    rows = [[moment, str(count)] for moment, count in figures["kills_by_moment"].items()]
    return _with_bars(measured, f"{about}\n\n{_table(('killed while', 'times'), rows)}")


def speed_claim() -> str:
    """One sentence for the README, true whatever was measured."""
    what = "Pages are parsed in processes of their own, and a host that must wait occupies nothing."
    figures = (result("crawl") or {"figures": {}})["figures"]
    forms = [figures[f"tenax_vs_{name}"] for name in ("scrapy", "scrapy_jobdir") if f"tenax_vs_{name}" in figures]
    if not forms:
        return what
    cpu, speed = (min(form[name] for form in forms) for name in ("pages_per_cpu_second", "pages_per_second"))
    return (
        f"{what} Measured beside Scrapy on the same pages and machine, with durable commits on: "
        f"{_times(speed)} its pages a second, {_times(cpu)} its pages per second of CPU."
    )


def _with_bars(measured: Mapping[str, Any], tables: str) -> str:
    rows = [
        [f"`{what}`", number(bar["value"]), number(bar["bar"]), "held" if bar["ok"] else "**missed**"]
        for what, bar in measured["bars"].items()
    ]
    machine = measured["figures"]["machine"]
    where = f"{machine['cores']} cores of {machine['cpu']}, Python {machine['python']}, {machine['system']}"
    return f"{tables}\n\n{_table(('bar', 'measured', 'asked', ''), rows)}\n\nMeasured on {where}."


def number(value: float) -> str:
    """At most three digits that mean something, and never a bare exponent."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{number(value)}×"


def _counted(count: int, noun: str) -> str:
    return f"one {noun}" if count == 1 else f"{count} {noun}s"


def _table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


PARTS: dict[str, Callable[[], str]] = {
    "knobs": knob_tables,
    "exit-codes": exit_code_table,
    "metrics": metric_table,
    "page-fetcher-knobs": page_fetcher_knobs,
    "page-fetcher-metrics": lambda: metric_table(PAGE_FETCHER_METRICS),
    "commands": command_reference,
    "bench-crawl": crawl_tables,
    "bench-hosts": hosts_tables,
    "bench-ledger": ledger_tables,
    "bench-page-fetcher": page_fetcher_tables,
    "bench-polite": polite_tables,
    "bench-simulate": simulate_tables,
    "bench-startup": startup_tables,
    "soak-kill": kill_tables,
    "speed": speed_claim,
}


if __name__ == "__main__":
    sys.exit(main())
