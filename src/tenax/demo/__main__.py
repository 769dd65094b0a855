"""`python -m tenax.demo`: serve the site until stdin closes or a signal arrives."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import get_args

import msgspec

from tenax.demo import BehaviourSet, Site
from tenax.demo.server import serve
from tenax.errors import TenaxError


def main() -> int:
    options = _build_parser().parse_args()
    try:
        site = Site(options.hosts, options.pages, options.seed, "none" if options.no_behaviours else options.behaviours)
        _run_event_loop(_serve_site(site, options))
    except (TenaxError, OSError) as error:
        sys.stderr.write(f"tenax.demo: {error}\n")
        return error.exit_code if isinstance(error, TenaxError) else 1
    return 0


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tenax.demo",
        description="Serve websites with bad behaviour on loopback. Prints one line of JSON with the origins of "
        "the hosts, then serves until standard input closes.",
    )
    plain = Site()
    parser.add_argument("--hosts", type=int, default=plain.hosts, metavar="N", help="number of hosts (%(default)s)")
    parser.add_argument(
        "--pages", type=int, default=plain.pages_per_host, metavar="N", help="pages per host (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=plain.seed, metavar="N", help="random seed of the content (%(default)s)"
    )
    parser.add_argument("--port", type=int, default=0, metavar="P", help="port of every host; 0: any free port")
    parser.add_argument(
        "--behaviours",
        choices=get_args(BehaviourSet),
        default=plain.behaviours,
        help="set of bad behaviours (%(default)s)",
    )
    parser.add_argument("--no-behaviours", action="store_true", help="the same as --behaviours none")
    parser.add_argument("--log", type=Path, metavar="FILE", help="append a line of JSON per request")
    parser.add_argument("--warm", action="store_true", help="render every page before serving the first")
    return parser


def _run_event_loop(coroutine: Coroutine[None, None, None]) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(coroutine)
    else:
        uvloop.run(coroutine)


async def _serve_site(site: Site, options: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with serve(site, port=options.port, log=options.log, is_warm=options.warm) as origins:
        sys.stdout.write(msgspec.json.encode({"origins": origins}).decode() + "\n")
        sys.stdout.flush()
        # A thread reads stdin, because an event loop cannot watch every kind of stdin.
        threading.Thread(target=_wait_for_end_of_input, args=(loop, stopped), daemon=True).start()
        await stopped.wait()


def _wait_for_end_of_input(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    try:
        while os.read(0, 4096):
            pass
    except OSError:
        pass  # an unreadable stdin counts as closed
    loop.call_soon_threadsafe(stopped.set)


if __name__ == "__main__":
    sys.exit(main())
