"""One Chromium process and its directory: found, started without direct network access, and reliably ended.

A killed process removes nothing. So each directory is locked by its owner, and the kernel releases the lock when the
owner dies. When a browser starts, it removes the directories that are not locked.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import shutil
import signal
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tenax.model import Value

if TYPE_CHECKING:
    from playwright.async_api import Browser, CDPSession, Playwright


_PREFIX = "tenax-browser-"
_MAX_PATH_BYTES = 38
"""Chromium creates a socket below this path, under a name of its own, and a socket path is limited to 107 bytes."""

# Disable prefetching: a page that announces a later request must not cause a page load, a connection or a DNS look-up.
_PREFERENCES = {"net": {"network_prediction_options": 2}}


class BrowserDirectory:
    """A directory that is ours until `remove`. Chromium's temporary files are in it too."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def create(cls) -> BrowserDirectory:
        """A new directory, with preferences that disable prefetching. Raises `OSError`."""
        while True:
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_temp_directory()))
            lock = _lock_directory(path)
            if lock is None:
                continue  # another process that starts has removed it as stale
            folder = cls(path, lock)
            try:
                preferences = folder.profile / "Default" / "Preferences"
                preferences.parent.mkdir(parents=True)
                preferences.write_bytes(msgspec.json.encode(_PREFERENCES))
            except BaseException:
                folder.remove()
                raise
            return folder

    @property
    def profile(self) -> Path:
        return self.path / "profile"

    def remove(self) -> None:
        """Remove the directory with all files. Files that a dying process still writes are removed by the next
        start."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_stale_directories() -> None:
    """Remove the directories of dead processes. Takes a while when there are many."""
    for path in _temp_directory().glob(f"{_PREFIX}*"):
        lock = _lock_directory(path)
        if lock is not None:
            BrowserDirectory(path, lock).remove()


def _lock_directory(path: Path) -> int | None:
    """The lock on one of our directories; None if it is locked, gone, or not ours."""
    with suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = path.lstat()
            if found.st_uid == os.geteuid() and found.st_ino == os.fstat(lock).st_ino:
                return lock
        except OSError:
            pass
        os.close(lock)
    return None


def _temp_directory() -> Path:
    usual = tempfile.gettempdir()
    return Path(usual if len(os.fsencode(usual)) <= _MAX_PATH_BYTES else "/tmp")


START_SECONDS = 30.0
CLOSE_SECONDS = 5.0
ANSWER_SECONDS = 5.0
"""A Chromium that does not answer within this time is hung."""

# Debian's /usr/bin/chromium is a script that adds flags, so the binary itself is preferred.
_EXECUTABLES = (
    "/usr/lib/chromium/chromium",
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("/Applications/Chromium.app/Contents/MacOS/Chromium", "/snap/bin/chromium"),
)

SWITCHES = (
    # The gate is the only network connection, also for loopback. Chromium looks up no name, not even for prefetch
    # hints.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # No requests that no page has made.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    # The first sends requests after a page ends, the second bypasses request interception.
    "--disable-blink-features=FetchLaterAPI,SharedWorker",
    # One renderer per page, frames included. There are no cookies to steal, so site isolation would only cost memory.
    "--disable-site-isolation-trials",
    "--disable-gpu",
    "--disable-remote-fonts",
    "--blink-settings=imagesEnabled=false",
    "--js-flags=--max-old-space-size=512",
)
# Playwright defaults that we turn off to restore Chromium's own behaviour.
_REMOVED_SWITCHES = ["--disable-popup-blocking", "--disable-ipc-flooding-protection", "--enable-unsafe-swiftshader"]
# Our settings, and proxy variables in the environment, may hold passwords. So Chromium does not get them.
_SECRET_VARIABLES = re.compile(r"^TENAX_|_PROXY$", re.IGNORECASE)
# Chromium's last error output, as quoted by Playwright, and its source location.
_ERROR_LINE = re.compile(r"\[pid=[0-9]+\]\[err\] (.+)")
_SOURCE_PREFIX = re.compile(r"^\[[^\]]*\] ")


class BrowserError(Exception):
    """Chromium could not be started, died, or does not answer. The message is for people."""


class Process(Value, frozen=True):
    """One process of a Chromium."""

    pid: int
    kind: str
    """`browser`, `renderer`, `GPU` and others."""


def find_chromium(executable: str = "") -> str | None:
    """The path of Chromium: the configured one, or the first that exists."""
    for candidate in (executable,) if executable else _EXECUTABLES:
        path = shutil.which(candidate)
        if path is not None:
            return path
    return None


def browser_install_hint(executable: str = "") -> str | None:
    """What a person must install before pages can be rendered; None: nothing."""
    if find_spec("playwright") is None:
        return "the browser is not installed: pip install 'tenax[browser]'"
    if find_chromium(executable) is not None:
        return None
    if executable:
        return f"no Chromium found: `browser.executable` names {executable}, which cannot be run"
    return "no Chromium found: install it (Debian and Ubuntu: apt-get install chromium) or set `browser.executable`"


class Chromium:
    """A running Chromium and its driver. Both have ended after `close`."""

    def __init__(self, driver: Playwright, browser: Browser, control: CDPSession, folder: BrowserDirectory) -> None:
        self.browser = browser
        self._driver = driver
        self._control = control
        self._folder = folder
        self._pid = 0

    @classmethod
    async def start(cls, executable: str, gate_url: str) -> Chromium:
        """Raises `BrowserError`."""
        from playwright.async_api import async_playwright

        path = find_chromium(executable)
        if path is None:
            raise BrowserError(browser_install_hint(executable) or "no Chromium found")
        driver, folder = None, None
        try:
            async with asyncio.timeout(START_SECONDS):
                await asyncio.to_thread(remove_stale_directories)
                folder = BrowserDirectory.create()
                driver = await async_playwright().start()
                browser = await _launch(driver, folder, path, [*SWITCHES, f"--proxy-server={gate_url}"])
                chromium = cls(driver, browser, await browser.new_browser_cdp_session(), folder)
                processes = await chromium.processes()
                chromium._pid = next(process.pid for process in processes if process.kind == "browser")
                return chromium
        except TimeoutError:
            await _clean_up(driver, folder)
            raise BrowserError("Chromium does not start: no answer in time") from None
        except Exception as error:  # when its driver dies, Playwright raises a plain Exception
            await _clean_up(driver, folder)
            raise BrowserError(f"Chromium does not start: {_error_reason(error)}") from None
        except BaseException:
            await _clean_up(driver, folder)
            raise

    @property
    def is_connected(self) -> bool:
        return self.browser.is_connected()

    async def processes(self) -> list[Process]:
        """All its processes. A reply proves that Chromium is alive. Raises `BrowserError`."""
        return [
            Process(int(one["id"]), str(one["type"]))
            for one in (await self._query("SystemInfo.getProcessInfo"))["processInfo"]
        ]

    async def user_agent(self) -> str:
        """The User-Agent of this Chromium with a window. Raises `BrowserError`."""
        return str((await self._query("Browser.getVersion"))["userAgent"]).replace("HeadlessChrome", "Chrome")

    async def _query(self, method: str) -> dict[str, Any]:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._control.send(method)
        except (Error, TimeoutError):
            raise BrowserError("Chromium has ended" if not self.is_connected else "Chromium does not answer") from None

    async def close(self, *, is_broken: bool = False) -> None:
        """End Chromium, by force if necessary. Never raises, and takes a bounded time."""
        from playwright.async_api import Error

        if not is_broken:
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self.browser.close()
        self.kill()
        await _clean_up(self._driver, self._folder)

    def kill(self) -> None:
        """Kill all processes of Chromium. Playwright starts it as the leader of its own process group."""
        with suppress(ProcessLookupError, PermissionError):
            if self._pid and os.getpgid(self._pid) == self._pid:
                os.killpg(self._pid, signal.SIGKILL)


def resident_bytes(pid: int) -> int:
    """Memory that a process does not share with others; 0 if the system does not report it."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


