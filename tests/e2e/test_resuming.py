"""A crawl that goes on: with the seeds and the settings it had, by the command that was printed."""

from __future__ import annotations

import shlex
from pathlib import Path

from tenax.errors import NoPagesStored
from tests.e2e.program import INLINE, Demo, Ended, environment, holds_once, page_lines, stored, tenax

FAST = ("--rate", "0", "--per-host", "4", *INLINE)


def resume_command(answer: Ended) -> list[str]:
    """The words after the program's name."""
    *_, line = answer.out.splitlines()
    assert line.startswith("Resume with:  python -m tenax crawl"), answer.out
    return shlex.split(line.partition("python -m tenax ")[2])


def test_the_printed_command_is_short_and_goes_on(calm: Demo, tmp_path: Path) -> None:
    """With thirty seeds as with one; a page limit that is reached does not end the next run at once."""
    seeds = [f"{seed}?{number}" for seed in calm.seeds for number in range(15)]
    words = ("--max-pages", "3", "--exclude", "*[?]*", "--dir", tmp_path / "a b")
    first = tenax("crawl", *calm.seeds, *seeds, *FAST, *words)
    assert first.code == 0, first.err
    command = resume_command(first)
    assert command == ["crawl", "--dir", str(tmp_path / "a b")]
    second = tenax(*command)
    assert second.code == 0, second.err
    assert "kept from the last run: --exclude '*[?]*' --rate 0 --per-host 4 --set pool.processes=0" in shown(second)
    assert "the last run's --max-pages 3 was reached and no longer applies" in shown(second)
    assert calm.pages <= set(stored(tmp_path / "a b"))


def shown(answer: Ended) -> str:
    return answer.err.replace('\\"', '"')


def test_settings_hold_until_others_are_given(calm: Demo, tmp_path: Path) -> None:
    seed = calm.seeds[0]
    assert tenax("crawl", seed, *FAST, "--max-depth", "0", "--dir", tmp_path).code == 0
    assert stored(tmp_path) == [seed]
    for words in ((), (seed,)):
        again = tenax("crawl", *words, "--dir", tmp_path)
        assert again.code == 0, again.err
        assert "kept from the last run: --max-depth 0" in shown(again)
        assert "changed since" not in again.err
    assert stored(tmp_path) == [seed]
    deeper = tenax("crawl", "--max-depth", "9", "--recrawl", "--dir", tmp_path)
    assert "changed since the last run: max_depth 0 → 9" in deeper.err
    assert len(stored(tmp_path)) > 1
    fresh = tenax("crawl", seed, *FAST, "--max-pages", "1", "--restart", "--dir", tmp_path)
    assert "kept from the last run" not in fresh.err


def test_settings_given_with_more_seeds_hold_too(calm: Demo, tmp_path: Path) -> None:
    first, second = calm.seeds
    assert tenax("crawl", first, *FAST, "--max-depth", "0", "--dir", tmp_path).code == 0
    assert tenax("seed", second, "--max-depth", "50", "--dir", tmp_path).code == 0
    resumed = tenax("crawl", "--dir", tmp_path)
    assert resumed.code == 0, resumed.err
    assert "--max-depth 50" in shown(resumed)
    assert {url for url in calm.pages if url.startswith(second)} <= set(stored(tmp_path))


def test_more_seeds_are_admitted_by_the_settings_of_the_crawl(calm: Demo, tmp_path: Path) -> None:
    """What the last run left out stays out: adding a seed looks through the stored links, with that run's settings."""
    first, second = calm.seeds
    assert tenax("crawl", first, *FAST, "--discover", "none", "--dir", tmp_path).code == 0
    assert stored(tmp_path) == [first]
    assert tenax("seed", second, "--dir", tmp_path).code == 0
    assert tenax("crawl", "--dir", tmp_path).code == 0
    assert sorted(stored(tmp_path)) == sorted([first, second])


def test_a_password_is_neither_printed_nor_kept(calm: Demo, tmp_path: Path) -> None:
    proxy = ("--proxy", "http://me:hush@127.0.0.1:9", "--set", "proxy.ban_seconds=3600")
    answer = tenax("crawl", calm.seeds[0], *INLINE, *proxy, "--dir", tmp_path)
    assert "hush" not in answer.out + answer.err
    assert b"hush" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    status = tenax("status", "--dir", tmp_path)
    assert "--proxy 'http://***@127.0.0.1:9'" in status.out, status.out
    without = tenax("crawl", "--dir", tmp_path)
    assert without.code == 2
    assert (
        "the last run had --proxy 'http://***@127.0.0.1:9', whose password is not stored; give it again" in without.err
    )
    anyway = tenax("crawl", "--set", "proxy.urls=", "--dir", tmp_path)
    assert anyway.code == NoPagesStored.exit_code, "the URLs still wait after the failures of the proxy"
    assert "Stopped for now: every host with waiting URLs is backing off." in anyway.out
    assert resume_command(anyway) == ["crawl", "--dir", str(tmp_path)]


def test_the_status_names_the_directory_as_it_is_called_from_here(calm: Demo, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    tenax("crawl", calm.seeds[0], *FAST, "--max-pages", "2", "--dir", "crawl", cwd=tmp_path)
    status = tenax("status", "--dir", "../crawl", cwd=tmp_path / "below")
    assert "Resume with:  python -m tenax crawl --dir ../crawl" in status.out
    resumed = tenax("crawl", cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert holds_once(tmp_path / "crawl", {url for url in calm.pages if url.startswith(calm.seeds[0])})


def test_a_crawl_that_stored_nothing_fails(calm: Demo, tmp_path: Path) -> None:
    answer = tenax("crawl", f"{calm.seeds[0]}no-such-page", *FAST, "--discover", "none", "--dir", tmp_path)
    assert answer.code == NoPagesStored.exit_code, answer
    assert "Nothing could be stored." in answer.out
    assert page_lines(tmp_path) == []


def test_a_crawl_on_a_server_goes_on_by_the_url_that_a_variable_holds(calm: Demo, postgres: str) -> None:
    """No password is printed, and the printed command works: the URL comes from where it came from."""
    there = environment(TENAX_DATABASE_URL=postgres)
    first = tenax("crawl", calm.seeds[0], *FAST, "--max-pages", "2", "--max-depth", "50", env=there)
    assert first.code == 0, first.err
    command = resume_command(first)
    assert command == ["crawl"]
    second = tenax(*command, env=there)
    assert second.code == 0, second.err
    assert "kept from the last run: --max-depth 50 --rate 0 --per-host 4" in shown(second)
    answer = tenax("export", env=there)
    assert answer.out.count("\n") == sum(url.startswith(calm.seeds[0]) for url in calm.pages)
    named = tenax("crawl", "--max-pages", "1", "--recrawl", "--database", postgres)
    assert resume_command(named)[:2] == ["crawl", "--database"]
    assert "a%20secret" not in named.out
    assert "*** is the password you typed; it is not stored: type it again, or set a variable" in named.out
