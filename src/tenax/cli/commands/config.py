"""`tenax config`: each setting, its value and its source."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from tenax.cli import settings
from tenax.cli.parser import add_json_argument
from tenax.errors import UsageError

if TYPE_CHECKING:
    from tenax.cli.output import TextStyle
    from tenax.config import LoadedConfig, Setting

NAME = "config"
DESCRIPTION = (
    "Show each setting, its value and its source. A source is a default, a file, a variable, a site table or a flag."
)
EXAMPLES = """\
  tenax config
  tenax config --all                                        with descriptions and environment variables
  tenax config --config site.toml --host www.example.org    the values for one host
  TENAX_CRAWL_MAX_DEPTH=3 tenax config --set politeness.rate_per_second=2
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="also show descriptions and environment variables")
    parser.add_argument("--host", metavar="H", help="show the values for this host: a name or a URL")
    add_json_argument(parser)
    settings.add_config_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tenax.cli.output import TextStyle, print_lines

    loaded = settings.load(args)
    if args.host is not None:
        loaded = loaded.for_host(_parse_host_name(args.host))
    if args.json:
        print_lines([settings_to_json(loaded)])
    else:
        print_lines(format_settings(loaded, TextStyle.for_stream(sys.stdout), with_meanings=args.all))
    return 0


def settings_to_json(loaded: LoadedConfig) -> str:
    import json

    from tenax.config import all_settings
    from tenax.text.sanitize import escape_json

    document = {
        setting.key: {
            "value": _masked_value(loaded, setting),
            "source": loaded.sources[setting.key],
            "variable": setting.variable,
            "meaning": setting.meaning,
        }
        for setting in all_settings()
    }
    # Invalid UTF-8 in a variable becomes a lone surrogate. JSON can hold it only as an escape.
    return escape_json(json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace")).decode()


def format_settings(loaded: LoadedConfig, style: TextStyle, *, with_meanings: bool) -> list[str]:
    """Settings as a table; with meanings, as paragraphs. Values that are not defaults are highlighted."""
    from tenax.cli.output import (
        display_width,
        format_table,
        sanitize_text,
        terminal_width,
        truncate_middle,
        wrap_paragraph,
    )
    from tenax.config import all_settings

    rows = {}
    for setting in all_settings():
        rows[setting.key] = (
            setting,
            sanitize_text(_to_toml(_masked_value(loaded, setting))),
            sanitize_text(loaded.sources[setting.key]),
        )
    names = max(len(key) for key in rows)
    sources = max(display_width(source) for _, _, source in rows.values())
    room = max(terminal_width() - names - sources - 6, 20)
    if not with_meanings:
        cells = [[key, truncate_middle(value, room), source] for key, (_, value, source) in rows.items()]
        head, *body = format_table(("setting", "value", "from"), cells, style)
        is_set = [source != "default" for _, _, source in rows.values()]
        return [
            head,
            *[style.bold(line) if stands_out else line for line, stands_out in zip(body, is_set, strict=True)],
        ]
    result = []
    for key, (setting, value, source) in rows.items():
        mark = source if source == "default" else style.yellow(source)
        result += [f"{style.bold(key)} = {value}  {style.dim('from')} {mark}"]
        result += [*wrap_paragraph(setting.meaning, "    "), f"    {style.dim(setting.variable)}", ""]
    return result


def _parse_host_name(text: str) -> str:
    """Normalize a host name, or take the host of a URL."""
    from tenax.config import UrlsConfig
    from tenax.text.sanitize import mask_url
    from tenax.urls.normalize import normalize, normalize_options

    url = normalize(text if "://" in text else f"http://{text}/", None, normalize_options(UrlsConfig()))
    if url is None:
        raise UsageError(f"--host {mask_url(text)}: give a host such as www.example.org, or a URL of it")
    return url.host


def _masked_value(loaded: LoadedConfig, setting: Setting) -> Any:
    """The value with passwords in URLs, and with secret settings, masked."""
    value = getattr(getattr(loaded.config, setting.section), setting.name)
    if isinstance(value, tuple):
        return tuple(_mask_item(item, setting) for item in value)
    return _mask_item(value, setting)


def _mask_item(value: Any, setting: Setting) -> Any:
    from tenax.text.sanitize import mask_setting

    return mask_setting(value, is_secret=setting.is_secret, hides_user=True) if isinstance(value, str) else value


def _to_toml(value: object) -> str:
    """A value in TOML syntax."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_to_toml(item) for item in value)}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
