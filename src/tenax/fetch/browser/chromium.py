"""One Chromium: found on this machine, started without a network of its own, and ended for certain."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenax.model import Value

if TYPE_CHECKING:
    from playwright.async_api import Browser, CDPSession, Playwright

START_SECONDS = 30.0
CLOSE_SECONDS = 5.0
ANSWER_SECONDS = 5.0
"""A Chromium that does not say how it is within this time is hung."""

# Debian's /usr/bin/chromium is a script that adds flags of its own and of the environment: better the program itself.
_PLACES = (
    "/usr/lib/chromium/chromium",
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("/Applications/Chromium.app/Contents/MacOS/Chromium", "/snap/bin/chromium"),
)

SWITCHES = (
    # The gate is the only way out, for loopback too. No name is looked up here, not even for a hint in a page.
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Nothing is sent that no page asked for.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    # One renderer a page, its frames included: with no cookies to steal, a process for each site is only a cost.
    "--disable-site-isolation-trials",
    "--disable-gpu",
    "--disable-remote-fonts",
    "--blink-settings=imagesEnabled=false",
    "--js-flags=--max-old-space-size=512",
)
# Playwright wants pages to have their way; we want Chromium's own manners back.
_UNWANTED = ["--disable-popup-blocking", "--disable-ipc-flooding-protection", "--enable-unsafe-swiftshader"]


class BrowserBroke(Exception):
    """Chromium could not be started, died, or does not answer. Its text is for people."""


class Process(Value, frozen=True):
    """One process of a Chromium."""

    pid: int
    kind: str
    """`browser`, `renderer`, `GPU` and others."""


def found(executable: str = "") -> str | None:
    """The path of a Chromium: the one that is named, or else the first that is there."""
    for place in (executable,) if executable else _PLACES:
        path = shutil.which(place)
        if path is not None:
            return path
    return None


def browser_missing(executable: str = "") -> str | None:
    """What a person must do before pages can be rendered; None: nothing."""
    if find_spec("playwright") is None:
        return "the browser is not installed: pip install 'tenax[browser]'"
    if found(executable) is not None:
        return None
    if executable:
        return f"no Chromium found: `browser.executable` names {executable}, which cannot be run"
    return "no Chromium found: install it (Debian and Ubuntu: apt-get install chromium) or set `browser.executable`"


class Chromium:
    """A running Chromium and the program that drives it; both are gone after `close`."""

    def __init__(self, driver: Playwright, browser: Browser, control: CDPSession) -> None:
        self.browser = browser
        self._driver = driver
        self._control = control
        self._pid = 0

    @classmethod
    async def start(cls, executable: str, gate_url: str, user_agent: str = "") -> Chromium:
        """Raises `BrowserBroke`."""
        from playwright.async_api import Error, async_playwright

        path = found(executable)
        if path is None:
            raise BrowserBroke(browser_missing(executable) or "no Chromium found")
        named = [f"--user-agent={user_agent}"] if user_agent else []
        driver = None
        try:
            async with asyncio.timeout(START_SECONDS):
                driver = await async_playwright().start()
                browser = await driver.chromium.launch(
                    executable_path=path,
                    args=[*SWITCHES, f"--proxy-server={gate_url}", *named],
                    ignore_default_args=_UNWANTED,
                    chromium_sandbox=os.geteuid() != 0,  # it refuses to start with one for root
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                    timeout=0,
                )
                chromium = cls(driver, browser, await browser.new_browser_cdp_session())
                processes = await chromium.processes()
                chromium._pid = next(process.pid for process in processes if process.kind == "browser")
                return chromium
        except (Error, OSError, StopIteration) as error:
            await _stopped(driver)
            raise BrowserBroke(f"Chromium does not start: {_cause(error)}") from None
        except BaseException:
            await _stopped(driver)
            raise

    @property
    def is_connected(self) -> bool:
        return self.browser.is_connected()

    async def processes(self) -> list[Process]:
        """Every process of it; that it answers means that it lives. Raises `BrowserBroke`."""
        return [
            Process(int(one["id"]), str(one["type"]))
            for one in (await self._told("SystemInfo.getProcessInfo"))["processInfo"]
        ]

    async def user_agent(self) -> str:
        """What this Chromium says it is when it has a window. Raises `BrowserBroke`."""
        return str((await self._told("Browser.getVersion"))["userAgent"]).replace("HeadlessChrome", "Chrome")

    async def _told(self, question: str) -> dict[str, Any]:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._control.send(question)
        except (Error, TimeoutError):
            raise BrowserBroke("Chromium is gone" if not self.is_connected else "Chromium does not answer") from None

    async def close(self, *, is_broken: bool = False) -> None:
        """End it, by force if it must be. Never raises, and takes a bounded time."""
        from playwright.async_api import Error

        if not is_broken:
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self.browser.close()
        self.kill()
        await _stopped(self._driver)

    def kill(self) -> None:
        """Every process of it, now. Playwright starts it as the leader of a group of its own."""
        with suppress(ProcessLookupError, PermissionError):
            if self._pid and os.getpgid(self._pid) == self._pid:
                os.killpg(self._pid, signal.SIGKILL)


def resident_bytes(pid: int) -> int:
    """Memory that a process holds and shares with nobody, as far as the system tells; 0 where it does not."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


async def _stopped(driver: Playwright | None) -> None:
    if driver is None:
        return
    with suppress(Exception):  # it may be gone already; what it raises then has no type of its own
        async with asyncio.timeout(CLOSE_SECONDS):
            await driver.stop()


def _cause(error: BaseException) -> str:
    """The line in which Chromium says what is wrong, out of the long text that Playwright makes of it."""
    lines = [line.strip(" │║╔╗╚╝═-\t") for line in str(error).splitlines()]
    telling = [line for line in lines if "sandbox" in line.lower() or "ERROR" in line or "error while loading" in line]
    chosen = next(iter(telling or [line for line in lines if line]), type(error).__name__)
    return "".join(char if char.isprintable() else " " for char in chosen)[:160]
