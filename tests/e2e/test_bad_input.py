"""Bad input and bad luck: one clear line, the right exit code, and nothing already stored is harmed."""

from __future__ import annotations

import re
import resource
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.program import (
    INLINE,
    Demo,
    Ended,
    ended,
    environment,
    holds_once,
    page_lines,
    start,
    stored,
    tenax,
    together,
    until,
)

FAST = ("--rate", "0", "--per-host", "4", *INLINE)
Words = tuple[str | Path, ...]


def complaint(answer: Ended, code: int) -> str:
    """The one line that a mistake is answered with."""
    assert answer.code == code, answer
    *said, last = answer.err.splitlines()
    assert not [line for line in said if line.startswith("tenax:") or "Traceback" in line], answer.err
    assert last.startswith("tenax: ")
    return last.removeprefix("tenax: ")


SEEDS = [
    ("notaurl", 2, r"`notaurl` is not a URL; write it like https://example.org/"),
    ("ftp://example.org/", 2, r"`ftp://example.org/`: `ftp` is not a supported scheme; give an http or https URL"),
    ("file:///etc/passwd", 2, r".*`file` is not a supported scheme; give an http or https URL"),
    ("http://exa mple.org/", 2, r"`http://exa mple.org/` is not a URL; .*"),
    ("http://me:secret@nothing.invalid/", 3, r"no such host: nothing\.invalid; check the spelling .*"),
    ("http://127.0.0.1:9/", 3, r".*http://127\.0\.0\.1:9.*connection refused.*"),
]


@pytest.mark.parametrize(("seed", "code", "says"), SEEDS, ids=[seed for seed, *_ in SEEDS])
def test_a_seed_that_leads_nowhere(tmp_path: Path, seed: str, code: int, says: str) -> None:
    answer = tenax("crawl", seed, *INLINE, "--dir", tmp_path / "out")
    assert re.fullmatch(says, complaint(answer, code))
    assert "secret" not in answer.err
    assert answer.out == ""
    if code == 2:
        assert not (tmp_path / "out").exists()


def test_one_seed_of_two_that_is_not_found_is_said_and_the_other_is_crawled(calm: Demo, tmp_path: Path) -> None:
    answer = tenax("crawl", calm.seeds[0], "http://nothing.invalid/", *FAST, "--max-pages", "3", "--dir", tmp_path)
    assert answer.code == 0
    assert "no such host: nothing.invalid; its pages are tried again later" in answer.err
    assert len(stored(tmp_path)) == 3


@pytest.mark.parametrize("out", ["/sys/tenax", "/proc/tenax"])
def test_an_unwritable_directory(out: str) -> None:
    says = complaint(tenax("crawl", "http://127.0.0.1:9/", *INLINE, "--dir", out), 5)
    assert re.fullmatch(rf"{out}/tenax\.db cannot be written: .*; check the directory's permissions", says)


def test_the_output_directory_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a note")
    for out in ("out", "out/below"):
        says = complaint(tenax("crawl", "http://127.0.0.1:9/", *INLINE, "--dir", tmp_path / out), 5)
        assert says == f"{tmp_path / out} is not a directory; give another --dir"
    assert (tmp_path / "out").read_text() == "a note"


# ---- a database that cannot be used -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound(calm: Demo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small crawl, complete, to be copied and damaged."""
    out = tmp_path_factory.mktemp("sound")
    assert tenax("crawl", calm.seeds[0], *FAST, "--dir", out).code == 0
    return out


def noise(file: Path) -> None:
    file.write_bytes(b"this is a diary, not a database; " * 500)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def overwritten(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[100:8192] = b"\xa5" * (8192 - 100)
    file.write_bytes(data)


def of_another_program(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE diary (day)")


def of_a_newer_tenax(file: Path) -> None:
    with closing(sqlite3.connect(file)) as newer:
        newer.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (noise, "is damaged or not a database"),
        (cut, "is damaged or not a database"),
        (overwritten, "is damaged or not a database"),
        (of_another_program, "is a database, but not a Tenax database; give another --dir"),
        (of_a_newer_tenax, "was written by a newer Tenax"),
    ],
)
def test_a_database_that_cannot_be_used_is_left_as_it_is(
    calm: Demo, sound: Path, tmp_path: Path, damage: Callable[[Path], None], says: str
) -> None:
    out = tmp_path / "out"
    shutil.copytree(sound, out)
    damage(out / "tenax.db")
    before = {name: (out / name).read_bytes() for name in ("tenax.db", "pages.jsonl")}
    for answer in together(
        ("crawl", calm.seeds[0], *FAST, "--dir", out), ("status", "--dir", out), ("export", "--dir", out)
    ):
        assert complaint(answer, 5).startswith(f"{out}/tenax.db {says}")
        assert answer.out == ""
    assert {name: (out / name).read_bytes() for name in before} == before


