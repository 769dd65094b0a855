"""Servers that cannot be used as they are named: one clear line, the right exit code, and no password in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.program import INLINE, ROOT, Demo, Ended, environment, in_turn, stored, tenax, together
from tests.servers.postgres import PASSWORD, PostgresServer
from tests.servers.processes import free_port
from tests.servers.redis import RedisServer

NOBODY = free_port()
WRITING: tuple[tuple[str, ...], ...] = (
    ("crawl", "http://127.0.0.1:9/"),
    ("worker",),
    ("seed", "http://127.0.0.1:9/"),
    ("db", "init"),
    ("db", "migrate"),
)
ASKING: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("explain", "http://127.0.0.1:9/"),
    ("export",),
    ("dead-letters", "list"),
    ("dead-letters", "replay", "--all"),
    ("recover",),
    ("db", "check"),
)
NO_CRAWL = r"there is no crawl in 127\.0\.0\.1:\d+/\w+, schema 'tenax'; start one with: tenax crawl URL"


def complaint(answer: Ended, code: int) -> str:
    """The one line that a mistake is answered with."""
    assert answer.code == code, answer
    *said, last = answer.err.splitlines()
    assert said == [] and answer.out == ""
    assert last.startswith("tenax: ")
    for secret in (PASSWORD, "a%20secret", "hush"):
        assert secret not in last
    return last.removeprefix("tenax: ")


DATABASES = [
    ("not a URL of PostgreSQL", "mysql://me:hush@db/crawl", 2, r"database\.url is not a PostgreSQL URL; .*"),
    ("marks in a password", "postgresql://me:hu#sh/hush@db/crawl", 2, r"database\.url is not a PostgreSQL URL; .*"),
    (
        "a wrong password",
        "postgresql://tenax:hush@127.0.0.1:{port}/postgres",
        5,
        r".* does not let 'tenax' in: check .*",
    ),
    (
        "a wrong password behind the question mark",
        "postgresql://tenax@127.0.0.1:{port}/postgres?password=hush",
        5,
        r".* does not let 'tenax' in: check .*",
    ),
    ("a missing database", "{url}nowhere", 5, r"there is no database 'nowhere' at .*; create it: createdb nowhere"),
]


@pytest.mark.parametrize(("url", "code", "says"), [case[1:] for case in DATABASES], ids=[case[0] for case in DATABASES])
def test_a_database_that_cannot_be_reached(postgres_server: PostgresServer, url: str, code: int, says: str) -> None:
    url = url.format(port=postgres_server.port, url=postgres_server.url(""))
    for answer in together(
        ("worker", "--database", url), ("status", "--database", url), ("seed", "a.example", "--database", url)
    ):
        assert re.fullmatch(says, complaint(answer, code))


def test_a_database_where_nobody_is() -> None:
    """A person hears of it at once; a worker would wait."""
    url = f"postgresql://me:hush@127.0.0.1:{NOBODY}/a"
    for answer in answers(url, ("status",), ("seed", "a.example"), ("crawl", "http://127.0.0.1:9/")):
        assert re.fullmatch(r"PostgreSQL at .* connection refused; is it .*", complaint(answer, 5))


OF_A_NEWER_ONE = (
    "CREATE SCHEMA tenax; CREATE TABLE tenax.meta (name text PRIMARY KEY, value bytea);"
    "INSERT INTO tenax.meta VALUES ('version', '99')"
)


def answers(url: str, *commands: tuple[str, ...]) -> list[Ended]:
    return in_turn(*((*command, "--database", url) for command in commands))


def test_a_database_of_a_newer_tenax_is_left_alone(postgres_server: PostgresServer, postgres: str) -> None:
    postgres_server.psql(OF_A_NEWER_ONE, postgres.rpartition("/")[2])
    for answer in answers(postgres, *WRITING, *ASKING):
        assert re.fullmatch(
            r"the database in .* was written by a newer Tenax .*; upgrade Tenax .*", complaint(answer, 5)
        )


def test_tables_of_another_program_are_left_alone(postgres_server: PostgresServer, postgres: str) -> None:
    database = postgres.rpartition("/")[2]
    postgres_server.psql("CREATE SCHEMA tenax; CREATE TABLE tenax.diary (day date)", database)
    for answer in answers(postgres, *WRITING):
        assert re.fullmatch(r"the schema 'tenax' in .* holds other tables; give another .*", complaint(answer, 5))
    for answer in answers(postgres, *ASKING):
        assert re.fullmatch(NO_CRAWL, complaint(answer, 2))
    assert postgres_server.psql("SELECT tablename FROM pg_tables WHERE schemaname = 'tenax'", database) == "diary"


def test_who_only_asks_makes_nothing(postgres_server: PostgresServer, postgres: str) -> None:
    for answer in answers(postgres, *ASKING):
        assert re.fullmatch(NO_CRAWL, complaint(answer, 2))
    made = "SELECT count(*) FROM pg_namespace WHERE nspname = 'tenax'"
    assert postgres_server.psql(made, postgres.rpartition("/")[2]) == "0"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (
            f"redis://:hush@127.0.0.1:{NOBODY}/0",
            r"Redis at redis://\*\*\*@127.* does not answer: Connection refused; .*",
        ),
        ("http://me:hush@cache/0", r"'http://\*\*\*@cache/0' is not the address of a Redis; .*"),
    ],
    ids=["nobody there", "not a URL of Redis"],
)
def test_a_redis_that_cannot_be_used(postgres: str, tmp_path: Path, url: str, says: str) -> None:
    commands: list[tuple[str, ...]] = [
        ("crawl", "http://127.0.0.1:9/", "--redis", url, *INLINE, "--dir", str(tmp_path)),
    ]
    if url.startswith("http"):  # a Redis that may come yet is waited for
        commands.append(("worker", "--database", postgres, "--redis", url, *INLINE))
    for answer in together(*commands):
        assert re.fullmatch(says, complaint(answer, 2))


def test_a_redis_with_another_password(postgres: str) -> None:
    with RedisServer("--requirepass", "right") as server:
        url = f"redis://:hush@127.0.0.1:{server.port}"
        says = complaint(tenax("worker", "--database", postgres, "--redis", url, *INLINE), 2)
    assert re.fullmatch(r"Redis at redis://\*\*\*@127.* does not know this user and password", says)


EXTRAS = {
    "asyncpg": (
        ("status", "--database", "postgresql://a/b"),
        'PostgreSQL needs an extra: pip install "tenax[postgres]"',
    ),
    "redis": (
        ("crawl", "http://127.0.0.1:9/", "--redis", "redis://a"),
        'Redis needs an extra: pip install "tenax[redis]"',
    ),
    "confluent_kafka": (
        ("crawl", "http://127.0.0.1:9/", "--set", "events.kafka=a:9092"),
        'Kafka needs an extra: pip install "tenax[kafka]"',
    ),
}


@pytest.mark.parametrize("library", EXTRAS)
def test_a_missing_extra(tmp_path: Path, library: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{library!r}] = None\n")
    words, says = EXTRAS[library]
    env = environment(PYTHONPATH=f"{tmp_path}:{ROOT / 'src'}")
    assert says in complaint(tenax(*words, cwd=tmp_path, env=env), 2)


def test_a_crawl_goes_on_without_its_broker(calm: Demo, tmp_path: Path) -> None:
    options = ("--rate", "0", "--max-pages", "3", *INLINE, "--set", f"events.kafka=127.0.0.1:{NOBODY}")
    answer = tenax("crawl", calm.seeds[0], *options, "--dir", tmp_path)
    assert answer.code == 0, answer.err
    assert len(stored(tmp_path)) == 3
    assert "Kafka unavailable, events queued" in answer.err
    assert "sink unavailable, events queued sink=kafka" in answer.err
    assert "Traceback" not in answer.err


WRONG = [
    (("worker",), r"a worker needs a database on a server: --database postgresql://host/database, or database\.url"),
    (
        ("crawl", "a.example", "--restart", "--database", "postgresql://a/b"),
        r"--restart needs a directory; for .*",
    ),
    (("status", "--dir", "x", "--database", "postgresql://a/b"), r".*give --dir or --database, not both"),
    (
        ("seed", "--database", "postgresql://a/b"),
        r"there is nothing to add; give at least one URL, or a --file of them",
    ),
    (
        ("seed", "--file", "absent.txt", "--database", "postgresql://a/b"),
        r"absent\.txt: cannot be read: No such file .*",
    ),
    (("seed", "--file", ".", "--database", "postgresql://a/b"), r"\.: cannot be read: Is a directory"),
    (("seed", "--file", "noise.txt", "--database", "postgresql://a/b"), r"noise\.txt: cannot be read: it is not UTF-8"),
    (
        ("db", "init"),
        r"the tables of a crawl in a directory are created automatically; for a server give --database .*",
    ),
    (("worker", "--config", "site.toml"), r"site\.toml: .*`redis\.url` applies to the whole crawl and cannot be .*"),
]


@pytest.mark.parametrize(("words", "says"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_what_makes_no_sense(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    (tmp_path / "noise.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "site.toml").write_text('[site."a.example".redis]\nurl = "redis://a"\n')
    assert re.fullmatch(says, complaint(tenax(*words, cwd=tmp_path), 2))
