"""Settings, commands, exit codes, metrics and the package layout, taken from the code for the documents."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

from docs.wording import table
from tenax.cli.commands import VERBS
from tenax.cli.parser import EXIT_CODES
from tenax.cli.settings import FLAGS, flag_spelling
from tenax.config import Config, Setting, all_settings
from tenax.metrics import METRICS, Metric
from tenax.model import CONTENT_FIELDS, PageContent, content

_EXIT_CODE = re.compile(r"^ *(\d+)  (.+)$", re.MULTILINE)


def setting_tables() -> str:
    """A table for every section of the config."""
    sections: dict[str, list[Setting]] = {}
    for setting in all_settings():
        sections.setdefault(setting.section, []).append(setting)
    types = get_type_hints(Config)
    blocks = []
    for section, members in sections.items():
        rows = [[_named(setting), _default(setting), _accepts(setting), setting.meaning] for setting in members]
        blocks.append(f"### {section}\n\n{types[section].__doc__}\n\n{table(_HEAD_OF_SETTINGS, rows)}")
    return "\n\n".join(blocks)


_HEAD_OF_SETTINGS = ("setting", "default", "accepts", "meaning")


def _named(setting: Setting) -> str:
    flag = next((name for name, key in FLAGS.items() if key == setting.key), None)
    return f"`{setting.key}`" + (f"<br>`{flag_spelling(flag)}`" if flag else "")


def _default(setting: Setting) -> str:
    if isinstance(setting.default, tuple):
        return ", ".join(f"`{item}`" for item in setting.default) or "none"
    if isinstance(setting.default, str):
        return f"`{setting.default}`" if setting.default else "empty"
    return f"`{str(setting.default).lower()}`"


def _accepts(setting: Setting) -> str:
    """The type of the value and its bounds, in words."""
    if get_origin(setting.type) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(setting.type))
    if setting.is_list:
        return "a list of numbers" if get_args(setting.type)[0] is int else "a list"
    kind = {int: "a whole number", float: "a number", str: "text", bool: "`true`, `false`"}[setting.type]
    note = get_args(get_type_hints(get_type_hints(Config)[setting.section], include_extras=True)[setting.name])[1]
    bounds = [(note.ge, "from {:,}"), (note.gt, "above {:,}"), (note.le, "to {:,}"), (note.lt, "below {:,}")]
    return " ".join([kind, *(words.format(bound) for bound, words in bounds if bound is not None)])


def page_fetcher_settings() -> str:
    """The settings of the page-fetcher, by variable name."""
    own = [setting for setting in all_settings() if setting.section == "page_fetcher"]
    rows = [[f"`{setting.variables[-1]}`", _default(setting), _accepts(setting), setting.meaning] for setting in own]
    return table(("variable", "default", "accepts", "meaning"), rows)


def exit_codes() -> dict[int, str]:
    """Every exit code and its meaning, as in `tenax --help`."""
    return {int(code): meaning for code, meaning in _EXIT_CODE.findall(EXIT_CODES)}


def exit_code_table() -> str:
    return table(("code", "meaning"), [[f"`{code}`", meaning] for code, meaning in exit_codes().items()])


def content_field_table() -> str:
    """The fields of `PageContent` with their docstrings."""
    [fields] = [
        node.body
        for node in ast.parse(inspect.getsource(content)).body
        if isinstance(node, ast.ClassDef) and node.name == PageContent.__name__
    ]
    rows = [
        (f"`{field.target.id}`", " ".join(text.value.value.split()))
        for field, text in pairwise(fields)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    ]
    assert len(rows) == len(CONTENT_FIELDS), "every field has a docstring"
    return table(("field", "meaning"), rows)


def metric_table(metrics: Sequence[Metric] = METRICS) -> str:
    rows = [[f"`{one.name}`", one.type, f"`{one.label}`" if one.label else "", one.meaning] for one in metrics]
    return table(("metric", "type", "label", "meaning"), rows)


def verb_parsers() -> dict[str, argparse.ArgumentParser]:
    """The argument parser of each verb."""
    parsers = {}
    for verb in VERBS:
        parsers[verb.NAME] = argparse.ArgumentParser(prog=f"tenax {verb.NAME}", add_help=False)
        verb.add_arguments(parsers[verb.NAME])
    return parsers


def command_reference() -> str:
    """A section for every verb: description, arguments, examples."""
    sentences = {verb.NAME: (verb.DESCRIPTION, verb.EXAMPLES) for verb in VERBS}
    blocks = []
    for name, parser in verb_parsers().items():
        sentence, examples = sentences[name]
        rows = [[_spelled(action), (action.help or "").replace("%%", "%")] for action in parser._actions]
        lines = "\n".join(line.strip() for line in examples.strip().splitlines())
        arguments = table(("argument", "meaning"), rows)
        blocks.append(f"## tenax {name}\n\n{sentence}\n\n{arguments}\n\n```sh\n{_aligned_comments(lines)}\n```")
    return "\n\n".join(blocks)


def _spelled(action: argparse.Action) -> str:
    takes = "" if action.nargs == 0 else f" {action.metavar or '|'.join(action.choices or [action.dest.upper()])}"
    if not action.option_strings:
        return f"`{takes.strip()}`"
    return ", ".join(f"`{option}{takes if option.startswith('--') else ''}`" for option in action.option_strings)


def _aligned_comments(lines: str) -> str:
    """In the help a comment follows two or more spaces; in a shell it needs a `#`."""
    return re.sub(r" {2,}(?=\S)", "  # ", lines)


SOURCE = Path(__file__).parent.parent / "src" / "tenax"
GROUPS = (
    ("model", "config", "runtime", "text"),
    ("urls", "extract", "discovery", "recrawl", "hosts", "database", "events"),
    ("fetch",),
    ("crawl",),
    ("services", "trace", "demo"),
    ("cli",),
)
"""From the bottom to the top, as in tests/test_architecture.py."""
_WIDTH = 110


def layout() -> str:
    """The packages with their first sentence and their modules, and the modules beside them."""
    loose = " ".join(sorted(file.stem for file in SOURCE.glob("*.py") if not file.stem.startswith("__")))
    groups = [f"src/tenax/\n  {loose}", *("\n".join(map(_package, group)) for group in GROUPS)]
    return "```text\n" + "\n\n".join(groups) + "\n```"


def _package(name: str, depth: int = 1) -> str:
    folder = SOURCE / name
    indent = "  " * depth
    sentence = first_sentence(folder / "__init__.py")
    modules = " ".join(sorted(file.stem for file in folder.glob("*.py") if not file.stem.startswith("__")))
    lines = textwrap.wrap(
        f"{folder.name}/  {sentence}", _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    "
    )
    lines += textwrap.wrap(modules, _WIDTH, initial_indent=f"{indent}  ", subsequent_indent=f"{indent}  ")
    inside = sorted(one.parent.relative_to(SOURCE) for one in folder.glob("*/__init__.py"))
    return "\n".join([*lines, *(_package(str(one), depth + 1) for one in inside)])


def first_sentence(file: Path) -> str:
    text = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n\n")[0]
    return re.split(r"(?<=\.) (?=[A-Z`])", " ".join(text.split()))[0]
