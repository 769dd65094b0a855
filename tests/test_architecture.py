"""Rules of the layout: imports go from upper to lower layers only, pure modules do no I/O, files stay short.

They are read from the source, function-level imports and imports for types included. docs/architecture.md describes the
layout.
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

# From the bottom to the top. A package may import those of lower layers. Modules of src/tenax itself count as packages.
LAYERS: tuple[tuple[str, frozenset[str]], ...] = (
    ("foundation", frozenset({"version", "errors", "model", "clock", "config", "logs", "metrics", "runtime", "text"})),
    ("parts", frozenset({"urls", "extract", "discovery", "recrawl", "hosts", "database", "events"})),
    ("fetch", frozenset({"fetch"})),
    ("crawl", frozenset({"crawl"})),
    ("services", frozenset({"services"})),
    ("trace", frozenset({"trace"})),
    ("demo", frozenset({"demo"})),
    ("command line", frozenset({"cli"})),
    ("entry points", frozenset({"__main__", ""})),
)
LEVEL = {package: level for level, (_, packages) in enumerate(LAYERS) for package in packages}
# Packages of these layers may import each other. Those of another layer are only combined by upper layers.
SHARED_LAYERS = frozenset({"foundation"})

# Implementations of a protocol, which can be exchanged for another. Only the two wiring modules import them.
WIRING = {"tenax.crawl.wiring", "tenax.services.wiring"}
BACKENDS = (
    "tenax.database.sqlite",
    "tenax.database.postgres",
    "tenax.events.jsonl",
    "tenax.events.kafka",
    "tenax.events.redis",
    "tenax.hosts.records",
    "tenax.hosts.limiter.machine",
    "tenax.fetch.http",
    "tenax.fetch.curl",
    "tenax.fetch.browser",
    "tenax.hosts.redis",
    "tenax.services.page_fetcher.redis_queue",
    "tenax.services.scheduler.redis_store",
)
BACKEND_IMPORTS = {
    ("tenax.crawl.app", "tenax.hosts.records"): "reports every host in the memory of this process",
    ("tenax.hosts.redis.sharing", "tenax.hosts.records"): "receives the one that replaces Redis during an outage",
    ("tenax.hosts.redis.records", "tenax.hosts.records"): "uses it while Redis is unavailable",
    ("tenax.services.page_fetcher.redis_queue", "tenax.hosts.redis"): "only reads what is stored there",
}

# All others take the Protocol that they use: `Frontier`, `Outbox`, `Reports` or `Records`.
WHOLE_DATABASE = {
    "tenax.crawl.wiring": "opens it",
    "tenax.cli.settings": "opens it for commands",
    "tenax.crawl.app": "closes it",
}

PURE = (
    "tenax.crawl.link_graph",
    "tenax.crawl.reader.messages",
    "tenax.crawl.reader.read_page",
    "tenax.crawl.url_lists",
    "tenax.crawl.visits",
    "tenax.database.admission",
    "tenax.database.corrections",
    "tenax.database.duplicates",
    "tenax.database.page_codec",
    "tenax.database.report_rows",
    "tenax.database.reports",
    "tenax.database.rows",
    "tenax.database.schedule",
    "tenax.database.visit_rows",
    "tenax.discovery",
    "tenax.extract",
    "tenax.fetch.addresses",
    "tenax.fetch.answer",
    "tenax.fetch.block_page_signatures",
    "tenax.fetch.bodies",
    "tenax.fetch.browser.rules",
    "tenax.fetch.headers",
    "tenax.fetch.preflight",
    "tenax.fetch.proxies",
    "tenax.fetch.retry",
    "tenax.fetch.setting_conditions",
    "tenax.fetch.validate",
    "tenax.hosts.limiter.process",
    "tenax.hosts.redis.limiter_shares",
    "tenax.hosts.robots",
    "tenax.hosts.robots_index",
    "tenax.hosts.rules",
    "tenax.hosts.throttle",
    "tenax.services.page_fetcher.disposition",
    "tenax.services.page_fetcher.host_queue",
    "tenax.services.page_fetcher.intake",
    "tenax.services.page_fetcher.redis_scripts",
    "tenax.services.page_fetcher.status",
    "tenax.text",
    "tenax.urls",
)
# Packages of which only the front page is pure.
PURE_FRONT_PAGES = frozenset({"tenax.events"})
# What pure modules may import besides each other: values, errors, settings, and packages that declare protocols.
ALLOWED_IN_PURE = frozenset(
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
    ("tenax.extract.html.lexbor_functions", "os"): "has the system test addresses, with a pipe",
    ("tenax.extract.html.parser", "sys"): "counts the references to a tree, to reuse its document",
    ("tenax.fetch.bodies", "sys"): "checks the Python version, because newer ones have zstd in the standard library",
    ("tenax.extract.native.binding", "threading"): "loads the native library once, also with several threads",
}
ASYNC_IN_PURE = {
    "tenax.events": "declares asynchronous protocols",
    "tenax.hosts.limiter.process": "implements an asynchronous protocol, and waits for nothing",
}

# Modules that build the native library before Tenax runs, and the only name that others may import from each.
BUILD_MODULES = {
    "tenax.extract.native.build": "library_path",
    "tenax.extract.native.make_constants": None,
    "tenax.extract.native.make_unicode": None,
}
NATIVE = SOURCE / "tenax" / "extract" / "native"

# The only modules that may import a library, so that it can be replaced.
LIBRARY_MODULES = {
    "aiohappyeyeballs": ("tenax.fetch.connect",),
    "asyncpg": ("tenax.database.postgres.connection",),
    "brotli": ("tenax.fetch.bodies",),
    "confluent_kafka": ("tenax.events.kafka",),
    "can_ada": ("tenax.urls.normalize", "tenax.fetch.answer"),
    "curl_cffi": ("tenax.fetch.curl.handles",),
    "igraph": ("tenax.crawl.link_graph",),
    "httptools": ("tenax.fetch.http.wire", "tenax.fetch.http.heads", "tenax.fetch.failures"),
    "playwright": ("tenax.fetch.browser",),
    "prometheus_client": ("tenax.metrics",),
    "protego": ("tenax.hosts.robots",),
    "publicsuffixlist": ("tenax.urls.scope",),
    "pycares": ("tenax.fetch.dns",),
    "re2": ("tenax.urls.scope", "tenax.text.sanitize"),
    "redis": ("tenax.runtime.redis", "tenax.events.redis", "tenax.hosts.redis", "tenax.services"),
    "rich": ("tenax.cli.views.progress",),
    "selectolax": (
        *("tenax.extract.html.lexbor_functions", "tenax.extract.html.parser", "tenax.extract.html.tree"),
        "tenax.extract.native.binding",
    ),
    "sqlite3": ("tenax.database.sqlite",),
    "uvloop": ("tenax.cli.run_crawl", "tenax.demo.__main__"),
    "yaml": ("tenax.cli.commands.schedule",),
}

MAX_LINES = 400
MAX_PARAMETERS = 7
MAX_POSITIONAL = 6
MAX_UNNAMED_ARGUMENTS = 5


def module_name(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(file): file for file in sorted((SOURCE / "tenax").rglob("*.py"))}


@pytest.fixture(scope="module", autouse=True)
def _clear_syntax_trees() -> Iterator[None]:
    """Frees the syntax trees of the whole source for the tests that follow."""
    yield
    nodes_of.cache_clear()


@cache
def nodes_of(module: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))))


@cache
def imports_of(module: str) -> frozenset[str]:
    """Every module that a module imports, anywhere in it; for an imported name, the module that it comes from."""
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


def own_imports(module: str) -> frozenset[str]:
    return frozenset(name for name in imports_of(module) if is_below(name, "tenax"))


def is_below(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def package_of(module: str) -> str:
    """`urls` of `tenax.urls.normalize`; empty for the package itself."""
    return module.removeprefix("tenax").removeprefix(".").partition(".")[0]


def is_pure(module: str) -> bool:
    return module in PURE_FRONT_PAGES or any(is_below(module, pure) for pure in PURE)


def test_every_package_has_a_layer() -> None:
    unknown = [module for module in MODULES if package_of(module) not in LEVEL]
    assert not unknown, "add the package to LAYERS here and to docs/architecture.md"


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_to_lower_layers_only(module: str) -> None:
    package = package_of(module)
    layer, neighbours = LAYERS[LEVEL[package]]
    for name in own_imports(module):
        imported = package_of(name)
        if imported == package or (layer in SHARED_LAYERS and imported in neighbours):
            continue
        assert LEVEL[imported] < LEVEL[package], f"{module} imports {name}, which is not in a lower layer"


def test_modules_do_not_import_each_other() -> None:
    try:
        TopologicalSorter({module: own_imports(module) - {module} for module in MODULES}).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' → '.join(error.args[1])}; move what they share to a third module")


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_wiring_imports_a_backend(backend: str) -> None:
    importing = {module for module in MODULES if any(is_below(name, backend) for name in own_imports(module))}
    allowed = {module for module in importing if is_below(module, backend) or (module, backend) in BACKEND_IMPORTS}
    assert importing - allowed, f"no module imports {backend}"
    assert importing - allowed <= WIRING, f"use the protocol that the package declares instead of {backend}"


def test_few_modules_see_the_whole_database() -> None:
    naming = {
        module
        for module in MODULES
        for node in nodes_of(module)
        if isinstance(node, ast.ImportFrom) and node.module == "tenax.database"
        if any(alias.name == "Database" for alias in node.names)
    }
    assert naming == WHOLE_DATABASE.keys(), "take the narrowest Protocol of tenax.database instead"


def test_nobody_asks_which_backend_it_has() -> None:
    asking = [
        f"{module}:{node.lineno}"
        for module in MODULES
        for node in nodes_of(module)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance"
        if any(isinstance(name, ast.Name) and name.id.endswith("Database") for name in ast.walk(node.args[1]))
    ]
    assert not asking, "add what you need to the Protocol of tenax.database instead"


@pytest.mark.parametrize("module", [module for module in MODULES if is_pure(module) and module not in BUILD_MODULES])
def test_pure_modules_do_no_io(module: str) -> None:
    for name in imports_of(module):
        top = name.partition(".")[0]
        assert top not in IMPURE or (module, top) in USES_IMPURE, f"{module} is pure and imports {name}"
        if top == "tenax":
            assert is_pure(name) or name in ALLOWED_IN_PURE, f"{module} is pure and imports {name}, which is not"
    for node in nodes_of(module):
        assert not isinstance(node, ast.AsyncFunctionDef) or module in ASYNC_IN_PURE, f"{module}:{node.lineno}: async"
        assert not isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)), f"{module}:{node.lineno}: it awaits"
        assert not getattr(node, "is_async", 0), f"{module}: it awaits in a comprehension"
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            assert called not in IMPURE_CALLS, f"{module}:{node.lineno}: {called}() is I/O or reads a clock"


@pytest.mark.parametrize("build", BUILD_MODULES)
def test_build_modules_use_the_standard_library_only_and_export_one_name(build: str) -> None:
    foreign = {name for name in imports_of(build) if name.partition(".")[0] not in sys.stdlib_module_names}
    assert not foreign, f"{build} must run before anything is installed"
    imported = {
        alias.name
        for module in MODULES
        for node in nodes_of(module)
        if isinstance(node, ast.ImportFrom) and node.module == build
        for alias in node.names
    }
    assert imported <= {BUILD_MODULES[build]}, f"only {BUILD_MODULES[build]} may be imported from {build}"


@pytest.mark.parametrize("file", sorted(NATIVE.glob("*.[ch]")), ids=lambda file: file.name)
def test_c_files_are_short_and_begin_with_a_description(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert text.startswith("/* "), "begin the file with a sentence that says what it is for"
    assert len(lines) <= MAX_LINES, f"longer than {MAX_LINES} lines: split it"
    untidy = [at for at, line in enumerate(lines, 1) if len(line) > 120 or "\t" in line or line != line.rstrip()]
    assert not untidy, f"{file.name}: too long, a tab, or space at the end: {untidy}"


@pytest.mark.parametrize("library", LIBRARY_MODULES)
def test_a_library_is_imported_by_its_modules_only(library: str) -> None:
    importing = {module for module in MODULES if any(is_below(name, library) for name in imports_of(module))}
    others = {module for module in importing if not any(is_below(module, name) for name in LIBRARY_MODULES[library])}
    assert not others, f"only {', '.join(LIBRARY_MODULES[library])} may import {library}"
    assert importing, f"no module imports {library} any more: remove it from LIBRARY_MODULES"


def test_every_exception_is_still_needed() -> None:
    for module, backend in BACKEND_IMPORTS:
        assert any(is_below(name, backend) for name in own_imports(module)), f"{module} no longer imports {backend}"
    for module, library in USES_IMPURE:
        assert library in imports_of(module), f"{module} no longer imports {library}"
    for module in ASYNC_IN_PURE:
        is_async = any(isinstance(node, ast.AsyncFunctionDef) for node in nodes_of(module))
        assert is_async, f"{module} is no longer asynchronous"
    for pure in PURE:
        assert any(is_below(module, pure) for module in MODULES), f"there is no {pure} any more"


def test_no_file_is_too_long() -> None:
    lines = {module: len(file.read_text(encoding="utf-8").splitlines()) for module, file in MODULES.items()}
    long = {module: count for module, count in lines.items() if count > MAX_LINES}
    assert not long, f"longer than {MAX_LINES} lines: split it"


def signatures() -> Iterator[tuple[str, ast.arguments]]:
    """The parameters of every function, with its place; without those that Python passes itself."""
    for module in MODULES:
        methods = {id(part) for node in nodes_of(module) if isinstance(node, ast.ClassDef) for part in node.body}
        for node in nodes_of(module):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                is_static = any(getattr(decorator, "id", "") == "staticmethod" for decorator in node.decorator_list)
                positional = [*node.args.posonlyargs, *node.args.args][id(node) in methods and not is_static :]
                named = node.args.kwonlyargs
                yield f"{module}:{node.lineno}: {node.name}", ast.arguments([], positional, None, named, [], None, [])


def test_no_function_takes_too_many_parameters() -> None:
    long = [
        place
        for place, parameters in signatures()
        if len(parameters.args) > MAX_POSITIONAL or len(parameters.args + parameters.kwonlyargs) > MAX_PARAMETERS
    ]
    assert not long, "give what belongs together a name: a frozen value with fields"


def test_values_with_many_fields_are_frozen() -> None:
    long = [
        f"{module}:{node.lineno}: {node.name}"
        for module in MODULES
        for node in nodes_of(module)
        if isinstance(node, ast.ClassDef)
        if not {ast.unparse(base) for base in node.bases} & {"NamedTuple", "Protocol", "ctypes.Structure"}
        if not any(keyword.arg == "frozen" and ast.unparse(keyword.value) == "True" for keyword in node.keywords)
        if len([part for part in node.body if isinstance(part, ast.AnnAssign)]) > MAX_PARAMETERS
    ]
    assert not long, "a class that changes takes finished parts; freeze the values among them"


def test_long_calls_name_their_arguments() -> None:
    """Calls of functions and classes of ours; those that take any number of arguments have no names to give."""
    takes_any_number: set[str] = set()
    ours = {"cls"}
    for node in (node for module in MODULES for node in nodes_of(module)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.args.vararg:
            takes_any_number.add(node.name)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            ours.add(node.name)
    unnamed = [
        f"{module}:{node.lineno}: {called}"
        for module in MODULES
        for node in nodes_of(module)
        if isinstance(node, ast.Call) and len(node.args) > MAX_UNNAMED_ARGUMENTS
        if (called := getattr(node.func, "id", getattr(node.func, "attr", ""))) in ours - takes_any_number
        if not any(isinstance(argument, ast.Starred) for argument in node.args)
    ]
    assert not unnamed, f"more than {MAX_UNNAMED_ARGUMENTS} arguments without a name"


def test_every_module_has_a_docstring() -> None:
    files = [*MODULES.values(), *(ROOT / "bench").rglob("*.py"), *(ROOT / "docs").glob("*.py")]
    missing = [file for file in files if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))]
    assert not missing, "begin the file with a sentence that says what it is for"


def test_names_are_specific() -> None:
    vague_words = {"utils", "util", "helpers", "helper", "common", "misc", "base"}
    vague = [module for module in MODULES if set(module.split(".")) & vague_words]
    for module in MODULES:
        classes = [node.name for node in nodes_of(module) if isinstance(node, ast.ClassDef)]
        vague += [f"{module}.{name}" for name in classes if re.search(r"^_?Base[A-Z]|(Manager|Helper|Utils?)$", name)]
    assert not vague


def test_no_open_tasks_in_comments() -> None:
    marks = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]) + r")\b")
    files = [*MODULES.values(), *NATIVE.glob("*.[ch]"), *ROOT.glob("*.md"), *(ROOT / "scripts").iterdir()]
    files += [file for folder in ("bench", "docs", "tests") for file in (ROOT / folder).rglob("*.*")]
    for file in files:
        if file.suffix in (".py", ".md", ".sql", ".toml", ".c", ".h", ""):
            found = marks.search(file.read_text(encoding="utf-8"))
            assert found is None, f"{file.relative_to(ROOT)} has {found[0] if found else ''}: do it or remove it"
