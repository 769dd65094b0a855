"""Shares a rate limit with other processes in tests: `python machine_worker.py DIRECTORY PACE SECONDS THREADS`.

Each thread prints a line for each of its requests: when it was allowed to start, and when it was answered, by the
clock that all processes of the machine share. With 0 threads it takes one permit, says so, and never releases it.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from pathlib import Path

from tenax.clock import SteadyClock
from tenax.hosts import Permit
from tenax.hosts.limiter.machine import MachineRateLimiter


async def request_again_and_again(directory: Path, permit: Permit, most: int, said: list[str]) -> None:
    clock = SteadyClock()
    rate_limiter = MachineRateLimiter(directory, clock)
    offset = clock.now() - time.monotonic()
    while len(said) < most:
        now = clock.now()
        again_at = await rate_limiter.acquire([permit], now)
        if again_at > now:
            await asyncio.sleep(min(again_at - now, 0.01))
            continue
        started_at = time.monotonic()
        await asyncio.sleep(0.001)
        answered_at = clock.now()
        said.append(f"{started_at!r} {answered_at - offset!r}")
        await rate_limiter.release([permit], answered_at)
    await rate_limiter.close()


async def take_and_keep(directory: Path, permit: Permit) -> None:
    clock = SteadyClock()
    rate_limiter = MachineRateLimiter(directory, clock)
    now = clock.now()
    assert await rate_limiter.acquire([permit], now) == now
    sys.stdout.write("taken\n")
    sys.stdout.flush()
    await asyncio.sleep(3600)


def main() -> None:
    directory, pace, seconds = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    threads, most = int(sys.argv[4]), int(sys.argv[5])
    permit = Permit("host http://a.example", pace, busy_seconds=seconds)
    if threads == 0:
        asyncio.run(take_and_keep(directory, permit))
    said: list[str] = []
    workers = [
        threading.Thread(target=lambda: asyncio.run(request_again_and_again(directory, permit, most, said)))
        for _ in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.stdout.write("\n".join(said))


if __name__ == "__main__":
    main()
