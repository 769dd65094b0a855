"""How much CPU and memory the largest sitemaps take: 50,000 URLs, as XML, gzip and text, and 50 MB of one.

Each is read several times in a process of its own. CPU is that of the quickest reading; memory is the most that the
process held beyond what it had before it loaded the file, the file included.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.report import ROOT, WORKPLACE, BenchError, Report, run, short, table

SEED = 6
URLS, QUICK_URLS = 50_000, 5_000
RUNS, QUICK_RUNS = 5, 2
CPU_BAR_SECONDS = 1.0
MEMORY_BAR_MB = 50.0
LARGEST_BYTES = 50 * 1024 * 1024
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "pl", "sv")
FREQUENCIES = ("hourly", "daily", "weekly", "monthly", "yearly")

READ = """
import json, sys, time
from pathlib import Path
from tenax.discovery.sitemaps.read import read_sitemap

def resident(field):
    status = Path("/proc/self/status").read_text()
    return int(status.partition(field + ":")[2].split()[0]) * 1024 / 1_000_000

Path("/proc/self/clear_refs").write_text("5")
base, taken = resident("VmRSS"), []
body = Path(sys.argv[1]).read_bytes()
for _ in range(int(sys.argv[2])):
    started, found = time.process_time(), None
    found = read_sitemap(body)
    taken.append(time.process_time() - started)
print(json.dumps({
    "bytes": len(body), "entries": len(found.entries), "problems": found.problems, "cpu_seconds": min(taken),
    "above_base_mb": resident("VmHWM") - base,
}))
"""


def main() -> None:
    run("sitemap", measure)


def measure(report: Report, chosen: argparse.Namespace) -> None:
    urls, runs = (QUICK_URLS, QUICK_RUNS) if chosen.quick else (URLS, RUNS)
    report.figure("urls", urls)
    report.figure("runs", runs)
    rows, figures = [], dict[str, dict[str, Any]]()
    for name, file in _files(urls):
        figures[name] = one = _measured(file, runs)
        if one["entries"] != urls and name != "largest":
            raise BenchError(f"{name}: {one['entries']} entries of {urls} were read: {one['problems']}")
        report.figure(name, {key: value for key, value in one.items() if key != "problems"})
        megabytes, cpu, memory = one["bytes"] / 1_000_000, one["cpu_seconds"], one["above_base_mb"]
        rows.append([name, *map(short, (megabytes, one["entries"], cpu, memory))])
    table(["form", "MB", "entries", "CPU s", "MB above base"], rows)
    for name in ("xml", "gzip"):
        report.at_most(f"{name}_cpu_seconds", figures[name]["cpu_seconds"], CPU_BAR_SECONDS)
        report.at_most(f"{name}_above_base_mb", figures[name]["above_base_mb"], MEMORY_BAR_MB)


def _measured(file: Path, runs: int) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", READ, file, str(runs)], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode != 0:
        raise BenchError(f"reading {file.name} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _files(urls: int) -> Iterator[tuple[str, Path]]:
    folder = WORKPLACE / "sitemap"
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(SEED)
    xml = _urlset(_entries(urls, rng))
    pages = re.findall(rb"<loc>(.*?)</loc>", xml)
    largest = _urlset(_with_languages(urls, rng, LARGEST_BYTES if urls == URLS else len(xml) * 2))
    bodies = {"xml": xml, "gzip": gzip.compress(xml), "text": b"\n".join(pages), "largest": largest}
    for name, body in bodies.items():
        file = folder / name
        file.write_bytes(body)
        yield name, file


def _urlset(entries: Iterator[str]) -> bytes:
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    return f'{head}xmlns:xhtml="http://www.w3.org/1999/xhtml">\n{"".join(entries)}</urlset>\n'.encode()


def _entries(urls: int, rng: random.Random) -> Iterator[str]:
    words = (Path(__file__).parent / "words.txt").read_text(encoding="utf-8").split()
    for number in range(urls):
        slug = "-".join(rng.choices(words, k=3))
        month, day, hour, minute = rng.randint(1, 12), rng.randint(1, 28), rng.randrange(24), rng.randrange(60)
        yield (
            f"\t<url>\n\t\t<loc>https://www.example.org/{2000 + number % 26}/{slug}-{number}</loc>\n"
            f"\t\t<lastmod>2026-{month:02}-{day:02}T{hour:02}:{minute:02}:00+00:00</lastmod>\n"
            f"\t\t<changefreq>{rng.choice(FREQUENCIES)}</changefreq>\n"
            f"\t\t<priority>{rng.randrange(11) / 10}</priority>\n\t</url>\n"
        )


def _with_languages(urls: int, rng: random.Random, most_bytes: int) -> Iterator[str]:
    """Each entry with the same page in other languages, until there is no room for more."""
    size = 1_000  # room for head and foot
    for number, entry in enumerate(_entries(urls, rng)):
        links = "".join(
            f'\t\t<xhtml:link rel="alternate" hreflang="{language}" href="https://www.example.org/{language}/{number}"/>\n'
            for language in LANGUAGES
        )
        whole = entry.replace("\t</url>\n", f"{links}\t</url>\n")
        size += len(whole.encode())
        if size > most_bytes:
            return
        yield whole


if __name__ == "__main__":
    main()
