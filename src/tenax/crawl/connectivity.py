"""Is the network there? When it is not, the crawl waits for it instead of blaming the hosts.

`NetworkState` is pure: it is told how visits ended and what a look at the network found, and says when to look and
whether the network is down. `look` connects to the probes. `NetworkMonitor` brings the two together and holds the crawl.
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

PAUSE_REASON = "network"
"""The reason that claiming is held for."""
CONNECT_SECONDS = 3.0
MIN_PROBE_INTERVAL_SECONDS = 5.0
"""Least time between two looks while the network is there."""
MAX_DOUBLINGS = 10
MIN_FAILURES = 3
"""One host, or two, prove little by failing once."""

# Nobody was reached.
_UNREACHABLE_KINDS = frozenset({FailureKind.DNS, FailureKind.CONNECT, FailureKind.TIMEOUT_CONNECT, FailureKind.PROXY})
# What a connection dies of when the network goes away under it. It may as well be the host's doing.
_INTERRUPTED_KINDS = frozenset({
    FailureKind.RESET, FailureKind.TIMEOUT_HEADERS, FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL,
    FailureKind.TRUNCATED, FailureKind.TLS,
})  # fmt: skip


class ProbeResult(Value, frozen=True):
    """What one look at the network found."""

    reachable_probe: str = ""
    """The probe that could be connected to first; empty: none."""
    errors: dict[str, str] = {}
    """Why each of the others could not be, as far as known by then."""

    @property
    def is_up(self) -> bool:
        return bool(self.reachable_probe)


class NetworkState:
    """Suspects the network when hosts in a row cannot be reached, and believes a look at the probes.

    A probe that never answered proves nothing by its silence: it may be out of reach here at all times. So the probes
    are tried once when a first public host has answered, and the network counts as down only after one of them has
    been seen to answer in this run.
    """

    def __init__(self, resilience: ResilienceConfig) -> None:
        self._max_hosts = resilience.network_failures
        self._check_seconds = resilience.network_check_seconds
        self._has_probes = bool(resilience.network_probes)
        self._reachable_hosts: set[str] = set()  # hosts that have answered, as many as are needed to call a crawl broad
        self._unreachable_hosts: set[str] = set()  # since any host last answered
        self._failures = 0
        self._false_suspicions = (
            0  # suspicions in a row that a look found to be wrong; any answer of a host ends the row
        )
        self._has_reached_public_host = False
        self._has_working_probe = False
        self._probed_at: float | None = None
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
        enough = min(self._max_hosts, max(len(self._reachable_hosts), 1))
        failures = min(MIN_FAILURES, self._max_hosts)
        if self._false_suspicions:
            failures = max(failures, enough) << min(self._false_suspicions, MAX_DOUBLINGS)
        return self._failures >= failures and len(self._unreachable_hosts) >= enough

    @property
    def can_probe(self) -> bool:
        """A crawl that stays within this machine or a private network has nothing to ask of the world outside."""
        return self._has_probes and self._has_reached_public_host

    def record_outcome(self, outcome: Outcome, origin: str, is_public: bool = True) -> None:
        """A visit ended. `is_public`: the host's address is one that anyone can reach, so its answers prove a network.

        Outcomes that say nothing about the network, such as a timeout while reading, change nothing.
        """
        if isinstance(outcome, Failed) and outcome.kind in _UNREACHABLE_KINDS:
            self._failures += 1
            if len(self._unreachable_hosts) < self._max_hosts:
                self._unreachable_hosts.add(origin)
        elif _is_answer(outcome):
            self._failures = self._false_suspicions = 0
            self._unreachable_hosts.clear()
            if len(self._reachable_hosts) < self._max_hosts:
                self._reachable_hosts.add(origin)
            if is_public:
                self._has_reached_public_host = True
                self.down_since = None

    def is_network_failure(self, outcome: Outcome) -> bool:
        """True when this failure may well be our network's, not the host's: it must teach us nothing about the host."""
        if not (isinstance(outcome, Failed) and outcome.kind in _UNREACHABLE_KINDS | _INTERRUPTED_KINDS):
            return False
        return self.is_down or (self._has_working_probe and self.is_suspect)

    def is_probe_due(self, now: float) -> bool:
        if not self.can_probe:
            return False
        if self._probed_at is None:
            return True
        if self.is_down:
            return now - self._probed_at >= self._check_seconds
        return self.is_suspect and now - self._probed_at >= MIN_PROBE_INTERVAL_SECONDS

    def record_probe(self, is_up: bool, now: float) -> None:
        """What a look at the probes found. A suspicion that was looked into is settled, either way."""
        self._false_suspicions += self.is_suspect and is_up
        self._probed_at = now
        self._has_working_probe |= is_up
        self._failures = 0
        self._unreachable_hosts.clear()
        if is_up or not self._has_working_probe:
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


class NetworkMonitor:
    """Looks when there is reason to; while the network is down, holds the crawl and looks again and again."""

    def __init__(
        self,
        state: NetworkState,
        resilience: ResilienceConfig,
        clock: Clock,
        set_pause: Callable[[str, bool], None],
        poll_seconds: float = 1.0,
    ) -> None:
        """`set_pause(reason, is_held)` stops and restarts claiming."""
        self.state = state
        self._probes = {text: parse_probe_address(text) for text in resilience.network_probes}
        self._max_down_seconds = resilience.max_network_outage_seconds
        self._clock = clock
        self._set_pause = set_pause
        self._poll_seconds = poll_seconds
        self._paused_since: float | None = None
        self._last_result = ProbeResult()

    async def run(self) -> None:
        """Ends when cancelled, or with `NetworkLost` when patience does."""
        try:
            while True:
                if self.state.is_probe_due(self._clock.now()):
                    await self.probe()
                self._update_pause()
                await asyncio.sleep(self._poll_seconds)
        finally:
            if self._paused_since is not None:
                self._set_pause(PAUSE_REASON, False)

    async def probe(self) -> ProbeResult:
        """Look now, whatever the reason; the crawl is held or let go accordingly."""
        if not self.state.can_probe:
            return ProbeResult()
        self._last_result = await probe_network(self._probes)
        self.state.record_probe(self._last_result.is_up, self._clock.now())
        log.debug(
            "looked at the network",
            extra={"answered": self._last_result.reachable_probe, "troubles": self._last_result.errors},
        )
        self._update_pause()
        return self._last_result

    def _update_pause(self) -> None:
        now = self._clock.now()
        if self.state.down_since is not None and self._paused_since is None:
            self._paused_since = self.state.down_since
            self._set_pause(PAUSE_REASON, True)
            log.warning(
                "the network is down, so nothing is visited until it is back",
                extra={"probes": self._last_result.errors},
            )
        elif self.state.down_since is None and self._paused_since is not None:
            log.warning("the network is back", extra={"down_seconds": round(now - self._paused_since)})
            self._paused_since = None
            self._set_pause(PAUSE_REASON, False)
        elif self._paused_since is not None and 0 < self._max_down_seconds <= now - self._paused_since:
            minutes = (now - self._paused_since) / 60
            raise NetworkLost(
                f"the network has been down for {minutes:.0f} minutes; everything committed is safe: "
                "run the same command again when it is back"
            )


def parse_probe_address(text: str) -> tuple[str, int]:
    """`1.1.1.1:443`, `[2001:db8::1]:443` or `name:port`. Raises `ConfigError`."""
    host, _, port = text.strip().rpartition(":")
    is_bare_v6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not host or is_bare_v6 or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ConfigError(
            f"bad value {text!r} for `resilience.network_probes`: a probe looks like 1.1.1.1:443 or [2001:db8::1]:443"
        )
    return host.strip("[]"), int(port)


async def probe_network(probes: Mapping[str, tuple[str, int]], timeout_seconds: float = CONNECT_SECONDS) -> ProbeResult:
    """Connect to all of them at once, send nothing, and be content with the first that takes the connection."""
    troubles: dict[str, str] = {}
    attempts = {asyncio.ensure_future(_probe_error(name, *address)): name for name, address in probes.items()}
    try:
        async with asyncio.timeout(timeout_seconds):
            for attempt in asyncio.as_completed(attempts):
                name, trouble = await attempt
                if trouble is None:
                    return ProbeResult(name, troubles)
                troubles[name] = trouble
    except TimeoutError:
        for name in attempts.values():
            troubles.setdefault(name, f"no answer within {timeout_seconds:g} s")
    finally:
        for one in attempts:
            one.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)
    return ProbeResult("", troubles)


async def _probe_error(name: str, host: str, port: int) -> tuple[str, str | None]:
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