def test_a_database_in_use(calm: Demo, tmp_path: Path) -> None:
    """The second one is sent away, --restart or not, and the first goes on undisturbed."""
    first = start("crawl", *calm.seeds, "--rate", "0.5", *INLINE, "--dir", tmp_path)
    file = tmp_path / "pages.jsonl"
    until(lambda: file.exists() and file.stat().st_size, "the first page")
    others = together(
        ("crawl", calm.seeds[0], *FAST, "--dir", tmp_path),
        ("crawl", calm.seeds[0], *FAST, "--restart", "--dir", tmp_path),
        ("dead-letters", "replay", "--all", "--dir", tmp_path),
    )
    assert first.poll() is None
    for other in others:
        assert complaint(other, 4) == (
            f"{tmp_path}/tenax.db is in use by another process; wait for it or stop it, or give another --dir"
        )
    first.send_signal(signal.SIGINT)
    assert ended(first).code == 130
    assert not list(tmp_path.glob("previous-*"))
    assert tenax("crawl", *calm.seeds, *FAST, "--dir", tmp_path).code == 0
    assert holds_once(tmp_path, calm.pages)


def test_a_file_that_is_shorter_than_it_was_left(calm: Demo, sound: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(sound, out)
    cut(out / "pages.jsonl")
    before = (out / "pages.jsonl").read_bytes()
    says = complaint(tenax("crawl", calm.seeds[0], *FAST, "--dir", out), 7)
    assert says.startswith(f"{out}/pages.jsonl is shorter than this crawl left it; put it back, or move it away")
    assert (out / "pages.jsonl").read_bytes() == before


def test_a_jsonl_that_cannot_be_a_file(calm: Demo, tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").mkdir()
    says = complaint(tenax("crawl", calm.seeds[0], *FAST, "--dir", tmp_path), 7)
    assert says.startswith(f"{tmp_path}/pages.jsonl cannot be written")


# ---- a full disk ------------------------------------------------------------------------------------------


def no_file_beyond(kilobytes: int) -> Callable[[], None]:
    """For the child: files can grow to this size, as on a disk with that much room."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, kilobytes * 1024))

    return limit


@pytest.mark.parametrize("kilobytes", [40, 150, 350])
def test_a_full_disk_stops_it_cleanly_and_it_goes_on(calm: Demo, tmp_path: Path, kilobytes: int) -> None:
    """The database is what fills it: at its creation, at the first commit, or later."""
    command: Words = ("crawl", *calm.seeds, *FAST, "--dir", tmp_path)
    says = complaint(tenax(*command, before=no_file_beyond(kilobytes)), 6)
    assert "is full; everything committed is safe: free some space and run the same command again" in says
    again = complaint(tenax(*command, before=no_file_beyond(kilobytes)), 6)
    assert "everything committed is safe" in again
    assert tenax(*command).code == 0
    assert holds_once(tmp_path, calm.pages)


def test_a_full_disk_for_the_events_only(calm: Demo, tmp_path: Path) -> None:
    """The file has come to where the disk ends, far behind the database: its last line is cut off and written again."""
    command: Words = ("crawl", *calm.seeds, *FAST, "--dir", tmp_path)
    assert tenax(*command, "--max-pages", "5").code == 0
    file, long = tmp_path / "pages.jsonl", 8 * 1024 * 1024
    beginning = file.read_bytes()
    with file.open("ab") as grown:
        grown.truncate(long)
    with closing(sqlite3.connect(tmp_path / "tenax.db")) as db:
        db.execute("UPDATE cursor SET position = ?", (long,))
        db.commit()
    says = complaint(tenax(*command, before=no_file_beyond(long // 1024 + 2)), 6)
    assert says.startswith(f"{file} cannot be written: File too large; everything committed is safe: free some space")
    assert tenax(*command).code == 0
    file.write_bytes(beginning + file.read_bytes()[long:])
    assert holds_once(tmp_path, calm.pages)


def test_a_file_of_somebody_else_is_not_cut(calm: Demo, tmp_path: Path) -> None:
    """A new crawl has written nothing yet, so the file's content is not its own."""
    (tmp_path / "pages.jsonl").write_text('{"url": "https://example.org/", "kept": "for years"}\n')
    before = (tmp_path / "pages.jsonl").read_bytes()
    says = complaint(tenax("crawl", calm.seeds[0], *FAST, "--max-pages", "2", "--dir", tmp_path), 7)
    assert says.startswith(f"{tmp_path}/pages.jsonl")
    assert (tmp_path / "pages.jsonl").read_bytes() == before


# ---- configuration ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[crawl]\nmax_dept = 3\n", r"tenax\.toml: unknown key `crawl\.max_dept`; did you mean `crawl\.max_depth`\?"),
        ("[crawll]\nmax_depth = 3\n", r"tenax\.toml: unknown key `crawll\.max_depth`; did you mean .*"),
        ("[crawl]\nmax_depth = 'deep'\n", r"tenax\.toml: bad value 'deep' for `crawl\.max_depth`: .*"),
        ("[politeness]\nrate_per_second = -1\n", r"tenax\.toml: bad value -1 for `politeness\.rate_per_second`: .*"),
        ("max_depth = 3\n", r"tenax\.toml: `max_depth` must be in a section, such as \[crawl\]"),
        ("[crawl\n", r"tenax\.toml: not valid TOML: .*"),
    ],
)
def test_a_config_with_a_slip(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "tenax.toml").write_text(text)
    answer = tenax("crawl", "http://127.0.0.1:9/", "--dir", "out", cwd=tmp_path)
    assert re.fullmatch(says, complaint(answer, 2))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("TENAX_CRAWL_MAX_DEPHT", "3", "unknown variable TENAX_CRAWL_MAX_DEPHT; did you mean `TENAX_CRAWL_MAX_DEPTH`?"),
        ("TENAX_CRAWL_MAX_DEPTH", "x", "TENAX_CRAWL_MAX_DEPTH: bad value 'x' for `crawl.max_depth`: "),
    ],
)
def test_a_variable_with_a_slip(tmp_path: Path, variable: str, value: str, says: str) -> None:
    answer = tenax("crawl", "http://127.0.0.1:9/", cwd=tmp_path, env=environment(**{variable: value}))
    assert complaint(answer, 2).startswith(says)
    assert not list(tmp_path.iterdir())


