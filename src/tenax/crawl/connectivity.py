"""Detects that the network is down, and logs hosts that go down or come back.

While the network is down, the crawl waits, and does not blame the hosts. `NetworkState` is pure: the outcomes of visits
and the results of probes tell it when to probe, and whether the network is down. `probe_network` connects to the
probes. `NetworkMonitor` combines the two and pauses the crawl.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from tenax.clock import Clock
from tenax.config import ResilienceConfig
from tenax.errors import ConfigError, NetworkLost
from tenax.model import Failed, FailureKind, Fetched, HostRecord, Outcome, Redirected, Rejected, Unchanged, Value
from tenax.runtime.resources import is_out_of_files

log = logging.getLogger(__name__)

PAUSE_REASON = "network"
"""Passed to `set_pause`."""
CONNECT_SECONDS = 3.0
MIN_PROBE_INTERVAL_SECONDS = 5.0
"""Minimum time between two probes while the network is up."""
MAX_DOUBLINGS = 10
MIN_FAILURES = 3
"""A failure of one or two hosts proves little."""

# No host was reached.
_UNREACHABLE_KINDS = frozenset({FailureKind.DNS, FailureKind.CONNECT, FailureKind.TIMEOUT_CONNECT, FailureKind.PROXY})
# Errors of a connection that loses its network. The host may also cause them.
_INTERRUPTED_KINDS = frozenset({
    FailureKind.RESET, FailureKind.TIMEOUT_HEADERS, FailureKind.TIMEOUT_BODY, FailureKind.TIMEOUT_TOTAL,
    FailureKind.TRUNCATED, FailureKind.TLS,
})  # fmt: skip


class ProbeResult(Value, frozen=True):
    """The result of connecting to all probes once."""

    reachable_probe: str = ""
    """The first probe that accepted a connection; empty: none."""
    errors: dict[str, str] = {}
    """Why the other probes did not, as far as known by then."""

    @property
    def is_up(self) -> bool:
        return bool(self.reachable_probe)


class NetworkState:
    """Suspects the network if several hosts in a row cannot be reached. A probe decides.

    A probe that never responded proves nothing, because it may never be reachable from here. So the probes are tried
    once after the first public host has responded. The network counts as down only if a probe has responded before in
    this run.
    """

    def __init__(self, resilience: ResilienceConfig) -> None:
        self._max_hosts = resilience.network_failures
        self._check_seconds = resilience.network_check_seconds
        self._has_probes = bool(resilience.network_probes)
        self._reachable_hosts: set[str] = set()  # hosts that have responded, up to `_max_hosts`
        self._unreachable_hosts: set[str] = set()  # since a host last responded
        self._failures = 0
        self._false_suspicions = (
            0  # suspicions in a row that a probe did not confirm; any response of a host ends the row
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
        """Whether too many hosts in a row could not be reached: as many as configured, or all hosts that a small crawl
        knows.

        Each false suspicion doubles the number of failures that the next one needs. Otherwise a crawl that has only
        dead hosts left would suspect the network for ever, and never give up any host.
        """
        enough = min(self._max_hosts, max(len(self._reachable_hosts), 1))
        failures = min(MIN_FAILURES, self._max_hosts)
        if self._false_suspicions:
            failures = max(failures, enough) << min(self._false_suspicions, MAX_DOUBLINGS)
        return self._failures >= failures and len(self._unreachable_hosts) >= enough

    @property
    def can_probe(self) -> bool:
        """Whether probes may be sent. Only crawls that have reached a public host send them: a crawl of a private
        network may have no Internet access."""
        return self._has_probes and self._has_reached_public_host

    def record_outcome(self, outcome: Outcome, origin: str, is_public: bool = True) -> None:
        """Record how a visit ended. `is_public`: the host has a public address, so its responses prove that the network
        is up.

        Outcomes that say nothing about the network, such as a read timeout, change nothing.
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
        """Whether the network may have caused this failure, and not the host. Then the record of the host must not
        change."""
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
        """Record the result of a probe. It either confirms a suspicion or ends it."""
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
    """Whether the host has responded, by this outcome."""
    match outcome:
        case Fetched() | Redirected() | Rejected():
            return True
        case Unchanged(why=why):
            return not why  # otherwise the stored copy was used without a request
        case Failed(status=status):
            return status is not None
        case _:
            return False


