"""`tenax config`: each value, and where it came from."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from tenax.cli import settings
from tenax.cli.parser import add_json
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.cli.views.tables import Ink
    from tenax.config import Knob, Loaded

NAME = "config"
SENTENCE = "Show each setting and where it came from. A default, a file, a variable, a site's own table or a flag."
EXAMPLES = """\
  tenax config
  tenax config --all                                        with each setting's meaning and its variable
  tenax config --config site.toml --host www.example.org    as it holds for one host
  TENAX_CRAWL_MAX_DEPTH=3 tenax config --set politeness.rate_per_second=2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="show also what each setting means, and its variable")
    parser.add_argument("--host", metavar="H", help="show what holds for this host, by its name or a URL of it")
    add_json(parser)
    settings.add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax.cli.views.tables import Ink, show

    loaded = settings.load(args)
    if args.host is not None:
        loaded = loaded.at(_host_name(args.host))
    if args.json:
        show([as_json(loaded)])
    else:
        show(lines(loaded, Ink.on(sys.stdout), with_meanings=args.all))
    return 0


def as_json(loaded: Loaded) -> str:
    import json

    from tenax.config import knobs
    from tenax.text.escaping import escape_json

    document = {
        knob.key: {
            "value": _shown(loaded, knob),
            "source": loaded.sources[knob.key],
            "variable": knob.variable,
            "meaning": knob.meaning,
        }
        for knob in knobs()
    }
    # What is no UTF-8 in a variable is a lone surrogate, which JSON can only hold as an escape.
    return escape_json(json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace")).decode()


def lines(loaded: Loaded, ink: Ink, *, with_meanings: bool) -> list[str]:
    """A table a section; values that somebody set stand out."""
    from tenax.cli.views.tables import columns, plain, shortened, table, width, wrapped
    from tenax.config import knobs

    rows = {}
    for knob in knobs():
        rows[knob.key] = (knob, plain(_written(_shown(loaded, knob))), plain(loaded.sources[knob.key]))
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


def _host_name(text: str) -> str:
    """The host of a name, or of a URL, as hosts are written everywhere else."""
    from tenax.config import UrlsConfig
    from tenax.text.masking import mask_url
    from tenax.urls.normalize import normalize, spelling_of

    url = normalize(text if "://" in text else f"http://{text}/", None, spelling_of(UrlsConfig()))
    if url is None:
        raise UsageError(f"--host {mask_url(text)}: give a host such as www.example.org, or a URL of it")
    return url.host


def _shown(loaded: Loaded, knob: Knob) -> Any:
    """The value as anyone may see it: without the passwords of proxies, and of whatever else looks like a URL."""
    value = getattr(getattr(loaded.config, knob.section), knob.name)
    if isinstance(value, tuple):
        return tuple(_masked(item, knob) for item in value)
    return _masked(value, knob)


def _masked(value: Any, knob: Knob) -> Any:
    from tenax.text.masking import mask_setting

    return mask_setting(value, is_secret=knob.is_secret, hides_user=True) if isinstance(value, str) else value


def _written(value: object) -> str:
    """A value as a TOML file would hold it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_written(item) for item in value)}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