def test_flags_with_a_slip(tmp_path: Path) -> None:
    base = ("crawl", "http://127.0.0.1:9/", "--dir", tmp_path / "out")
    answers = together(
        (*base, "--rate", "fast"),
        (*base, "--scope", "planet"),
        (*base, "--exclude", "/(/"),
        (*base, "--set", "guard.allow_networks=10.1"),
        (*base, "--config", tmp_path / "missing.toml"),
    )
    texts = [complaint(answer, 2) for answer in answers]
    assert texts[0].startswith("--rate: bad value 'fast' for `politeness.rate_per_second`")
    assert texts[1].startswith("--scope: bad value 'planet' for `crawl.scope`")
    assert texts[2].startswith("bad pattern `/(/`")
    assert texts[3].startswith("bad value '10.1' for `guard.allow_networks`")
    assert texts[4].startswith(f"{tmp_path}/missing.toml: no such file")
    assert not (tmp_path / "out").exists()


def test_after_the_file_was_moved_away_the_next_one_goes_on(calm: Demo, tmp_path: Path) -> None:
    """Moved away on purpose: what comes next starts a new file, and together they hold each page once."""
    command: Words = ("crawl", *calm.seeds, *FAST, "--dir", tmp_path)
    tenax(*command, "--max-pages", "10")
    file = tmp_path / "pages.jsonl"
    first = file.read_bytes()
    file.unlink()
    assert tenax(*command).code == 0
    file.write_bytes(first + file.read_bytes())
    assert [line["seq"] for line in page_lines(tmp_path)] == list(range(1, len(calm.pages) + 1))
    assert holds_once(tmp_path, calm.pages)
