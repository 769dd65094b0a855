"""What is said after seeds were given, and how a file of them is read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tenax.cli import main
from tenax.cli.commands import seed
from tenax.crawl.seeds import AddedSeeds
from tenax.database import Admission, Status

BACKING_OFF = Status(created_at=0.0, now=0.0)
BUSY = Status(created_at=0.0, now=0.0, is_running=True, workers=3)


@pytest.mark.parametrize(
    ("added", "status", "says"),
    [
        (AddedSeeds(Admission(admitted=1)), BUSY, ["1 URL added."]),
        (AddedSeeds(Admission(admitted=1200, known=3)), BUSY, ["1,200 URLs added, 3 already known."]),
        (
            AddedSeeds(Admission(admitted=2), changed_rules=("exclude", "max_depth")),
            BUSY,
            ["2 URLs added.", "Changed for this crawl: exclude, max_depth."],
        ),
        (
            AddedSeeds(Admission(admitted=1, known=2), requeued=1),
            BUSY,
            ["1 URL added, 2 already known.", "1 known URL without a page will be visited again."],
        ),
        (
            AddedSeeds(Admission(known=1)),
            BACKING_OFF,
            ["0 URLs added, 1 already known.", "No process is crawling. Resume with:  go on"],
        ),
        (
            AddedSeeds(Admission(admitted=5), refused_origins=tuple(f"http://10.0.0.{n}" for n in range(5))),
            BUSY,
            [
                "5 URLs added.",
                "Workers refuse http://10.0.0.0, http://10.0.0.1, http://10.0.0.2 and 2 more, unless their "
                "guard.allow_networks and guard.ports allow private addresses and other ports.",
            ],
        ),
    ],
)
def test_what_became_of_them(added: AddedSeeds, status: Status, says: list[str]) -> None:
    assert seed.format_result(added, status, "go on") == says


LIST = """# where we begin
https://a.example/

  https://b.example/#part   # and here
"""


def test_a_file_or_standard_input_has_a_url_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("seeds.txt").write_text(LIST)
    assert main(["seed", "--file", "seeds.txt", "--dir", "crawl"]) == 0
    assert capsys.readouterr().out.startswith("2 URLs added.\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(LIST + "https://c.example/\n"))
    assert main(["seed", "--file", "-", "--dir", "crawl"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 URL added, 2 already known.\n")
    assert "tenax crawl https://a.example/ https://b.example/ https://c.example/ --dir crawl" in out
