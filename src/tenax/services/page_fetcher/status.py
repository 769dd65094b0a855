"""The status of a queue, its hosts and fetchers, read from Redis; with a summary in one sentence that says why nothing
moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from tenax.hosts.rules import should_probe
from tenax.hosts.throttle import is_backing_off
from tenax.model import HostRecord, Value

MAX_COUNTED_URLS = 20_000
"""URLs are counted by host in this many items, from the head of the queue on."""
STALL_SECONDS = 60.0
"""If nothing was finished for this long although URLs are in flight, something is wrong."""


class HostStatus(Value, frozen=True):
    """A host of the queue."""

    host: str
    urls: int
    """The number of its URLs in the part of the queue that was examined."""
    why: str = ""
    """Why the host backs off; empty if it may be requested."""
    until: str | None = None
    breaker: str = "closed"
    failures_in_a_row: int = 0
    seconds_left: float = 0.0
    """Seconds until the next request; 0: as soon as a fetcher checks the host."""


class FetcherStatus(Value, frozen=True):
    name: str
    is_alive: bool
    in_flight: int
    last_heartbeat: str | None = None
    url: str = ""
    """One of the URLs that it fetches."""


class QueueStatus(Value, frozen=True):
    """The queue of the page-fetchers at one moment."""

    summary: str
    queue: str
    queue_length: int
    counted_urls: int
    in_flight: int
    """URLs claimed by fetchers."""
    dead_letters: int
    retried: int
    """URLs that have failed by themselves and will be retried."""
    last_activity: str | None
    """When a URL was last finished or given up."""
    fetchers: tuple[FetcherStatus, ...]
    hosts: tuple[HostStatus, ...]
    """Hosts that back off come first."""


def host_status(origin: str, urls: int, record: HostRecord | None, now: float) -> HostStatus:
    if record is None:
        return HostStatus(origin, urls)
    must_wait = is_backing_off(record, now) or should_probe(record)
    return HostStatus(
        origin,
        urls,
        (record.backoff_reason or "down: waiting for a probe") if must_wait else "",
        until=format_time(record.next_at) if must_wait else None,
        breaker=record.breaker,
        failures_in_a_row=record.failures_in_a_row,
        seconds_left=max(record.next_at - now, 0.0) if must_wait else 0.0,
    )


def sort_hosts(hosts: Iterable[HostStatus]) -> tuple[HostStatus, ...]:
    return tuple(sorted(hosts, key=lambda host: (not host.why, -host.urls, host.host)))


def summarize_queue(
    queue: str,
    length: int,
    counted_urls: int,
    fetchers: Sequence[FetcherStatus],
    hosts: Sequence[HostStatus],
    idle_seconds: float | None,
) -> str:
    """`idle_seconds` is the time since something was last finished; None if nothing ever was."""
    alive = [fetcher for fetcher in fetchers if fetcher.is_alive]
    in_flight = sum(fetcher.in_flight for fetcher in alive)
    left = sum(fetcher.in_flight for fetcher in fetchers) - in_flight
    if not length and not in_flight and not left:
        return f"Nothing to do: {queue} is empty." + ("" if alive else " No page-fetcher runs.")
    when = "in a moment" if alive else "when the next one runs"
    tail = f" {left:,} more belong to a dead one, and go back {when}." if left else ""
    if not alive:
        return f"No page-fetcher runs: {_format_url_count(length)} in {queue}.{tail}"
    return _summarize_active(queue, length, counted_urls, alive=alive, hosts=hosts, idle_seconds=idle_seconds) + tail


def _summarize_active(
    queue: str,
    length: int,
    counted_urls: int,
    alive: Sequence[FetcherStatus],
    hosts: Sequence[HostStatus],
    idle_seconds: float | None,
) -> str:
    in_flight = sum(fetcher.in_flight for fetcher in alive)
    backing_off = [host for host in hosts if host.why]
    if backing_off and not in_flight and len(backing_off) == len(hosts):
        first = min(backing_off, key=lambda host: host.seconds_left)
        those = (
            "Every host of the queue" if counted_urls >= length else f"Every host of its first {counted_urls:,} URLs"
        )
        return f"Nothing moves: {those[0].lower()}{those[1:]} is backing off. {_format_next_host(first)}"
    if in_flight and (idle_seconds is None or idle_seconds > STALL_SECONDS):
        since = f"for {idle_seconds:.0f} s" if idle_seconds is not None else "yet"
        return (
            f"Nothing was finished {since}, though {_format_url_count(in_flight)} in flight: either their hosts are "
            "slow or make us wait, or Kafka does not accept the events."
        )
    waiting = sum(host.urls for host in backing_off)
    tail = f", {waiting:,} of them for {_format_host_count(len(backing_off))} backing off" if waiting else ""
    return f"Working: {_format_fetcher_count(len(alive))} {in_flight:,} URLs; {length:,} wait in {queue}{tail}."


def count_by_host(origins: Iterable[str | None]) -> Counter[str]:
    """How many items each host has. Items that are not URLs are left out, because they are given up when they are
    claimed."""
    return Counter(origin for origin in origins if origin is not None)


def format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def decode_host_record(blob: bytes | None) -> HostRecord | None:
    try:
        return _decode(blob) if blob else None
    except msgspec.MsgspecError:
        return None


_decode = msgspec.json.Decoder(HostRecord).decode


def _format_next_host(host: HostStatus) -> str:
    when = f"in {host.seconds_left:.0f} s" if host.seconds_left > 0 else "now"
    return f"Next: {host.host}, {when} ({host.why})."


def _format_url_count(number: int) -> str:
    return "1 URL is" if number == 1 else f"{number:,} URLs are"


def _format_host_count(number: int) -> str:
    return "1 host that is" if number == 1 else f"{number:,} hosts that are"


def _format_fetcher_count(number: int) -> str:
    return "1 page-fetcher holds" if number == 1 else f"{number:,} page-fetchers hold"
