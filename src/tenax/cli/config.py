"""`tenax config`: each value, and where it came from."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tenax.cli import settings
from tenax.cli.parser import add_json

if TYPE_CHECKING:
    from tenax.cli.layout import Ink
    from tenax.config import Loaded

NAME = "config"
SENTENCE = "Show each setting and where it came from. A default, a file, a variable or a flag."
EXAMPLES = """\
  tenax config
  tenax config --all                          with each setting's meaning and its variable
  tenax config --config site.toml --json
  TENAX_CRAWL_MAX_DEPTH=3 tenax config --set politeness.rate_per_second=2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="show also what each setting means, and its variable")
    add_json(parser)
    settings.add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax.cli.layout import Ink, show

    loaded = settings.load(args)
    if args.json:
        show([as_json(loaded)])
    else:
        show(lines(loaded, Ink.on(sys.stdout), with_meanings=args.all))
    return 0


def as_json(loaded: Loaded) -> str:
    import json

    from tenax.config import knobs
    from tenax.logs import inert_json

    document = {
        knob.key: {
            "value": getattr(getattr(loaded.config, knob.section), knob.name),
            "source": loaded.sources[knob.key],
            "variable": knob.variable,
            "meaning": knob.meaning,
        }
        for knob in knobs()
    }
    return inert_json(json.dumps(document, indent=2, ensure_ascii=False))


def lines(loaded: Loaded, ink: Ink, *, with_meanings: bool) -> list[str]:
    """A table a section; values that somebody set stand out."""
    from tenax.cli.layout import columns, plain, shortened, table, width, wrapped
    from tenax.config import knobs
    from tenax.logs import masked

    rows = {}
    for knob in knobs():
        value = _written(getattr(getattr(loaded.config, knob.section), knob.name))
        rows[knob.key] = (knob, plain(masked(value)), plain(loaded.sources[knob.key]))
    names = max(len(key) for key in rows)
    sources = max(width(source) for _, _, source in rows.values())
    room = max(columns() - names - sources - 6, 20)
    if not with_meanings:
        cells = [[key, shortened(value, room), source] for key, (_, value, source) in rows.items()]
        head, *body = table(("setting", "value", "from"), cells, ink)
        is_set = [source != "default" for _, _, source in rows.values()]
        return [head, *[ink.bold(line) if stands_out else line for line, stands_out in zip(body, is_set, strict=True)]]
    result = []
    for key, (knob, value, source) in rows.items():
        mark = source if source == "default" else ink.warm(source)
        result += [f"{ink.bold(key)} = {value}  {ink.dim('from')} {mark}"]
        result += [*wrapped(knob.meaning, "    "), f"    {ink.dim(knob.variable)}", ""]
    return result


def _written(value: object) -> str:
    """A value as a TOML file would hold it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_written(item) for item in value)}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