async def _launch(driver: Playwright, folder: BrowserDirectory, executable: str, switches: list[str]) -> Browser:
    surroundings: dict[str, str | float | bool] = {
        name: value for name, value in os.environ.items() if not _SECRET_VARIABLES.search(name)
    }
    context = await driver.chromium.launch_persistent_context(
        folder.profile,
        executable_path=executable,
        args=switches,
        ignore_default_args=_REMOVED_SWITCHES,
        chromium_sandbox=os.geteuid() != 0,  # it refuses to start with a sandbox as root
        artifacts_dir=folder.path,
        env={**surroundings, "TMPDIR": str(folder.path)},
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
        timeout=0,
    )
    # The profile is only a directory for files. Every page has its own context, which leaves no files.
    await asyncio.gather(*(page.close() for page in context.pages))
    assert context.browser is not None, "only those on a telephone have none"
    return context.browser


async def _clean_up(driver: Playwright | None, folder: BrowserDirectory | None) -> None:
    """End the driver and Chromium, and remove their files."""
    if driver is not None:
        with suppress(Exception):  # it may have ended already; Playwright then raises a plain Exception
            async with asyncio.timeout(CLOSE_SECONDS):
                await driver.stop()
    if folder is not None:
        await asyncio.to_thread(folder.remove)


def _error_reason(error: BaseException) -> str:
    """The line with Chromium's error message, from Playwright's long text."""
    error_lines = _ERROR_LINE.findall(str(error))
    relevant = [line for line in error_lines if "FATAL" in line or "sandbox" in line or "error while loading" in line]
    message = str(error).partition("\n")[0].removeprefix("BrowserType.launch_persistent_context: ")
    chosen = next(iter(relevant or error_lines), message or type(error).__name__)
    words = _SOURCE_PREFIX.sub("", chosen)
    return "".join(char if char.isprintable() else " " for char in words)[:160]
