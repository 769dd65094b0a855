"""Runs a benchmark or soak test by name; lists them without a name."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
PREFIXES = {"bench": "", "soak": "soak_"}


def available(kind: str) -> dict[str, str]:
    """Names of one kind with the first line of their docstrings. Imports none of them."""
    found = {}
    for file in sorted(HERE.glob(f"{PREFIXES[kind]}*.py")):
        is_soak = file.name.startswith(PREFIXES["soak"])
        tree = ast.parse(file.read_text(encoding="utf-8"))
        has_main = any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)
        if has_main and is_soak == (kind == "soak") and not file.name.startswith("_"):
            found[file.stem.removeprefix(PREFIXES[kind])] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def main() -> int:
    kind, *arguments = sys.argv[1:] or ["bench"]
    names = available(kind)
    if arguments and (name := arguments[0].replace("-", "_")) in names:
        arguments[0] = name
    if arguments and arguments[0] in names:
        sys.argv[1:] = arguments[1:]
        runpy.run_module(f"bench.{PREFIXES[kind]}{arguments[0]}", run_name="__main__", alter_sys=True)
        return 0
    is_question = not arguments or arguments[0] in ("-h", "--help")
    out = sys.stdout if is_question else sys.stderr
    if not is_question:
        print(f"scripts/{kind}: there is no {arguments[0]!r}", file=out)
    print(f"scripts/{kind} NAME [--quick] [options]; NAME is one of", file=out)
    width = max(map(len, names), default=0) + 2
    for name, meaning in names.items():
        print(f"  {name:<{width}}{meaning}", file=out)
    return 0 if is_question else 2


if __name__ == "__main__":
    raise SystemExit(main())
