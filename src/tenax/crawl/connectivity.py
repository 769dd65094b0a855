"""Is the network there? When it is not, the crawl waits for it instead of blaming the hosts.

`NetworkWatch` is pure: it is told how visits ended and what a look at the network found, and says when to look and
whether the network is down. `look` connects to the probes. `Network` brings the two together and holds the crawl.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from tenax.clock import Clock
from tenax.config import ResilienceConfig
from tenax.errors import ConfigError, NetworkLost
from tenax.model import Failed, FailureKind, Fetched, Outcome, Redirected, Rejected, Unchanged, Value
from tenax.runtime.open_files import is_out_of_files

log = logging.getLogger(__name__)

HOLD = "network"
"""The reason that claiming is held for."""
CONNECT_SECONDS = 3.0
SOONEST_LOOK_SECONDS = 5.0
"""Least time between two looks while the network is there."""
MOST_DOUBLINGS = 10
FEWEST_FAILURES = 3
"""One host, or two, prove little by failing once."""

# Nobody was reached.
_UNREACHED = frozenset({FailureKind.DNS, FailureKind.CONNECT, FailureKind.TIMEOUT_CONNECT, FailureKind.PROXY})
# What a connection dies of when the network goes away under it. It may as well be the host's doing.
_CUT_OFF = frozenset({
    FailureKind.RESET, FailureKind.TIMEOUT_HEADERS, FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL,
    FailureKind.TRUNCATED, FailureKind.TLS,
})  # fmt: skip


class Look(Value, frozen=True):
    """What one look at the network found."""

    answered: str = ""
    """The probe that could be connected to first; empty: none."""
    troubles: dict[str, str] = {}
    """Why each of the others could not be, as far as known by then."""

    @property
    def is_up(self) -> bool:
        return bool(self.answered)


class NetworkWatch:
    """Suspects the network when hosts in a row cannot be reached, and believes a look at the probes.

    A probe that never answered proves nothing by its silence: it may be out of reach here at all times. So the probes
    are tried once when a first public host has answered, and the network counts as down only after one of them has
    been seen to answer in this run.
    """

    def __init__(self, resilience: ResilienceConfig) -> None:
        self._most_hosts = resilience.network_failures
        self._check_seconds = resilience.network_check_seconds
        self._has_probes = bool(resilience.network_probes)
        self._answering: set[str] = set()  # hosts that have answered, as many as are needed to call a crawl broad
        self._unreached: set[str] = set()  # since any host last answered
        self._failures = 0
        self._wrongly = 0  # suspicions in a row that a look found to be wrong; any answer of a host ends the row
        self._is_public_reached = False
        self._is_proven = False
        self._looked_at: float | None = None
        self.down_since: float | None = None

    @property
    def is_down(self) -> bool:
        return self.down_since is not None

    @property
    def is_suspect(self) -> bool:
        """Too many hosts in a row could not be reached: all that a small crawl knows, or as many as configured.

        Each time that proves wrong, twice as many failures are needed for the next time. Else a crawl that is left with
        nothing but dead hosts would suspect the network for ever, and never give one of them up.
        """
        enough = min(self._most_hosts, max(len(self._answering), 1))
        failures = min(FEWEST_FAILURES, self._most_hosts)
        if self._wrongly:
            failures = max(failures, enough) << min(self._wrongly, MOST_DOUBLINGS)
        return self._failures >= failures and len(self._unreached) >= enough

    @property
    def may_look(self) -> bool:
        """A crawl that stays within this machine or a private network has nothing to ask of the world outside."""
        return self._has_probes and self._is_public_reached

    def note(self, outcome: Outcome, origin: str, is_public: bool = True) -> None:
        """A visit ended. `is_public`: the host's address is one that anyone can reach, so its answers prove a network.

        Outcomes that say nothing about the network, such as a timeout while reading, change nothing.
        """
        if isinstance(outcome, Failed) and outcome.kind in _UNREACHED:
            self._failures += 1
            if len(self._unreached) < self._most_hosts:
                self._unreached.add(origin)
        elif _is_answer(outcome):
            self._failures = self._wrongly = 0
            self._unreached.clear()
            if len(self._answering) < self._most_hosts:
                self._answering.add(origin)
            if is_public:
                self._is_public_reached = True
                self.down_since = None

    def is_ours(self, outcome: Outcome) -> bool:
        """True when this failure may well be our network's, not the host's: it must teach us nothing about the host."""
        if not (isinstance(outcome, Failed) and outcome.kind in _UNREACHED | _CUT_OFF):
            return False
        return self.is_down or (self._is_proven and self.is_suspect)

    def is_look_due(self, now: float) -> bool:
        if not self.may_look:
            return False
        if self._looked_at is None:
            return True
        if self.is_down:
            return now - self._looked_at >= self._check_seconds
        return self.is_suspect and now - self._looked_at >= SOONEST_LOOK_SECONDS

    def looked(self, is_up: bool, now: float) -> None:
        """What a look at the probes found. A suspicion that was looked into is settled, either way."""
        self._wrongly += self.is_suspect and is_up
        self._looked_at = now
        self._is_proven |= is_up
        self._failures = 0
        self._unreached.clear()
        if is_up or not self._is_proven:
            self.down_since = None
        elif self.down_since is None:
            self.down_since = now


def _is_answer(outcome: Outcome) -> bool:
    """Whether the host itself must have spoken for a visit to end like this."""
    match outcome:
        case Fetched() | Redirected() | Rejected():
            return True
        case Unchanged(why=why):
            return not why  # else it was served from what we hold
        case Failed(status=status):
            return status is not None
        case _:
            return False


class Network:
    """Looks when there is reason to; while the network is down, holds the crawl and looks again and again."""

    def __init__(
        self,
        watch: NetworkWatch,
        resilience: ResilienceConfig,
        clock: Clock,
        hold: Callable[[str, bool], None],
        poll_seconds: float = 1.0,
    ) -> None:
        """`hold(reason, is_held)` stops and restarts claiming."""
        self.watch = watch
        self._probes = {text: probe_address(text) for text in resilience.network_probes}
        self._patience_seconds = resilience.network_patience_seconds
        self._clock = clock
        self._hold = hold
        self._poll_seconds = poll_seconds
        self._held_since: float | None = None
        self._last = Look()

    async def run(self) -> None:
        """Ends when cancelled, or with `NetworkLost` when patience does."""
        try:
            while True:
                if self.watch.is_look_due(self._clock.now()):
                    await self.look()
                self._settle()
                await asyncio.sleep(self._poll_seconds)
        finally:
            if self._held_since is not None:
                self._hold(HOLD, False)

    async def look(self) -> Look:
        """Look now, whatever the reason; the crawl is held or let go accordingly."""
        if not self.watch.may_look:
            return Look()
        self._last = await look(self._probes)
        self.watch.looked(self._last.is_up, self._clock.now())
        log.debug("looked at the network", extra={"answered": self._last.answered, "troubles": self._last.troubles})
        self._settle()
        return self._last

    def _settle(self) -> None:
        now = self._clock.now()
        if self.watch.down_since is not None and self._held_since is None:
            self._held_since = self.watch.down_since
            self._hold(HOLD, True)
            log.warning(
                "the network is down, so nothing is visited until it is back", extra={"probes": self._last.troubles}
            )
        elif self.watch.down_since is None and self._held_since is not None:
            log.warning("the network is back", extra={"down_seconds": round(now - self._held_since)})
            self._held_since = None
            self._hold(HOLD, False)
        elif self._held_since is not None and 0 < self._patience_seconds <= now - self._held_since:
            minutes = (now - self._held_since) / 60
            raise NetworkLost(
                f"the network has been down for {minutes:.0f} minutes; everything committed is safe: "
                "run the same command again when it is back"
            )


def probe_address(text: str) -> tuple[str, int]:
    """`1.1.1.1:443`, `[2001:db8::1]:443` or `name:port`. Raises `ConfigError`."""
    host, _, port = text.strip().rpartition(":")
    is_bare_v6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not host or is_bare_v6 or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ConfigError(
            f"bad value {text!r} for `resilience.network_probes`: a probe looks like 1.1.1.1:443 or [2001:db8::1]:443"
        )
    return host.strip("[]"), int(port)


async def look(probes: Mapping[str, tuple[str, int]], timeout_seconds: float = CONNECT_SECONDS) -> Look:
    """Connect to all of them at once, send nothing, and be content with the first that takes the connection."""
    troubles: dict[str, str] = {}
    attempts = {asyncio.ensure_future(_trouble(name, *address)): name for name, address in probes.items()}
    try:
        async with asyncio.timeout(timeout_seconds):
            for attempt in asyncio.as_completed(attempts):
                name, trouble = await attempt
                if trouble is None:
                    return Look(name, troubles)
                troubles[name] = trouble
    except TimeoutError:
        for name in attempts.values():
            troubles.setdefault(name, f"no answer within {timeout_seconds:g} s")
    finally:
        for one in attempts:
            one.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)
    return Look("", troubles)


async def _trouble(name: str, host: str, port: int) -> tuple[str, str | None]:
    """The probe's name, and why it cannot be connected to; None when it can."""
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError as error:
        if is_out_of_files(error):
            return name, None  # nothing is said against the network
        return name, error.strerror or str(error) or type(error).__name__
    writer.close()
    # It took the connection, which is all we wanted to know.
    with suppress(OSError):
        await writer.wait_closed()
    return name, None
