"""A web server that is not the bottleneck: our own nginx on loopback, for the length of a benchmark."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import access_log, needs
from bench.measure import end_with_parent
from bench.report import BenchError

START_SECONDS = 10.0
CONNECTIONS = 8192

# Workers of a root nginx would become another user, who may not be allowed to read the site: so they stay who we are.
# The pages are stored compressed (`gzip_static always`), which every contestant accepts; nothing is computed here.
CONFIG = """
{user}
worker_processes 1;
daemon off;
pid {home}/nginx.pid;
error_log {home}/error.log warn;
worker_rlimit_nofile {connections};
events {{ worker_connections {connections}; }}
http {{
  {access_log}
  sendfile on;
  tcp_nopush on;
  keepalive_requests 10000000;
  gzip_static always;
  open_file_cache max=20000 inactive=600s;
  open_file_cache_valid 600s;
  types {{ text/html html; text/plain txt; }}
  charset utf-8;
  client_body_temp_path {home}/body;
  proxy_temp_path {home}/proxy;
  fastcgi_temp_path {home}/fastcgi;
  uwsgi_temp_path {home}/uwsgi;
  scgi_temp_path {home}/scgi;
  server {{
    listen {listen}:{port} backlog=4096;
    root {site};
    {locations}
    location = / {{ rewrite ^ /index.html last; }} # `index` looks for the uncompressed file
  }}
}}
"""


# A line for each request, when it was answered; written when there are many or the first of them is a second old.
ACCESS_LOG = "log_format seen '{format}'; access_log {file} seen buffer=256k flush=1s;"


@contextmanager
def serving(
    site: Path,
    *,
    log: Path | None = None,
    is_everywhere: bool = False,
    log_format: str = access_log.FORMAT,
    locations: str = "",
) -> Iterator[str]:
    """The origin, such as http://127.0.0.1:43210, at which the directory is served while the context lasts.

    `log` gets a line of `log_format` for each request, the last ones when the context ends. `is_everywhere`: every
    address of 127.0.0.0/8 is served at that port, and each of them is a host of its own. `locations`: what is to be
    different somewhere, as nginx says it.
    """
    binary = needs.command("nginx", "nginx-light")
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="tenax-nginx-") as home:
        config = Path(home) / "nginx.conf"
        user = "user root;" if os.geteuid() == 0 else ""
        access = ACCESS_LOG.format(format=log_format, file=log) if log is not None else "access_log off;"
        listen = "0.0.0.0" if is_everywhere else "127.0.0.1"
        settings = CONFIG.format(
            user=user, home=home, listen=listen, port=port, site=site, access_log=access, connections=CONNECTIONS,
            locations=locations,
        )  # fmt: skip
        config.write_text(settings)
        errors = Path(home) / "error.log"
        command: list[str | Path] = [binary, "-p", home, "-e", errors, "-c", config]
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)
        try:
            _wait_until_up(server, port, errors)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_up(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    why = log.read_text() if log.exists() else "no answer"
    raise BenchError(f"nginx did not start: {why.strip() or 'no answer'}")
