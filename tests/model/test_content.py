"""A field of a page's content is defined once: a new one appears everywhere by itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.loops import FAULT_SECONDS

ROOT = Path(__file__).parent.parent.parent
FIELD = '    subtitle: str = ""\n    """The second title."""\n'
MODEL = ("model/content.py", "    authors: tuple[str, ...] = ()\n", FIELD)
EXTRACTION = ("extract/document.py", "        headline=about.title,\n", '        subtitle=f"below {about.title}",\n')

CRAWL = """
import asyncio, csv, io, json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import tenax
from docs.from_code import content_field_table
from tenax.cli import main
from tenax.config import PolitenessConfig, PoolConfig

HTML = "<!doctype html><html lang=en><title>A key</title><h1>A key</h1><p>" + "It is a good key of iron. " * 40


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"" if self.path == "/robots.txt" else HTML.encode()
        self.send_response(404 if not body else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


async def crawl(url, directory):
    config = tenax.Config(politeness=PolitenessConfig(rate_per_second=0), pool=PoolConfig(processes=0))
    async with tenax.Crawl([url], config, directory=directory, typed_by_person=True) as run:
        return [page.subtitle async for page in run]


directory = sys.argv[1]
server = HTTPServer(("127.0.0.1", 0), Handler)
Thread(target=server.serve_forever, daemon=True).start()
found = {
    "read": tenax.read(HTML).subtitle,
    "library": asyncio.run(crawl(f"http://127.0.0.1:{server.server_port}/", directory)),
    "line": [json.loads(line)["subtitle"] for line in Path(directory, "pages.jsonl").read_text().splitlines()],
    "documents": [line for line in content_field_table().splitlines() if "subtitle" in line],
}
for format in ("csv", "jsonl"):
    assert main(["export", "--dir", directory, "--format", format, "-o", f"{directory}/out.{format}"]) == 0
found["csv"] = [row["subtitle"] for row in csv.DictReader(io.StringIO(Path(directory, "out.csv").read_text()))]
found["database"] = [json.loads(line)["subtitle"] for line in Path(directory, "out.jsonl").read_text().splitlines()]
print(json.dumps(found))
"""


def test_a_new_field_is_one_line_and_its_extraction(tmp_path: Path) -> None:
    package = tmp_path / "src" / "tenax"
    shutil.copytree(ROOT / "src" / "tenax", package, ignore=shutil.ignore_patterns("*.so", "*.c", "__pycache__"))
    for name, place, lines in (MODEL, EXTRACTION):
        text = (package / name).read_text("utf-8")
        assert text.count(place) == 1
        (package / name).write_text(text.replace(place, lines + place), "utf-8")
    path = f"{package.parent}{os.pathsep}{ROOT}"
    run = subprocess.run(
        [sys.executable, "-c", CRAWL, tmp_path / "crawl"],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=FAULT_SECONDS, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    says = "below A key"
    assert json.loads(run.stdout.splitlines()[-1]) == {
        "read": says,
        "library": [says],
        "line": [says],
        "documents": ["| `subtitle` | The second title. |"],
        "csv": [says],
        "database": [says],
    }
