"""The rules of the house: imports go down the stairs, clever rooms are pure, files stay small.

Read from the source, function-level imports and imports for types included. The picture is in docs/architecture.md.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"

# From the bottom to the top. A room may use the floors below its own.
FLOORS: tuple[tuple[str, frozenset[str]], ...] = (
    ("ground", frozenset({"version", "errors", "model", "clock", "config", "logs", "metrics", "runtime", "text"})),
    ("rooms", frozenset({"urls", "extract", "discovery", "recrawl", "hosts", "database", "events"})),
    ("fetch", frozenset({"fetch"})),
    ("crawl", frozenset({"crawl"})),
    ("services", frozenset({"services"})),
    ("trace", frozenset({"trace"})),
    ("demo", frozenset({"demo"})),
    ("command line", frozenset({"cli"})),
    ("doors", frozenset({"__main__", ""})),
)
LEVEL = {room: level for level, (_, rooms) in enumerate(FLOORS) for room in rooms}
# Modules on these floors may use each other; those on the floor of rooms meet only further up.
SHARED_FLOORS = frozenset({"ground"})

# What is machinery, and may be exchanged for another. Only the two files of wiring say which one it is.
WIRING = {"tenax.crawl.wiring", "tenax.services.wiring"}
BACKENDS = (
    *(
        "tenax.database.sqlite",
        "tenax.database.postgres",
        "tenax.events.jsonl",
        "tenax.events.kafka",
        "tenax.events.redis",
        "tenax.hosts.records",
        "tenax.hosts.limiter.machine",
    ),
    *("tenax.fetch.http", "tenax.fetch.curl", "tenax.fetch.browser", "tenax.hosts.redis"),
    *("tenax.services.page_fetcher.redis_queue", "tenax.services.page_fetcher.redis_status"),
    "tenax.services.scheduler.redis_store",
)
NAMES_A_BACKEND = {
    (
        "tenax.crawl.progress",
        "tenax.hosts.records",
    ): "shows every host this process holds, which is what that backend is",
    ("tenax.crawl.app", "tenax.hosts.records"): "passes it to the progress views",
    ("tenax.hosts.redis.sharing", "tenax.hosts.records"): "is given the one that stands in for Redis",
    ("tenax.hosts.redis.records", "tenax.hosts.records"): "stands in for Redis while that is away",
    ("tenax.services.page_fetcher.redis_status", "tenax.hosts.redis"): "reads what is kept there, and nothing else",
}

PURE = (
    *(
        "tenax.urls",
        "tenax.extract",
        "tenax.discovery",
        "tenax.crawl.page_record",
        "tenax.text.escaping",
        "tenax.text.masking",
        "tenax.crawl.reader.messages",
        "tenax.crawl.link_graph",
    ),
    *("tenax.hosts.rules", "tenax.hosts.throttle", "tenax.hosts.breaker", "tenax.hosts.budget", "tenax.hosts.cooldown"),
    *(
        "tenax.hosts.transport_choice",
        "tenax.hosts.backoff",
        "tenax.hosts.robots",
        "tenax.hosts.robots_index",
        "tenax.hosts.limiter.pace",
        "tenax.hosts.limiter.process",
    ),
    "tenax.hosts.redis.limiter_shares",
    *(
        "tenax.database.schedule",
        "tenax.database.clock_rollback",
        "tenax.database.postgres.reconnect",
        "tenax.database.report_rows",
        "tenax.database.page_codec",
        "tenax.database.duplicates",
        "tenax.database.visit_rows",
        "tenax.database.in_links",
        "tenax.database.admission_rate",
        "tenax.database.links",
        "tenax.database.candidates",
        "tenax.database.reports",
        "tenax.database.robots_cache",
        "tenax.database.rows",
        "tenax.fetch.addresses",
        "tenax.fetch.bodies",
    ),
    *("tenax.fetch.answer", "tenax.fetch.host_update"),
    *("tenax.fetch.cache", "tenax.fetch.classify", "tenax.fetch.decide", "tenax.fetch.fallback", "tenax.fetch.headers"),
    "tenax.fetch.framing",
    "tenax.fetch.limits",
    *("tenax.fetch.policy", "tenax.fetch.proxies", "tenax.fetch.redirects", "tenax.fetch.retry", "tenax.fetch.target"),
    *(
        "tenax.fetch.validate",
        "tenax.fetch.block_page_signatures",
        "tenax.fetch.block_page_words",
        "tenax.fetch.browser.session_rules",
    ),
    "tenax.fetch.browser.page_rules",
    *("tenax.events.page_line", "tenax.services.scheduler.plan"),
    *(
        f"tenax.services.page_fetcher.{room}"
        for room in (
            "backoff",
            "disposition",
            "events",
            "intake",
            "items",
            "redis_scripts",
            "scheduler",
            "settings",
            "status",
        )
    ),
)
# What pure rooms may use besides each other: nouns, failures, settings, and the front pages that declare protocols.
PURE_ENOUGH = frozenset(
    {"tenax.model", "tenax.errors", "tenax.config", "tenax.version", "tenax.fetch", "tenax.hosts", "tenax.database"}
    | {"tenax.services.page_fetcher", "tenax.services.scheduler"}
)
IMPURE = frozenset({
    "aiohappyeyeballs", "asyncio", "concurrent", "http", "io", "logging", "multiprocessing", "os", "pathlib", "random",
    "requests", "select", "selectors", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile",
    "threading", "time", "uuid",
})  # fmt: skip
IMPURE_CALLS = frozenset({"open", "print", "input", "now", "utcnow", "today"})
USES_IMPURE = {
    ("tenax.fetch.bodies", "sys"): "asks which Python this is, to find the zstd of its standard library",
    ("tenax.extract.native.binding", "threading"): "loads the native library once, whichever thread is first",
}

# What makes a part of a pure room before Tenax runs. Whoever runs asks only where that part is.
MAKERS = {"tenax.extract.native.build": "library_path", "tenax.extract.native.make_unicode": None}
NATIVE = SOURCE / "tenax" / "extract" / "native"

# Where a library may be named, so that it can be replaced.
HOMES = {
    "aiohappyeyeballs": ("tenax.fetch.connect",),
    "asyncpg": ("tenax.database.postgres.connection",),
    "brotli": ("tenax.fetch.bodies",),
    "confluent_kafka": ("tenax.events.kafka",),
    "can_ada": ("tenax.urls.normalize", "tenax.fetch.redirects"),
    "curl_cffi": ("tenax.fetch.curl.handles",),
    "igraph": ("tenax.crawl.link_graph",),
    "httptools": ("tenax.fetch.http.wire", "tenax.fetch.http.heads", "tenax.fetch.failures"),
    "playwright": ("tenax.fetch.browser",),
    "prometheus_client": ("tenax.metrics",),
    "protego": ("tenax.hosts.robots",),
    "publicsuffixlist": ("tenax.urls.scope",),
    "pycares": ("tenax.fetch.dns",),
    "re2": ("tenax.urls.patterns", "tenax.text.escaping"),
    "redis": ("tenax.events.redis", "tenax.hosts.redis", "tenax.services"),
    "rich": ("tenax.cli.views.progress",),
    "selectolax": ("tenax.extract.html.parser", "tenax.extract.html.node", "tenax.extract.native.binding"),
    "sqlite3": ("tenax.database.sqlite",),
    "uvloop": ("tenax.cli.run_crawl", "tenax.demo.__main__"),
    "yaml": ("tenax.cli.commands.schedule",),
}

MOST_LINES = 400


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(file): file for file in sorted((SOURCE / "tenax").rglob("*.py"))}


@pytest.fixture(scope="module", autouse=True)
def _trees_are_let_go() -> Iterator[None]:
    """Else the tests that come after these share their memory with every line of the source."""
    yield
    nodes_of.cache_clear()


@cache
def nodes_of(module: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))))


@cache
def imports_of(module: str) -> frozenset[str]:
    """Everything a module imports, wherever in it: a name is the module it comes from, or the module it is."""
    found: set[str] = set()
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{module}:{node.lineno}: write imports in full"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else node.module)
    return frozenset(found)


def ours(module: str) -> frozenset[str]:
    return frozenset(name for name in imports_of(module) if is_below(name, "tenax"))


def is_below(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def room_of(module: str) -> str:
    """`urls` of `tenax.urls.normalize`; empty for the package itself."""
    return module.removeprefix("tenax").removeprefix(".").partition(".")[0]


def is_pure(module: str) -> bool:
    return any(is_below(module, room) for room in PURE)


def test_every_module_has_a_floor() -> None:
    homeless = [module for module in MODULES if room_of(module) not in LEVEL]
    assert not homeless, "give it a floor here and a line in docs/architecture.md"


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down_the_stairs(module: str) -> None:
    home = room_of(module)
    floor = FLOORS[LEVEL[home]][0]
    for name in ours(module):
        room = room_of(name)
        if room == home or (floor in SHARED_FLOORS and room in FLOORS[LEVEL[home]][1]):
            continue
        assert LEVEL[room] < LEVEL[home], f"{module} imports {name}, which is not below it"


def test_nothing_imports_in_a_circle() -> None:
    try:
        TopologicalSorter({module: ours(module) - {module} for module in MODULES}).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' → '.join(error.args[1])}; move what they share into a third")


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_wiring_names_a_backend(backend: str) -> None:
    naming = {module for module in MODULES if any(is_below(name, backend) for name in ours(module))}
    allowed = {module for module in naming if is_below(module, backend) or (module, backend) in NAMES_A_BACKEND}
    assert naming - allowed, f"nobody uses {backend}"
    assert naming - allowed <= WIRING, f"ask for the protocol on the front page instead of {backend}"


@pytest.mark.parametrize("module", [module for module in MODULES if is_pure(module) and module not in MAKERS])
def test_pure_rooms_touch_nothing(module: str) -> None:
    for name in imports_of(module):
        top = name.partition(".")[0]
        assert top not in IMPURE or (module, top) in USES_IMPURE, f"{module} is pure and imports {name}"
        if top == "tenax":
            assert is_pure(name) or name in PURE_ENOUGH, f"{module} is pure and imports {name}, which is not"
    for node in nodes_of(module):
        assert not isinstance(node, (ast.AsyncFunctionDef, ast.Await)), f"{module}:{node.lineno}: nothing waits here"
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            assert called not in IMPURE_CALLS, f"{module}:{node.lineno}: {called}() reaches outside"


@pytest.mark.parametrize("maker", MAKERS)
def test_what_makes_a_part_runs_with_nothing_installed_and_is_asked_where_it_is_only(maker: str) -> None:
    foreign = {name for name in imports_of(maker) if name.partition(".")[0] not in sys.stdlib_module_names}
    assert not foreign, f"{maker} must run before anything is installed"
    asked = {
        alias.name
        for module in MODULES
        for node in nodes_of(module)
        if isinstance(node, ast.ImportFrom) and node.module == maker
        for alias in node.names
    }
    assert asked <= {MAKERS[maker]}, f"{maker} is asked for more than {MAKERS[maker]}"


@pytest.mark.parametrize("file", sorted(NATIVE.glob("*.[ch]")), ids=lambda file: file.name)
def test_c_is_as_short_as_python_and_has_its_sign_too(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert text.startswith("/* "), "begin it with a sentence that says what it is for"
    assert len(lines) <= MOST_LINES, f"longer than {MOST_LINES} lines: look for the second idea in it"
    untidy = [at for at, line in enumerate(lines, 1) if len(line) > 120 or "\t" in line or line != line.rstrip()]
    assert not untidy, f"{file.name}: too long, a tab, or space at the end: {untidy}"


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_named_at_its_home_only(library: str) -> None:
    naming = {module for module in MODULES if any(is_below(name, library) for name in imports_of(module))}
    strangers = {module for module in naming if not any(is_below(module, home) for home in HOMES[library])}
    assert not strangers, f"{library} has its home in {', '.join(HOMES[library])}"
    assert naming, f"nobody imports {library} any more: take it off this table"


def test_exceptions_are_still_needed() -> None:
    for module, backend in NAMES_A_BACKEND:
        assert any(is_below(name, backend) for name in ours(module)), f"{module} no longer names {backend}"
    for module, library in USES_IMPURE:
        assert library in imports_of(module), f"{module} no longer imports {library}"
    for room in PURE:
        assert any(is_below(module, room) for module in MODULES), f"there is no {room} any more"


def test_no_file_is_full() -> None:
    lines = {module: len(file.read_text(encoding="utf-8").splitlines()) for module, file in MODULES.items()}
    full = {module: count for module, count in lines.items() if count > MOST_LINES}
    assert not full, f"longer than {MOST_LINES} lines: look for the second idea in it"


def test_every_module_has_a_sign_on_its_door() -> None:
    files = [*MODULES.values(), *(ROOT / "bench").rglob("*.py"), *(ROOT / "docs").glob("*.py")]
    silent = [file for file in files if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))]
    assert not silent, "begin it with a sentence that says what it is for"


def test_names_say_something() -> None:
    empty_words = {"utils", "util", "helpers", "helper", "common", "misc", "base"}
    vague = [module for module in MODULES if set(module.split(".")) & empty_words]
    for module in MODULES:
        classes = [node.name for node in nodes_of(module) if isinstance(node, ast.ClassDef)]
        vague += [f"{module}.{name}" for name in classes if re.search(r"^_?Base[A-Z]|(Manager|Helper|Utils?)$", name)]
    assert not vague


def test_nothing_is_left_for_later() -> None:
    marks = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]) + r")\b")
    kept = [*MODULES.values(), *NATIVE.glob("*.[ch]"), *ROOT.glob("*.md"), *(ROOT / "scripts").iterdir()]
    kept += [file for folder in ("bench", "docs", "tests") for file in (ROOT / folder).rglob("*.*")]
    for file in kept:
        if file.suffix in (".py", ".md", ".sql", ".toml", ".c", ".h", ""):
            found = marks.search(file.read_text(encoding="utf-8"))
            assert found is None, f"{file.relative_to(ROOT)} says {found[0] if found else ''}: do it, or drop it"
