"""Which directory is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.cli import settings
from tenax.errors import DatabaseNotFound, UsageError


def crawl_in(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tenax.db").touch()
    return directory


def test_what_is_named_is_meant(tmp_path: Path) -> None:
    crawl_in(tmp_path)
    assert settings.find_crawl_directory("elsewhere", base_directory=tmp_path) == Path("elsewhere")


def test_a_crawl_here_comes_first(tmp_path: Path) -> None:
    crawl_in(tmp_path)
    crawl_in(tmp_path / "tenax-a.example")
    assert settings.find_crawl_directory(None, base_directory=tmp_path) == tmp_path


def test_the_only_one_below_is_meant(tmp_path: Path) -> None:
    only = crawl_in(tmp_path / "anything")
    (tmp_path / "no-crawl").mkdir()
    assert settings.find_crawl_directory(None, base_directory=tmp_path) == only


def test_a_url_points_to_its_hosts_crawl(tmp_path: Path) -> None:
    crawl_in(tmp_path / "tenax-b.example")
    wanted = crawl_in(tmp_path / "tenax-a.example-8080")
    assert settings.find_crawl_directory(None, "http://A.example:8080/x", base_directory=tmp_path) == wanted


def test_several_are_listed(tmp_path: Path) -> None:
    crawl_in(tmp_path / "one")
    crawl_in(tmp_path / "two")
    with pytest.raises(UsageError, match="2 crawls here; choose one with --dir: one, two"):
        settings.find_crawl_directory(None, base_directory=tmp_path)


def test_none_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(DatabaseNotFound, match="no crawl in"):
        settings.find_crawl_directory(None, base_directory=tmp_path)


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        ("https://example.org/a/b?c", "tenax-example.org"),
        ("example.org", "tenax-example.org"),
        ("http://127.0.0.1:8000", "tenax-127.0.0.1-8000"),
        ("https://Bücher.example/", "tenax-xn--bcher-kva.example"),
        ("http://[::1]:81/", "tenax----1--81"),
        ("http://user:pw@example.org/", "tenax-example.org"),
    ],
)
def test_the_directory_of_a_seed(seed: str, expected: str) -> None:
    assert settings.seed_directory(seed) == Path(expected)


def test_what_is_no_url_has_no_directory() -> None:
    with pytest.raises(UsageError, match="gopher"):
        settings.seed_directory("gopher://example.org")
