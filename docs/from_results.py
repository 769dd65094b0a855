"""Benchmark results as tables for the documents, from the files of the last full runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docs.wording import counted, number, table, times

RESULTS = Path(__file__).parent.parent / "bench" / "results"
NOT_MEASURED = "Not measured yet."

_SETTING = re.compile(r"workers_(?P<workers>\d+)_rows_(?P<rows>\d+)")


def result(name: str) -> dict[str, Any] | None:
    """The stored result of the last full run of a benchmark."""
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else None


_CONTESTANTS = {
    "tenax": "Tenax, durable, full extraction",
    "tenax_skim": "Tenax, durable, title and text",
    "scrapy": "Scrapy, title and text, `JOBDIR` off",
    "scrapy_jobdir": "Scrapy, title and text, `JOBDIR` on",
    "scrapy_trafilatura": "Scrapy, trafilatura in its pipeline",
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
            one = figures[key]
            forms = [figures.get(f"{form}_vs_{key}", {}) for form in ("tenax", "tenax_skim")]
            rows.append([
                name, number(one["pages_per_second"]), number(one["cpu_seconds_per_1000_pages"]),
                number(one["peak_rss_mb"]), *(times(form.get("pages_per_second")) for form in forms),
                *(times(form.get("pages_per_cpu_second")) for form in forms),
            ])  # fmt: skip
    head = (
        *("crawler", "pages/s", "CPU s per 1,000 pages", "peak RSS, MB", "Tenax, full extraction: times the pages/s"),
        *("Tenax, title and text: times the pages/s", "Tenax, full extraction: times the pages per CPU s"),
        "Tenax, title and text: times the pages per CPU s",
    )
    size, rounds = number(figures["page_bytes"] / 1000), counted(figures["rounds"], "interleaved round")
    about = f"{figures['pages']:,} pages of {size} kB, medians of {rounds}."
    return _with_bars(measured, f"{about}\n\n{table(head, rows)}")


def database_tables() -> str:
    measured = result("database")
    if measured is None:
        return NOT_MEASURED
    rows = []
    for key, one in measured["figures"].items():
        if key.startswith("known_"):
            costs = [number(one[name]) for name in ("cpu_ms", "wall_ms", "rss_mb")]
            disk = number(one["disk_bytes"]) if one["disk_bytes"] else ""
            rows.append([f"{int(key.removeprefix('known_')):,}", *costs, disk])
    head = ("URLs known", "CPU ms per page", "wall ms per page", "RSS, MB", "bytes of disk per URL")
    return _with_bars(measured, table(head, rows))


_DISCOVERERS = {
    "tenax": "Tenax",
    "tenax_links": "Tenax, `--discover links`",
    "scrapy": "Scrapy, sitemaps and links",
}


def discover_tables() -> str:
    measured = result("discover")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    sizes = {int(key.removeprefix("pages_")): of for key, of in figures.items() if key.startswith("pages_")}
    rows = [(pages, _DISCOVERERS[key], of[key]) for pages, of in sizes.items() for key in _DISCOVERERS if key in of]
    found = [
        [
            f"{pages:,}", name, f"{one['found_share']:.2%}",
            *(f"{share:.1%}" for share in one["found_by_way"].values()), f"{one['requests']:,}",
            f"{one['wasted_share']:.2%}", f"{one['guesses_wasted_share']:.2%}", number(one["cpu_seconds"]),
        ]
        for pages, name, one in rows
    ]  # fmt: skip
    wasted = [[f"{pages:,}", name, *(f"{count:,}" for count in one["wasted"].values())] for pages, name, one in rows]
    sources, kinds = rows[0][2]["found_by_way"], (name.replace("_", " ") for name in rows[0][2]["wasted"])
    head = ("pages", "crawler", "real pages found", *sources, "requests", "wasted", "by guesses", "CPU s")
    about = f"Sites on {figures['hosts']} hosts, seed {figures['seed']}."
    tables = f"{table(head, found)}\n\nRequests wasted:\n\n{table(('pages', 'crawler', *kinds), wasted)}"
    return _with_bars(measured, f"{about}\n\n{tables}")


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
        "hosts", "CPU ms per visit", "wall ms per visit", "seconds to open", "RSS when opened, MB", "RSS half way, MB",
        "RSS at the end, MB",
    )  # fmt: skip
    return _with_bars(measured, table(head, rows))


def page_fetcher_tables() -> str:
    measured = result("page_fetcher")
    return NOT_MEASURED if measured is None else _with_bars(measured, _page_fetcher_table(measured["figures"]))


def _page_fetcher_table(figures: Mapping[str, Any]) -> str:
    names = {
        "tenax": "`tenax page-fetcher`",
        "recipe": "httpx, redis and aiokafka in one loop, as in the specification",
        "recipe, 64 at once": "64 of these loops at the same time",
    }
    rows = [
        [words, number(figures[key]["urls_per_second"]), number(figures[key]["cpu_ms"])]
        for key, words in names.items()
    ]  # fmt: skip
    return table(("", "URLs/s", "CPU ms per URL"), rows)


def cluster_tables() -> str:
    measured = result("cluster")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    names = ("cycles_per_second", "cpu_ms", "worker_cpu_ms", "server_cpu_ms", "own_cpu_ms", "wal_bytes_a_page")
    rows = [
        [match["workers"], f"{int(match['rows']):,}", *(number(one[name]) for name in names)]
        for key, one in figures.items()
        if (match := _SETTING.fullmatch(key))
    ]
    head = (
        "workers", "URLs known", "page cycles/s", "CPU ms per page", "CPU ms of workers", "CPU ms of PostgreSQL",
        "CPU ms of the load generator", "WAL, bytes per page",
    )  # fmt: skip
    url, page = number(figures["disk_bytes_a_url"]), number(figures["disk_bytes_a_page"])
    about = (
        f"{number(figures['seconds'])} s each, medians of {counted(figures['rounds'], 'interleaved round')}, "
        f"PostgreSQL {figures['postgresql']['version']}. A waiting URL takes {url} bytes of disk, a stored page {page}."
    )
    fetcher = _page_fetcher_table(figures["page_fetcher"])
    return _with_bars(measured, f"{about}\n\n{table(head, rows)}\n\n{fetcher}")


_SITEMAPS = {
    "xml": "XML",
    "gzip": "the same XML, compressed by gzip",
    "text": "the same URLs as plain text",
    "largest": "XML with languages",
}


def sitemap_tables() -> str:
    measured = result("sitemap")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    rows = [
        [
            words, number(figures[key]["bytes"] / 1_000_000), f"{figures[key]['entries']:,}",
            number(figures[key]["cpu_seconds"]), number(figures[key]["above_base_mb"]),
        ]
        for key, words in _SITEMAPS.items()
    ]  # fmt: skip
    return _with_bars(measured, table(("", "MB", "entries", "CPU s", "memory above base with the file, MB"), rows))


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
    return _with_bars(measured, table(("command", "median wall time"), rows))


def polite_tables() -> str:
    measured = result("polite")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    one = figures["one_host"]
    rows = [["one, no rate limit", number(one["pages_per_second"]), "", "", "", number(one["cpu_ms_a_page"]), "", ""]]
    for key, many in figures.items():
        if key.startswith("hosts_"):
            rows.append([
                f"{int(key.removeprefix('hosts_')):,}", number(many["requests"] / figures["seconds"]),
                number(many["hosts_times_seconds"] / figures["seconds"]), number(many["ceiling"] / figures["seconds"]),
                f"{many['share_of_ideal']:.1%}", number(many["cpu_ms_a_page"]), times(many["cpu_vs_one_host"]),
                f"{many['closest_seconds']:.3f} s",
            ])  # fmt: skip
    head = (
        "hosts", "requests/s", "requests/s allowed by the rate", "requests/s expected of the machine",
        "share of the lower of these two", "CPU ms per page", "times one host", "shortest time between two requests",
    )  # fmt: skip
    about = f"{number(figures['seconds'])} s each, medians of {counted(figures['rounds'], 'round')}."
    return _with_bars(measured, f"{about}\n\n{table(head, rows)}")


_READERS = {
    "tenax": "Tenax",
    "trafilatura": "trafilatura, with metadata",
    "trafilatura_fast": "trafilatura, fast",
    "trafilatura_precision": "trafilatura, for precision",
    "rs_trafilatura": "rs-trafilatura",
    "resiliparse": "resiliparse",
    "newspaper4k": "newspaper4k",
    "readability_lxml": "readability-lxml",
    "parse": "parsing alone",
}


def read_tables() -> str:
    measured = result("read")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    readers = [key for key in _READERS if key in figures]
    costs = [
        [_READERS[key], *(number(figures[key]["cpu_ms"][name]) for name in ("median", "mean", "p95"))]
        for key in readers
    ]  # fmt: skip
    parts = [
        f"{figures['pages']:,} pages; CPU time of Tenax and trafilatura: the median of {figures['passes']} passes.",
        table(("", "CPU ms per page, median", "mean", "p95"), costs),
    ]
    for corpus in figures["tenax"]["corpora"]:
        columns = {key: _read_columns(figures[key]["corpora"][corpus]) for key in readers if "corpora" in figures[key]}
        rows = [[_READERS[key], *(f"{value:.3f}" for value in one.values())] for key, one in columns.items()]
        parts += [f"Corpus `{corpus}`:", table(("", *columns["tenax"]), rows)]
    if "without_rs_trafilatura" in figures:
        parts.append(f"Without rs-trafilatura: {figures['without_rs_trafilatura']}.")
    return _with_bars(measured, "\n\n".join(parts))


def _read_columns(corpus: Mapping[str, Any]) -> dict[str, float]:
    """F1 by kind and of snippets, and the share of pages whose metadata is right."""
    scores = {f"F1, {kind}": score["f1"] for kind, score in corpus["kinds"].items()}
    if corpus["snippets"]:
        scores["F1, snippets"] = corpus["snippets"]["f1"]
    scores.update(corpus["metadata"])
    return scores


def feeds_tables() -> str:
    measured = result("feeds")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    who = {"tenax": "Tenax", "feedparser": "feedparser", "feedparser_plain": "feedparser, without its sanitizer"}
    shares = [[what, f"{share:.2%}"] for what, share in figures["agreement"].items()]
    costs = [["a file of the corpus", *(f"{number(figures['cpu_ms'][key])} ms" for key in who)]]
    for name, one in figures["large"].items():
        each = (f"{number(one['cpu_ms_a_megabyte'][key])} ms" for key in who)
        costs.append([f"a megabyte of a {name}", *each])
    about = f"{figures['files']:,} files; CPU time is the minimum of {figures['passes']} passes."
    return _with_bars(
        measured, f"{about}\n\n{table(('agree on', 'files'), shares)}\n\n{table(('CPU time', *who.values()), costs)}"
    )


def learn_tables() -> str:
    measured = result("learn")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    columns = {"articles": "F1, articles", "other_kinds": "other kinds", "snippets": "snippets"}
    rows = [
        [f"`{corpus}`", *(f"{one[name]:.4f}" if name in one else "" for name in columns)]
        for corpus, one in figures.items()
        if isinstance(one, dict) and "kinds" in one
    ]
    about = (
        f"{figures['pages']:,} pages of {figures['blocks']:,} blocks. The kind of {figures['kinds_right']:.1%} of the "
        f"pages was right. Trees that are the same as in the source: {_as_shipped(figures['kept_json'])} for blocks, "
        f"{_as_shipped(figures['kinds_json'])} for kinds."
    )
    return _with_bars(measured, f"{about}\n\n{table(('', *columns.values()), rows)}")


def _as_shipped(trees: Mapping[str, Any]) -> str:
    return f"{trees['as_shipped']} of {trees['trees']}"


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
                f"{one['share_of_ideal']:.1%}", f"{number(one['overdue_seconds'])} s", times(one["overdue_vs_fair"]),
                number(one["hosts_leased_per_second"]), number(one["transactions_per_second"]),
            ])  # fmt: skip
    head = (
        "workers", "pages/s", "share of the ideal", "longest overdue", "times a fair round", "hosts leased/s",
        "transactions/s",
    )  # fmt: skip
    about = f"{figures['hosts']:,} hosts; the window of a worker uses {number(figures['window_mb'])} MB."
    return _with_bars(measured, f"{about}\n\n{table(head, rows)}")


_POLICIES = {
    "fixed": "fixed interval",
    "doubling": "halving and doubling",
    "oracle": "oracle",
    "tenax": "Tenax",
}


def recrawl_tables() -> str:
    measured = result("recrawl")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    rows = [
        [words, *(_from_to(figures[key][name]) for name in ("mean_age_days", "after_four_weeks", "requests"))]
        for key, words in _POLICIES.items()
    ]  # fmt: skip
    head = ("", "mean age over the year, days", "after the first four weeks", "requests")
    about = (
        f"{figures['pages']:,} pages, {figures['requests_per_day']:,} requests a day, "
        f"{counted(len(figures['seeds']), 'random seed')}. After the first four weeks the mean age of Tenax is at most "
        f"{figures['later_above_oracle']:.1%} above that of the oracle."
    )
    return _with_bars(measured, f"{about}\n\n{table(head, rows)}")


def _from_to(values: list[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def kill_tables() -> str:
    measured = result("kill")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    about = f"{figures['pages']:,} pages in {counted(figures['rounds'], 'crawl')}, {number(figures['seconds'])} s."
    rows = [[moment, str(count)] for moment, count in figures["kills_by_moment"].items()]
    return _with_bars(measured, f"{about}\n\n{table(('killed while', 'times'), rows)}")


def honest_tables() -> str:
    measured = result("honest")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    about = (
        f"{figures['sites']:,} sites, seed {figures['seed']}: {figures['runs']:,} runs, {figures['kills']:,} kills, "
        f"{figures['requests']:,} requests."
    )
    rows = [[state.replace("_", " "), f"{count:,}"] for state, count in figures["answers"].items()]
    return _with_bars(measured, f"{about}\n\n{table(('what `explain` said', 'URLs'), rows)}")


def hostile_tables() -> str:
    measured = result("hostile")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    about = (
        f"{number(figures['seconds'])} s with {figures['hosts']} hosts of each kind. Pages stored from the "
        f"well-behaved hosts: {figures['good_pages_alone']:,} alone, {figures['good_pages_beside']:,} beside the "
        f"hostile hosts. {figures['hostile_pages']:,} pages of hostile hosts were stored, and "
        f"{figures['readers_killed']} readers were killed."
    )
    rows = [
        [outcome.replace(":", ": ").replace("_", " "), f"{count:,}"] for outcome, count in figures["outcomes"].items()
    ]
    return _with_bars(measured, f"{about}\n\n{table(('outcome of a visit', 'times'), rows)}")


def cluster_soak_tables() -> str:
    measured = result("soak_cluster")
    if measured is None:
        return NOT_MEASURED
    figures = measured["figures"]
    about = (
        f"{figures['pages']:,} pages of {figures['hosts']} hosts in {number(figures['seconds'])} s, seed "
        f"{figures['seed']}; {figures['workers_started']} workers were started for the four slots, and "
        f"{figures['events']:,} events sent."
    )
    rows = [[what, str(count)] for what, count in figures["disturbances"].items()]
    return _with_bars(measured, f"{about}\n\n{table(('disturbance', 'times'), rows)}")


def speed_claim() -> str:
    """A sentence or two for the README, true whatever was measured."""
    what = "Pages are extracted in separate processes, and a host that must wait does not delay other hosts."
    figures = (result("crawl") or {"figures": {}})["figures"]
    keys = ("tenax_skim_vs_scrapy", "tenax_skim_vs_scrapy_jobdir")
    forms = [figures[key] for key in keys if key in figures]
    if not forms:
        return what
    cpu, speed = (min(form[name] for form in forms) for name in ("pages_per_cpu_second", "pages_per_second"))
    claim = (
        f"{what} Compared with Scrapy on the same pages and machine, both extracting title and text, Tenax reaches "
        f"{times(speed)} the pages per second and {times(cpu)} the pages per CPU second."
    )
    if (extracting := figures.get("tenax_vs_scrapy_trafilatura")) is None:
        return claim
    return (
        f"{claim} Full extraction, compared with Scrapy and trafilatura: "
        f"{times(extracting['pages_per_cpu_second'])} the pages per CPU second."
    )


def _with_bars(measured: Mapping[str, Any], tables: str) -> str:
    rows = [
        [f"`{what}`", number(bar["value"]), number(bar["bar"]), "met" if bar["ok"] else "**missed**"]
        for what, bar in measured["bars"].items()
    ]
    machine = measured["figures"]["machine"]
    where = f"{machine['cores']} cores of {machine['cpu']}, Python {machine['python']}, {machine['system']}"
    return f"{tables}\n\n{table(('bar', 'measured', 'required', ''), rows)}\n\nMeasured on {where}."
