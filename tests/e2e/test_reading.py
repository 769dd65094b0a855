"""One page read by the program, from the web and from a file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.e2e.program import Demo, command, environment, tenax

HURRIED = ("--set", "politeness.rate_per_second=0")


def test_a_page_reads_the_same_from_the_web_a_file_and_a_pipe(calm: Demo, tmp_path: Path) -> None:
    url = next(page for page in sorted(calm.pages) if page[-1].isdecimal())  # an article's name ends with its number
    file = tmp_path / "page.html"
    assert tenax("fetch", url, "--body", file, *HURRIED).code == 0
    from_web = tenax("read", url, "--format", "json", *HURRIED)
    from_file = tenax("read", file, "--url", url, "--format", "json")
    piped = subprocess.run(
        command("read", "-", "--url", url), input=file.read_bytes(), capture_output=True, env=environment(), check=False
    )
    assert (from_web.code, from_web.err) == (0, "")
    assert (from_file.code, from_file.err) == (0, "")
    page = json.loads(from_web.out)
    assert page["article"] == json.loads(from_file.out)["article"] == piped.stdout.decode().removesuffix("\n")
    assert page["links"] == json.loads(from_file.out)["links"]
    assert (piped.returncode, piped.stderr) == (0, b"")
