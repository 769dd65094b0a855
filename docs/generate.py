"""Writes the generated parts of the documents, from the code and from measurements; run by `scripts/docs`.

A part is between two markers, `<!-- begin NAME -->` and `<!-- end NAME -->`, in README.md or any page of docs/. The
rest is written by hand and not changed. With --check nothing is written, and the exit code says whether a part is out
of date. docs/architecture.svg is generated as a whole.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

from docs import diagram, from_capacity, from_code, from_comparison, from_results, url_path
from docs.packages import DiagramError
from tenax.metrics import PAGE_FETCHER_METRICS

ROOT = Path(__file__).parent.parent

_PART = re.compile(
    r"(?P<head><!-- begin (?P<name>[a-z-]+) -->)(?P<body>.*?)(?P<tail><!-- end (?P=name) -->)", re.DOTALL
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/docs",
        description="Update the generated parts of the documents.",
        epilog="scripts/docs build [DIR] builds the website, serve serves it, picture draws docs/terminal.svg, "
        "path measures which files a URL passes through.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a part is out of date")
    is_check = parser.parse_args().check
    try:
        stale = {file: new for file, new in generated().items() if not file.exists() or file.read_text("utf-8") != new}
    except DiagramError as error:
        sys.stderr.write(f"scripts/docs: {error}\n")
        return 1
    for page, new in stale.items():
        sys.stdout.write(f"{page.relative_to(ROOT)} {'is out of date: run scripts/docs' if is_check else 'written'}\n")
        if not is_check:
            page.write_text(new, encoding="utf-8")
    return 1 if is_check and stale else 0


def generated() -> dict[Path, str]:
    """Every file with generated parts, with its new text."""
    return {page: rewritten(page.read_text("utf-8")) for page in pages()} | {diagram.PICTURE: diagram.svg()}


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def rewritten(text: str) -> str:
    """The page with every part generated again. A part that shares its line with other text stays on that line."""

    def part(match: re.Match[str]) -> str:
        content = PARTS[match["name"]]().strip()
        space = "\n\n" if match["body"].startswith("\n") else ""
        return f"{match['head']}{space}{content}{space}{match['tail']}"

    return _PART.sub(part, text)


def parts_of(text: str) -> list[str]:
    return [match["name"] for match in _PART.finditer(text)]


PARTS: dict[str, Callable[[], str]] = {
    "content-fields": from_code.content_field_table,
    "settings": from_code.setting_tables,
    "exit-codes": from_code.exit_code_table,
    "layout": from_code.layout,
    "metrics": from_code.metric_table,
    "page-fetcher-settings": from_code.page_fetcher_settings,
    "page-fetcher-metrics": lambda: from_code.metric_table(PAGE_FETCHER_METRICS),
    "commands": from_code.command_reference,
    "bench-cluster": from_results.cluster_tables,
    "bench-crawl": from_results.crawl_tables,
    "bench-discover": from_results.discover_tables,
    "bench-feeds": from_results.feeds_tables,
    "bench-recrawl": from_results.recrawl_tables,
    "bench-hosts": from_results.hosts_tables,
    "bench-learn": from_results.learn_tables,
    "bench-database": from_results.database_tables,
    "bench-page-fetcher": from_results.page_fetcher_tables,
    "bench-polite": from_results.polite_tables,
    "bench-read": from_results.read_tables,
    "bench-simulate": from_results.simulate_tables,
    "bench-sitemap": from_results.sitemap_tables,
    "bench-startup": from_results.startup_tables,
    "capacity-figures": from_capacity.capacity_figures,
    "capacity-needs": from_capacity.capacity_needs,
    "comparison": from_comparison.comparison_table,
    "soak-cluster": from_results.cluster_soak_tables,
    "soak-honest": from_results.honest_tables,
    "soak-hostile": from_results.hostile_tables,
    "soak-kill": from_results.kill_tables,
    "speed": from_results.speed_claim,
    "url-path": url_path.url_path_table,
}


if __name__ == "__main__":
    sys.exit(main())