class NetworkMonitor:
    """Probes the network if there is a reason. While the network is down, pauses the crawl and probes regularly."""

    def __init__(
        self,
        state: NetworkState,
        resilience: ResilienceConfig,
        clock: Clock,
        set_pause: Callable[[str, bool], None],
        poll_seconds: float = 1.0,
    ) -> None:
        """`set_pause(reason, is_paused)` stops and restarts claiming."""
        self.state = state
        self._probes = {text: parse_probe_address(text) for text in resilience.network_probes}
        self._max_down_seconds = resilience.max_network_outage_seconds
        self._clock = clock
        self._set_pause = set_pause
        self._poll_seconds = poll_seconds
        self._paused_since: float | None = None
        self._last_result = ProbeResult()

    async def run(self) -> None:
        """Runs until cancelled. Raises `NetworkLost` after `resilience.max_network_outage_seconds`."""
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
        """Probe now, with or without a reason, and pause or resume the crawl accordingly."""
        if not self.state.can_probe:
            return ProbeResult()
        self._last_result = await probe_network(self._probes)
        self.state.record_probe(self._last_result.is_up, self._clock.now())
        log.debug(
            "network probed",
            extra={"answered": self._last_result.reachable_probe, "errors": self._last_result.errors},
        )
        self._update_pause()
        return self._last_result

    def _update_pause(self) -> None:
        now = self._clock.now()
        if self.state.down_since is not None and self._paused_since is None:
            self._paused_since = self.state.down_since
            self._set_pause(PAUSE_REASON, True)
            log.warning(
                "network down, crawl paused",
                extra={"probes": self._last_result.errors},
            )
        elif self.state.down_since is None and self._paused_since is not None:
            log.warning("network up again, crawl resumed", extra={"down_seconds": round(now - self._paused_since)})
            self._paused_since = None
            self._set_pause(PAUSE_REASON, False)
        elif self._paused_since is not None and 0 < self._max_down_seconds <= now - self._paused_since:
            minutes = (now - self._paused_since) / 60
            raise NetworkLost(
                f"the network has been down for {minutes:.0f} minutes; everything committed is safe: "
                "run the same command again when it is back"
            )


def parse_probe_address(text: str) -> tuple[str, int]:
    """Parse `1.1.1.1:443`, `[2001:db8::1]:443` or `name:port`. Raises `ConfigError`."""
    host, _, port = text.strip().rpartition(":")
    is_bare_v6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not host or is_bare_v6 or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ConfigError(
            f"bad value {text!r} for `resilience.network_probes`: a probe looks like 1.1.1.1:443 or [2001:db8::1]:443"
        )
    return host.strip("[]"), int(port)


async def probe_network(probes: Mapping[str, tuple[str, int]], timeout_seconds: float = CONNECT_SECONDS) -> ProbeResult:
    """Connect to all probes at the same time and send nothing. The first one that accepts the connection is enough."""
    errors: dict[str, str] = {}
    attempts = {asyncio.ensure_future(_probe_error(name, *address)): name for name, address in probes.items()}
    try:
        async with asyncio.timeout(timeout_seconds):
            for attempt in asyncio.as_completed(attempts):
                name, error = await attempt
                if error is None:
                    return ProbeResult(name, errors)
                errors[name] = error
    except TimeoutError:
        for name in attempts.values():
            errors.setdefault(name, f"no answer within {timeout_seconds:g} s")
    finally:
        for one in attempts:
            one.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)
    return ProbeResult("", errors)


async def _probe_error(name: str, host: str, port: int) -> tuple[str, str | None]:
    """The name of the probe, and why it cannot be connected to; None if it can."""
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError as error:
        if is_out_of_files(error):
            return name, None  # the limit is ours, not the network's
        return name, error.strerror or str(error) or type(error).__name__
    writer.close()
    # The probe accepted the connection, which is enough.
    with suppress(OSError):
        await writer.wait_closed()
    return name, None


def log_host_change(before: HostRecord, host: HostRecord, now: float) -> None:
    """Log when an outage or a block of the host begins, and when an outage ends. An outage that continues is not logged
    again."""
    if (before.breaker == "closed") != (host.breaker == "closed"):
        log.info(
            "host is up again" if host.breaker == "closed" else "host down, probing",
            extra={
                "host": host.origin,
                "why": host.backoff_reason,
                "backoff_seconds": round(max(host.next_at - now, 0)),
            },
        )
    elif host.next_at > before.next_at and host.backoff_reason.startswith("cooldown"):
        log.info(
            "host backing off",
            extra={"host": host.origin, "why": host.backoff_reason, "backoff_seconds": round(host.next_at - now)},
        )
