"""Builds the documentation website from README.md, CHANGELOG.md and docs/: `scripts/docs build` and `serve`.

The pages are copied into a temporary folder, because links in README.md and CHANGELOG.md are relative to the
repository, and because docs/ also holds programs. Zensical builds the site with docs/website.toml.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from docs import site_check

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CONFIG = DOCS / "website.toml"
DEFAULT_SITE = ROOT / "site"
ADDRESS = "127.0.0.1:8000"

_RENAMED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "LICENSE.txt",
    "docs/README.md": "overview.md",
}
_ASSETS = ("*.svg", "*.css")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
_CODE = re.compile(r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)")
_ESCAPES = re.compile(r"\x1b\[[\d;]*m")
_POLL_SECONDS = 0.5


class WebsiteError(Exception):
    """The site cannot be built; the message says what to change."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/docs", description="The documentation website.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    builder = verbs.add_parser("build", help="write the site, and check its links")
    builder.add_argument("directory", nargs="?", type=Path, default=DEFAULT_SITE, help="default: site/")
    server = verbs.add_parser("serve", help="serve the site on this machine, and follow changes")
    server.add_argument("--address", default=ADDRESS, help=f"default: {ADDRESS}")
    args = parser.parse_args()
    try:
        return build(args.directory.absolute()) if args.verb == "build" else serve(args.address)
    except WebsiteError as error:
        sys.stderr.write(f"scripts/docs: {error}\n")
        return 1


def build(directory: Path) -> int:
    """Build the site in this directory, which is replaced. Warnings and broken links are errors."""
    if directory.exists() and not is_site(directory):
        raise WebsiteError(f"{directory} exists and is not an earlier build: name another directory")
    with tempfile.TemporaryDirectory(prefix="tenax-docs-") as folder:
        workspace = Path(folder)
        stage(workspace)
        _run_zensical(workspace)
        problems = site_check.problems(workspace / "site")
        if problems:
            raise WebsiteError("\n  ".join(["the site has errors:", *problems]))
        if directory.exists():
            shutil.rmtree(directory)
        shutil.copytree(workspace / "site", directory)
    sys.stdout.write(f"{directory / 'index.html'}\n")
    return 0


def is_site(directory: Path) -> bool:
    """Whether the directory may be replaced: it is empty, or an earlier build."""
    return directory.is_dir() and (not any(directory.iterdir()) or (directory / "website.css").is_file())


def serve(address: str) -> int:
    """Serve the site until Ctrl-C or SIGTERM; saved pages are reloaded."""
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="tenax-docs-") as folder:
        workspace = Path(folder)
        stage(workspace)
        with subprocess.Popen([*_zensical(workspace, "serve"), "--dev-addr", address], cwd=workspace) as server:
            try:
                _follow(server, workspace)
            except KeyboardInterrupt:
                return 0
            finally:
                server.terminate()
        return server.returncode


def _follow(server: subprocess.Popen[bytes], workspace: Path) -> None:
    """Stage saved pages while the server runs. A page that cannot be staged is reported once."""
    said = ""
    while server.poll() is None:
        problem = ""
        try:
            stage(workspace)
        except WebsiteError as error:
            problem = f"scripts/docs: {error}\n"
        if problem != said:
            sys.stderr.write(problem)
            said = problem
        time.sleep(_POLL_SECONDS)


def stage(workspace: Path) -> None:
    """Update the folder that Zensical reads. Unchanged files are not written."""
    _write(workspace / "zensical.toml", CONFIG.read_bytes())
    for source, name in staged_names().items():
        data = source.read_bytes()
        _write(workspace / "pages" / name, adapted(source, data.decode()).encode() if source.suffix == ".md" else data)


def staged_names() -> dict[Path, str]:
    """Every file of the site that comes from the repository, and its name in the site."""
    assets = [asset for pattern in _ASSETS for asset in sorted(DOCS.glob(pattern))]
    sources = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "LICENSE", *sorted(DOCS.glob("*.md")), *assets]
    return {source: _RENAMED.get(str(source.relative_to(ROOT)), source.name) for source in sources}


def _write(file: Path, data: bytes) -> None:
    if not file.exists() or file.read_bytes() != data:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def adapted(source: Path, text: str) -> str:
    """The page for Zensical: links lead to files of the site, and code in tables has its bars unescaped.

    Code blocks are not changed.
    """
    pieces = _FENCE.split(text)
    return "".join(piece if piece.startswith("```") else _adapted_prose(source, piece) for piece in pieces)


def _adapted_prose(source: Path, text: str) -> str:
    text = _LINK.sub(lambda link: _relinked(source, link), text)
    lines = [_with_bars(line) if line.startswith("|") else line for line in text.split("\n")]
    return "\n".join(lines)


def _with_bars(row: str) -> str:
    return _CODE.sub(lambda code: code[0].replace("\\|", "|"), row)


def _relinked(source: Path, link: re.Match[str]) -> str:
    target = link["target"]
    if re.match(r"[a-z]+:", target):
        return link[0]
    name = staged_names().get((source.parent / target).resolve())
    if name is None:
        raise WebsiteError(f"{source.relative_to(ROOT)} links to {target}, which is not part of the website")
    return f"]({name}{link['anchor'] or ''})"


def _run_zensical(workspace: Path) -> None:
    done = subprocess.run(
        [*_zensical(workspace, "build"), "--clean", "--strict"],
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        issues, traceback, _ = done.stderr.partition("Traceback (most recent call last)")
        raise WebsiteError(f"zensical failed:\n{_ESCAPES.sub('', issues if traceback else done.stderr)}")


def _zensical(workspace: Path, verb: str) -> list[str | os.PathLike[str]]:
    return [sys.executable, "-m", "zensical", verb, "--config-file", workspace / "zensical.toml"]


if __name__ == "__main__":
    sys.exit(main())
